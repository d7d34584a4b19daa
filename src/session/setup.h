// What a run needs before its first step: the model in memory, the two plans (the one that computes
// the words and the one the clock runs on), where the bytes lie, and the prompt as tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cost/cost.h"
#include "hw/machine.h"
#include "kernels/kernels.h"
#include "model/spec.h"
#include "model/tokenizer.h"
#include "model/weights.h"
#include "plan/plan.h"
#include "session/scenario.h"

namespace novascope::session {

struct LoadedModel {
  model::ModelSpec spec;
  model::Tokenizer tokenizer;
  model::Weights weights;
};

// Reads and checks the three files of a model. `id` of a runnable row requires the row's own shape.
Result<std::shared_ptr<const LoadedModel>> LoadModel(std::string_view id, std::string_view config,
                                                     std::string_view tokenizer,
                                                     std::span<const uint8_t> weights);

struct Setup {
  Scenario scenario;
  plan::Plan exec_plan;   // batch 1: the one sequence that is computed
  plan::Plan timed_plan;  // the timing shape's, or exec_plan itself
  bool timing_shape = false;
  hw::Topology topology;
  plan::MemoryMap memory;  // of timed_plan
  const cost::HourPrice* rent = nullptr;
  const cost::TokenPrice* list = nullptr;
  const kernels::KernelSet* kernels = nullptr;
  std::vector<int32_t> prompt;
  int output_limit = 0;  // tokens that may be written: max_tokens, or what the context leaves

  int sequences() const { return timed_plan.options.batch * timed_plan.options.dp; }
  int chips() const;  // that the timed plan occupies
  // One sequence's share of the rent: a prefill step serves one sequence per replica, a decode step
  // the whole batch.
  cost::Money Rented(int64_t prefill_ps, int64_t decode_ps) const;
};

Result<Setup> Prepare(const Scenario& scenario, const LoadedModel& loaded);
// What can be said before a model is loaded: the scenario's own sense, and whether both plans can
// be placed.
Status CheckPlans(const Scenario& scenario);

// The smallest compiled KV size that holds `positions`: powers of two from 128, at most the
// context.
int KvBucket(int positions, int context);

}  // namespace novascope::session
