#include "gfx/chip_map.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "gfx/gl.h"
#include "gfx/shaders_data.h"

namespace novascope::gfx {

namespace {

constexpr int kSegments = 16;  // of a link's curve

struct ChipVertex {
  glm::vec3 center;
  uint8_t cores[kMaxCores];
  uint8_t marks, unused[3];
};

struct LinkState {
  uint8_t kind, busy, selected, hidden;
};

uint32_t Compile(uint32_t type, const char* source, std::string* error) {
  const uint32_t shader = glCreateShader(type);
  glShaderSource(shader, 1, &source, nullptr);
  glCompileShader(shader);
  GLint good = 0;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
  if (good) return shader;
  char log[1024] = "";
  glGetShaderInfoLog(shader, sizeof log, nullptr, log);
  *error = log;
  glDeleteShader(shader);
  return 0;
}

uint32_t Link(const char* vertex_source, const char* fragment_source, std::string* error) {
  const uint32_t vertex = Compile(GL_VERTEX_SHADER, vertex_source, error);
  const uint32_t fragment = vertex ? Compile(GL_FRAGMENT_SHADER, fragment_source, error) : 0;
  uint32_t program = 0;
  if (fragment) {
    program = glCreateProgram();
    glAttachShader(program, vertex);
    glAttachShader(program, fragment);
    glLinkProgram(program);
    GLint good = 0;
    glGetProgramiv(program, GL_LINK_STATUS, &good);
    if (!good) {
      char log[1024] = "";
      glGetProgramInfoLog(program, sizeof log, nullptr, log);
      *error = log;
      glDeleteProgram(program);
      program = 0;
    }
  }
  if (vertex) glDeleteShader(vertex);
  if (fragment) glDeleteShader(fragment);
  return program;
}

void Attribute(int location, int size, GLenum type, size_t stride, size_t offset, int divisor) {
  glEnableVertexAttribArray(static_cast<GLuint>(location));
  const void* at = reinterpret_cast<const void*>(offset);
  if (type == GL_FLOAT) {
    glVertexAttribPointer(static_cast<GLuint>(location), size, type, GL_FALSE,
                          static_cast<GLsizei>(stride), at);
  } else {
    glVertexAttribIPointer(static_cast<GLuint>(location), size, type, static_cast<GLsizei>(stride),
                           at);
  }
  glVertexAttribDivisor(static_cast<GLuint>(location), static_cast<GLuint>(divisor));
}

void Uniform(uint32_t program, const char* name, const glm::vec3& value) {
  glUniform3f(glGetUniformLocation(program, name), value.x, value.y, value.z);
}

void Uniform(uint32_t program, const char* name, const glm::vec2& value) {
  glUniform2f(glGetUniformLocation(program, name), value.x, value.y);
}

void Uniform(uint32_t program, const char* name, float value) {
  glUniform1f(glGetUniformLocation(program, name), value);
}

}  // namespace

bool ChipMap::Init(std::string* error) {
  Release();
  chip_program_ = Link(kChipVert, kChipFrag, error);
  link_program_ = chip_program_ ? Link(kLinkVert, kLinkFrag, error) : 0;
  if (!link_program_) {
    Release();
    return false;
  }
  uint32_t buffers[5];
  glGenBuffers(5, buffers);
  quad_ = buffers[0];
  strip_ = buffers[1];
  chip_buffer_ = buffers[2];
  link_buffer_ = buffers[3];
  link_state_buffer_ = buffers[4];
  glGenVertexArrays(1, &chip_array_);
  glGenVertexArrays(1, &link_array_);

  glBindVertexArray(chip_array_);
  const float quad[] = {-1, -1, 1, -1, -1, 1, 1, 1};
  glBindBuffer(GL_ARRAY_BUFFER, quad_);
  glBufferData(GL_ARRAY_BUFFER, sizeof quad, quad, GL_STATIC_DRAW);
  Attribute(0, 2, GL_FLOAT, 8, 0, 0);
  glBindBuffer(GL_ARRAY_BUFFER, chip_buffer_);
  Attribute(1, 3, GL_FLOAT, sizeof(ChipVertex), offsetof(ChipVertex, center), 1);
  Attribute(2, 4, GL_UNSIGNED_BYTE, sizeof(ChipVertex), offsetof(ChipVertex, cores), 1);
  Attribute(3, 4, GL_UNSIGNED_BYTE, sizeof(ChipVertex), offsetof(ChipVertex, cores) + 4, 1);
  Attribute(4, 2, GL_UNSIGNED_BYTE, sizeof(ChipVertex), offsetof(ChipVertex, marks), 1);

  glBindVertexArray(link_array_);
  std::vector<float> strip;
  for (int i = 0; i <= kSegments; ++i) {
    const float t = static_cast<float>(i) / kSegments;
    strip.insert(strip.end(), {t, -1.0f, t, 1.0f});
  }
  glBindBuffer(GL_ARRAY_BUFFER, strip_);
  glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(strip.size() * sizeof(float)), strip.data(),
               GL_STATIC_DRAW);
  Attribute(0, 2, GL_FLOAT, 8, 0, 0);
  glBindBuffer(GL_ARRAY_BUFFER, link_buffer_);
  for (int i = 0; i < 3; ++i) Attribute(1 + i, 3, GL_FLOAT, 36, static_cast<size_t>(12 * i), 1);
  glBindBuffer(GL_ARRAY_BUFFER, link_state_buffer_);
  Attribute(4, 4, GL_UNSIGNED_BYTE, sizeof(LinkState), 0, 1);
  glBindVertexArray(0);
  geometry_dirty_ = link_state_dirty_ = true;
  return true;
}

void ChipMap::Release() {
  if (chip_program_) glDeleteProgram(chip_program_);
  if (link_program_) glDeleteProgram(link_program_);
  if (quad_) {
    const uint32_t buffers[] = {quad_, strip_, chip_buffer_, link_buffer_, link_state_buffer_};
    glDeleteBuffers(5, buffers);
    glDeleteVertexArrays(1, &chip_array_);
    glDeleteVertexArrays(1, &link_array_);
  }
  Forget();
}

void ChipMap::Forget() {
  chip_program_ = link_program_ = chip_array_ = link_array_ = 0;
  quad_ = strip_ = chip_buffer_ = link_buffer_ = link_state_buffer_ = 0;
}

void ChipMap::SetGeometry(std::span<const glm::vec3> chips, glm::vec2 half_size,
                          std::span<const MapLink> links) {
  chips_.assign(chips.begin(), chips.end());
  links_.assign(links.begin(), links.end());
  half_size_ = half_size;
  chip_states_.assign(chips_.size(), {});
  link_states_.assign(links_.size(), {});
  geometry_dirty_ = link_state_dirty_ = true;
}

void ChipMap::SetActivity(std::span<const MapChip> chips, int cores,
                          std::span<const LinkActivity> links) {
  if (chips.size() == chips_.size()) chip_states_.assign(chips.begin(), chips.end());
  if (links.size() == links_.size()) link_states_.assign(links.begin(), links.end());
  cores_ = std::clamp(cores, 1, kMaxCores);
  link_state_dirty_ = true;
}

void ChipMap::UploadChips(const glm::mat4& matrix) {
  // Farthest first, because edges are blended.
  std::vector<float> depth(chips_.size());
  depth_range_ = {1e9f, -1e9f};
  for (size_t i = 0; i < chips_.size(); ++i) {
    depth[i] = (matrix * glm::vec4(chips_[i], 1.0f)).w;
    depth_range_ = {std::min(depth_range_.x, depth[i]), std::max(depth_range_.y, depth[i])};
  }
  std::vector<int> order(chips_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return depth[static_cast<size_t>(a)] > depth[static_cast<size_t>(b)];
  });
  std::vector<ChipVertex> vertices;
  vertices.reserve(order.size());
  for (int index : order) {
    const size_t i = static_cast<size_t>(index);
    ChipVertex vertex{chips_[i], {}, chip_states_[i].marks, {}};
    std::copy(chip_states_[i].cores.begin(), chip_states_[i].cores.end(), vertex.cores);
    vertices.push_back(vertex);
  }
  glBindBuffer(GL_ARRAY_BUFFER, chip_buffer_);
  glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(vertices.size() * sizeof(ChipVertex)),
               vertices.data(), GL_DYNAMIC_DRAW);
}

void ChipMap::Draw(const Camera& camera, const MapStyle& style, const Viewport& viewport,
                   float flow) {
  if (!ready() || chips_.empty() || viewport.width <= 0 || viewport.height <= 0) return;
  const glm::mat4 matrix = ViewProjection(camera, static_cast<float>(viewport.width),
                                          static_cast<float>(viewport.height));
  glViewport(viewport.x, viewport.framebuffer_height - viewport.y - viewport.height, viewport.width,
             viewport.height);
  glEnable(GL_SCISSOR_TEST);
  glScissor(viewport.clip_x,
            viewport.framebuffer_height - viewport.clip_y - viewport.clip_height,
            std::max(viewport.clip_width, 0), std::max(viewport.clip_height, 0));
  glDisable(GL_DEPTH_TEST);
  glDisable(GL_CULL_FACE);
  glEnable(GL_BLEND);
  glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
  DrawLinks(matrix, style, viewport, flow);
  DrawChips(matrix, camera, style, viewport);
  glBindVertexArray(0);
}

void ChipMap::DrawLinks(const glm::mat4& matrix, const MapStyle& style, const Viewport& viewport,
                        float flow) {
  if (links_.empty()) return;
  if (geometry_dirty_) {
    std::vector<glm::vec3> points;
    points.reserve(links_.size() * 3);
    for (const MapLink& link : links_) points.insert(points.end(), {link.from, link.bend, link.to});
    glBindBuffer(GL_ARRAY_BUFFER, link_buffer_);
    glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(points.size() * sizeof(glm::vec3)),
                 points.data(), GL_STATIC_DRAW);
    geometry_dirty_ = false;
  }
  if (link_state_dirty_) {
    std::vector<LinkState> states(links_.size());
    for (size_t i = 0; i < links_.size(); ++i) {
      states[i] = {links_[i].kind, link_states_[i].busy, link_states_[i].selected,
                   static_cast<uint8_t>(links_[i].kind == 0)};
    }
    glBindBuffer(GL_ARRAY_BUFFER, link_state_buffer_);
    glBufferData(GL_ARRAY_BUFFER, static_cast<GLsizeiptr>(states.size() * sizeof(LinkState)),
                 states.data(), GL_DYNAMIC_DRAW);
    link_state_dirty_ = false;
  }
  glUseProgram(link_program_);
  glUniformMatrix4fv(glGetUniformLocation(link_program_, "view_projection"), 1, GL_FALSE,
                     &matrix[0][0]);
  Uniform(link_program_, "viewport_px", glm::vec2(viewport.width, viewport.height));
  Uniform(link_program_, "pixel_scale", viewport.pixel_scale);
  Uniform(link_program_, "idle_color", style.idle_link);
  Uniform(link_program_, "busy_color", style.busy_link);
  Uniform(link_program_, "selected_color", style.selected_link);
  Uniform(link_program_, "flow_px", flow < 0 ? -1.0f : flow * viewport.pixel_scale);
  glBindVertexArray(link_array_);
  for (int pass = 0; pass < 2; ++pass) {
    glUniform1i(glGetUniformLocation(link_program_, "pass_index"), pass);
    glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 2 * (kSegments + 1),
                          static_cast<GLsizei>(links_.size()));
  }
}

void ChipMap::DrawChips(const glm::mat4& matrix, const Camera& camera, const MapStyle& style,
                        const Viewport& viewport) {
  UploadChips(matrix);
  glUseProgram(chip_program_);
  glUniformMatrix4fv(glGetUniformLocation(chip_program_, "view_projection"), 1, GL_FALSE,
                     &matrix[0][0]);
  Uniform(chip_program_, "viewport_px", glm::vec2(viewport.width, viewport.height));
  Uniform(chip_program_, "focal_px", FocalPx(camera, static_cast<float>(viewport.height)));
  Uniform(chip_program_, "half_size", half_size_);
  Uniform(chip_program_, "pixel_scale", viewport.pixel_scale);
  Uniform(chip_program_, "depth_range", depth_range_);
  Uniform(chip_program_, "ring_color", style.ring);
  glUniform3fv(glGetUniformLocation(chip_program_, "palette"), kCoreStates, &style.palette[0].x);
  const int across = cores_ >= 8 ? 4 : cores_ >= 2 ? 2 : 1;
  glUniform2i(glGetUniformLocation(chip_program_, "cell_grid"), across, (cores_ + across - 1) / across);
  glBindVertexArray(chip_array_);
  glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, static_cast<GLsizei>(chips_.size()));
}

}  // namespace novascope::gfx
