#version 300 es
// One ribbon per directed link along a quadratic curve, of constant width on the screen.
precision highp float;

layout(location = 0) in vec2 strip;   // x: 0 .. 1 along the link, y: -1 or 1 across it
layout(location = 1) in vec3 from;    // world units
layout(location = 2) in vec3 bend;    // control point
layout(location = 3) in vec3 to;
layout(location = 4) in uvec4 state;  // x: kind, y: 1 busy, z: 1 selected, w: 1 counted out

uniform mat4 view_projection;
uniform vec2 viewport_px;
uniform float pixel_scale;
uniform int pass_index;               // 0 idle links, 1 busy or selected ones

out float across_px;
out float along_px;
flat out float half_width_px;
flat out uvec4 link_state;

vec2 Project(float t) {
  vec3 world = mix(mix(from, bend, t), mix(bend, to, t), t);
  vec4 clip = view_projection * vec4(world, 1.0);
  return clip.xy / clip.w * 0.5 * viewport_px;
}

void main() {
  bool lit = state.y != 0u || state.z != 0u;
  link_state = state;
  half_width_px = (lit ? 1.6 : 0.6) * pixel_scale;
  across_px = 0.0;
  along_px = 0.0;
  if (lit != (pass_index == 1) || state.w != 0u) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    return;
  }
  vec2 here = Project(strip.x);
  vec2 direction = Project(min(strip.x + 0.01, 1.0)) - Project(max(strip.x - 0.01, 0.0));
  float direction_length = max(length(direction), 1e-4);
  direction /= direction_length;
  vec2 normal = vec2(-direction.y, direction.x);
  // The two directions of a wire lie side by side where lit, and coincide where idle.
  float lane_px = lit ? -2.0 * pixel_scale : 0.0;
  across_px = strip.y * (half_width_px + 1.0);
  along_px = strip.x * length(Project(1.0) - Project(0.0));
  vec2 at = here + normal * (across_px + lane_px);
  gl_Position = vec4(at * 2.0 / viewport_px, 0.0, 1.0);
}
