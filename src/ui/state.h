// Everything the page knows and shows: one AppState per page module, one state struct per panel in it, no
// other state anywhere. Times are simulated picoseconds unless a name says otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "gfx/camera.h"
#include "gfx/chip_map.h"
#include "platform/platform.h"
#include "trace/trace.h"
#include "ui/geometry.h"
#include "ui/theme.h"

namespace novascope::ui {

// ---- What the core offers (event hello) ----

struct Choice {
  std::string id, label, note;
};

struct SourceRow {
  std::string row, name, label, source, date, note;
  double value = 0;
};

struct PriceRow {
  std::string id, label, kind, provenance, source, date, note;
  double input_usd = 0, output_usd = 0;  // per million tokens
  double usd_per_hour = 0;               // of one chip
};

struct Degrees {
  int tp = 64, pp = 4, dp = 1, lnc = 2;
  bool operator==(const Degrees&) const = default;
};

struct ModelRow {
  std::string id, label, provenance, source;
  double params = 0, range_low_b = 0, range_high_b = 0;
  int layers = 0, hidden = 0, heads = 0, kv_heads = 0, context = 0;
  bool runnable = false;
  std::vector<std::pair<std::string, Degrees>> default_plans;  // by system
};

struct Catalog {
  bool ready = false;
  std::string version;
  std::vector<ModelRow> rows;
  std::vector<Choice> models, shapes, systems, formats, collectives, reduces, kernels;
  std::vector<PriceRow> token_prices, hour_prices;
  std::vector<SourceRow> sources;
};

// ---- What the user chooses: the scenario, field by field ----

struct Form {
  bool operator==(const Form&) const = default;
  std::string model = "scope-micro", system = "trn2-ultraserver";
  bool own_plan = true;
  Degrees plan;
  std::string weights = "e4m3", activations = "e4m3", kv = "e4m3";
  bool timed = true;  // time a larger shape in the model's place
  std::string shape = "nova-micro-like";
  Degrees timing{64, 1, 4, 2};
  int batch = 32;
  std::string collective = "auto", reduce = "order-free";
  std::string prompt, system_prompt;
  bool chat = false;
  int max_tokens = 64, prefill_chunk = 128, top_k = 0;
  double temperature = 0, top_p = 1;
  uint64_t seed = 1;
  std::string rent = "trn2-capacity-block", list = "nova-micro", kernels;
};

// ---- What a run said ----

struct Candidate {
  int32_t id = 0;
  std::string text;
  double logprob = 0;
};

using OwnerTimes = std::array<int64_t, trace::kOwners>;

struct Token {
  int32_t id = 0;
  std::string text;
  double logprob = 0;
  std::vector<Candidate> top;
  int step = 0;  // index of the step event
  int64_t start_ps = 0, end_ps = 0;
  OwnerTimes split{};
  std::string usd_rented;  // of this token
};

struct StepInfo {
  trace::StepKind kind = trace::StepKind::kDecode;
  int64_t start_ps = 0, end_ps = 0;
  int positions = 0;       // in the KV cache once it is done, per sequence
  int step_template = -1;  // in the trace
  int token = -1;          // the output token it yields
  OwnerTimes split{};
  double rented_total = 0, list_total = 0;  // dollars up to its end
  double wall_ms = -1;                      // of the core, as the page's shell measured it
};

struct Machine {
  std::string system;
  int chips = 0, cores_per_chip = 4, stacks_per_chip = 4;
  double stack_bytes = 0;
  struct Link {
    uint8_t kind = 0;  // index into kLinkKinds
    int16_t from = 0, to = 0;
  };
  std::vector<Link> links;
};
inline constexpr const char* kLinkKinds[] = {"in_chip", "xy", "z", "efa"};

struct Hbm {
  std::vector<std::string> categories;
  std::vector<std::vector<double>> bytes;  // [stack][category]
  std::vector<double> kv_bytes_per_position;  // [stack], all its sequences
  int kv_positions = 0;                       // reserved per sequence
  double unique_weights = 0, replicated_weights = 0, unique_kv = 0, kv_copies = 0;
};

struct PlanInfo {
  std::string label;  // "TP64 x DP4"
  std::string model_label, note;
  bool neuron_today = false;
  int tp = 1, pp = 1, dp = 1, lnc = 2, batch = 1, kv_copies = 1, cores = 1;
  double params = 0, range_low_b = 0, range_high_b = 0;  // the range in billions
  std::string params_label;                  // published, assumed, ...
  int layers = 0, chips = 0;
};

struct BatchRow {
  int batch = 0;
  double usd_per_mtok = 0, tpot_ms = 0;
};

struct MoneyInfo {
  bool ready = false;
  double rented_per_mtok = 0, list_output_per_mtok = 0;
  double rented_low = 0, rented_high = 0;  // 0: no range given
  std::vector<BatchRow> by_batch;
  std::optional<int> break_even_batch;
  std::string sentence, break_even_sentence, why_sentence, why_largest;
  double why_share = 0;
  int try_batch = 0;  // 0: nothing better was found
};

struct ErrorInfo {
  std::string code, field, value, message, fix;
};

enum class CoreState { kLoading, kEmpty, kReady, kRunning, kPaused, kDone };

struct Run {
  CoreState state = CoreState::kLoading;
  std::string load_what;          // what is being fetched, while loading
  double load_share = -1;         // 0..1; negative: unknown
  std::string model_label;
  double model_params = 0, model_bytes = 0;
  bool planned = false;           // a plan event came
  PlanInfo exec, timing;
  bool timed = false;             // a larger shape is timed
  int prompt_tokens = 0;
  std::vector<Candidate> prompt;
  Machine machine;
  Hbm hbm;
  std::string words, time, memory, prices, shape;  // provenance
  std::vector<StepInfo> steps;
  std::vector<Token> tokens;
  MoneyInfo money;
  Json result;                    // of event done
  std::string kernel_variant;     // "relaxed SIMD"
  int serial = 0;                 // counts runs, so that derived data knows when to start over
  std::vector<int> template_index;  // the core's template number -> the trace's
};

// ---- Where in time, and what is picked out ----

struct Playback {
  int64_t at_ps = 0;
  bool playing = false;
  bool live = true;       // follows the run
  int speed = 3;          // row of kSpeeds
  double flow_px = 0;     // how far particles have moved
};
struct SpeedRow {
  double ps_per_second;
  const char* label;
};
inline constexpr SpeedRow kSpeeds[] = {{1e6, "1 \u00b5s/s"},   {1e7, "10 \u00b5s/s"}, {1e8, "100 \u00b5s/s"},
                                       {1e9, "1 ms/s"},        {1e10, "10 ms/s"},     {1e11, "100 ms/s"},
                                       {1e12, "real time"}};

struct Selection {
  int chip = 5;
  int core = 0;
  int link = -1;
  int token = -1;
};

// What the machine does at the playhead, worked out once per position.
struct Activity {
  int64_t at_ps = -1;
  int serial = -1;
  size_t steps = 0;
  trace::Snapshot snapshot;
  std::vector<gfx::MapChip> chips;
  std::vector<gfx::LinkActivity> links;
  std::string doing;  // "all-reduce, layer 17 of 32"
};

// ---- Panels ----

struct MapState {
  gfx::Camera camera;
  gfx::ChipMap renderer;
  bool renderer_failed = false;
  std::string renderer_error;
  int geometry_serial = -1;
  std::vector<glm::vec3> chips;
  std::vector<gfx::MapLink> links;
  glm::vec2 half_size{0.27f, 0.20f};
  glm::mat4 matrix{1.0f};
  Rect viewport;               // CSS pixels
  gfx::MapStyle style;
  gfx::Viewport device;        // for the draw callback
  float flow = -1;
  int hovered_chip = -1, hovered_link = -1;
  bool orbiting = false;
};

struct Span {
  int64_t start_ps = 0, end_ps = 0;
  int32_t slice = -1;  // in the template; -1: several merged
};

// A step template sorted for drawing, made once when it is first seen.
struct TemplateView {
  std::vector<std::array<std::vector<Span>, 6>> tracks;  // [rank class][trace::TrackKind]
  std::vector<std::array<std::vector<Span>, trace::kOwners>> owners;  // [rank class][owner]
  std::array<std::vector<Span>, 4> links;  // by kind: times at which any link of it is busy
  int layers = 0;
  int64_t telling_ps = 0;  // a moment with something to see: a transfer near the middle
};

struct TimelineState {
  std::vector<TemplateView> views;  // by template of the trace
  int views_serial = -1;
  int64_t from_ps = 0, to_ps = 0;  // visible range
  bool follow = true;              // shows the playhead's step
  int followed_step = -2;
  bool panning = false, scrubbing = false;
};

enum class HbmScale { kUsed, kFull, kLog };
struct HbmState {
  HbmScale scale = HbmScale::kUsed;
};

struct AnswerState {
  size_t shown_tokens = 0;  // to scroll down when more arrive
  int shown_step = -1;      // to scroll to the playhead's token when it moves
};

struct PopupState {
  Rect rect;          // of the open popup in the last frame; empty: none
  Rect next;
  bool close = false;  // Escape was pressed
};

// One figure with what it says of itself, kept for the snapshot and for readers without a screen.
struct FigureRecord {
  std::string id, value, explanation;
};

struct PanelRecord {
  std::string id;
  Rect rect;
};

struct View {
  float width = 1280, height = 720, dpr = 1;
  bool reduced_motion = false;
  Fonts fonts;
  float scroll_y = 0, content_height = 0;
  bool scroll_grabbed = false;  // a control is using the drag: the page must not scroll with it
  bool help_open = false;
  double now_ms = 0, drawn_ms = -1e9;
  bool moving = false;        // the playhead is
  int frames_wanted = 3;      // drawn for what has just changed
  uint64_t frames_drawn = 0;
};

struct TextEdit {
  std::string id, value;
};

struct AppState {
  AppState() = default;
  AppState(const AppState&) = delete;
  AppState& operator=(const AppState&) = delete;

  Catalog catalog;
  Form form;
  Form sent;   // the form as it was last run
  Form shown;  // the form that what is on the page belongs to: the last one that was not refused
  Run run;
  std::optional<ErrorInfo> error;
  trace::Trace trace;
  Playback playback;
  Selection selection;
  Activity activity;
  View view;

  MapState map;
  TimelineState timeline;
  HbmState hbm;
  AnswerState answer;
  PopupState popup;

  std::vector<TextEdit> edits;                      // typed since the last frame
  std::vector<platform::TextField> text_fields;     // shown in this frame
  std::vector<FigureRecord> figures;
  std::vector<PanelRecord> panels;
  std::deque<std::vector<uint8_t>> outbox;          // packed commands for the core
};

}  // namespace novascope::ui
