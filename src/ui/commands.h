// What the page asks of the core, and the scenario's JSON form. Commands are queued; the frame function
// sends them.
#pragma once

#include <string>

#include "ui/state.h"

namespace novascope::ui {

Json ScenarioJson(const Form& form);
// Takes over the members that are there and leaves the rest.
void ReadScenario(const Json& scenario, Form* form);

std::string DegreesLabel(const Degrees& degrees);  // "TP64 x DP4"

void SendRun(AppState& app, bool paused);
void SendSimple(AppState& app, const char* command);
// Asks the core whether the scenario would run; the answer is an event.
void SendValidate(AppState& app);

// The one button and the space bar: run, pause or resume, whichever makes sense now.
void RunOrPause(AppState& app);
// One model step (a prefill chunk or a token).
void StepOnce(AppState& app);

// A command from the page's shell, a lesson or a test: {"cmd":"scenario","scenario":{...}},
// {"cmd":"prompt","text"}, {"cmd":"set",...form members}, run, pause, resume, step, cancel,
// {"cmd":"seek","ps"} (also "playhead" with "at_ps"), {"cmd":"select","chip"|"token"|"link"},
// {"cmd":"play","on","speed"}, {"cmd":"view","hbm_scale"|"reduced_motion"|"scroll"}.
// False where the command is unknown.
bool ShellCommand(AppState& app, const Json& command);

}  // namespace novascope::ui
