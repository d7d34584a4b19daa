// Where in time we are: one bar for every view.
#include <algorithm>

#include "ui/format.h"
#include "ui/panels.h"
#include "ui/playback.h"

namespace novascope::ui {

namespace {

enum class Icon { kPlay, kPause, kBack, kForward };

bool IconButton(const Ui& ui, const char* id, const Rect& rect, Icon icon, bool enabled) {
  const Press press = enabled ? Hit(ui, id, rect) : Press{};
  if (press.hovered) Fill(ui, rect, kHover, kFieldRadius);
  const Color color = !enabled ? kIdle : press.hovered ? kAction : kText;
  const float x = std::round(rect.center_x()), y = std::round(rect.center_y());
  switch (icon) {
    case Icon::kPlay: ui.draw->AddTriangleFilled({x - 5, y - 7}, {x + 7, y}, {x - 5, y + 7}, color); break;
    case Icon::kPause:
      Fill(ui, {x - 6, y - 7, 4, 14}, color, 1);
      Fill(ui, {x + 2, y - 7, 4, 14}, color, 1);
      break;
    case Icon::kBack:
      Fill(ui, {x - 6, y - 6, 2, 12}, color);
      ui.draw->AddTriangleFilled({x + 5, y - 6}, {x + 5, y + 6}, {x - 4, y}, color);
      break;
    case Icon::kForward:
      Fill(ui, {x + 4, y - 6, 2, 12}, color);
      ui.draw->AddTriangleFilled({x - 5, y - 6}, {x + 4, y}, {x - 5, y + 6}, color);
      break;
  }
  return press.clicked;
}

void SpeedMenu(Ui& ui, const Rect& anchor) {
  Ui popup = ui;
  const float row = 28;
  if (!BeginPopup(popup, "speeds", anchor, 190, row * std::size(kSpeeds) + 46)) return;
  const ImVec2 corner = ImGui::GetWindowPos();
  Rect list{corner.x + 8, corner.y + 8, 174, 400};
  DrawText(popup, list.TakeTop(24).Inset(8, 0), kNoteText, "simulated time per second");
  for (int i = 0; i < static_cast<int>(std::size(kSpeeds)); ++i) {
    if (OptionRow(popup, kSpeeds[i].label, list.TakeTop(row), kSpeeds[i].label, "", i == ui.app.playback.speed)) {
      ui.app.playback.speed = i;
      ImGui::CloseCurrentPopup();
    }
  }
  EndPopup();
}

std::string StepText(const AppState& app) {
  const int count = static_cast<int>(app.run.steps.size());
  if (count == 0) return "no step yet";
  return Format("step %d / %d", StepIndexAt(app, app.playback.at_ps) + 1, count);
}

}  // namespace

void DrawTransport(Ui& ui, Rect rect) {
  AppState& app = ui.app;
  Fill(ui, rect, kPanel);
  HorizontalLine(ui, rect.x, rect.right(), rect.y, kLine);
  const bool any = !app.run.steps.empty();
  Rect box = rect.Inset(ui.narrow ? 8 : 20, 0);
  const float height = ui.narrow ? 44 : 46;
  const float lift = rect.h >= 110 ? 12.0f : 0.0f;
  box = {box.x, std::round(rect.center_y() - 0.5f * height - lift), box.w, height};
  if (!ui.narrow) {
    Fill(ui, box, kWell, kPanelRadius);
    Outline(ui, box, kLine, kPanelRadius);
  }
  Rect row = box.Inset(8, 7);
  if (IconButton(ui, "back", row.TakeLeft(30), Icon::kBack, any)) MoveByStep(app, -1);
  const bool playing = app.playback.playing;
  if (IconButton(ui, "play", row.TakeLeft(34), playing ? Icon::kPause : Icon::kPlay, any)) SetPlaying(app, !playing);
  if (IconButton(ui, "forward", row.TakeLeft(30), Icon::kForward, any)) MoveByStep(app, 1);
  row.TakeLeft(6);
  if (!ui.narrow || rect.w > 420) {
    const Rect text = row.TakeLeft(112);
    DrawText(ui, text, {Face::kMono, kNote, kText}, StepText(app));
  }
  const Rect speed = row.TakeRight(76);
  TextStyle speed_style = kSmallNumber;
  const Press press = Hit(ui, "speed", speed);
  if (press.hovered) {
    Fill(ui, speed, kHover, kFieldRadius);
    speed_style.color = kAction;
  }
  DrawText(ui, speed, speed_style, kSpeeds[app.playback.speed].label, Align::kCenter);
  if (press.clicked) OpenPopup("speeds");
  SpeedMenu(ui, speed);
  if (rect.w > 470) {
    const Rect live = row.TakeRight(46);
    TextStyle style = kNoteText;
    style.color = app.playback.live ? kGood : kSecondary;
    const Press go = Hit(ui, "live", live);
    if (go.hovered) Fill(ui, live, kHover, kFieldRadius);
    DrawText(ui, live, style, "live", Align::kCenter);
    if (go.clicked) {
      app.playback.live = true;
      app.playback.playing = false;
      app.timeline.follow = true;
    }
  }
  row = row.Inset(12, 0);
  const int64_t end = EndPs(app);
  double share = end > 0 ? static_cast<double>(app.playback.at_ps) / static_cast<double>(end) : 0;
  if (!any) {
    Fill(ui, {row.x, std::round(row.center_y()) - 2, row.w, 4}, kLine, 2);
    return;
  }
  if (Slider(ui, "scrub", row, &share)) {
    app.playback.playing = false;
    Seek(app, static_cast<int64_t>(share * static_cast<double>(end)));
  }
  if (Hovered(row)) {
    Explain(ui, "playhead", row, StepText(app),
            {.title = StepText(app), .formula = Duration(app.playback.at_ps).text() + " of " + Duration(end).text() + " simulated",
             .label = "", .source = "", .note = "Scrubbing reads the trace; nothing is simulated again."});
  }
}

}  // namespace novascope::ui
