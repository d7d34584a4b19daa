// One generation, cut into units of work: place the weights, then for every step (a prefill chunk
// or a token) time it once per distinct Program, compute it op by op, and settle it (sample,
// account, report). What comes out depends on the Setup alone, never on how the units were grouped.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "exec/engine.h"
#include "plan/program.h"
#include "session/setup.h"
#include "session/text.h"
#include "trace/trace.h"

namespace novascope::session {

using EventList = std::vector<std::vector<uint8_t>>;

enum class StopReason : uint8_t { kNone, kEnd, kStop, kMaxTokens, kContext };
const char* StopReasonName(StopReason reason);

// A token that was written, with its time. The first one's starts with the first prefill chunk.
struct OutputToken {
  int32_t id = 0;
  float logprob = 0;
  int64_t start_ps = 0, end_ps = 0;
  trace::Split split{};
};

class Run {
 public:
  Run(Setup setup, std::shared_ptr<const LoadedModel> loaded);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  enum class Progress : uint8_t { kWorking, kStepDone, kFinished };
  // One unit of work; appends the events it causes.
  Result<Progress> Advance(EventList* events);

  const Setup& setup() const { return setup_; }
  const LoadedModel& loaded() const { return *loaded_; }
  const trace::Trace& trace() const { return trace_; }
  const std::vector<OutputToken>& tokens() const { return tokens_; }
  const std::string& text() const { return text_; }
  StopReason stop_reason() const { return stop_; }
  int64_t prefill_ps() const { return prefill_ps_; }
  int64_t decode_ps() const { return decode_ps_; }
  // Simulated bytes by hw::LinkKind, over all steps.
  const std::array<uint64_t, 4>& link_bytes() const { return link_bytes_; }
  // The KV bucket of the last step that was timed.
  int last_bucket() const { return last_bucket_; }

 private:
  enum class Phase : uint8_t { kPlace, kPlan, kTime, kBegin, kCompute, kSettle, kFinished };
  struct Step {
    plan::StepKind kind = plan::StepKind::kPrefill;
    int first = 0;  // prefill: prompt position; decode: index of the output token it yields
    int rows = 1;
    bool logits = true;
  };

  Status Place();
  void PlanStep();
  Status TimeStep(EventList* events);
  Status BeginStep();
  Result<Progress> SettleStep(EventList* events);
  Result<Json> TakeToken(int64_t end_ps);
  plan::StepShape TimedShape() const;

  Setup setup_;
  std::shared_ptr<const LoadedModel> loaded_;
  std::optional<exec::Engine> engine_;
  // Programs stay while the engine runs them; keyed by kind, rows, logits.
  std::map<std::tuple<plan::StepKind, int, bool>, plan::Program> programs_;
  trace::Trace trace_;
  TextStream stream_;

  Phase phase_ = Phase::kPlace;
  Step step_;
  int step_template_ = -1;
  int prefilled_ = 0;  // prompt positions done
  int last_bucket_ = 0;
  std::vector<int32_t> fed_;  // the tokens of the step that runs
  std::vector<OutputToken> tokens_;
  std::string text_;
  StopReason stop_ = StopReason::kNone;
  int64_t prefill_ps_ = 0, decode_ps_ = 0;
  trace::Split prefill_split_;
  std::array<uint64_t, 4> link_bytes_{};
};

// The key of a step template: everything its time depends on.
uint64_t TemplateKey(const plan::Plan& plan, const plan::StepShape& shape);

Json SplitToJson(const trace::Split& split);

}  // namespace novascope::session
