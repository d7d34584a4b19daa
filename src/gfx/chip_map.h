// Draws chips and links with GL ES 3: static geometry given once, and small activity arrays when they
// change. Plain arrays in; it knows nothing of traces or panels. Owns its GL objects: Init after a
// context exists, Forget when it was lost, Release before it goes.
#pragma once

#include <array>
#include <cstdint>
#include <glm/glm.hpp>
#include <span>
#include <string>
#include <vector>

#include "gfx/camera.h"

namespace novascope::gfx {

enum class CoreState : uint8_t { kOutside, kIdle, kCompute, kHbm, kNetwork, kWait };
inline constexpr int kCoreStates = 6;
inline constexpr int kMaxCores = 8;  // logical cores drawn in a chip

struct MapLink {
  glm::vec3 from, bend, to;  // a quadratic curve, world units
  uint8_t kind = 0;          // 0 in-chip (not drawn), 1 XY, 2 Z, 3 EFA
};

struct MapChip {
  std::array<uint8_t, kMaxCores> cores{};  // CoreState
  uint8_t marks = 0;                       // 1 selected, 2 hovered
};

struct LinkActivity {
  uint8_t busy = 0, selected = 0;
};

struct MapStyle {
  std::array<glm::vec3, kCoreStates> palette{};
  glm::vec3 ring{1.0f}, idle_link{0.3f}, busy_link{1.0f}, selected_link{1.0f};
};

// A viewport in device pixels, y down from the top of the framebuffer.
struct Viewport {
  int x = 0, y = 0, width = 0, height = 0;
  int framebuffer_height = 0;
  int clip_x = 0, clip_y = 0, clip_width = 0, clip_height = 0;  // visible part
  float pixel_scale = 1.0f;
};

class ChipMap {
 public:
  ChipMap() = default;
  ChipMap(const ChipMap&) = delete;
  ChipMap& operator=(const ChipMap&) = delete;
  ~ChipMap() { Release(); }

  // False with the compiler's words in `error` where a shader does not build.
  bool Init(std::string* error);
  bool ready() const { return chip_program_ != 0; }
  void Release();
  // The context is gone, and its objects with it.
  void Forget();

  void SetGeometry(std::span<const glm::vec3> chips, glm::vec2 half_size,
                   std::span<const MapLink> links);
  // Sizes must match the geometry. `cores` is how many cells a chip shows.
  void SetActivity(std::span<const MapChip> chips, int cores, std::span<const LinkActivity> links);
  // `flow` moves particles, in CSS pixels; negative draws none.
  void Draw(const Camera& camera, const MapStyle& style, const Viewport& viewport, float flow);

 private:
  void UploadChips(const glm::mat4& matrix);
  void DrawLinks(const glm::mat4& matrix, const MapStyle& style, const Viewport& viewport, float flow);
  void DrawChips(const glm::mat4& matrix, const Camera& camera, const MapStyle& style,
                 const Viewport& viewport);

  uint32_t chip_program_ = 0, link_program_ = 0;
  uint32_t chip_array_ = 0, link_array_ = 0;
  uint32_t quad_ = 0, strip_ = 0, chip_buffer_ = 0, link_buffer_ = 0, link_state_buffer_ = 0;
  std::vector<glm::vec3> chips_;
  std::vector<MapLink> links_;
  std::vector<MapChip> chip_states_;
  std::vector<LinkActivity> link_states_;
  glm::vec2 half_size_{0.3f};
  glm::vec2 depth_range_{0.0f};
  int cores_ = 4;
  bool geometry_dirty_ = true, link_state_dirty_ = true;
};

}  // namespace novascope::gfx
