// The chip map where there is no OpenGL: keeps the arrays, draws nothing. For tests without a screen.
#include <algorithm>

#include "gfx/chip_map.h"

namespace novascope::gfx {

bool ChipMap::Init(std::string* error) {
  *error = "There is no OpenGL here.";
  return false;
}

void ChipMap::Release() {}
void ChipMap::Forget() {}

void ChipMap::SetGeometry(std::span<const glm::vec3> chips, glm::vec2 half_size,
                          std::span<const MapLink> links) {
  chips_.assign(chips.begin(), chips.end());
  links_.assign(links.begin(), links.end());
  half_size_ = half_size;
}

void ChipMap::SetActivity(std::span<const MapChip>, int, std::span<const LinkActivity>) {}
void ChipMap::Draw(const Camera&, const MapStyle&, const Viewport&, float) {}

}  // namespace novascope::gfx
