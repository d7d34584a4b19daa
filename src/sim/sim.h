// Gives a Program its time: a discrete-event model of engines, DMA, HBM stacks and links in integer
// picoseconds. It sees no arithmetic.
//
// Cores. Ops run in program order on a logical core. A fused kernel pays its fixed cost once, as
// waiting, before its first op; from then on the core's DMA queue streams the weights and KV pages
// of the kernel's ops in order, ahead of the engines, at the rate a fused kernel gets out of an HBM
// stack. An op's engines start when the op before is done and its first tile has arrived, and it
// ends no earlier than its data's end. KV is written behind the reads; only the step's end waits
// for it. Cores of a stage that share a stack (LNC=1) share its rate; one core never gets more than
// its own DMA engines carry.
//
// Collectives. One starts when its last rank is there and runs by its plan::Schedule: messages of a
// step are issued together, each holds every link of its route in turn for bytes / bandwidth, first
// come first served, its head moving on after the hop latency (cut-through); the next step starts
// when all have arrived. A reduction on arrival is free; a sum of what a rank already holds runs on
// the Vector engine. A mesh all-reduce takes at least the measured time, base + bytes / rate: at 64
// ranks of one instance and 8 KB exactly 17.5 us + 8,192 B / 100 GB/s; what is left after the last
// message is waiting. An unloaded ring is 2 (n-1) x (chunk / bandwidth + hop).
//
// Stages hand over by send and receive: a stage waits for the one before.
//
// Ranks of a stage behave alike and are simulated once (`fold`); a collective starts from idle
// links and is simulated once, then repeated with shifted times (`reuse`). Where ranks turn out to
// differ (in rate, or in the time of their component) every rank is simulated by itself.
//
// Not modelled: activations spilled to HBM, HBM traffic of collectives, the tensor engine's power
// ramp.
#pragma once

#include <memory>

#include "base/result.h"
#include "hw/machine.h"
#include "plan/plan.h"
#include "plan/program.h"
#include "trace/trace.h"

namespace novascope::sim {

struct SimOptions {
  bool straggler =
      false;  // high case: the mean wait for the slowest rank before every small all-reduce
  bool host_gap = false;  // the host submits each step when the last is done: its gap ends the step
  bool fold = true;       // off: every rank is simulated by itself; same result, for tests
  bool reuse = true;      // off: every collective is simulated anew; same result, for tests
};

// Identifies the step template of a program: hash of model, system, plan, bucket, replicas and
// options.
uint64_t StepKey(const plan::Plan& plan, const plan::StepShape& shape, int replicas,
                 const SimOptions& options);

// A simulation that can be cut into slices; the result does not depend on how.
class StepSimulator {
 public:
  // The first `replicas` of the plan's `dp` replicas run this step, the others idle. All arguments
  // must outlive the simulator.
  static Result<StepSimulator> Create(const plan::Plan& plan, const hw::Topology& topology,
                                      const plan::Program& program, int replicas,
                                      const SimOptions& options);
  StepSimulator(StepSimulator&&) noexcept;
  StepSimulator& operator=(StepSimulator&&) noexcept;
  ~StepSimulator();

  // Handles up to `events` events; returns whether more are waiting.
  bool Advance(int events);
  // After the last event.
  Result<trace::StepTemplate> Finish();

 private:
  struct State;
  explicit StepSimulator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// All of it in one call.
Result<trace::StepTemplate> SimulateStep(const plan::Plan& plan, const hw::Topology& topology,
                                         const plan::Program& program, int replicas,
                                         const SimOptions& options);

}  // namespace novascope::sim
