#include "ui/map_layout.h"

#include <algorithm>
#include <cmath>

namespace novascope::ui {

namespace {

constexpr float kRowPitch = 1.45f;        // between rows of an instance, world units
constexpr float kColumnPitch = 1.15f;     // between columns
constexpr float kInstancePitch = 4.5f;    // between instances
// Columns run towards the viewer and to the right, so that each instance shows its whole face.
constexpr float kColumnRight = 0.62f, kColumnNear = 0.78f;
constexpr float kWrapBulge = 0.55f;       // how far a torus' closing link bends out

glm::vec3 ChipPlace(int chip, int instances) {
  const int instance = chip / kChipsPerInstance;
  const int row = (chip % kChipsPerInstance) / kTorus, column = chip % kTorus;
  const float middle = 0.5f * static_cast<float>(kTorus - 1);
  const float along = (static_cast<float>(column) - middle) * kColumnPitch;
  const float center = (static_cast<float>(instance) - 0.5f * static_cast<float>(instances - 1)) * kInstancePitch;
  return {center + along * kColumnRight, (middle - static_cast<float>(row)) * kRowPitch, along * kColumnNear};
}

// A straight link bends nowhere; one that closes a ring passes outside the chips between its ends.
glm::vec3 Bend(int from, int to, int instances, const glm::vec3& a, const glm::vec3& b) {
  const glm::vec3 middle = 0.5f * (a + b);
  const int apart = std::abs(from / kChipsPerInstance - to / kChipsPerInstance);
  if (apart > 1) {
    return middle + glm::vec3(0, 0.35f * static_cast<float>(instances), 0);
  }
  const int rows = std::abs((from % kChipsPerInstance) / kTorus - (to % kChipsPerInstance) / kTorus);
  const int columns = std::abs(from % kTorus - to % kTorus);
  if (apart == 0 && rows > 1) return middle + glm::vec3(-kWrapBulge, 0, 0);
  if (apart == 0 && columns > 1) return middle + glm::vec3(0, kWrapBulge, 0);
  return middle;
}

std::vector<Machine::Link> UsualLinks(int chips) {
  std::vector<Machine::Link> links;
  const auto add = [&](uint8_t kind, int from, int to) {
    links.push_back({kind, static_cast<int16_t>(from), static_cast<int16_t>(to)});
  };
  for (int chip = 0; chip < chips; ++chip) {
    const int base = chip - chip % kChipsPerInstance;
    const int row = (chip % kChipsPerInstance) / kTorus, column = chip % kTorus;
    add(1, chip, base + row * kTorus + (column + 1) % kTorus);
    add(1, chip, base + ((row + 1) % kTorus) * kTorus + column);
    add(2, chip, (chip + kChipsPerInstance) % chips);
  }
  return links;
}

}  // namespace

void UpdateMapGeometry(AppState& app) {
  MapState& map = app.map;
  const Machine& machine = app.run.machine;
  const int serial = app.run.planned ? app.run.serial : 0;
  if (map.geometry_serial == serial) return;
  map.geometry_serial = serial;
  const int chips = machine.chips > 0 ? machine.chips : 64;
  const int instances = std::max(1, (chips + kChipsPerInstance - 1) / kChipsPerInstance);
  map.chips.clear();
  for (int chip = 0; chip < chips; ++chip) map.chips.push_back(ChipPlace(chip, instances));
  map.links.clear();
  for (const Machine::Link& link : machine.chips > 0 ? machine.links : UsualLinks(chips)) {
    const size_t from = static_cast<size_t>(link.from), to = static_cast<size_t>(link.to);
    if (from >= map.chips.size() || to >= map.chips.size()) {
      map.links.emplace_back();  // keeps the numbers of the others; kind 0 is not drawn
      continue;
    }
    const glm::vec3 a = map.chips[from], b = map.chips[to];
    map.links.push_back({a, Bend(link.from, link.to, instances, a, b), b, link.kind});
  }
  map.renderer.SetGeometry(map.chips, map.half_size, map.links);
}

ImVec2 LinkPoint(const MapState& map, size_t link, float t) {
  const gfx::MapLink& curve = map.links[link];
  const glm::vec3 world = glm::mix(glm::mix(curve.from, curve.bend, t), glm::mix(curve.bend, curve.to, t), t);
  const glm::vec3 at = gfx::Project(map.matrix, world, map.viewport.w, map.viewport.h);
  return {map.viewport.x + at.x, map.viewport.y + at.y};
}

ImVec2 ChipPoint(const MapState& map, size_t chip) {
  const glm::vec3 at = gfx::Project(map.matrix, map.chips[chip], map.viewport.w, map.viewport.h);
  return {map.viewport.x + at.x, map.viewport.y + at.y};
}

}  // namespace novascope::ui
