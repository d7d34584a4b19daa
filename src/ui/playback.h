// The playhead: one position in simulated time for every view. It follows the run until the user moves
// it; scrubbing reads the trace and never simulates.
#pragma once

#include "ui/state.h"

namespace novascope::ui {

// End of the last step known.
int64_t EndPs(const AppState& app);
// The step event that holds `at_ps`: the last one that starts at or before it; -1 before the first.
int StepIndexAt(const AppState& app, int64_t at_ps);
// A moment of a step at which there is something to see: a transfer near its middle.
int64_t TellingMoment(const AppState& app, int step);

void ResetPlayback(AppState& app);
// A step arrived.
void FollowRun(AppState& app);
// The run is over: the playhead comes to rest inside the last step.
void SettlePlayhead(AppState& app);
void Seek(AppState& app, int64_t at_ps);
void SetPlaying(AppState& app, bool playing);
void MoveByStep(AppState& app, int steps);
void SelectToken(AppState& app, int token);

// Moves the playhead by real time. Returns whether it is still moving.
bool AdvancePlayback(AppState& app, double elapsed_ms);

}  // namespace novascope::ui
