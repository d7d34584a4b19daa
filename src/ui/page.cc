#include "ui/page.h"

#include <algorithm>

#include "ui/commands.h"
#include "ui/layout.h"
#include "ui/playback.h"

namespace novascope::ui {

namespace {

constexpr ImGuiWindowFlags kPlainWindow =
    ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
    ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav;

void DrawPanel(AppState& app, const Panel& panel, const Rect& rect, bool narrow) {
  if (rect.Empty()) return;
  ImGui::SetCursorScreenPos(rect.min());
  ImGui::PushID(panel.name);
  const bool visible = ImGui::BeginChild(panel.name, {rect.w, rect.h}, 0, kPlainWindow);
  if (visible) {
    Ui ui{app, ImGui::GetWindowDrawList(), narrow};
    if (HasCard(panel.id)) {
      Fill(ui, rect, kPanel, kPanelRadius);
      Outline(ui, rect, kLine, kPanelRadius);
    }
    panel.draw(ui, rect);
    app.panels.push_back({panel.name, rect});
  }
  ImGui::EndChild();
  ImGui::PopID();
}

void DrawPanels(AppState& app, const Layout& layout, bool pinned, float scroll) {
  ImDrawList* draw = ImGui::GetWindowDrawList();
  if (!pinned) {
    for (Rect card : layout.cards) {
      if (card.Empty()) continue;
      card.y -= scroll;
      draw->AddRectFilled(card.min(), card.max(), kPanel, kPanelRadius);
      draw->AddRect(card.min(), card.max(), kLine, kPanelRadius);
    }
  }
  for (const Panel& panel : Panels()) {
    const size_t index = static_cast<size_t>(panel.id);
    if (layout.pinned[index] != pinned) continue;
    Rect rect = layout.panels[index];
    if (!pinned) rect.y -= scroll;
    DrawPanel(app, panel, rect, layout.narrow);
  }
}

// Scrolls the page by the wheel where no list under the pointer takes it.
void ScrollPage(AppState& app, const Layout& layout) {
  View& view = app.view;
  const float most = std::max(0.0f, layout.content_height - layout.scroll_area.h);
  const ImGuiIO& io = ImGui::GetIO();
  if (most > 0 && io.MouseWheel != 0 && !io.KeyCtrl && layout.scroll_area.Contains(io.MousePos)) {
    view.scroll_y -= io.MouseWheel * 48;
  }
  view.scroll_y = std::clamp(view.scroll_y, 0.0f, most);
  view.content_height = layout.content_height;
}

void DrawScrollbar(const AppState& app, const Layout& layout) {
  const float most = layout.content_height - layout.scroll_area.h;
  if (most <= 0) return;
  const Rect& area = layout.scroll_area;
  const float height = std::max(24.0f, area.h * area.h / layout.content_height);
  const float y = area.y + (area.h - height) * app.view.scroll_y / most;
  ImGui::GetForegroundDrawList()->AddRectFilled({area.right() - 5, y}, {area.right() - 2, y + height},
                                                WithAlpha(kIdle, 0.7f), 2);
}

}  // namespace

void DrawPage(AppState& app) {
  // Dear ImGui tells only the font it pushed of the screen's density, and we draw with all three.
  for (ImFont* font : {app.view.fonts.sans, app.view.fonts.sans_bold, app.view.fonts.mono}) {
    if (font) font->CurrentRasterizerDensity = ImGui::GetIO().DisplayFramebufferScale.x;
  }
  app.popup.rect = app.popup.next;
  app.popup.next = {};
  app.text_fields.clear();
  app.figures.clear();
  app.panels.clear();
  app.view.scroll_grabbed = false;
  const Layout layout = MakeLayout(app.view.width, app.view.height);
  ScrollPage(app, layout);

  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize({app.view.width, app.view.height});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::Begin("page", nullptr, kPlainWindow);
  ImGui::PopStyleVar(3);
  const bool scrolls = !layout.scroll_area.Empty();
  if (scrolls) {
    ImGui::SetCursorScreenPos(layout.scroll_area.min());
    ImGui::BeginChild("scrolled", {layout.scroll_area.w, layout.scroll_area.h}, 0, kPlainWindow);
  }
  DrawPanels(app, layout, false, scrolls ? app.view.scroll_y : 0);
  if (scrolls) ImGui::EndChild();
  DrawPanels(app, layout, true, 0);
  ImGui::End();
  DrawScrollbar(app, layout);
  app.edits.clear();
}

bool PageKey(AppState& app, const std::string& key, bool ctrl) {
  app.view.frames_wanted = 3;
  if (key == " ") {
    RunOrPause(app);
  } else if (key == "Enter") {
    if (ctrl) {
      SendRun(app, false);
    } else {
      SetPlaying(app, !app.playback.playing);
    }
  } else if (key == "ArrowLeft") {
    MoveByStep(app, -1);
  } else if (key == "ArrowRight") {
    const int last = static_cast<int>(app.run.steps.size()) - 1;
    if (app.run.state == CoreState::kPaused && StepIndexAt(app, app.playback.at_ps) >= last) {
      StepOnce(app);
    } else {
      MoveByStep(app, 1);
    }
  } else if (key == "Home") {
    Seek(app, 0);
  } else if (key == "End") {
    app.playback.live = true;
    app.playback.playing = false;
    app.timeline.follow = true;
  } else if (key == "Escape") {
    app.selection.link = app.selection.token = -1;
    app.error.reset();
  } else {
    return false;
  }
  return true;
}

}  // namespace novascope::ui
