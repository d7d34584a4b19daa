// What lies in the HBM of the selected chip, stack by stack and category by category. Used range first,
// with the limit marked; linear over the whole stack, or logarithmic, one press away. KV fills with the
// playhead's position.
#include <algorithm>
#include <array>
#include <cmath>

#include "ui/catalog.h"
#include "ui/format.h"
#include "ui/map_layout.h"
#include "ui/panels.h"
#include "ui/playback.h"

namespace novascope::ui {

namespace {

struct Stack {
  std::vector<double> bytes;  // by category
  double used = 0;
  double kv_filled = 0;
};

int Positions(const AppState& app) {
  const int step = StepIndexAt(app, app.playback.at_ps);
  if (step < 0) return 0;
  const StepInfo& info = app.run.steps[static_cast<size_t>(step)];
  // A step's positions are there once it is done; before, those of the step before it.
  if (app.playback.at_ps >= info.end_ps) return info.positions;
  return step > 0 ? app.run.steps[static_cast<size_t>(step - 1)].positions : 0;
}

Stack StackOf(const AppState& app, int chip, int index, int positions) {
  Stack stack;
  const Hbm& hbm = app.run.hbm;
  const size_t at = static_cast<size_t>(chip * app.run.machine.stacks_per_chip + index);
  if (at >= hbm.bytes.size()) return stack;
  stack.bytes = hbm.bytes[at];
  for (double bytes : stack.bytes) stack.used += bytes;
  if (at < hbm.kv_bytes_per_position.size()) stack.kv_filled = hbm.kv_bytes_per_position[at] * positions;
  return stack;
}

// Maps bytes to a share of the bar's height.
struct BarScale {
  HbmScale kind;
  double top, limit;
  double Share(double bytes) const {
    if (bytes <= 0) return 0;
    if (kind == HbmScale::kLog) {
      constexpr double kFloor = 1 << 20;  // 1 MiB
      return std::clamp(std::log2(std::max(bytes, kFloor) / kFloor) / std::log2(limit / kFloor), 0.0, 1.0) * 0.92;
    }
    return std::clamp(bytes / top, 0.0, 1.0) * 0.92;
  }
};

BarScale MakeScale(HbmScale kind, double used, double limit) {
  BarScale scale{kind, limit, limit};
  if (kind != HbmScale::kUsed) return scale;
  // The used range, rounded up to a number that reads well; the whole stack where that is close.
  double unit = 1024.0 * 1024.0;
  while (unit * 8 < used) unit *= 2;
  scale.top = std::max(unit, std::ceil(used / unit * 1.05) * unit);
  if (scale.top > 0.7 * limit) scale.top = limit;
  return scale;
}

void DrawBar(const Ui& ui, const Rect& bar, const Stack& stack, const std::vector<std::string>& categories,
             const BarScale& scale) {
  Fill(ui, bar, kWell, 3);
  double below = 0;
  for (size_t c = 0; c < stack.bytes.size(); ++c) {
    if (stack.bytes[c] <= 0) continue;
    const float y0 = bar.bottom() - bar.h * static_cast<float>(scale.Share(below));
    const float y1 = bar.bottom() - bar.h * static_cast<float>(scale.Share(below + stack.bytes[c]));
    const Color color = CategoryColor(categories[c]);
    const Rect part{bar.x, y1, bar.w, std::max(1.0f, y0 - y1 - 1)};
    if (categories[c] == "kv") {
      // Reserved is pale and hatched, filled is solid.
      Fill(ui, part, Mix(kWell, color, 0.28f));
      Hatch(ui, part, Mix(kWell, color, 0.5f), 7);
      const double share = std::clamp(stack.kv_filled / stack.bytes[c], 0.0, 1.0);
      const float filled = part.h * static_cast<float>(share);
      Fill(ui, {part.x, part.bottom() - filled, part.w, filled}, color);
    } else {
      Fill(ui, part, color);
    }
    below += stack.bytes[c];
  }
  Outline(ui, bar, kLine, 3);
  const float top = bar.bottom() - bar.h * static_cast<float>(scale.Share(below));
  const Quantity used = Bytes(stack.used);
  DrawText(ui, {bar.x - 8, std::max(bar.y, top - 18), bar.w + 16, 16}, {Face::kMono, kNote, kText}, used.text(), Align::kCenter);
}

void DrawLimit(const Ui& ui, const Rect& bars, const BarScale& scale) {
  const bool inside = scale.kind != HbmScale::kUsed || scale.top >= scale.limit;
  TextStyle style = kNoteText;
  style.color = kWaiting;
  std::string words = "limit " + Bytes(scale.limit).text() + " per stack";
  if (!inside) words += ", beyond the axis";
  DrawText(ui, {bars.x, bars.y - 17, bars.w, 16}, style, words, Align::kRight);
  const float y = inside ? bars.bottom() - bars.h * 0.92f : bars.y + 1;
  for (float x = bars.x; x < bars.right(); x += 8) {
    ui.draw->AddRectFilled({x, y}, {std::min(x + 5, bars.right()), y + 1.5f}, kWaiting);
  }
}

std::string LegendText(const Ui& ui, const std::string& category, const Stack& stack, size_t index) {
  const AppState& app = ui.app;
  std::string text = category == "kv" ? "KV" : category;
  if (category == "kv") {
    text += " " + Bytes(stack.kv_filled).text() + " of " + Bytes(stack.bytes[index]).text();
    const int copies = app.run.timed ? app.run.timing.kv_copies : app.run.exec.kv_copies;
    if (copies > 1) text += Format(" (x%d copies)", copies);
    return text;
  }
  if (category == "code") text = "runtime";
  return text + " " + Bytes(stack.bytes[index]).text();
}

Explanation CategoryExplanation(const Ui& ui, const std::string& category, const Stack& stack, size_t index,
                                int positions) {
  const AppState& app = ui.app;
  const Hbm& hbm = app.run.hbm;
  Explanation explanation{category == "kv" ? "KV cache" : category, "", "derived", "memory map of the plan", app.run.memory};
  if (category == "kv") {
    const double per_position = positions > 0 ? stack.kv_filled / positions : stack.bytes[index] / std::max(1, hbm.kv_positions);
    explanation.formula = Format("%s per position x %d positions = %s\nreserved: x %d = %s",
                                 Bytes(per_position).text().c_str(), positions,
                                 Bytes(stack.kv_filled).text().c_str(), hbm.kv_positions,
                                 Bytes(stack.bytes[index]).text().c_str());
    explanation.note = "Whole machine: " + Bytes(hbm.unique_kv).text() + " once, " + Bytes(hbm.kv_copies).text() +
                       " in copies, because there are fewer KV heads than ranks.";
  } else if (category == "weights") {
    explanation.formula = "whole machine: " + Bytes(hbm.unique_weights).text() + " once + " +
                          Bytes(hbm.replicated_weights).text() + " in copies";
  } else if (category == "code") {
    explanation.formula = "96 MB of runtime per physical core, kept whether a model runs or not";
    explanation = Sourced(ui, "", "code_bytes_per_core", explanation);
  }
  return explanation;
}

void DrawLegend(const Ui& ui, Rect area, const Stack& stack, int positions) {
  const std::vector<std::string>& categories = ui.app.run.hbm.categories;
  // Two columns; KV says more and takes a row of its own.
  const float row = area.h / 4, column = 0.5f * area.w;
  int place = 0;
  for (size_t c = 0; c < categories.size() && c < stack.bytes.size(); ++c) {
    if (stack.bytes[c] <= 0) continue;
    const std::string text = LegendText(ui, categories[c], stack, c);
    const bool wide = categories[c] == "kv";
    if (wide && place % 2 == 1) ++place;
    const float x = area.x + column * static_cast<float>(place % 2), y = area.y + row * static_cast<float>(place / 2);
    const float width = wide ? area.w : column;
    place += wide ? 2 : 1;
    if (y + row > area.bottom() + 1) break;
    LegendItem(ui, x, y + 0.5f * row, CategoryColor(categories[c]), text);
    Explain(ui, ("hbm." + categories[c]).c_str(), {x, y, width, row}, text,
            CategoryExplanation(ui, categories[c], stack, c, positions));
  }
}

}  // namespace

void DrawHbm(Ui& ui, Rect rect) {
  AppState& app = ui.app;
  const Machine& machine = app.run.machine;
  rect = rect.Inset(kPad, 0);
  Rect header = rect.TakeTop(38);
  rect.TakeBottom(10);
  const int chip = app.selection.chip;
  const bool several = machine.chips == 0 || machine.chips > kChipsPerInstance;
  std::string title = Format("HBM, chip %d", chip % kChipsPerInstance);
  if (several) title += Format(" of instance %d", chip / kChipsPerInstance);
  DrawText(ui, header, kTitleText, title);
  if (!app.run.planned) {
    DrawText(ui, rect, kLabelText, "Weights, KV cache and scratch show here.", Align::kCenter);
    return;
  }
  DrawText(ui, header, kLabelText, Bytes(machine.stack_bytes * machine.stacks_per_chip).text(), Align::kRight);

  const int positions = Positions(app);
  std::vector<Stack> stacks;
  double used = 0;
  for (int i = 0; i < machine.stacks_per_chip; ++i) {
    stacks.push_back(StackOf(app, chip, i, positions));
    used = std::max(used, stacks.back().used);
  }
  Rect foot = rect.TakeBottom(24);
  rect.TakeBottom(4);
  const Rect legend = rect.TakeBottom(rect.h < 240 ? 60 : 68);
  rect.TakeTop(14);
  rect.TakeBottom(4);
  const Rect names = rect.TakeBottom(18);
  const BarScale scale = MakeScale(app.hbm.scale, used, machine.stack_bytes);
  const float pitch = rect.w / static_cast<float>(stacks.size());
  for (size_t i = 0; i < stacks.size(); ++i) {
    const Rect cell{rect.x + pitch * static_cast<float>(i), rect.y, pitch, rect.h};
    const float width = std::min(52.0f, pitch - 18);
    const Rect bar{std::round(cell.center_x() - 0.5f * width), cell.y, width, cell.h};
    DrawBar(ui, bar, stacks[i], app.run.hbm.categories, scale);
    DrawText(ui, {cell.x, names.y, cell.w, names.h}, kNoteText, Format("stack %d", static_cast<int>(i)), Align::kCenter);
    Explanation explanation = Sourced(ui, "", "hbm_stack_bytes", {.title = Format("Stack %d", static_cast<int>(i)),
        .formula = Bytes(stacks[i].used).text() + " used of " + Bytes(machine.stack_bytes).text() + ", " +
                   Percent(stacks[i].used / std::max(1.0, machine.stack_bytes)),
        .label = "", .source = "", .note = app.run.memory});
    Explain(ui, Format("hbm.stack%d", static_cast<int>(i)).c_str(), bar, Bytes(stacks[i].used).text(), explanation);
  }
  DrawLimit(ui, rect, scale);
  DrawLegend(ui, legend, stacks[0], positions);

  int kind = static_cast<int>(app.hbm.scale);
  constexpr std::array<const char*, 3> kKinds{"used", "all", "log"};
  if (Segments(ui, "scale", foot.TakeLeft(126), kKinds, &kind)) app.hbm.scale = static_cast<HbmScale>(kind);
  const std::string note = scale.kind == HbmScale::kLog ? "logarithmic, from 1 MiB" : "axis to " + Bytes(scale.top).text();
  foot.TakeLeft(8);
  DrawText(ui, foot, kNoteText, note, Align::kRight);
}

}  // namespace novascope::ui
