// What a running simulation holds: actors (cores that behave alike), parties (those who meet in one
// exchange), link state. Split from the event handlers so that the template can be assembled from
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/program.h"
#include "sim/event_queue.h"
#include "sim/exchange.h"
#include "sim/owners.h"
#include "sim/sim.h"
#include "sim/work.h"
#include "trace/trace.h"

namespace novascope::sim {

// One op of a role with repeats expanded.
struct Entry {
  int32_t op = 0;
  int16_t layer = -1;       // model layer; -1: none
  int32_t kernel_run = -1;  // runs of one fused kernel are numbered through the step; -1: in none
  bool starts_kernel = false;
};

struct RoleProgram {
  std::vector<Entry> entries;
  std::vector<Work> work;  // by op
  // By op: index of its exchange, or that of the send a receive waits for; -1: none. Ops of a stage
  // that move the same bytes the same way share one.
  std::vector<int32_t> exchange;
  bool has_sample = false;
};

struct ActorSlice {
  int64_t start = 0, duration = 0;
  uint64_t bytes = 0;
  int32_t name = 0;
  trace::TrackKind kind = trace::TrackKind::kWait;
  int16_t layer = -1;
  friend bool operator==(const ActorSlice&, const ActorSlice&) = default;
};

// The core waited until `end` for an exchange that `from` was the last to join, at `start`.
struct Jump {
  int64_t start = 0, end = 0;
  int32_t from = 0;
};

// Logical cores that run the same ops at the same times.
struct Actor {
  int role = 0;
  std::vector<int32_t> ranks;
  bool samples = false;  // TP rank 0
  uint64_t hbm_rate = 0;
  size_t at = 0;      // next entry
  int64_t ready = 0;  // when the op before was done
  int64_t dma_free = 0;
  int64_t finish = 0;
  bool finished = false;
  uint64_t hbm_bytes = 0;       // of one core
  std::vector<Interval> reads;  // by entry: when its HBM bytes stream in
  std::vector<Interval> compute, hbm, network;
  std::vector<ActorSlice> slices;
  std::vector<Jump> jumps;
};

// How an exchange went, times relative to its start.
struct Record {
  int64_t duration = 0;
  std::vector<Interval> network, compute;
  std::vector<trace::LinkSlice> links;
  friend bool SameTimes(const Record& a, const Record& b) {
    return a.duration == b.duration && a.network == b.network && a.compute == b.compute;
  }
};

// A component that is being carried out.
struct RunningComponent {
  size_t step = 0;
  uint32_t open_flows = 0;
  int64_t step_start = 0, last_arrival = 0;
  Record record;
};

// Actors that meet in an exchange: one component's, or with folding all of a stage.
struct Party {
  int32_t exchange = 0;
  std::vector<int32_t> components;
  std::vector<int32_t> members;    // actors that must be there
  std::vector<int32_t> receivers;  // actors of the next stage
  int32_t joined = 0;
  int64_t start = 0;
  int32_t last_joiner = 0;
  std::vector<int64_t> member_joined;    // by position in members
  std::vector<int64_t> receiver_joined;  // -1: not yet
  int32_t open_components = 0;
  int32_t op = 0;  // of the members' role, in this round
  int16_t layer = -1;
  int64_t end = -1;  // of the last round; -1: none yet
  bool recorded = false;
  Record record;
  int32_t link_record = -1;  // in SimCore::link_records
};

// One run of an exchange's party over the links.
struct RawLinkRun {
  int64_t start = 0;
  int32_t role = 0, op = 0;
  int16_t layer = -1;
  int32_t record = 0;
};

struct SimCore {
  const plan::Plan* plan = nullptr;
  const hw::Topology* topology = nullptr;
  const plan::Program* program = nullptr;
  int replicas = 1;
  SimOptions options;
  std::vector<RoleProgram> roles;
  std::vector<Exchange> exchanges;
  std::vector<std::string> names;
  std::vector<std::vector<int32_t>> name_of_op;  // by role and op
  std::vector<Actor> actors;
  std::vector<int64_t> link_free;                           // by link: busy until
  std::vector<std::vector<trace::LinkSlice>> link_records;  // relative to the start of the run
  std::vector<RawLinkRun> link_runs;

  const Exchange& ExchangeAt(int32_t index) const { return exchanges[static_cast<size_t>(index)]; }
};

inline constexpr int32_t kKernelStartName = 0;  // index into names

// Turns a finished simulation into the template: merges actors that did the same into classes,
// splits their time by owner, follows the critical path.
trace::StepTemplate Assemble(const SimCore& core);

}  // namespace novascope::sim
