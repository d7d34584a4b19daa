// What every chip and link does at the playhead, from the trace.
#pragma once

#include "ui/state.h"

namespace novascope::ui {

// Brings app.activity up to date with the playhead.
void UpdateActivity(AppState& app);

// The template of the step at the playhead and the time within it; null outside any step.
const trace::StepTemplate* TemplateAt(const AppState& app, int64_t at_ps, int64_t* relative_ps);
// The rank class that holds a logical core; -1: outside the plan.
int ClassOfCore(const trace::StepTemplate& step_template, int core);

}  // namespace novascope::ui
