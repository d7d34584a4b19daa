// The whole page: one call per frame between Dear ImGui's NewFrame and Render, and the state as plain data.
#pragma once

#include "ui/state.h"

namespace novascope::ui {

void DrawPage(AppState& app);
// What is on the page, for tests, screen readers and screenshots.
Json PageSnapshot(const AppState& app);
// A key pressed while no text field has the focus; browser key names ("ArrowLeft", " ", "Enter").
// Returns whether it means something here.
bool PageKey(AppState& app, const std::string& key, bool ctrl);

}  // namespace novascope::ui
