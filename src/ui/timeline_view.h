// Step templates prepared for drawing: slices by track, owners' times, and busy times of link kinds.
#pragma once

#include "ui/state.h"

namespace novascope::ui {

TemplateView MakeTemplateView(const trace::StepTemplate& step_template,
                              const std::vector<Machine::Link>& links);
// Prepares what has arrived since the last call.
void UpdateTemplateViews(AppState& app);

}  // namespace novascope::ui
