// An orbit camera: looks at a target from yaw and pitch (radians) at a distance in world units. Screen
// points are pixels from the top left of the viewport it is asked about.
#pragma once

#include <glm/glm.hpp>
#include <span>

namespace novascope::gfx {

struct Camera {
  float yaw = -0.12f;
  float pitch = 0.45f;
  float distance = 30.0f;
  float zoom = 1.0f;       // divides the fitted distance
  glm::vec3 target{0.0f};
  float fov_y = 0.30f;     // radians

  bool operator==(const Camera&) const = default;
};

glm::mat4 ViewProjection(const Camera& camera, float width_px, float height_px);
// Pixels per world unit at distance 1.
float FocalPx(const Camera& camera, float height_px);
// Where a point lands; z is the distance along the view axis (<= 0: behind the camera).
glm::vec3 Project(const glm::mat4& view_projection, const glm::vec3& point, float width_px,
                  float height_px);
// Sets target and distance so that every point keeps `margin_px` from the viewport's edges, then applies
// the camera's zoom.
void Fit(Camera* camera, std::span<const glm::vec3> points, float width_px, float height_px,
         float margin_px);

}  // namespace novascope::gfx
