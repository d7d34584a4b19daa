// A collective or a hand-over between stages, resolved onto the machine: which messages cross which
// links in which step, for every group of a stage in every busy replica. Groups whose messages
// share a link are one component: the shared links serve them in lock step, and they finish
// together. Components do not touch each other.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "hw/machine.h"
#include "plan/plan.h"
#include "plan/program.h"

namespace novascope::sim {

struct SimOptions;

// One message: its bytes and the links it crosses.
struct Flow {
  uint32_t route_begin = 0;  // in hw::Topology::route_links
  uint16_t hops = 0;
  uint16_t component = 0;
  uint64_t bytes = 0;
};

struct ExchangeStep {
  uint32_t first_flow = 0, flow_count = 0;
  int64_t reduce_ps = 0;  // the longest sum a rank makes of what it holds, on the Vector engine
};

struct Component {
  std::vector<int32_t> ranks;      // that take part from the start, ascending
  std::vector<int32_t> receivers;  // hand-over: the next stage's ranks; empty otherwise
  std::vector<ExchangeStep> steps;
  int64_t lead_ps = 0;   // wait for the slowest rank before the transfers
  int64_t floor_ps = 0;  // measured time of a small collective: it never takes less
};

struct Exchange {
  int role = 0, op = 0;        // the first op of the role that uses it
  uint64_t payload_bytes = 0;  // one rank's data buffer
  std::vector<Flow> flows;     // by component, step, order of issue
  std::vector<Component> components;
  std::vector<int16_t> component_of_rank;  // -1: not part of it
};

// `op` is a collective or a send of stage `role`; the first `replicas` replicas take part.
Exchange BuildExchange(const plan::Plan& plan, const hw::Topology& topology,
                       const plan::Program& program, int role, int op, int replicas,
                       const SimOptions& options);

// The measured time of a small all-reduce of `bytes` over chips that are `z_hops`
// instances apart at most: base + bytes / rate, base being the one-chip figure within a chip and
// growing by two Z crossings of z_hops beyond an instance.
int64_t MeshTime(const hw::System& system, bool one_chip, int z_hops, uint64_t bytes);

}  // namespace novascope::sim
