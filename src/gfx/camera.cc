#include "gfx/camera.h"

#include <algorithm>
#include <cmath>
#include <glm/gtc/matrix_transform.hpp>

namespace novascope::gfx {

namespace {

glm::vec3 Backward(const Camera& camera) {
  return {std::cos(camera.pitch) * std::sin(camera.yaw), std::sin(camera.pitch),
          std::cos(camera.pitch) * std::cos(camera.yaw)};
}

}  // namespace

glm::mat4 ViewProjection(const Camera& camera, float width_px, float height_px) {
  const float aspect = std::max(width_px, 1.0f) / std::max(height_px, 1.0f);
  const glm::mat4 projection = glm::perspective(camera.fov_y, aspect, 0.1f, 1000.0f);
  const glm::vec3 eye = camera.target + Backward(camera) * camera.distance;
  return projection * glm::lookAt(eye, camera.target, glm::vec3(0.0f, 1.0f, 0.0f));
}

float FocalPx(const Camera& camera, float height_px) {
  return 0.5f * height_px / std::tan(0.5f * camera.fov_y);
}

glm::vec3 Project(const glm::mat4& view_projection, const glm::vec3& point, float width_px,
                  float height_px) {
  const glm::vec4 clip = view_projection * glm::vec4(point, 1.0f);
  const float w = std::max(clip.w, 1e-4f);
  return {(clip.x / w * 0.5f + 0.5f) * width_px, (0.5f - clip.y / w * 0.5f) * height_px, clip.w};
}

void Fit(Camera* camera, std::span<const glm::vec3> points, float width_px, float height_px,
         float margin_px) {
  if (points.empty() || width_px < 2 * margin_px + 8 || height_px < 2 * margin_px + 8) return;
  glm::vec3 low = points[0], high = points[0];
  for (const glm::vec3& point : points) {
    low = glm::min(low, point);
    high = glm::max(high, point);
  }
  camera->target = 0.5f * (low + high);
  camera->distance = 2.0f * glm::length(high - low) + 1.0f;
  // Perspective makes the exact answer implicit; a few rounds of "measure and correct" settle it.
  for (int round = 0; round < 12; ++round) {
    const glm::mat4 matrix = ViewProjection(*camera, width_px, height_px);
    glm::vec2 least(1e9f), most(-1e9f);
    for (const glm::vec3& point : points) {
      const glm::vec2 at(Project(matrix, point, width_px, height_px));
      least = glm::min(least, at);
      most = glm::max(most, at);
    }
    const float scale = std::max((most.x - least.x) / (width_px - 2 * margin_px),
                                 (most.y - least.y) / (height_px - 2 * margin_px));
    camera->distance *= std::clamp(scale, 0.25f, 4.0f);
    // Moves the target so that the picture, not the box, is centred.
    const glm::vec2 off = 0.5f * (least + most) - 0.5f * glm::vec2(width_px, height_px);
    const glm::vec3 backward = Backward(*camera);
    const glm::vec3 right = glm::normalize(glm::cross(glm::vec3(0, 1, 0), backward));
    const glm::vec3 up = glm::cross(backward, right);
    const float units_per_px = camera->distance / FocalPx(*camera, height_px);
    camera->target += (right * off.x - up * off.y) * units_per_px;
  }
  camera->distance /= std::clamp(camera->zoom, 0.4f, 12.0f);
}

}  // namespace novascope::gfx
