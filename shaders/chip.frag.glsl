#version 300 es
// A rounded chip with one cell per logical core, coloured by what the core does.
precision highp float;
precision highp int;

in vec2 local_px;
flat in vec2 half_px;
flat in uvec4 states_a;
flat in uvec4 states_b;
flat in uint marks;
flat in float nearness;

uniform vec3 palette[6];     // outside the plan, idle, compute, HBM, network, wait
uniform vec3 ring_color;
uniform float pixel_scale;
uniform ivec2 cell_grid;     // cores across and down

out vec4 color;

float RoundedBox(vec2 p, vec2 half_extent, float radius) {
  vec2 q = abs(p) - half_extent + radius;
  return length(max(q, 0.0)) + min(max(q.x, q.y), 0.0) - radius;
}

uint StateOf(int core) {
  return core < 4 ? states_a[core] : states_b[core - 4];
}

void main() {
  float radius = 3.0 * pixel_scale;
  float distance_px = RoundedBox(local_px, half_px, radius);
  float inside = clamp(0.5 - distance_px, 0.0, 1.0);

  vec2 cell_size = 2.0 * half_px / vec2(cell_grid);
  vec2 at = (local_px + half_px) / cell_size;
  ivec2 cell = clamp(ivec2(floor(vec2(at.x, float(cell_grid.y) - at.y))), ivec2(0), cell_grid - 1);
  uint state = min(StateOf(cell.y * cell_grid.x + cell.x), 5u);
  vec3 body = palette[state];
  if (state > 1u) body *= mix(0.78, 1.0, nearness);

  // Gaps between cores, one CSS pixel wide.
  vec2 to_gap = abs(fract(at + 0.5) - 0.5) * cell_size;
  vec2 inner = step(vec2(0.75), at) * step(at, vec2(cell_grid) - 0.75);
  float gap = 0.0;
  if (cell_grid.x > 1 && inner.x > 0.0) gap = max(gap, 1.0 - smoothstep(0.3, 0.8, to_gap.x / pixel_scale));
  if (cell_grid.y > 1 && inner.y > 0.0) gap = max(gap, 1.0 - smoothstep(0.3, 0.8, to_gap.y / pixel_scale));
  body = mix(body, body * 0.45, gap);

  vec4 result = vec4(body, inside);
  if (marks != 0u) {
    float ring = abs(distance_px - 3.0 * pixel_scale) - 0.75 * pixel_scale;
    float cover = clamp(0.5 - ring, 0.0, 1.0) * ((marks & 1u) != 0u ? 1.0 : 0.55);
    result = mix(result, vec4(ring_color, 1.0), cover * (1.0 - inside));
    result.a = max(inside, cover);
  }
  if (result.a < 0.01) discard;
  color = result;
}
