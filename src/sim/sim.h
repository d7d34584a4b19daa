// Gives a Program its time: a discrete-event model of engines, DMA, HBM stacks and links in integer
// picoseconds. It sees no arithmetic. Ops run in program order on a core; a fused kernel pays its fixed
// cost once; within a kernel the DMA streams ahead of the engines; collectives occupy links by the same
// schedules exec moves data by.
#pragma once

#include "base/result.h"
#include "hw/machine.h"
#include "plan/plan.h"
#include "plan/program.h"
#include "trace/trace.h"

namespace novascope::sim {

struct SimOptions {
  bool straggler = false;  // high case: add the mean wait for the slowest rank to every small all-reduce
};

// The step's template: every rank of one replica, or of all `dp` replicas where they run the same step
// (`replicas` of them are busy, the rest idle). Deterministic.
Result<trace::StepTemplate> SimulateStep(const plan::Plan& plan, const hw::Topology& topology,
                                         const plan::Program& program, int replicas,
                                         const SimOptions& options);

}  // namespace novascope::sim
