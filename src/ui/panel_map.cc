// The 64 chips and their links in three dimensions, as they are at the playhead. Drag to orbit, wheel to
// zoom, click a chip or a link.
#include <algorithm>
#include <cmath>

#include "ui/activity.h"
#include "ui/format.h"
#include "ui/map_layout.h"
#include "ui/panels.h"
#include "ui/playback.h"

namespace novascope::ui {

namespace {

constexpr float kChipReach = 16, kLinkReach = 5;  // CSS pixels

gfx::MapStyle MapColors() {
  gfx::MapStyle style;
  style.palette = {ToVec3(Hex(0x1a212a)), ToVec3(Hex(0x2b3542)), ToVec3(Mix(kCompute, kPanel, 0.12f)),
                   ToVec3(Mix(kMemory, kPanel, 0.15f)), ToVec3(Mix(kNetwork, kPanel, 0.25f)),
                   ToVec3(Mix(kWaiting, kPanel, 0.62f))};
  style.ring = ToVec3(kText);
  style.idle_link = ToVec3(Hex(0x3a4452));
  style.busy_link = ToVec3(kNetwork);
  style.selected_link = ToVec3(kText);
  return style;
}

// Called by Dear ImGui's renderer in the middle of the frame.
void RenderCallback(const ImDrawList*, const ImDrawCmd* command) {
  auto* map = static_cast<MapState*>(command->UserCallbackData);
  map->renderer.Draw(map->camera, map->style, map->device, map->flow);
}

void PlaceCamera(AppState& app, const Rect& rect, const Rect& clip) {
  MapState& map = app.map;
  map.viewport = rect;
  gfx::Fit(&map.camera, map.chips, rect.w, rect.h, std::clamp(0.09f * rect.h, 16.0f, 30.0f));
  map.matrix = gfx::ViewProjection(map.camera, rect.w, rect.h);
  const float dpr = app.view.dpr;
  const auto px = [dpr](float v) { return static_cast<int>(std::lround(v * dpr)); };
  map.device = {px(rect.x), px(rect.y), px(rect.w), px(rect.h), px(app.view.height),
                px(clip.x), px(clip.y), px(clip.w), px(clip.h), dpr};
}

int ChipUnder(const MapState& map, ImVec2 mouse) {
  int best = -1;
  float nearest = 1e9f;
  for (size_t chip = 0; chip < map.chips.size(); ++chip) {
    const ImVec2 at = ChipPoint(map, chip);
    const float dx = std::fabs(at.x - mouse.x), dy = std::fabs(at.y - mouse.y);
    if (dx > kChipReach || dy > kChipReach * 0.75f || dx + dy >= nearest) continue;
    nearest = dx + dy;
    best = static_cast<int>(chip);
  }
  return best;
}

int LinkUnder(const AppState& app, ImVec2 mouse) {
  const MapState& map = app.map;
  int best = -1;
  float nearest = kLinkReach;
  for (size_t link = 0; link < map.links.size(); ++link) {
    if (map.links[link].kind == 0) continue;
    for (int i = 0; i < 8; ++i) {
      const ImVec2 a = LinkPoint(map, link, static_cast<float>(i) / 8.0f);
      const ImVec2 b = LinkPoint(map, link, static_cast<float>(i + 1) / 8.0f);
      const ImVec2 d{b.x - a.x, b.y - a.y};
      const float length2 = std::max(d.x * d.x + d.y * d.y, 1e-3f);
      const float t = std::clamp(((mouse.x - a.x) * d.x + (mouse.y - a.y) * d.y) / length2, 0.0f, 1.0f);
      const float away = std::hypot(a.x + t * d.x - mouse.x, a.y + t * d.y - mouse.y);
      // Of the two directions of a wire, a busy one is the more interesting.
      const bool busy = link < app.activity.links.size() && app.activity.links[link].busy;
      if (away < nearest - (busy ? -0.5f : 0.0f)) {
        nearest = away;
        best = static_cast<int>(link);
      }
    }
  }
  return best;
}

void Orbit(Ui& ui, const Press& press) {
  AppState& app = ui.app;
  MapState& map = app.map;
  const ImGuiIO& io = ImGui::GetIO();
  if (press.held) {
    app.view.scroll_grabbed |= !ui.narrow || map.orbiting;
    if (std::hypot(ImGui::GetMouseDragDelta(0, 0).x, ImGui::GetMouseDragDelta(0, 0).y) > 4 && !ui.narrow) {
      map.orbiting = true;
    }
    if (map.orbiting) {
      map.camera.yaw = std::remainder(map.camera.yaw - io.MouseDelta.x * 0.007f, 6.2831853f);
      map.camera.pitch = std::clamp(map.camera.pitch + io.MouseDelta.y * 0.007f, -1.45f, 1.45f);
    }
  }
  if (press.hovered && io.MouseWheel != 0 && (!ui.narrow || io.KeyCtrl)) {
    map.camera.zoom = std::clamp(map.camera.zoom * std::pow(1.12f, io.MouseWheel), 0.5f, 8.0f);
  }
  if (press.clicked) {
    if (!map.orbiting || ui.narrow) {
      if (map.hovered_chip >= 0) {
        app.selection.chip = map.hovered_chip;
        app.selection.link = -1;
      } else {
        app.selection.link = map.hovered_link;
      }
    }
    // On a phone the map turns only after a tap, so that a swipe over it scrolls the page.
    map.orbiting = ui.narrow;
  } else if (!press.held && !ui.narrow) {
    map.orbiting = false;
  }
}

std::string ChipName(const Machine& machine, int chip) {
  const int place = chip % kChipsPerInstance;
  const int instances = (machine.chips + kChipsPerInstance - 1) / kChipsPerInstance;
  std::string name = Format("chip %d", place);
  if (instances > 1) name += Format(" of instance %d", chip / kChipsPerInstance);
  return name;
}

void ChipTip(const Ui& ui, int chip) {
  const AppState& app = ui.app;
  Ui tip = ui;
  const int cores = std::min(app.run.machine.cores_per_chip, gfx::kMaxCores);
  BeginTip(tip, 250, 46 + 18 * static_cast<float>(app.run.planned ? cores : 0));
  const ImVec2 corner = ImGui::GetWindowPos();
  Rect at{corner.x + 12, corner.y + 10, 226, 400};
  DrawText(tip, at.TakeTop(24), kTitleText, ChipName(app.run.machine, chip));
  constexpr const char* kWords[] = {"outside the plan", "idle", "computing", "reading HBM", "on the network", "waiting"};
  constexpr Color kColors[] = {kLine, kIdle, kCompute, kMemory, kNetwork, kWaiting};
  if (app.run.planned && static_cast<size_t>(chip) < app.activity.chips.size()) {
    for (int core = 0; core < cores; ++core) {
      const int state = app.activity.chips[static_cast<size_t>(chip)].cores[static_cast<size_t>(core)];
      const Rect row = at.TakeTop(18);
      DrawText(tip, row, kNoteText, Format("core %d", core));
      LegendItem(tip, row.x + 70, row.center_y(), kColors[state], kWords[state]);
    }
  }
  EndTip();
}

void LinkTip(const Ui& ui, int link) {
  const AppState& app = ui.app;
  if (static_cast<size_t>(link) >= app.run.machine.links.size()) return;
  const Machine::Link& row = app.run.machine.links[static_cast<size_t>(link)];
  const char* kind = row.kind == 1 ? "XY link" : row.kind == 2 ? "Z link" : row.kind == 3 ? "EFA" : "in-chip";
  const bool busy = app.activity.links[static_cast<size_t>(link)].busy;
  int64_t relative = 0;
  const trace::StepTemplate* step = TemplateAt(app, app.playback.at_ps, &relative);
  uint64_t bytes = 0;
  if (step && static_cast<size_t>(link) < step->bytes_by_link.size()) bytes = step->bytes_by_link[static_cast<size_t>(link)];
  Ui tip = ui;
  BeginTip(tip, 290, 66);
  const ImVec2 corner = ImGui::GetWindowPos();
  Rect at{corner.x + 12, corner.y + 10, 266, 60};
  DrawText(tip, at.TakeTop(24), kTitleText, Format("%s, chip %d to %d", kind, row.from, row.to));
  DrawText(tip, at.TakeTop(22), kNoteText,
           std::string(busy ? "busy now; " : "idle now; ") + Bytes(static_cast<double>(bytes)).text() + " in this step");
  EndTip();
}

void Header(const Ui& ui, const Rect& row) {
  const AppState& app = ui.app;
  Rect left = row;
  const bool ultra = app.run.machine.chips == 0 || app.run.machine.chips > kChipsPerInstance;
  float width = DrawText(ui, left, kTitleText, ultra ? "UltraServer" : "Instance");
  left.TakeLeft(width + 8);
  std::string crumb = ultra ? Format("/ instance %d", app.selection.chip / kChipsPerInstance) : std::string();
  crumb += Format(" / chip %d", app.selection.chip % kChipsPerInstance);
  width = DrawText(ui, left, kLabelText, crumb);
  left.TakeLeft(width + 20);
  TextStyle doing = kBodyText;
  doing.color = kNetwork;
  if (ui.narrow) left = {row.x, row.bottom() - 4, row.w, 20};
  DrawText(ui, left, doing, app.activity.doing, ui.narrow ? Align::kLeft : Align::kRight);
}

void Legend(const Ui& ui, const Rect& row, bool ultra) {
  struct Entry {
    Color color;
    const char* word;
  };
  constexpr Entry kEntries[] = {{kCompute, "compute"}, {kMemory, "HBM"}, {kNetwork, "link bytes"},
                                {kWaiting, "wait"}};
  float x = row.x;
  for (const Entry& entry : kEntries) x += LegendItem(ui, x, row.center_y(), entry.color, entry.word) + (ui.narrow ? 14 : 20);
  if (ultra && x + 64 < row.right()) {
    DashedLine(ui, x, x + 18, row.center_y(), kSecondary);
    x += 24;
    x += DrawText(ui, {x, row.y, 60, row.h}, kNoteText, "Z ring") + 20;
  }
  Rect rest = row;
  rest.TakeLeft(x - row.x);
  if (rest.w > 60) DrawText(ui, rest, kNoteText, ui.narrow ? "tap, then drag to orbit" : "drag to orbit, click a chip", Align::kRight);
}

void InstanceLabels(const Ui& ui) {
  const MapState& map = ui.app.map;
  const int instances = static_cast<int>(map.chips.size()) / kChipsPerInstance;
  for (int instance = 0; instances > 1 && instance < instances; ++instance) {
    ImVec2 low{0, -1e9f};
    for (int i = 0; i < kChipsPerInstance; ++i) {
      const ImVec2 at = ChipPoint(map, static_cast<size_t>(instance * kChipsPerInstance + i));
      low.x += at.x / kChipsPerInstance;
      low.y = std::max(low.y, at.y);
    }
    const Rect label{low.x - 50, std::min(low.y + 12, map.viewport.bottom() - 18), 100, 18};
    DrawText(ui, label, kNoteText, Format("instance %d", instance), Align::kCenter);
  }
}

}  // namespace

void DrawMap(Ui& ui, Rect rect) {
  AppState& app = ui.app;
  MapState& map = app.map;
  UpdateMapGeometry(app);
  UpdateActivity(app);
  Rect area = rect;
  const Rect header = area.TakeTop(40).Inset(kPad, 0);
  const Rect footer = area.TakeBottom(32).Inset(kPad, 0);
  const Rect view = area.Inset(2, 0);
  const ImVec2 low = ui.draw->GetClipRectMin(), high = ui.draw->GetClipRectMax();
  PlaceCamera(app, view, Intersect(view, {low.x, low.y, high.x - low.x, high.y - low.y}));

  const Press press = Hit(ui, "map", view, platform::Cursor::kArrow);
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  map.hovered_chip = press.hovered && !map.orbiting ? ChipUnder(map, mouse) : -1;
  map.hovered_link = press.hovered && !map.orbiting && map.hovered_chip < 0 ? LinkUnder(app, mouse) : -1;
  Orbit(ui, press);

  std::vector<gfx::MapChip> chips = app.activity.chips;
  std::vector<gfx::LinkActivity> links = app.activity.links;
  chips.resize(map.chips.size());
  links.resize(map.links.size());
  const auto mark = [&](int chip, uint8_t bit) {
    if (chip >= 0 && static_cast<size_t>(chip) < chips.size()) chips[static_cast<size_t>(chip)].marks |= bit;
  };
  mark(app.selection.chip, 1);
  mark(map.hovered_chip, 2);
  for (int link : {app.selection.link, map.hovered_link}) {
    if (link >= 0 && static_cast<size_t>(link) < links.size()) links[static_cast<size_t>(link)].selected = 1;
  }
  if (!app.run.planned) {
    for (gfx::MapChip& chip : chips) chip.cores.fill(static_cast<uint8_t>(gfx::CoreState::kIdle));
  }
  map.renderer.SetActivity(chips, app.run.planned ? app.run.machine.cores_per_chip : 4, links);
  map.style = MapColors();
  const bool moving = app.playback.playing || (app.playback.live && app.run.state == CoreState::kRunning);
  map.flow = moving && !app.view.reduced_motion ? static_cast<float>(std::fmod(app.playback.flow_px, 14000.0)) : -1.0f;
  ui.draw->AddCallback(RenderCallback, &map);
  ui.draw->AddCallback(ImDrawCallback_ResetRenderState, nullptr);

  InstanceLabels(ui);
  Header(ui, header);
  Legend(ui, footer, map.chips.size() > kChipsPerInstance);
  if (map.renderer_failed) {
    DrawParagraph(ui, view.Inset(kPad, kPad), kLabelText,
                  "The 3D view's shaders did not build here: " + map.renderer_error + " Everything else works.", 3);
  }
  if (map.hovered_chip >= 0) ChipTip(ui, map.hovered_chip);
  if (map.hovered_link >= 0 && app.run.planned) LinkTip(ui, map.hovered_link);
}

}  // namespace novascope::ui
