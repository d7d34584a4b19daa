// Rectangles in CSS pixels, y down.
#pragma once

#include <algorithm>

#include "imgui.h"

namespace novascope::ui {

struct Rect {
  float x = 0, y = 0, w = 0, h = 0;

  float right() const { return x + w; }
  float bottom() const { return y + h; }
  float center_x() const { return x + 0.5f * w; }
  float center_y() const { return y + 0.5f * h; }
  ImVec2 min() const { return {x, y}; }
  ImVec2 max() const { return {x + w, y + h}; }
  bool Contains(ImVec2 p) const { return p.x >= x && p.y >= y && p.x < right() && p.y < bottom(); }
  bool Empty() const { return w <= 0 || h <= 0; }
  Rect Inset(float dx, float dy) const { return {x + dx, y + dy, w - 2 * dx, h - 2 * dy}; }

  // Cuts a piece off an edge and returns it; the rest stays.
  Rect TakeTop(float height) {
    height = std::min(height, h);
    Rect piece{x, y, w, height};
    y += height;
    h -= height;
    return piece;
  }
  Rect TakeBottom(float height) {
    height = std::min(height, h);
    h -= height;
    return {x, y + h, w, height};
  }
  Rect TakeLeft(float width) {
    width = std::min(width, w);
    Rect piece{x, y, width, h};
    x += width;
    w -= width;
    return piece;
  }
  Rect TakeRight(float width) {
    width = std::min(width, w);
    w -= width;
    return {x + w, y, width, h};
  }
};

inline Rect Intersect(const Rect& a, const Rect& b) {
  const float x = std::max(a.x, b.x), y = std::max(a.y, b.y);
  return {x, y, std::max(0.0f, std::min(a.right(), b.right()) - x),
          std::max(0.0f, std::min(a.bottom(), b.bottom()) - y)};
}

}  // namespace novascope::ui
