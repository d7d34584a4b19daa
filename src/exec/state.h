// What the engine's files share: the simulated machine's memory and the step in flight. Private to exec.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "exec/engine.h"

namespace novascope::exec {

using plan::FormatId;
using plan::Op;
using plan::Operand;
using plan::Role;
using plan::TensorDecl;

// One rank's view of its chip: where its arenas start.
struct RankMemory {
  uint8_t* hbm = nullptr;
  uint8_t* sbuf = nullptr;
};

// A collective's schedule with the wire it uses, built once per op and Program.
struct WiredSchedule {
  plan::Schedule schedule;
  int ranks = 1;
};

struct Engine::State {
  plan::Plan plan;
  const hw::Topology* topology = nullptr;
  const kernels::KernelSet* kernels = nullptr;

  // The machine. Chips of the first replica only.
  std::vector<std::vector<uint8_t>> chips;
  std::vector<std::vector<uint8_t>> sbufs;  // by rank
  std::vector<RankMemory> ranks;            // by rank of the replica: pp * tp + tp index
  std::vector<uint64_t> hbm_capacity;       // by stage: arena of one rank
  std::vector<uint64_t> sbuf_capacity;
  uint64_t placed_weight_bytes = 0;
  plan::Program layout;  // a decode Program: names and addresses of weights and KV

  std::vector<float> rope_cos, rope_sin;  // [context][head_dim / 2]
  int positions = 0;                      // in the KV cache before the step in flight
  std::vector<uint64_t> link_bytes;

  // The step in flight.
  const plan::Program* program = nullptr;
  std::vector<int32_t> tokens;
  int stage = 0;
  size_t section = 0;
  int layer = 0;
  int op_index = 0;
  std::map<std::pair<int, int>, WiredSchedule> schedules;  // (stage, op) of `schedules_of`
  uint64_t schedules_of = 0;                               // shape key of the cached schedules
  std::vector<float> logits;
  Status status = Ok{};
  Tamper tamper;
  int64_t message_index = 0;

  // Scratch that stands for what engines keep in flight: reused, never read across ops.
  std::vector<float> f32_a, f32_b;
  std::vector<double> f64;
  std::vector<uint8_t> codes;

  int tp() const { return plan.options.tp; }
  RankMemory& rank(int stage_index, int tp_index) {
    return ranks[static_cast<size_t>(stage_index * tp() + tp_index)];
  }
  // Address of a tensor's layer in a rank's memory, `offset` elements in.
  uint8_t* At(const Role& role, const RankMemory& memory, const Operand& operand, int layer_index) const {
    const TensorDecl& t = role.tensors[static_cast<size_t>(operand.tensor)];
    uint8_t* base = t.space == plan::Space::kHbm ? memory.hbm : memory.sbuf;
    return base + t.offset + t.layer_stride * static_cast<uint64_t>(layer_index) +
           static_cast<uint64_t>(operand.offset) * static_cast<uint64_t>(plan::DTypeBytes(t.dtype));
  }
};

// placement.cc: allocates the machine and shards the weights into it.
Status PlaceWeights(const model::Weights& weights, Engine::State* state);
// ops.cc: one op on one rank of a stage.
void RunOp(Engine::State* state, const Role& role, const Op& op, int layer, int tp_index);
// comm.cc: one collective over all its groups, or one hand-over to the next stage. An Error where a
// receiver refuses a message.
Status RunCollective(Engine::State* state, const Role& role, const Op& op, int op_index, int layer);
Status RunReceive(Engine::State* state, const Role& role, const Op& op);

}  // namespace novascope::exec
