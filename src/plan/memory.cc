// Where every byte of a plan lies: read off the Programs' own tensor declarations, the ones exec places
// by; scratch and buffers count as the larger of what prefill and decode declare.

#include <algorithm>
#include <cstdio>

#include "base/units.h"
#include "plan/plan.h"
#include "plan/program.h"

namespace novascope::plan {
namespace {

// Bytes of one stage's rank by category; scratch-like categories are the larger of prefill and decode.
struct RankBytes {
  uint64_t bytes[kCategories] = {};
};

void Accumulate(const Role& role, RankBytes* out) {
  uint64_t sum[kCategories] = {};
  for (const TensorDecl& t : role.tensors) {
    if (t.space != Space::kHbm) continue;
    const uint64_t stride = t.layers > 1 || t.layer_stride > 0 ? t.layer_stride : (t.bytes + 63) / 64 * 64;
    sum[static_cast<int>(t.category)] += stride * static_cast<uint64_t>(t.layers);
  }
  for (int c = 0; c < kCategories; ++c) out->bytes[c] = std::max(out->bytes[c], sum[c]);
}

std::vector<RankBytes> StageBytes(const Plan& plan) {
  std::vector<RankBytes> stages(static_cast<size_t>(plan.options.pp));
  const StepShape shapes[] = {
      {.kind = StepKind::kPrefill, .rows = plan.options.prefill_rows, .sequences = 1,
       .kv_positions = plan.max_positions()},
      {.kind = StepKind::kDecode, .rows = 1, .sequences = plan.options.batch,
       .kv_positions = plan.max_positions()}};
  for (const StepShape& shape : shapes) {
    const Program program = BuildProgram(plan, shape);
    for (size_t s = 0; s < stages.size(); ++s) Accumulate(program.roles[s], &stages[s]);
  }
  return stages;
}

// Bytes of the model's weights stored once, in the plan's formats and layout padding left out.
uint64_t UniqueWeightBytes(const Plan& plan) {
  const model::ModelSpec& m = plan.model;
  const auto weight = static_cast<uint64_t>(DTypeBytes(ToDType(plan.options.formats.weights)));
  const auto u = [](int64_t n) { return static_cast<uint64_t>(n); };
  const model::ParamCount count = model::CountParams(m);
  const uint64_t matrices = u(count.embedding + count.attention + count.ffn + count.head) * weight;
  const uint64_t rows_per_layer = u(m.q_width() + 2 * m.kv_width() + m.hidden + 2 * m.ffn + m.hidden);
  const uint64_t scales = (rows_per_layer * u(m.layers) + u(m.vocab) * (m.tied_embeddings ? 1 : 2)) * 4;
  return matrices + scales + u(count.norms) * 4;
}

std::string Gib(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
  return text;
}

int WorstStack(const MemoryMap& map) {
  const int stacks = static_cast<int>(map.bytes.size()) / kCategories;
  int worst = 0;
  for (int s = 1; s < stacks; ++s) {
    if (map.used(s) > map.used(worst)) worst = s;
  }
  return worst;
}

bool Fits(const MemoryMap& map) { return map.used(WorstStack(map)) <= map.stack_bytes; }

std::string Describe(const PlanOptions& o) {
  return "TP" + std::to_string(o.tp) + " x PP" + std::to_string(o.pp) + " x DP" + std::to_string(o.dp) +
         ", batch " + std::to_string(o.batch);
}

// The nearest plan that fits: a smaller batch first, then more chips per replica, or empty.
std::string NearestFit(const Plan& plan) {
  PlanOptions o = plan.options;
  for (; o.batch >= 1; o.batch /= 2) {
    const Result<Plan> candidate = MakePlan(plan.model, *plan.system, o);
    if (candidate.ok() && Fits(BuildMemory(candidate.value()))) return Describe(o);
    if (o.batch == 1) break;
  }
  o = plan.options;
  const int all = plan.system->chips() * plan.cores_per_chip;
  while (o.tp * 2 <= all) {
    o.tp *= 2;
    while (o.tp * o.pp * o.dp > all && o.dp > 1) o.dp /= 2;
    while (o.tp * o.pp * o.dp > all && o.pp > 1) o.pp /= 2;
    const Result<Plan> candidate = MakePlan(plan.model, *plan.system, o);
    if (candidate.ok() && Fits(BuildMemory(candidate.value()))) return Describe(o);
  }
  return "";
}

}  // namespace

MemoryMap BuildMemory(const Plan& plan) {
  MemoryMap map;
  const hw::Chip& chip = *plan.chip;
  map.stacks_per_chip = chip.hbm_stacks.value;
  map.stack_bytes = chip.hbm_stack_bytes.value;
  const auto stacks = static_cast<size_t>(plan.system->chips() * map.stacks_per_chip);
  map.bytes.assign(stacks * kCategories, 0);
  const std::vector<RankBytes> stages = StageBytes(plan);
  for (const RankPlace& place : plan.ranks) {
    const int stack = place.chip * map.stacks_per_chip +
                      place.core * map.stacks_per_chip / plan.cores_per_chip;
    uint64_t* row = &map.bytes[static_cast<size_t>(stack) * kCategories];
    const RankBytes& rank = stages[static_cast<size_t>(place.pp)];
    for (int c = 0; c < kCategories; ++c) row[c] += rank.bytes[c];
    row[static_cast<int>(Category::kCode)] +=
        chip.code_bytes_per_core.value * static_cast<uint64_t>(plan.options.lnc);
    map.replicated_weight_bytes += rank.bytes[static_cast<int>(Category::kWeights)];
    map.kv_copies_bytes += rank.bytes[static_cast<int>(Category::kKv)];
  }
  map.unique_weight_bytes = UniqueWeightBytes(plan);
  map.replicated_weight_bytes -= std::min(map.replicated_weight_bytes, map.unique_weight_bytes);
  map.unique_kv_bytes =
      map.kv_copies_bytes / static_cast<uint64_t>(plan.kv_copies);  // replicas hold other sequences
  map.kv_copies_bytes -= map.unique_kv_bytes;
  return map;
}

Status CheckMemory(const Plan& plan, const MemoryMap& map) {
  const int worst = WorstStack(map);
  if (map.used(worst) <= map.stack_bytes) return Ok{};
  int largest = 0;
  for (int c = 1; c < kCategories; ++c) {
    if (map.at(worst, static_cast<Category>(c)) > map.at(worst, static_cast<Category>(largest))) {
      largest = c;
    }
  }
  const int chip = worst / map.stacks_per_chip;
  const std::string nearest = NearestFit(plan);
  return Error{
      ErrorCode::kOutOfMemory, "plan", Describe(plan.options),
      "HBM stack " + std::to_string(worst % map.stacks_per_chip) + " of chip " + std::to_string(chip) +
          " would hold " + Gib(map.used(worst)) + " of " + Gib(map.stack_bytes) + ", " +
          Gib(map.used(worst) - map.stack_bytes) + " too much; the largest part is " +
          CategoryName(static_cast<Category>(largest)) + " with " +
          Gib(map.at(worst, static_cast<Category>(largest))) + ".",
      nearest.empty() ? "No plan of this model fits this system; choose a larger system or a smaller model."
                      : "The nearest plan that fits is " + nearest + "."};
}

}  // namespace novascope::plan
