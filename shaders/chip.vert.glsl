#version 300 es
// One quad per chip that faces the screen, sized by its distance.
precision highp float;

layout(location = 0) in vec2 corner;    // -1 .. 1
layout(location = 1) in vec3 center;    // world units
layout(location = 2) in uvec4 cores_a;  // state of logical cores 0-3
layout(location = 3) in uvec4 cores_b;  // state of logical cores 4-7
layout(location = 4) in uvec2 flags;    // x: 1 selected, 2 hovered; y: unused

uniform mat4 view_projection;
uniform vec2 viewport_px;
uniform float focal_px;      // pixels per world unit at distance 1
uniform vec2 half_size;      // of a chip, world units
uniform float pixel_scale;   // device pixels per CSS pixel
uniform vec2 depth_range;    // nearest and farthest chip

out vec2 local_px;           // from the centre
flat out vec2 half_px;
flat out uvec4 states_a;
flat out uvec4 states_b;
flat out uint marks;
flat out float nearness;

const float kMarginPx = 5.0;  // room for the outline of a selected chip

void main() {
  vec4 clip = view_projection * vec4(center, 1.0);
  half_px = max(half_size * focal_px / clip.w, vec2(4.0, 3.0) * pixel_scale);
  vec2 reach = half_px + kMarginPx * pixel_scale;
  local_px = corner * reach;
  // Snapped to whole pixels, so that the gaps between cores stay sharp.
  vec2 center_px = floor(clip.xy / clip.w * 0.5 * viewport_px + 0.5);
  gl_Position = vec4((center_px + local_px) * 2.0 / viewport_px, 0.0, 1.0);
  states_a = cores_a;
  states_b = cores_b;
  marks = flags.x;
  nearness = 1.0 - clamp((clip.w - depth_range.x) / max(depth_range.y - depth_range.x, 1e-3), 0.0, 1.0);
}
