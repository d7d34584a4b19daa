#include "sim/setup.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace novascope::sim {
namespace {

using plan::Op;
using plan::OpKind;
using plan::Role;

Error Broken(std::string value, std::string message) {
  return {ErrorCode::kInternal, "program", std::move(value), std::move(message),
          "Build the Program with BuildProgram for this plan."};
}

bool HasTensor(const Role& role, const plan::Operand& operand) {
  return operand.tensor >= 0 && static_cast<size_t>(operand.tensor) < role.tensors.size();
}

Status CheckOp(const plan::Program& program, const Role& role, const Op& op) {
  const bool matmul = op.kind == OpKind::kMatmul || op.kind == OpKind::kMatmulLeaf;
  const bool collective = plan::IsCollective(op.kind);
  if ((matmul || collective || op.kind == OpKind::kSend) && !HasTensor(role, op.in[0])) {
    return Broken(op.name, "An op's first operand names no tensor.");
  }
  if ((matmul || op.kind == OpKind::kEmbed) && !HasTensor(role, op.in[2])) {
    return Broken(op.name, "A matmul's weight operand names no tensor.");
  }
  if (collective && (op.group < 0 || static_cast<size_t>(op.group) >= program.groups.size())) {
    return Broken(op.name, "A collective names no group.");
  }
  if (op.m < 0 || op.n < 0 || op.k < 0 || op.heads < 0) {
    return Broken(op.name, "An op has a negative size.");
  }
  return Ok{};
}

Status Check(const SimCore& core) {
  const plan::Program& program = *core.program;
  const int tp = core.plan->options.tp;
  if (core.topology->system != core.plan->system) {
    return Broken(core.plan->system->id, "The topology is of another system than the plan.");
  }
  if (core.replicas < 1 || core.replicas > core.plan->options.dp) {
    return Error{ErrorCode::kInput, "replicas", std::to_string(core.replicas),
                 "The plan has " + std::to_string(core.plan->options.dp) + " replicas.",
                 "Use 1 to " + std::to_string(core.plan->options.dp) + "."};
  }
  if (static_cast<int>(program.roles.size()) != core.plan->options.pp) {
    return Broken(std::to_string(program.roles.size()), "The Program needs one role per stage.");
  }
  for (const plan::Group& group : program.groups) {
    if (group.shape.ranks() < 1 || tp % group.shape.ranks() != 0) {
      return Broken(std::to_string(group.shape.ranks()), "A group does not divide the stage.");
    }
  }
  for (const Role& role : program.roles) {
    for (const plan::Section& section : role.sections) {
      if (section.first_op < 0 || section.op_count < 0 || section.repeat < 0 ||
          static_cast<size_t>(section.first_op) + static_cast<size_t>(section.op_count) >
              role.ops.size()) {
        return Broken(std::to_string(section.first_op), "A section reaches beyond the ops.");
      }
    }
    for (const Op& op : role.ops) {
      if (Status ok = CheckOp(program, role, op); !ok.ok()) return ok;
    }
  }
  return Ok{};
}

bool IsLayerSection(const Role& role, const plan::Section& section) {
  for (int i = 0; i < section.op_count; ++i) {
    const Op& op = role.ops[static_cast<size_t>(section.first_op + i)];
    for (const plan::Operand* operand : {&op.in[0], &op.in[1], &op.in[2], &op.out[0], &op.out[1]}) {
      if (HasTensor(role, *operand) &&
          role.tensors[static_cast<size_t>(operand->tensor)].layer_stride > 0) {
        return true;
      }
    }
  }
  return false;
}

RoleProgram Expand(const SimCore& core, const Role& role) {
  RoleProgram out;
  int32_t run = -1;
  for (const plan::Section& section : role.sections) {
    const bool layers = IsLayerSection(role, section);
    for (int repeat = 0; repeat < section.repeat; ++repeat) {
      int16_t kernel = -1;  // of this repeat: the same number next time is a kernel started anew
      for (int i = 0; i < section.op_count; ++i) {
        const int32_t index = section.first_op + i;
        const Op& op = role.ops[static_cast<size_t>(index)];
        Entry entry{.op = index};
        if (layers) entry.layer = static_cast<int16_t>(role.first_layer + repeat);
        if (op.kernel >= 0) {
          entry.starts_kernel = op.kernel != kernel;
          if (entry.starts_kernel) ++run;
          kernel = op.kernel;
          entry.kernel_run = run;
        }
        out.entries.push_back(entry);
      }
    }
  }
  for (const Op& op : role.ops) {
    out.work.push_back(WorkOf(*core.plan, *core.program, role, op));
    out.has_sample = out.has_sample || op.kind == OpKind::kSample;
  }
  out.exchange.assign(role.ops.size(), -1);
  return out;
}

int32_t Intern(std::string_view name, std::vector<std::string>* names) {
  const auto found = std::find(names->begin(), names->end(), name);
  if (found != names->end()) return static_cast<int32_t>(found - names->begin());
  names->emplace_back(name);
  return static_cast<int32_t>(names->size()) - 1;
}

// What one core of the rank gets out of its stack: its share among the stage's busy cores there, at
// most what its own DMA engines carry.
std::vector<uint64_t> HbmRates(const SimCore& core) {
  const plan::Plan& plan = *core.plan;
  const hw::Chip& chip = *plan.chip;
  const int stacks = chip.hbm_stacks.value;
  const auto stack_of = [&](const plan::RankPlace& place) {
    return static_cast<size_t>(place.chip * stacks + place.core * stacks / plan.cores_per_chip);
  };
  const auto per_stage = static_cast<size_t>(core.topology->system->chips() * stacks);
  std::vector<uint64_t> users(per_stage * core.roles.size());
  for (const plan::RankPlace& place : plan.ranks) {
    if (place.dp < core.replicas)
      ++users[static_cast<size_t>(place.pp) * per_stage + stack_of(place)];
  }
  std::vector<uint64_t> rates;
  for (const plan::RankPlace& place : plan.ranks) {
    const uint64_t sharing =
        std::max<uint64_t>(1, users[static_cast<size_t>(place.pp) * per_stage + stack_of(place)]);
    rates.push_back(
        std::min(chip.hbm_kernel_bytes_per_second.value / sharing,
                 chip.dma_core_bytes_per_second.value * static_cast<uint64_t>(plan.options.lnc)));
  }
  return rates;
}

// Two all-reduces of the same size over the same groups are one exchange.
bool SameExchange(const plan::Role& role, const Op& a, const Op& b) {
  const auto dtype = [&role](const Op& op) {
    return role.tensors[static_cast<size_t>(op.in[0].tensor)].dtype;
  };
  return plan::CollectiveOf(a.kind) == plan::CollectiveOf(b.kind) && a.group == b.group &&
         a.m == b.m && a.n == b.n && dtype(a) == dtype(b);
}

int32_t FindOrBuildExchange(SimCore* core, int role_index, int op_index) {
  const Role& role = core->program->roles[static_cast<size_t>(role_index)];
  const Op& op = role.ops[static_cast<size_t>(op_index)];
  for (size_t e = 0; e < core->exchanges.size(); ++e) {
    const Exchange& other = core->exchanges[e];
    if (other.role == role_index &&
        SameExchange(role, role.ops[static_cast<size_t>(other.op)], op)) {
      return static_cast<int32_t>(e);
    }
  }
  core->exchanges.push_back(BuildExchange(*core->plan, *core->topology, *core->program, role_index,
                                          op_index, core->replicas, core->options));
  return static_cast<int32_t>(core->exchanges.size()) - 1;
}

}  // namespace

Status Prepare(SimCore* core) {
  if (Status ok = Check(*core); !ok.ok()) return ok;
  const plan::Program& program = *core->program;
  core->names.push_back("kernel start");
  for (size_t r = 0; r < program.roles.size(); ++r) {
    const Role& role = program.roles[r];
    core->roles.push_back(Expand(*core, role));
    RoleProgram& out = core->roles.back();
    std::vector<int32_t> names;
    int32_t sends = 0;
    for (size_t i = 0; i < role.ops.size(); ++i) {
      const Op& op = role.ops[i];
      names.push_back(Intern(op.name, &core->names));
      if (op.kind == OpKind::kRecv) {
        if (r == 0) return Broken(op.name, "The first stage has nobody to receive from.");
        for (size_t s = 0; s < core->roles[r - 1].exchange.size(); ++s) {
          if (program.roles[r - 1].ops[s].kind == OpKind::kSend) {
            out.exchange[i] = core->roles[r - 1].exchange[s];
          }
        }
        if (out.exchange[i] < 0) return Broken(op.name, "The stage before sends nothing.");
      } else if (op.kind == OpKind::kSend || plan::IsCollective(op.kind)) {
        if (op.kind == OpKind::kSend && (r + 1 == program.roles.size() || ++sends > 1)) {
          return Broken(op.name, "A stage may send once, and the last one not at all.");
        }
        out.exchange[i] = FindOrBuildExchange(core, static_cast<int>(r), static_cast<int>(i));
      }
    }
    core->name_of_op.push_back(std::move(names));
  }
  return Ok{};
}

std::vector<Actor> MakeActors(const SimCore& core, bool* folded) {
  const plan::Plan& plan = *core.plan;
  const std::vector<uint64_t> rates = HbmRates(core);
  const auto rank_at = [&](int tp, size_t stage, int dp) {
    return plan.rank(tp, static_cast<int>(stage), dp);
  };
  for (size_t stage = 0; stage < core.roles.size(); ++stage) {
    for (int dp = 0; dp < core.replicas; ++dp) {
      for (int tp = 0; tp < plan.options.tp; ++tp) {
        if (rates[static_cast<size_t>(rank_at(tp, stage, dp))] !=
            rates[static_cast<size_t>(rank_at(0, stage, 0))]) {
          *folded = false;
        }
      }
    }
  }
  std::vector<Actor> actors;
  const auto add = [&](size_t stage, bool samples, std::vector<int32_t> ranks) {
    if (ranks.empty()) return;
    Actor actor;
    actor.role = static_cast<int>(stage);
    actor.samples = samples;
    actor.hbm_rate = rates[static_cast<size_t>(ranks.front())];
    actor.ranks = std::move(ranks);
    actor.reads.resize(core.roles[stage].entries.size());
    actors.push_back(std::move(actor));
  };
  for (size_t stage = 0; stage < core.roles.size(); ++stage) {
    std::vector<int32_t> first, others;
    for (int dp = 0; dp < core.replicas; ++dp) {
      for (int tp = 0; tp < plan.options.tp; ++tp) {
        const int32_t rank = rank_at(tp, stage, dp);
        if (!*folded) {
          add(stage, tp == 0, {rank});
        } else {
          (tp == 0 && core.roles[stage].has_sample ? first : others).push_back(rank);
        }
      }
    }
    add(stage, true, std::move(first));
    add(stage, false, std::move(others));
  }
  return actors;
}

void AddParties(const SimCore& core, int32_t index, bool folded, std::vector<Party>* parties) {
  const Exchange& exchange = core.ExchangeAt(index);
  const auto party = [&] {
    Party p;
    p.exchange = index;
    return p;
  };
  const size_t first = parties->size();
  if (folded) {
    parties->push_back(party());
    for (size_t c = 0; c < exchange.components.size(); ++c) {
      parties->back().components.push_back(static_cast<int32_t>(c));
    }
  } else {
    for (size_t c = 0; c < exchange.components.size(); ++c) {
      parties->push_back(party());
      parties->back().components.push_back(static_cast<int32_t>(c));
    }
  }
  const bool hand_over = !exchange.components.front().receivers.empty();
  for (size_t a = 0; a < core.actors.size(); ++a) {
    const Actor& actor = core.actors[a];
    const bool member = actor.role == exchange.role;
    const bool receiver = hand_over && actor.role == exchange.role + 1;
    if (!member && !receiver) continue;
    const int16_t c = exchange.component_of_rank[static_cast<size_t>(actor.ranks.front())];
    Party& p = (*parties)[first + (folded ? 0 : static_cast<size_t>(c))];
    (member ? p.members : p.receivers).push_back(static_cast<int32_t>(a));
  }
  for (size_t i = first; i < parties->size(); ++i) {
    Party& p = (*parties)[i];
    p.member_joined.assign(p.members.size(), -1);
    p.receiver_joined.assign(p.receivers.size(), -1);
  }
}

int64_t KernelStartTime(const SimCore& core, const RoleProgram& role, size_t at) {
  const hw::Chip& chip = *core.plan->chip;
  if (core.plan->options.lnc == 1) return chip.kernel_lnc1_ps.value;
  const int32_t run = role.entries[at].kernel_run;
  for (size_t i = at; i < role.entries.size(); ++i) {
    const Entry& entry = role.entries[i];
    if (entry.kernel_run > run) break;
    if (entry.kernel_run == run && role.work[static_cast<size_t>(entry.op)].fp8) {
      return chip.kernel_fp8_ps.value;
    }
  }
  return chip.kernel_bf16_ps.value;
}

uint64_t StepKey(const plan::Plan& plan, const plan::StepShape& shape, int replicas,
                 const SimOptions& options) {
  uint64_t hash = HashBytes(plan.model.id.data(), plan.model.id.size());
  hash = HashBytes(plan.system->id, std::string_view(plan.system->id).size(), hash);
  const plan::PlanOptions& o = plan.options;
  const model::ModelSpec& m = plan.model;
  const int64_t fields[] = {m.layers,
                            m.hidden,
                            m.heads,
                            m.kv_heads,
                            m.head_dim,
                            m.ffn,
                            m.vocab,
                            o.tp,
                            o.pp,
                            o.dp,
                            o.lnc,
                            static_cast<int64_t>(o.formats.weights),
                            static_cast<int64_t>(o.formats.activations),
                            static_cast<int64_t>(o.formats.kv),
                            static_cast<int64_t>(o.reduce),
                            static_cast<int64_t>(o.collective),
                            static_cast<int64_t>(shape.kind),
                            shape.rows,
                            shape.sequences,
                            shape.kv_positions,
                            shape.logits,
                            replicas,
                            options.straggler,
                            options.host_gap};
  for (const int64_t field : fields) {
    for (int shift = 0; shift < 64; shift += 8) {  // little-endian on any host
      const auto byte = static_cast<uint8_t>(field >> shift & 0xff);
      hash = HashBytes(&byte, 1, hash);
    }
  }
  return hash;
}

}  // namespace novascope::sim
