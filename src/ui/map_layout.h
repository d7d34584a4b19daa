// Where chips and links stand in the 3D view: every instance is an upright 4x4 torus, the instances of an
// UltraServer stand in a row and are joined by Z rings.
#pragma once

#include "ui/state.h"

namespace novascope::ui {

// Fills map.chips, map.links and the renderer's geometry for the machine of the current run, or for the
// usual UltraServer before there is one.
void UpdateMapGeometry(AppState& app);

// Screen position of a link's middle and a chip, CSS pixels.
ImVec2 LinkPoint(const MapState& map, size_t link, float t);
ImVec2 ChipPoint(const MapState& map, size_t chip);

inline constexpr int kChipsPerInstance = 16, kTorus = 4;

}  // namespace novascope::ui
