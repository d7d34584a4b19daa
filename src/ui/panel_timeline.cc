// Engines and links over simulated time for the selected chip's rank class, and who owns the time of
// the class that holds most of the critical path. Wheel zooms to the pointer, a drag pans, a click or a
// drag on the ruler moves the playhead.
#include <algorithm>
#include <cmath>

#include "ui/activity.h"
#include "ui/format.h"
#include "ui/panels.h"
#include "ui/playback.h"
#include "ui/timeline_view.h"

namespace novascope::ui {

namespace {

constexpr float kLabels = 78, kRuler = 16;
constexpr int64_t kLeastSpanPs = 20'000;

enum class RowKind { kTrack, kLink, kCritical };
struct RowSpec {
  const char* label;
  RowKind kind;
  int index;  // TrackKind or link kind
  Color color;
};
constexpr RowSpec kRowSpecs[] = {
    {"Tensor", RowKind::kTrack, 0, kCompute},
    {"Vector", RowKind::kTrack, 1, Hex(0x4aa3d2)},
    {"Scalar", RowKind::kTrack, 2, Hex(0x3b82a8)},
    {"DMA", RowKind::kTrack, 3, kMemory},
    {"Collective", RowKind::kTrack, 4, Hex(0xd9b25a)},
    {"In-chip", RowKind::kLink, 0, Hex(0xb89a50)},
    {"XY links", RowKind::kLink, 1, kNetwork},
    {"Z links", RowKind::kLink, 2, Hex(0xe0a83c)},
    {"critical core", RowKind::kCritical, 0, kWaiting},
};

struct Scale {
  int64_t from_ps, to_ps;
  float x, w;
  double px_per_ps() const { return static_cast<double>(w) / static_cast<double>(std::max<int64_t>(1, to_ps - from_ps)); }
  float At(int64_t ps) const { return x + static_cast<float>(static_cast<double>(ps - from_ps) * px_per_ps()); }
  int64_t Time(float px) const { return from_ps + static_cast<int64_t>(static_cast<double>(px - x) / px_per_ps()); }
};

// Which slice of which template the pointer is on.
struct HoverSlice {
  const trace::StepTemplate* step_template = nullptr;
  const trace::Slice* slice = nullptr;
  const char* row = "";
  int64_t start_ps = 0, end_ps = 0;
};

// Draws spans of one step; those thinner than a pixel and a half are folded into one bar whose strength
// says how much of it is busy.
void DrawSpans(const Ui& ui, const std::vector<Span>& spans, const Scale& scale, int64_t offset_ps,
               float y, float h, Color color, HoverSlice* hover, const trace::StepTemplate* step_template) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool mouse_in_row = mouse.y >= y && mouse.y < y + h;
  auto span = std::upper_bound(spans.begin(), spans.end(), scale.from_ps - offset_ps,
                               [](int64_t at, const Span& s) { return at < s.end_ps; });
  float fold_from = 0, fold_to = -1, fold_busy = 0;
  const auto flush = [&] {
    if (fold_to < fold_from) return;
    const float width = std::max(1.0f, fold_to - fold_from);
    const float density = std::clamp(std::sqrt(fold_busy / width), 0.35f, 1.0f);
    Fill(ui, {fold_from, y, width, h}, Mix(kPanel, color, density));
    fold_to = -1;
    fold_from = 0;
    fold_busy = 0;
  };
  for (; span != spans.end() && span->start_ps + offset_ps < scale.to_ps; ++span) {
    float x0 = scale.At(span->start_ps + offset_ps), x1 = scale.At(span->end_ps + offset_ps);
    if (mouse_in_row && mouse.x >= x0 && mouse.x < std::max(x1, x0 + 1) && hover) {
      hover->start_ps = span->start_ps;
      hover->end_ps = span->end_ps;
      hover->step_template = step_template;
      hover->slice = span->slice >= 0 ? &step_template->slices[static_cast<size_t>(span->slice)] : nullptr;
    }
    x0 = std::max(x0, scale.x);
    x1 = std::min(x1, scale.x + scale.w);
    if (x1 - x0 < 1.5f) {
      if (fold_to >= fold_from && x0 - fold_to > 1.0f) flush();
      if (fold_to < fold_from) fold_from = x0;
      fold_to = std::max(fold_to, x1);
      fold_busy += x1 - x0;
      continue;
    }
    flush();
    Fill(ui, {x0, y, std::max(1.0f, x1 - x0 - (x1 - x0 > 4 ? 1.0f : 0.0f)), h}, color, x1 - x0 > 6 ? 2.0f : 0.0f);
    if (x1 - x0 > 56 && h >= 13 && span->slice >= 0) {
      const trace::Slice& slice = step_template->slices[static_cast<size_t>(span->slice)];
      if (slice.name >= 0 && static_cast<size_t>(slice.name) < step_template->names.size()) {
        DrawText(ui, {x0 + 4, y, x1 - x0 - 8, h}, {Face::kSans, kNote, kBackground},
                 step_template->names[static_cast<size_t>(slice.name)]);
      }
    }
  }
  flush();
}

// The class whose tracks are shown: the selected chip's, else the critical one.
int ShownClass(const AppState& app, const trace::StepTemplate& step_template) {
  const int core = app.selection.chip * app.run.machine.cores_per_chip + app.selection.core;
  const int found = ClassOfCore(step_template, core);
  const bool working = found >= 0 && step_template.classes[static_cast<size_t>(found)].stage >= 0;
  return working ? found : step_template.critical_class;
}

void DrawStep(const Ui& ui, const StepInfo& step, const Scale& scale, const Rect& rows, float row_height,
              HoverSlice* hover) {
  const AppState& app = ui.app;
  const size_t index = static_cast<size_t>(step.step_template);
  if (step.step_template < 0 || index >= app.timeline.views.size()) return;
  const trace::StepTemplate& step_template = app.trace.templates()[index];
  const TemplateView& view = app.timeline.views[index];
  const size_t shown = static_cast<size_t>(std::max(0, ShownClass(app, step_template)));
  const size_t critical = static_cast<size_t>(std::max(0, step_template.critical_class));
  float y = rows.y;
  for (const RowSpec& row : kRowSpecs) {
    const float top = y + 1, height = std::max(3.0f, row_height - 3);
    const HoverSlice before = *hover;
    if (row.kind == RowKind::kTrack && shown < view.tracks.size()) {
      DrawSpans(ui, view.tracks[shown][static_cast<size_t>(row.index)], scale, step.start_ps, top, height, row.color,
                hover, &step_template);
    } else if (row.kind == RowKind::kLink) {
      DrawSpans(ui, view.links[static_cast<size_t>(row.index)], scale, step.start_ps, top, height, row.color, hover,
                &step_template);
    } else if (row.kind == RowKind::kCritical && critical < view.owners.size()) {
      for (size_t owner = 0; owner < trace::kOwners; ++owner) {
        DrawSpans(ui, view.owners[critical][owner], scale, step.start_ps, top + 0.3f * height, 0.4f * height,
                  OwnerColor(static_cast<int>(owner)), hover, &step_template);
      }
    }
    if (hover->step_template != before.step_template || hover->start_ps != before.start_ps) hover->row = row.label;
    y += row_height;
  }
  const float x = scale.At(step.end_ps);
  if (x < scale.x + scale.w) ui.draw->AddRectFilled({x, rows.y}, {x + 1, rows.bottom()}, kLine);
}

void ClampView(AppState& app) {
  TimelineState& t = app.timeline;
  const int64_t end = std::max<int64_t>(EndPs(app), kLeastSpanPs);
  int64_t span = std::clamp<int64_t>(t.to_ps - t.from_ps, kLeastSpanPs, end);
  t.from_ps = std::clamp<int64_t>(t.from_ps, 0, end - span);
  t.to_ps = t.from_ps + span;
}

void Follow(AppState& app) {
  TimelineState& t = app.timeline;
  const int step = StepIndexAt(app, app.playback.at_ps);
  if (t.follow && step >= 0) {
    t.from_ps = app.run.steps[static_cast<size_t>(step)].start_ps;
    t.to_ps = app.run.steps[static_cast<size_t>(step)].end_ps;
  } else if (app.playback.playing && (app.playback.at_ps < t.from_ps || app.playback.at_ps > t.to_ps)) {
    const int64_t span = t.to_ps - t.from_ps;
    t.from_ps = app.playback.at_ps;
    t.to_ps = t.from_ps + span;
  }
  ClampView(app);
}

void ZoomAndPan(Ui& ui, const Press& press, const Rect& tracks, const Scale& scale) {
  AppState& app = ui.app;
  TimelineState& t = app.timeline;
  const ImGuiIO& io = ImGui::GetIO();
  if (press.hovered && io.MouseWheel != 0 && (!ui.narrow || io.KeyCtrl)) {
    const double factor = std::pow(0.85, static_cast<double>(io.MouseWheel));
    const int64_t pivot = scale.Time(io.MousePos.x);
    t.from_ps = pivot - static_cast<int64_t>(static_cast<double>(pivot - t.from_ps) * factor);
    t.to_ps = pivot + static_cast<int64_t>(static_cast<double>(t.to_ps - pivot) * factor);
    t.follow = false;
  }
  if (press.hovered && io.MouseWheelH != 0) {
    const auto moved = static_cast<int64_t>(-io.MouseWheelH * 40 / scale.px_per_ps());
    t.from_ps += moved;
    t.to_ps += moved;
    t.follow = false;
  }
  const ImVec2 dragged = ImGui::GetMouseDragDelta(0, 4);
  const bool across = !ui.narrow || t.panning || std::fabs(dragged.x) > std::fabs(dragged.y);
  if (press.held && ImGui::IsMouseDragging(0, 4) && !t.scrubbing && across) {
    app.view.scroll_grabbed = true;
    t.panning = true;
    const auto moved = static_cast<int64_t>(-io.MouseDelta.x / scale.px_per_ps());
    t.from_ps += moved;
    t.to_ps += moved;
    t.follow = false;
  }
  if (press.clicked && !t.panning && tracks.Contains(io.MousePos)) {
    app.playback.playing = false;
    Seek(app, scale.Time(io.MousePos.x));
  }
  if (!press.held) t.panning = false;
  if (press.hovered && ImGui::IsMouseDoubleClicked(0)) t.follow = true;
}

void Scrub(Ui& ui, const Rect& ruler, const Scale& scale) {
  AppState& app = ui.app;
  const Press press = Hit(ui, "ruler", ruler, platform::Cursor::kResize);
  app.timeline.scrubbing = press.held;
  if (!press.held) return;
  app.view.scroll_grabbed = true;
  app.playback.playing = false;
  Seek(app, scale.Time(std::clamp(ImGui::GetIO().MousePos.x, scale.x, scale.x + scale.w)));
}

void DrawRuler(const Ui& ui, const Rect& ruler, const Scale& scale, int64_t origin_ps) {
  const double wanted = 90.0 / scale.px_per_ps();
  const double power = std::pow(10.0, std::floor(std::log10(std::max(wanted, 1.0))));
  const double step = wanted / power < 2 ? 2 * power : wanted / power < 5 ? 5 * power : 10 * power;
  const auto tick = static_cast<int64_t>(std::max(1.0, step));
  const int64_t first = (scale.from_ps - origin_ps) / tick * tick;
  for (int64_t at = first; at + origin_ps <= scale.to_ps; at += tick) {
    const float x = scale.At(at + origin_ps);
    if (x < scale.x - 1) continue;
    ui.draw->AddRectFilled({x, ruler.bottom() - 4}, {x + 1, ruler.bottom()}, kLine);
    const Rect label{x + 4, ruler.y, 70, ruler.h};
    if (label.x + 40 < ruler.right()) DrawText(ui, label, kSmallNumber, at == 0 ? "0" : Duration(at).text());
  }
}

void SliceTip(const Ui& ui, const HoverSlice& hover) {
  if (!hover.step_template) return;
  Ui tip = ui;
  BeginTip(tip, 280, hover.slice ? 88 : 46);
  const ImVec2 corner = ImGui::GetWindowPos();
  Rect at{corner.x + 12, corner.y + 8, 256, 100};
  std::string title = hover.row;
  if (hover.slice && hover.slice->name >= 0 && static_cast<size_t>(hover.slice->name) < hover.step_template->names.size()) {
    title += ": " + hover.step_template->names[static_cast<size_t>(hover.slice->name)];
  }
  DrawText(tip, at.TakeTop(20), kTitleText, title);
  const auto line = [&](const char* label, const std::string& value) {
    const Rect row = at.TakeTop(18);
    DrawText(tip, row, kNoteText, label);
    TextStyle number = kSmallNumber;
    number.color = kText;
    DrawText(tip, row, number, value, Align::kRight);
  };
  if (hover.slice && hover.slice->layer >= 0) line("layer", std::to_string(hover.slice->layer + 1));
  line("takes", Duration(hover.end_ps - hover.start_ps).text());
  if (hover.slice && hover.slice->bytes > 0) line("moves", Bytes(static_cast<double>(hover.slice->bytes)).text());
  EndTip();
}

void DrawPlayhead(const Ui& ui, const Rect& ruler, const Rect& rows, const Scale& scale) {
  const int64_t at = ui.app.playback.at_ps;
  if (at < scale.from_ps || at > scale.to_ps) return;
  const float x = std::round(scale.At(at));
  ui.draw->AddRectFilled({x - 1, ruler.y + 6}, {x + 1, rows.bottom()}, kText);
  Fill(ui, {x - 5, ruler.y, 10, 8}, kText, 2);
}

std::string Position(const AppState& app) {
  const int step = StepIndexAt(app, app.playback.at_ps);
  if (step < 0) return "";
  const StepInfo& info = app.run.steps[static_cast<size_t>(step)];
  std::string text = Duration(app.timeline.from_ps - info.start_ps).text() + " \u2013 " +
                     Duration(app.timeline.to_ps - info.start_ps).text();
  if (app.timeline.from_ps == info.start_ps) text = "0 \u2013 " + Duration(app.timeline.to_ps - info.start_ps).text();
  text += Format("   step %d", step + 1);
  if (info.token >= 0) {
    text += "   token \"" + Shorten(Visible(app.run.tokens[static_cast<size_t>(info.token)].text), 12) + "\"";
  }
  return text;
}

}  // namespace

void DrawTimeline(Ui& ui, Rect rect) {
  AppState& app = ui.app;
  UpdateTemplateViews(app);
  Rect area = rect.Inset(kPad, 0);
  Rect header = area.TakeTop(rect.h < 200 ? 30 : 36);
  area.TakeBottom(rect.h < 200 ? 6 : 10);
  header.TakeLeft(DrawText(ui, header, kTitleText, "Timeline") + 12);
  if (app.run.steps.empty()) {
    DrawText(ui, header, kNoteText, "engines and links over simulated time", Align::kRight);
    DrawText(ui, area, kLabelText, "A run's first step shows here.", Align::kCenter);
    return;
  }
  Follow(app);
  const Rect whole = header.TakeRight(42), fit = header.TakeRight(42);
  if (Button(ui, "fit step", fit.Inset(0, 5), "Step", ButtonKind::kGhost)) app.timeline.follow = true;
  if (Button(ui, "fit run", whole.Inset(0, 5), "Run", ButtonKind::kGhost)) {
    app.timeline.follow = false;
    app.timeline.from_ps = 0;
    app.timeline.to_ps = EndPs(app);
  }
  header.TakeRight(10);
  DrawText(ui, header, kNoteText, Position(app), Align::kRight);

  const Rect labels_area = area;
  area.TakeLeft(kLabels);
  const Rect ruler = area.TakeTop(kRuler);
  const Scale scale{app.timeline.from_ps, app.timeline.to_ps, area.x, area.w};
  const float row_height = area.h / static_cast<float>(std::size(kRowSpecs));
  float y = area.y;
  for (const RowSpec& row : kRowSpecs) {
    TextStyle style = kNoteText;
    if (row.kind == RowKind::kCritical) style.color = kWaiting;
    DrawText(ui, {labels_area.x, y, kLabels - 6, row_height}, style, row.label);
    HorizontalLine(ui, area.x, area.right(), y + row_height - 1, Mix(kPanel, kLine, 0.7f));
    y += row_height;
  }
  const Press press = Hit(ui, "tracks", area, platform::Cursor::kArrow);
  Scrub(ui, ruler, scale);
  ZoomAndPan(ui, press, area, scale);

  HoverSlice hover;
  const int playhead_step = StepIndexAt(app, app.playback.at_ps);
  const int first = std::max(0, StepIndexAt(app, scale.from_ps));
  ui.draw->PushClipRect({area.x, ruler.y}, {area.right(), area.bottom()}, true);
  for (size_t i = static_cast<size_t>(first); i < app.run.steps.size() && app.run.steps[i].start_ps < scale.to_ps; ++i) {
    DrawStep(ui, app.run.steps[i], scale, area, row_height, &hover);
  }
  DrawRuler(ui, ruler, scale, playhead_step >= 0 ? app.run.steps[static_cast<size_t>(playhead_step)].start_ps : 0);
  DrawPlayhead(ui, ruler, area, scale);
  ui.draw->PopClipRect();
  if (press.hovered && !press.held) SliceTip(ui, hover);
}

}  // namespace novascope::ui
