#include "ui/layout.h"

#include <algorithm>
#include <cmath>

namespace novascope::ui {

namespace {

constexpr float kTopHeight = 46, kStripHeight = 28;
constexpr float kThreeColumns = 1000, kTwoColumns = 700;
constexpr float kLowScreen = 760;     // below: smaller paddings, no shortcut line
constexpr float kLeastHeight = 640;   // a wide page lower than this scrolls

Rect& At(Layout& layout, PanelId id) { return layout.panels[static_cast<size_t>(id)]; }

void LayOutWide(Layout& layout, float width, float height) {
  const bool low = height < kLowScreen;
  Rect page{0, 0, width, std::max(height, kLeastHeight)};
  if (height < kLeastHeight) {
    layout.scroll_area = {0, 0, width, height};
    layout.content_height = kLeastHeight;
  }
  At(layout, PanelId::kTop) = page.TakeTop(low ? 40 : kTopHeight);
  At(layout, PanelId::kProvenance) = page.TakeTop(low ? 24 : kStripHeight);
  Rect bottom = page.TakeBottom(low ? 84 : 116);
  const float transport = std::clamp(width * 0.4f, 400.0f, 580.0f);
  At(layout, PanelId::kTransport) = bottom.TakeRight(transport);
  At(layout, PanelId::kFigures) = bottom;

  page = page.Inset(12, low ? 8.0f : kGap);
  const float side = std::clamp(width * 0.21f, 252.0f, 330.0f);
  Rect left = page.TakeLeft(side);
  page.TakeLeft(kGap);
  Rect right = page.TakeRight(std::clamp(width * 0.222f, 264.0f, 340.0f));
  page.TakeRight(kGap);
  layout.cards[0] = left;
  At(layout, PanelId::kPrompt) = left.TakeTop(low ? 146 : 172);
  At(layout, PanelId::kScenario) = left.TakeBottom(std::max(low ? 0.47f * page.h : 0.5f * page.h, 246.0f));
  At(layout, PanelId::kAnswer) = left;

  At(layout, PanelId::kWhy) = page.TakeTop(low ? 68 : 70);
  page.TakeTop(low ? 8 : kGap);
  At(layout, PanelId::kTimeline) = page.TakeBottom(std::clamp(0.31f * page.h, 184.0f, 236.0f));
  page.TakeBottom(low ? 8 : kGap);
  At(layout, PanelId::kMap) = page;

  At(layout, PanelId::kHbm) = right.TakeTop(std::max((low ? 0.52f : 0.48f) * right.h, 252.0f));
  right.TakeTop(low ? 8 : kGap);
  At(layout, PanelId::kCost) = right;
}

// One panel of a scrolling column.
struct Item {
  PanelId id;
  float height;
  bool joined = false;  // shares the card of the one above
};

// Stacks panels downwards from the top of `column`; returns the bottom.
float Stack(Layout& layout, Rect column, std::span<const Item> items, Rect* card) {
  float y = column.y;
  for (const Item& item : items) {
    if (item.joined) y -= kGap;
    At(layout, item.id) = {column.x, y, column.w, item.height};
    if (card && (item.joined || card->Empty())) {
      const float top = card->Empty() ? y : card->y;
      *card = {column.x, top, column.w, y + item.height - top};
    } else if (card && !item.joined) {
      card = nullptr;
    }
    y += item.height + kGap;
  }
  return y;
}

void LayOutScrolling(Layout& layout, float width, float height, bool one_column) {
  layout.narrow = one_column;
  Rect page{0, 0, width, height};
  At(layout, PanelId::kTransport) = page.TakeBottom(one_column ? 60.0f : 64.0f);
  layout.pinned[static_cast<size_t>(PanelId::kTransport)] = true;
  layout.scroll_area = page;
  At(layout, PanelId::kTop) = {0, 0, width, kTopHeight};
  const float strip = one_column ? 74.0f : 48.0f;
  At(layout, PanelId::kProvenance) = {0, kTopHeight, width, strip};
  const float top = kTopHeight + strip + 8;
  const float margin = one_column ? 8.0f : 12.0f;
  float bottom;
  if (one_column) {
    const Item items[] = {{PanelId::kPrompt, 190},          {PanelId::kAnswer, 176, true},
                          {PanelId::kScenario, 374, true},  {PanelId::kWhy, 100},
                          {PanelId::kMap, 330},             {PanelId::kTimeline, 240},
                          {PanelId::kHbm, 320},             {PanelId::kCost, 380},
                          {PanelId::kFigures, 168}};
    bottom = Stack(layout, {margin, top, width - 2 * margin, 0}, items, &layout.cards[0]);
  } else {
    const float left = std::clamp(0.4f * width, 280.0f, 380.0f);
    const Item ask[] = {{PanelId::kPrompt, 190},
                        {PanelId::kAnswer, 210, true},
                        {PanelId::kScenario, 374, true},
                        {PanelId::kHbm, 320}};
    const Item machine[] = {
        {PanelId::kWhy, 74}, {PanelId::kMap, 400}, {PanelId::kTimeline, 240}, {PanelId::kCost, 380}};
    bottom = std::max(Stack(layout, {margin, top, left, 0}, ask, &layout.cards[0]),
                      Stack(layout, {margin + left + kGap, top, width - left - kGap - 2 * margin, 0},
                            machine, nullptr));
    At(layout, PanelId::kFigures) = {margin, bottom, width - 2 * margin, 92};
    bottom += 92 + kGap;
  }
  layout.content_height = bottom;
}

}  // namespace

bool HasCard(PanelId id) {
  switch (id) {
    case PanelId::kWhy:
    case PanelId::kMap:
    case PanelId::kTimeline:
    case PanelId::kHbm:
    case PanelId::kCost: return true;
    default: return false;
  }
}

Layout MakeLayout(float width, float height) {
  Layout layout;
  if (width >= kThreeColumns) {
    LayOutWide(layout, width, height);
  } else {
    LayOutScrolling(layout, width, height, width < kTwoColumns);
  }
  // Whole pixels, so that hairlines stay sharp.
  const auto snap = [](Rect* rect) {
    const float right = std::round(rect->right()), bottom = std::round(rect->bottom());
    *rect = {std::round(rect->x), std::round(rect->y), 0, 0};
    rect->w = right - rect->x;
    rect->h = bottom - rect->y;
  };
  for (Rect& rect : layout.panels) snap(&rect);
  for (Rect& rect : layout.cards) snap(&rect);
  return layout;
}

}  // namespace novascope::ui
