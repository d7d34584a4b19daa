// Where every panel lies: three columns on a wide screen, two on a tablet, one on a phone, always in the
// reading order ask, machine, cost, time.
#pragma once

#include <array>

#include "ui/panels.h"

namespace novascope::ui {

struct Layout {
  std::array<Rect, kPanels> panels;   // CSS pixels of the page, before scrolling
  std::array<bool, kPanels> pinned{};  // does not scroll
  std::array<Rect, 2> cards{};        // shared backgrounds of several panels; empty: none
  Rect scroll_area;                   // what scrolls; empty: nothing does
  float content_height = 0;           // of what scrolls
  bool narrow = false;                // one column
};

Layout MakeLayout(float width, float height);
// Whether the panel draws a card of its own behind it.
bool HasCard(PanelId id);

}  // namespace novascope::ui
