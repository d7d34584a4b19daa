// Takes the core's events into the state.
#pragma once

#include <cstdint>
#include <span>

#include "ui/state.h"

namespace novascope::ui {

// One packed event. A message that cannot be read becomes a visible error, never a crash.
void TakeEvent(AppState& app, std::span<const uint8_t> message);

}  // namespace novascope::ui
