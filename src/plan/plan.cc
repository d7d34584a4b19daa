#include "plan/plan.h"

#include <algorithm>
#include <cassert>

namespace novascope::plan {
namespace {

Error Infeasible(std::string field, int value, std::string message, std::string fix) {
  return Error{ErrorCode::kInfeasible, std::move(field), std::to_string(value), std::move(message),
               std::move(fix)};
}

// Why TP degree `tp` cannot split the model over chips of `cores` logical cores; empty where it can.
std::string TpProblem(const model::ModelSpec& m, int tp, int cores) {
  const auto text = [](int n) { return std::to_string(n); };
  if (cores % tp != 0 && tp % cores != 0) {
    return "A tensor-parallel group must fill whole chips of " + text(cores) + " logical cores.";
  }
  if (m.heads % tp != 0 && tp % m.heads != 0) {
    return text(tp) + " does not divide " + text(m.heads) + " query heads.";
  }
  if (tp > m.heads) {
    const int share = tp / m.heads;
    if (cores % share != 0) {
      return "Ranks that share a query head must sit in one chip of " + text(cores) + " logical cores.";
    }
    if (m.head_dim / 2 % share != 0) {
      return "A head of " + text(m.head_dim) + " does not split into " + text(share) + " rotary parts.";
    }
  }
  if (m.kv_heads % tp != 0 && tp % m.kv_heads != 0) {
    return text(tp) + " neither divides nor is a multiple of " + text(m.kv_heads) + " KV heads.";
  }
  if (m.hidden % tp != 0) return text(tp) + " does not divide the hidden size " + text(m.hidden) + ".";
  if (m.ffn % tp != 0) return text(tp) + " does not divide the FFN width " + text(m.ffn) + ".";
  if (m.vocab % tp != 0) return text(tp) + " does not divide the vocabulary " + text(m.vocab) + ".";
  for (int k : {m.q_width(), m.ffn}) {
    if (k / tp % LeafWidth(k, tp) != 0) {
      return text(tp) + " does not divide the leaves of a split sum over " + text(k) + ".";
    }
  }
  return "";
}

std::string FeasibleTp(const model::ModelSpec& m, int cores, int limit) {
  std::string list;
  for (int tp = 1; tp <= limit; ++tp) {
    if (TpProblem(m, tp, cores).empty()) list += (list.empty() ? "" : ", ") + std::to_string(tp);
  }
  return list;
}

std::string Divisors(int n, int limit) {
  std::string list;
  for (int d = 1; d <= std::min(n, limit); ++d) {
    if (n % d == 0) list += (list.empty() ? "" : ", ") + std::to_string(d);
  }
  return list;
}

Status CheckDegrees(const model::ModelSpec& model, const hw::System& system, const PlanOptions& o,
                    int cores) {
  const int all = system.chips() * cores;
  for (const auto& [name, degree] : {std::pair{"tp", o.tp}, {"pp", o.pp}, {"dp", o.dp}}) {
    if (degree < 1 || degree > all) {
      return Infeasible(name, degree,
                        "The system has " + std::to_string(all) + " logical cores at LNC=" +
                            std::to_string(o.lnc) + ".",
                        "Use a degree from 1 to " + std::to_string(all) + ".");
    }
  }
  if (o.batch < 1 || o.batch > 4096) {
    return Error{ErrorCode::kInput, "batch", std::to_string(o.batch),
                 "The batch is the number of sequences that run together.", "Use 1 to 4096."};
  }
  if (const std::string problem = TpProblem(model, o.tp, cores); !problem.empty()) {
    return Infeasible("tp", o.tp, problem, "Use one of " + FeasibleTp(model, cores, all) + ".");
  }
  if (model.layers % o.pp != 0) {
    return Infeasible("pp", o.pp,
                      std::to_string(o.pp) + " does not divide " + std::to_string(model.layers) +
                          " layers.",
                      "Use one of " + Divisors(model.layers, all / o.tp) + ".");
  }
  if (const int64_t ranks = int64_t{o.tp} * o.pp * o.dp; ranks > all) {
    const int left = all / (o.tp * std::min(o.pp, std::max(1, all / o.tp)));
    return Infeasible("tp x pp x dp", static_cast<int>(std::min<int64_t>(ranks, 1 << 30)),
                      "The plan needs more logical cores than the " + std::to_string(all) + " of " +
                          system.label + " at LNC=" + std::to_string(o.lnc) + ".",
                      o.tp * o.pp > all
                          ? "With tp = " + std::to_string(o.tp) + " use pp of " +
                                Divisors(model.layers, all / o.tp) + "."
                          : "Use dp of at most " + std::to_string(left) + ".");
  }
  return Ok{};
}

void DescribeNeuron(Plan* plan) {
  const PlanOptions& o = plan->options;
  const int instance_ranks =
      plan->system->torus_x * plan->system->torus_y * plan->cores_per_chip;
  if (o.pp > 1) {
    plan->neuron_note =
        "Hardware only: Neuron's serving software offers no pipeline parallelism for inference today.";
  } else if (o.tp > instance_ranks) {
    plan->neuron_note = "Hardware only: Neuron's serving software keeps tensor parallelism in one instance.";
  } else if (o.reduce == ReduceMode::kBf16) {
    plan->neuron_today = true;
    plan->neuron_note = "Neuron's serving software offers this today (tensor parallelism in an instance, "
                        "data-parallel replicas).";
  } else {
    plan->neuron_today = true;
    plan->neuron_note = "Neuron's serving software offers this layout today; the order-free sums are ours.";
  }
}

}  // namespace

int LeafWidth(int64_t k, int tp) {
  int64_t leaves = 64;
  while (k % leaves != 0) leaves /= 2;
  if (tp > leaves && k % tp == 0) leaves = tp;
  return static_cast<int>(k / leaves);
}

Result<Plan> MakePlan(const model::ModelSpec& model, const hw::System& system,
                      const PlanOptions& options) {
  if (options.lnc != 1 && options.lnc != 2) {
    return Error{ErrorCode::kInput, "lnc", std::to_string(options.lnc),
                 "A logical NeuronCore is one or two physical cores.", "Use 1 or 2."};
  }
  if (Status valid = model::ValidateSpec(model); !valid.ok()) return valid.error();
  Result<const hw::Chip*> chip = hw::FindChip(system.chip, "system");
  if (!chip.ok()) return chip.error();
  const int cores = chip.value()->physical_cores.value / options.lnc;
  if (Status degrees = CheckDegrees(model, system, options, cores); !degrees.ok()) {
    return degrees.error();
  }
  Plan plan;
  plan.model = model;
  plan.system = &system;
  plan.chip = chip.value();
  plan.options = options;
  plan.cores_per_chip = cores;
  plan.kv_group = std::max(1, options.tp / model.heads);
  plan.kv_heads_per_rank = std::max(1, model.kv_heads / options.tp);
  plan.kv_copies = options.tp / plan.kv_group * plan.kv_heads_per_rank / model.kv_heads;
  for (int dp = 0; dp < options.dp; ++dp) {
    for (int pp = 0; pp < options.pp; ++pp) {
      for (int tp = 0; tp < options.tp; ++tp) {
        const int rank = static_cast<int>(plan.ranks.size());
        plan.ranks.push_back({static_cast<int16_t>(rank / cores), static_cast<int8_t>(rank % cores),
                              static_cast<int16_t>(tp), static_cast<int16_t>(pp),
                              static_cast<int16_t>(dp)});
      }
    }
  }
  DescribeNeuron(&plan);
  return plan;
}

PlanOptions DefaultPlan(const model::ModelSpec& model, const hw::System& system) {
  PlanOptions options;
  const Result<const hw::Chip*> chip = hw::FindChip(system.chip, "system");
  assert(chip.ok());
  const int cores = chip.value()->physical_cores.value / options.lnc;
  const int all = system.chips() * cores;
  const int instance = system.torus_x * system.torus_y * cores;
  if (model.runnable && model.id != "scope-micro") return options;  // a foreign model: one core
  options.tp = instance;
  while (options.tp > 1 && !TpProblem(model, options.tp, cores).empty()) options.tp /= 2;
  const int replicas = all / options.tp;
  if (model.id == "scope-micro") {
    options.pp = replicas;
    while (options.pp > 1 && model.layers % options.pp != 0) --options.pp;
  } else {
    options.dp = replicas;
    options.reduce = ReduceMode::kBf16;
  }
  return options;
}

}  // namespace novascope::plan
