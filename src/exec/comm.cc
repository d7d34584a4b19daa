// Moves real data between the ranks' memories by the plan's schedules. Every delivery is tagged with its
// place in the schedule; a receiver that gets another tag than the one it waits for refuses, as hardware
// does with semaphores: sums here do not depend on order, so a swapped pair would not show otherwise.

#include <cstring>

#include "exec/state.h"

namespace novascope::exec {
namespace {

using plan::DType;
using plan::Message;

void CountBytes(Engine::State* state, int from_rank, int to_rank, uint64_t bytes) {
  if (from_rank == to_rank) return;
  const int from = state->plan.ranks[static_cast<size_t>(from_rank)].chip;
  const int to = state->plan.ranks[static_cast<size_t>(to_rank)].chip;
  for (const uint16_t link : state->topology->Route(from, to)) state->link_bytes[link] += bytes;
}

struct Wire {
  Engine::State* state;
  DType dtype;
  bool max;          // a reduce takes the maximum instead of the sum
  int first_rank;    // of the group, over the replica
  std::vector<uint8_t*> buffers;  // by rank in the group
};

// Puts `message`'s payload, read as `source` says, where `message` says.
void Deliver(const Wire& wire, const Message& message, const Message& source) {
  const auto size = static_cast<uint64_t>(plan::DTypeBytes(wire.dtype));
  const uint8_t* src = wire.buffers[source.src] + source.src_offset * size;
  uint8_t* dst = wire.buffers[message.dst] + message.dst_offset * size;
  const kernels::KernelSet& k = *wire.state->kernels;
  const auto repeat = static_cast<int>(message.repeat);
  const int64_t stride = message.stride;
  if (!message.reduce) {
    for (uint32_t r = 0; r < message.repeat; ++r) {
      std::memcpy(dst + r * message.stride * size, src + r * message.stride * size, message.count * size);
    }
  } else if (wire.dtype == DType::kFP64) {
    k.add_f64(reinterpret_cast<const double*>(src), stride, repeat, message.count,
              reinterpret_cast<double*>(dst));
  } else {
    (wire.max ? k.max_f32 : k.add_f32)(reinterpret_cast<const float*>(src), stride, repeat,
                                       message.count, reinterpret_cast<float*>(dst));
  }
  CountBytes(wire.state, wire.first_rank + source.src, wire.first_rank + message.dst,
             uint64_t{message.count} * message.repeat * size);
}

Error Refused(const char* what, int64_t tag) {
  return Error{ErrorCode::kInternal, "collective", std::to_string(tag),
               std::string("A receiver refused a message: ") + what + ".",
               "Run the step again; if it happens again, report it with the scenario."};
}

Status RunGroup(const Wire& wire, const plan::Schedule& schedule) {
  Engine::State* state = wire.state;
  const Tamper& tamper = state->tamper;
  const auto count = static_cast<int64_t>(schedule.messages.size());
  int64_t expected = 0;
  const auto accept = [&](int64_t tag) {
    const bool good = tag == expected || tamper.unchecked;
    ++expected;
    return good;
  };
  for (int64_t i = 0; i < count; ++i) {
    const Message& message = schedule.messages[static_cast<size_t>(i)];
    const bool hit = tamper.kind != Tamper::Kind::kNone && tamper.message == state->message_index;
    ++state->message_index;
    if (!hit) {
      if (!accept(i)) return Refused("one before it is missing or came twice", i);
      Deliver(wire, message, message);
      continue;
    }
    if (tamper.kind == Tamper::Kind::kDrop) continue;
    if (tamper.kind == Tamper::Kind::kSwap) {
      const int64_t other = i + 1 < count ? i + 1 : i - 1;
      if (other < 0 || !accept(other)) return Refused("it came in another's place", other);
      Deliver(wire, message, schedule.messages[static_cast<size_t>(other)]);
      continue;
    }
    for (int copy = 0; copy < 2; ++copy) {
      if (!accept(i)) return Refused("it came twice", i);
      Deliver(wire, message, message);
    }
  }
  if (expected != count && !tamper.unchecked) return Refused("some are missing at the end", expected);
  return Ok{};
}

}  // namespace

Status RunCollective(Engine::State* state, const Role& role, const Op& op, int op_index, int layer) {
  const auto key = std::pair{role.stage, op_index};
  auto found = state->schedules.find(key);
  if (found == state->schedules.end()) {
    WiredSchedule wired{plan::BuildSchedule(state->plan, *state->program, op, role),
                        state->program->groups[static_cast<size_t>(op.group)].shape.ranks()};
    found = state->schedules.emplace(key, std::move(wired)).first;
  }
  const WiredSchedule& wired = found->second;
  Wire wire{.state = state,
            .dtype = role.tensors[static_cast<size_t>(op.in[0].tensor)].dtype,
            .max = op.kind == plan::OpKind::kAllReduceMax,
            .first_rank = 0,
            .buffers = {}};
  wire.buffers.resize(static_cast<size_t>(wired.ranks));
  for (int first = 0; first < state->tp(); first += wired.ranks) {
    for (int i = 0; i < wired.ranks; ++i) {
      wire.buffers[static_cast<size_t>(i)] =
          state->At(role, state->rank(role.stage, first + i), op.in[0], layer);
    }
    wire.first_rank = role.stage * state->tp() + first;
    if (Status status = RunGroup(wire, wired.schedule); !status.ok()) return status;
  }
  return Ok{};
}

Status RunReceive(Engine::State* state, const Role& role, const Op& op) {
  const Role& sender = state->program->roles[static_cast<size_t>(role.stage - 1)];
  const Op& send = sender.ops.back();
  const uint64_t bytes = static_cast<uint64_t>(op.m) * static_cast<uint64_t>(op.n) *
                         static_cast<uint64_t>(plan::DTypeBytes(
                             role.tensors[static_cast<size_t>(op.out[0].tensor)].dtype));
  // Each rank hands its rows to the rank of the same place. Hand-overs are tagged with that place.
  for (int tp = 0; tp < state->tp(); ++tp) {
    const bool hit =
        state->tamper.kind != Tamper::Kind::kNone && state->tamper.message == state->message_index;
    ++state->message_index;
    int from = tp;
    if (hit && state->tamper.kind == Tamper::Kind::kDrop) {
      if (!state->tamper.unchecked) return Refused("hidden rows are missing", tp);
      continue;
    }
    if (hit && !state->tamper.unchecked) return Refused("hidden rows from another place, or twice", tp);
    if (hit && state->tamper.kind == Tamper::Kind::kSwap) from = (tp + 1) % state->tp();
    std::memcpy(state->At(role, state->rank(role.stage, tp), op.out[0], 0),
                state->At(sender, state->rank(sender.stage, from), send.in[0], 0), bytes);
    CountBytes(state, sender.stage * state->tp() + from, role.stage * state->tp() + tp, bytes);
  }
  return Ok{};
}

}  // namespace novascope::exec
