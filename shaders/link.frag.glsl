#version 300 es
// Links: a thin line where idle (dashed between instances), a bright ribbon where busy, with particles
// that move along it while the playhead moves.
precision highp float;
precision highp int;

in float across_px;
in float along_px;
flat in float half_width_px;
flat in uvec4 link_state;

uniform vec3 idle_color;
uniform vec3 busy_color;
uniform vec3 selected_color;
uniform float pixel_scale;
uniform float flow_px;       // how far particles have moved; negative: none are drawn

out vec4 color;

const uint kZ = 2u;

void main() {
  float cover = clamp(half_width_px + 0.5 - abs(across_px), 0.0, 1.0);
  bool busy = link_state.y != 0u;
  bool selected = link_state.z != 0u;
  vec3 tint = idle_color;
  float alpha = 0.9;
  if (busy || selected) {
    tint = busy ? busy_color : selected_color;
    alpha = 1.0;
    if (busy && flow_px >= 0.0) {
      float phase = fract((along_px - flow_px) / (14.0 * pixel_scale));
      float particle = smoothstep(0.30, 0.0, abs(phase - 0.5));
      tint = mix(tint * 0.72, mix(tint, vec3(1.0), 0.55), particle);
    }
  } else if (link_state.x == kZ) {
    float dash = fract(along_px / (6.0 * pixel_scale));
    alpha = dash < 0.5 ? 0.75 : 0.0;
  }
  color = vec4(tint, cover * alpha);
  if (color.a < 0.004) discard;
}
