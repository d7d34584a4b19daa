// Prepares a simulation: checks the Program, expands its sections, resolves its exchanges, and
// groups ranks into actors and parties.
#pragma once

#include "base/result.h"
#include "sim/machine_state.h"

namespace novascope::sim {

// Fills roles, exchanges and names of a core whose inputs are set.
Status Prepare(SimCore* core);

// With *folded one actor per stage (two where TP rank 0 also samples), all busy replicas together;
// without one per rank. Clears *folded where ranks of a stage get different HBM rates.
std::vector<Actor> MakeActors(const SimCore& core, bool* folded);

// Appends the parties of an exchange: one of all actors, or unfolded one per component.
void AddParties(const SimCore& core, int32_t exchange, bool folded, std::vector<Party>* parties);

// Fixed cost of the fused kernel that starts at entry `at`: the FP8 figure where one of its matmuls
// has both operands in FP8.
int64_t KernelStartTime(const SimCore& core, const RoleProgram& role, size_t at);

}  // namespace novascope::sim
