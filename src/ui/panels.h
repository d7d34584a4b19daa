// The table of panels. A panel is one file with one drawing function, one state struct in AppState where
// it needs one, and one row here; layout.cc says where its rectangle lies.
#pragma once

#include <span>

#include "ui/widgets.h"

namespace novascope::ui {

enum class PanelId {
  kTop,
  kProvenance,
  kPrompt,
  kAnswer,
  kScenario,
  kWhy,
  kMap,
  kTimeline,
  kHbm,
  kCost,
  kFigures,
  kTransport,
};
inline constexpr int kPanels = 12;

struct Panel {
  PanelId id;
  const char* name;   // stable, in snapshots and links
  const char* title;  // for people
  void (*draw)(Ui& ui, Rect rect);
};

// All rows, indexed by PanelId.
std::span<const Panel> Panels();

void DrawTop(Ui& ui, Rect rect);
void DrawProvenance(Ui& ui, Rect rect);
void DrawPrompt(Ui& ui, Rect rect);
void DrawAnswer(Ui& ui, Rect rect);
void DrawScenario(Ui& ui, Rect rect);
void DrawWhy(Ui& ui, Rect rect);
void DrawMap(Ui& ui, Rect rect);
void DrawTimeline(Ui& ui, Rect rect);
void DrawHbm(Ui& ui, Rect rect);
void DrawCost(Ui& ui, Rect rect);
void DrawFigures(Ui& ui, Rect rect);
void DrawTransport(Ui& ui, Rect rect);

}  // namespace novascope::ui
