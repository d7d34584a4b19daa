// The Trace: the only output of a run. Steps point to step templates (one per distinct Program and
// bucket, times relative to the step's start), so scrubbing never simulates again. Columnar,
// integer ids, pointer-free; templates cross the session door as plain bytes. Views, costs and
// exports read this and nothing else. Times are picoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace novascope::trace {

// Who owns a picosecond of a logical core: compute if an engine runs, else HBM if its DMA moves HBM
// bytes, else network if a transfer it needs is on a link, else wait. Cores outside the plan are
// idle.
enum class Owner : uint8_t { kCompute, kHbm, kNetwork, kWait, kIdle };
inline constexpr int kOwners = 5;

// Split of a duration by owner; sums to the duration to the last picosecond.
struct Split {
  std::array<int64_t, kOwners> ps{};
  int64_t total() const {
    int64_t sum = 0;
    for (int64_t part : ps) sum += part;
    return sum;
  }
};

// What a track shows. Ranks of a stage behave alike and share their tracks ("rank class").
enum class TrackKind : uint8_t { kTensor, kVector, kScalar, kDma, kCollective, kWait };

struct Track {
  TrackKind kind = TrackKind::kTensor;
  int16_t rank_class = 0;  // index into StepTemplate::classes
};

// A set of logical cores with the same schedule. The classes of a template cover every core of the
// system once; cores that the step does not use form a last class of stage -1, idle throughout.
struct RankClass {
  int16_t stage = 0;
  std::vector<int32_t> cores;  // global logical core = chip * cores_per_chip + core, ascending
  Split split;                 // of one such core over the step
};

// One run of an engine, a DMA queue or a collective.
struct Slice {
  int64_t start_ps = 0, duration_ps = 0;  // relative to the step
  int32_t name = 0;                       // index into StepTemplate::names
  int16_t track = 0;
  int16_t layer = -1;  // model layer, -1: none
  uint64_t bytes = 0;  // HBM or payload bytes it moved, 0: none
};

// A link is busy from start for duration, moving bytes.
struct LinkSlice {
  int64_t start_ps = 0, duration_ps = 0;
  uint64_t bytes = 0;
  int32_t name = 0;   // of the collective
  uint16_t link = 0;  // hw::Topology link id
  int16_t layer = -1;
};

// The link slices of one exchange, relative to its start; name and layer come from the run.
struct LinkPattern {
  std::vector<LinkSlice> slices;  // sorted by (start, link)
  int64_t span_ps = 0;            // end of the last slice
  uint64_t bytes = 0;             // of all slices
};
struct LinkRun {
  int64_t start_ps = 0;  // relative to the step
  int32_t pattern = 0;
  int32_t name = 0;
  int16_t layer = -1;
};

// All link slices of a step, kept as patterns and the times at which they run: identical layers
// repeat the same exchanges. Iterating expands them, run by run: `for (const LinkSlice& slice :
// t.link_slices)`.
class LinkTimeline {
 public:
  std::vector<LinkPattern> patterns;
  std::vector<LinkRun> runs;  // sorted by start; patterns are not empty

  class Iterator {
   public:
    Iterator(const LinkTimeline* timeline, size_t run) : timeline_(timeline), run_(run) {}
    LinkSlice operator*() const;
    Iterator& operator++();
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const LinkTimeline* timeline_;
    size_t run_;
    size_t slice_ = 0;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, runs.size()}; }
  size_t size() const;  // slices, expanded
};

struct StepTemplate {
  uint64_t key = 0;   // hash of Program shape, plan and bucket
  std::string label;  // "decode, bucket 256, batch 32"
  int64_t duration_ps = 0;
  std::vector<std::string> names;
  std::vector<RankClass> classes;
  std::vector<Track> tracks;
  std::vector<Slice> slices;  // sorted by (start, track)
  LinkTimeline link_slices;
  // The critical path leads back from the core that finishes last through whoever it waited for;
  // under pipeline parallelism it moves from stage to stage. The split is along the path and sums
  // to duration_ps; the class is the one that holds most of the path.
  int32_t critical_class = 0;
  Split critical_split;
  uint64_t hbm_bytes = 0;                // moved by the DMA queues of all cores
  std::array<uint64_t, 4> link_bytes{};  // by hw::LinkKind, summed over links
  std::vector<uint64_t> bytes_by_link;   // [links]
};

enum class StepKind : uint8_t { kPrefill, kDecode };

struct Step {
  int64_t start_ps = 0;
  int32_t step_template = 0;
  StepKind kind = StepKind::kDecode;
  int32_t request = 0;
  int32_t first_token = 0;  // prefill: prompt position; decode: index of the output token it yields
  int32_t token_count = 0;  // positions processed per sequence
};

// What the machine does at one instant, and what it has done up to it.
struct Snapshot {
  int64_t at_ps = 0;
  int32_t step = -1;                  // -1: before the first or after the last
  std::vector<uint16_t> busy_links;   // ascending
  std::vector<int16_t> active_chips;  // an engine or DMA of one of its cores is busy; ascending
  uint64_t link_bytes = 0;  // completed link bytes so far; a running slice counts pro rata, floor
  uint64_t hbm_bytes = 0;   // likewise
};

class Trace {
 public:
  // Capacity in bytes. When it is exceeded the oldest steps are dropped and counted, the newest
  // step stays; templates are kept, so that steps still held can always be shown.
  explicit Trace(uint64_t budget_bytes = 64u << 20) : budget_bytes_(budget_bytes) {}

  int AddTemplate(StepTemplate step_template);  // returns its index
  int FindTemplate(uint64_t key) const;         // -1 where absent
  void AddStep(const Step& step);               // starts never decrease

  const std::vector<StepTemplate>& templates() const { return templates_; }
  const std::vector<Step>& steps() const { return steps_; }
  int64_t end_ps() const;
  uint64_t dropped_steps() const { return dropped_steps_; }
  uint64_t memory_bytes() const;

  // The step that holds `at_ps`, or -1.
  int StepAt(int64_t at_ps) const;
  // cores_per_chip maps logical cores to chips.
  Snapshot At(int64_t at_ps, int cores_per_chip) const;

 private:
  uint64_t budget_bytes_;
  uint64_t dropped_steps_ = 0;
  std::vector<StepTemplate> templates_;
  uint64_t template_bytes_ = 0;
  std::vector<Step> steps_;
  std::vector<uint64_t> link_bytes_before_, hbm_bytes_before_;  // [steps], dropped steps included
  std::vector<uint64_t> template_link_bytes_;                   // [templates], all kinds
};

// Plain-bytes form of a template, for the session door: magic, version, fields in little-endian
// order, 64-bit hash of all before it. Decode checks the hash, every length, index and range.
std::vector<uint8_t> EncodeTemplate(const StepTemplate& step_template);
Result<StepTemplate> DecodeTemplate(const uint8_t* data, uint64_t size);

}  // namespace novascope::trace
