// A Scenario is everything a user can choose, and nothing else. It has defaults, a validator that
// explains every problem, and a stable versioned JSON form:
//
//   {"v":1, "model":"scope-micro", "system":"trn2-ultraserver",
//    "plan":{"tp":64,"pp":4,"dp":1,"lnc":2},            tp and pp both absent: the model's own plan
//    "formats":{"weights":"e4m3","activations":"e4m3","kv":"e4m3"},
//    "timing":{"shape":"nova-micro-like","tp":64,"pp":1,"dp":4,"batch":32},
//                                                       absent: time the model itself
//    "collective":"auto"|"mesh"|"ring", "reduce":"order-free"|"f32-in-order",
//    "prompt":"...", "chat":true, "system_prompt":"", "stop":["..."], "max_tokens":64,
//    "temperature":0, "top_p":1, "top_k":0, "seed":1, "prefill_chunk":128,
//    "rent":"trn2-capacity-block", "list":"nova-micro", "kernels":""}
//
// Every key may be absent, for its default; unknown keys and versions are refused by name. Without
// "kv" the KV cache takes the activations' format where that is an 8-bit one or BF16, and BF16
// otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/sampler.h"
#include "plan/plan.h"

namespace novascope::session {

inline constexpr int kScenarioVersion = 1;

// A larger shape that is timed in the small model's place: same prompt and output token counts.
struct TimingShape {
  std::string shape = "nova-micro-like";
  int tp = 64, pp = 1, dp = 4, lnc = 2;
  int batch = 32;  // sequences per replica
};

struct Scenario {
  std::string model = "scope-micro";
  std::string system = "trn2-ultraserver";
  bool own_plan = true;  // tp and pp are the model's own; the two below are ignored
  int tp = 1, pp = 1, dp = 1, lnc = 2;
  plan::NumberFormats formats{plan::FormatId::kE4M3, plan::FormatId::kE4M3, plan::FormatId::kE4M3};
  std::optional<TimingShape> timing;
  plan::CollectiveChoice collective = plan::CollectiveChoice::kAuto;
  plan::ReduceMode reduce = plan::ReduceMode::kOrderFree;
  std::string prompt;
  bool chat = false;              // wrap the prompt as a user turn
  std::string system_prompt;      // only with chat
  std::vector<std::string> stop;  // the output ends before any of these
  int max_tokens = 64;
  model::SamplerOptions sampler;
  int prefill_chunk = 128;
  std::string rent = "trn2-capacity-block";
  std::string list = "nova-micro";
  std::string kernels;  // kernel row id; empty: the fastest
};

inline constexpr int kMaxOutputTokens = 1 << 20;
inline constexpr int kMaxPrefillChunk = 4096;
inline constexpr int kMaxBatch = 4096;
inline constexpr int kMaxStops = 16;

// The KV format that goes with an activation format where none is chosen.
plan::FormatId DefaultKvFormat(plan::FormatId activations);
const char* CollectiveChoiceName(plan::CollectiveChoice choice);
const char* ReduceModeName(plan::ReduceMode mode);

// The stable form: every key that differs by presence is there ("plan" only for a plan of one's own
// or a dp or lnc other than 1 and 2, "timing" only with a timing shape).
Json ToJson(const Scenario& scenario);
Result<Scenario> ScenarioFromJson(const Json& json);
// Everything that can be checked without weights; the prompt's UTF-8 included. `loaded` is the
// model in memory, which need not be a row of the table.
Status Validate(const Scenario& scenario, const model::ModelSpec* loaded = nullptr);

}  // namespace novascope::session
