#include "ui/widgets.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "ui/format.h"

namespace novascope::ui {

namespace {

Rect WindowClip(const Ui& ui) {
  const ImVec2 low = ui.draw->GetClipRectMin(), high = ui.draw->GetClipRectMax();
  return {low.x, low.y, high.x - low.x, high.y - low.y};
}

// A point kept on the screen for a box of this size near the pointer.
Rect NearPointer(const AppState& app, float width, float height) {
  const ImVec2 at = ImGui::GetIO().MousePos;
  float x = at.x + 14, y = at.y + 16;
  if (x + width > app.view.width - 8) x = at.x - width - 10;
  if (y + height > app.view.height - 8) y = at.y - height - 10;
  return {std::clamp(x, 8.0f, std::max(8.0f, app.view.width - width - 8)),
          std::clamp(y, 8.0f, std::max(8.0f, app.view.height - height - 8)), width, height};
}

constexpr ImGuiWindowFlags kFloating =
    ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
    ImGuiWindowFlags_NoNav;

}  // namespace

bool Hovered(const Rect& rect) {
  return ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) &&
         ImGui::IsMouseHoveringRect(rect.min(), rect.max());
}

Press Hit(const Ui&, const char* id, const Rect& rect, platform::Cursor cursor) {
  if (rect.w < 1 || rect.h < 1) return {};
  ImGui::SetCursorScreenPos(rect.min());
  Press press;
  press.clicked = ImGui::InvisibleButton(id, {rect.w, rect.h});
  press.hovered = ImGui::IsItemHovered();
  press.held = ImGui::IsItemActive();
  if (press.hovered) {
    ImGui::SetMouseCursor(cursor == platform::Cursor::kHand     ? ImGuiMouseCursor_Hand
                          : cursor == platform::Cursor::kGrab   ? ImGuiMouseCursor_ResizeAll
                          : cursor == platform::Cursor::kResize ? ImGuiMouseCursor_ResizeEW
                                                                : ImGuiMouseCursor_Arrow);
  }
  return press;
}

bool Button(const Ui& ui, const char* id, const Rect& rect, std::string_view label, ButtonKind kind,
            bool enabled) {
  const Press press = enabled ? Hit(ui, id, rect) : Press{};
  TextStyle style = kBodyText;
  if (kind == ButtonKind::kPrimary) {
    Color fill = enabled ? kAction : Mix(kAction, kPanel, 0.7f);
    if (press.hovered) fill = Mix(fill, kText, 0.2f);
    if (press.held) fill = Mix(fill, kBackground, 0.2f);
    Fill(ui, rect, fill, kFieldRadius);
    style = {Face::kSansBold, kBody, enabled ? kBackground : kSecondary};
  } else if (kind == ButtonKind::kPlain) {
    Fill(ui, rect, press.held ? kLine : press.hovered ? kHover : kPanel, kFieldRadius);
    Outline(ui, rect, press.hovered ? Mix(kLine, kText, 0.2f) : kLine, kFieldRadius);
    if (!enabled) style.color = kIdle;
  } else {
    if (press.hovered) Fill(ui, rect, kHover, kFieldRadius);
    style.color = enabled ? kAction : kIdle;
  }
  DrawText(ui, rect.Inset(4, 0), style, label, Align::kCenter);
  return press.clicked;
}

bool Segments(const Ui& ui, const char* id, const Rect& rect, std::span<const char* const> labels,
              int* index) {
  Fill(ui, rect, kWell, kFieldRadius);
  Outline(ui, rect, kLine, kFieldRadius);
  const float width = rect.w / static_cast<float>(labels.size());
  bool changed = false;
  ImGui::PushID(id);
  for (size_t i = 0; i < labels.size(); ++i) {
    const Rect cell{rect.x + width * static_cast<float>(i), rect.y, width, rect.h};
    const bool chosen = static_cast<int>(i) == *index;
    const Press press = Hit(ui, labels[i], cell);
    if (chosen) {
      Fill(ui, cell.Inset(2, 2), Mix(kPanel, kAction, 0.22f), 3);
    } else if (press.hovered) {
      Fill(ui, cell.Inset(2, 2), kHover, 3);
    }
    TextStyle style = kNoteText;
    if (chosen) style.color = kText;
    DrawText(ui, cell.Inset(3, 0), style, labels[i], Align::kCenter);
    if (press.clicked && !chosen) {
      *index = static_cast<int>(i);
      changed = true;
    }
  }
  ImGui::PopID();
  return changed;
}

bool ValueRow(const Ui& ui, const char* id, const Rect& rect, std::string_view label,
              std::string_view value, bool bad) {
  const Press press = Hit(ui, id, rect);
  if (press.hovered) Fill(ui, {rect.x - 6, rect.y + 1, rect.w + 12, rect.h - 2}, kHover, kFieldRadius);
  const float label_width = DrawText(ui, rect, kLabelText, label);
  TextStyle style = kBodyText;
  if (bad) style.color = kWaiting;
  Rect rest = rect;
  rest.TakeLeft(label_width + 12);
  DrawText(ui, rest, style, value, Align::kRight);
  if (bad) Outline(ui, {rect.x - 6, rect.y + 1, rect.w + 12, rect.h - 2}, kWaiting, kFieldRadius);
  HorizontalLine(ui, rect.x, rect.right(), rect.bottom() - 1, kLine);
  return press.clicked;
}

void OpenPopup(const char* id) { ImGui::OpenPopup(id); }

bool BeginPopup(Ui& ui, const char* id, const Rect& anchor, float width, float height) {
  const View& view = ui.app.view;
  width = std::min(width, view.width - 16);
  height = std::min(height, view.height - 16);
  float y = anchor.bottom() + 4;
  if (y + height > view.height - 8) y = std::max(8.0f, std::min(anchor.y - height - 4, view.height - height - 8));
  const float x = std::clamp(anchor.right() - width, 8.0f, std::max(8.0f, view.width - width - 8));
  ImGui::SetNextWindowPos({std::round(x), std::round(y)});
  ImGui::SetNextWindowSize({width, height});
  if (!ImGui::BeginPopup(id, kFloating & ~ImGuiWindowFlags_NoScrollbar)) return false;
  ui.draw = ImGui::GetWindowDrawList();
  ui.in_popup = true;
  if (ui.app.popup.close) {
    ui.app.popup.close = false;
    ImGui::CloseCurrentPopup();
  }
  ui.app.popup.next = {std::round(x), std::round(y), width, height};
  return true;
}

void EndPopup() { ImGui::EndPopup(); }

bool OptionRow(const Ui& ui, const char* id, const Rect& rect, std::string_view label,
               std::string_view note, bool chosen) {
  const Press press = Hit(ui, id, rect);
  if (press.hovered || chosen) {
    Fill(ui, rect, chosen ? Mix(kPanel, kAction, 0.18f) : kHover, kFieldRadius);
  }
  Rect text = rect.Inset(8, 0);
  const float width = DrawText(ui, text, kBodyText, label);
  text.TakeLeft(width + 12);
  DrawText(ui, text, kNoteText, note, Align::kRight);
  return press.clicked;
}

bool TextField(const Ui& ui, const char* id, const Rect& rect, std::string* value,
               const FieldOptions& options) {
  AppState& app = ui.app;
  bool changed = false;
  for (const TextEdit& edit : app.edits) {
    if (edit.id == id && edit.value != *value) {
      *value = edit.value;
      changed = true;
    }
  }
  Fill(ui, rect, kWell, kFieldRadius);
  Outline(ui, rect, options.bad ? kWaiting : kLine, kFieldRadius);
  platform::TextField field;
  field.id = id;
  field.label = options.label;
  field.value = *value;
  field.box = {rect.x, rect.y, rect.w, rect.h};
  const Rect clip = Intersect(WindowClip(ui), rect);
  field.clip = {clip.x, clip.y, clip.w, clip.h};
  field.multiline = options.multiline;
  field.numeric = options.numeric;
  field.bad = options.bad;
  field.covered = !ui.in_popup && !Intersect(app.popup.rect, rect).Empty();
  if (field.covered) {
    const Rect inner = rect.Inset(8, options.multiline ? 7 : 0);
    if (options.multiline) {
      DrawParagraph(ui, inner, kNumberText, *value, static_cast<int>(inner.h / LineHeight(kNumberText)));
    } else {
      DrawText(ui, inner, kNumberText, *value);
    }
  }
  app.text_fields.push_back(std::move(field));
  return changed;
}

bool NumberField(const Ui& ui, const char* id, const Rect& rect, double* value, double step,
                 const FieldOptions& options) {
  Rect rest = rect;
  const Rect minus = rest.TakeLeft(rect.h);
  const Rect plus = rest.TakeRight(rect.h);
  double next = *value;
  ImGui::PushID(id);
  if (Button(ui, "less", minus, "\u2212")) next = std::max(0.0, *value - step);
  if (Button(ui, "more", plus, "+")) next = *value + step;
  ImGui::PopID();
  next = std::round(next * 1e6) / 1e6;  // 0.1 + 0.2 is shown, and sent, as 0.3
  std::string text = Format(next == std::floor(next) ? "%.0f" : "%.10g", next);
  FieldOptions numeric = options;
  numeric.numeric = true;
  if (TextField(ui, id, rest.Inset(4, 0), &text, numeric)) {
    char* end = nullptr;
    const double typed = std::strtod(text.c_str(), &end);
    if (end != text.c_str() && std::isfinite(typed)) next = typed;
  }
  const bool changed = next != *value;
  *value = next;
  return changed;
}

bool Slider(const Ui& ui, const char* id, const Rect& rect, double* value) {
  const Press press = Hit(ui, id, rect);
  const float y = std::round(rect.center_y());
  const double before = *value;
  if (press.held) {
    ui.app.view.scroll_grabbed = true;
    *value = std::clamp(static_cast<double>((ImGui::GetIO().MousePos.x - rect.x) / std::max(rect.w, 1.0f)),
                        0.0, 1.0);
  }
  const float x = rect.x + static_cast<float>(*value) * rect.w;
  Fill(ui, {rect.x, y - 2, rect.w, 4}, kLine, 2);
  Fill(ui, {rect.x, y - 2, x - rect.x, 4}, kAction, 2);
  Fill(ui, {x - 6, y - 8, 12, 16}, press.hovered || press.held ? Mix(kText, kAction, 0.25f) : kText, 4);
  return press.held && *value != before;
}

bool BeginTip(Ui& ui, float width, float height) {
  const Rect at = NearPointer(ui.app, std::min(width, ui.app.view.width - 16), height);
  ImGui::SetNextWindowPos(at.min());
  ImGui::SetNextWindowSize({at.w, at.h});
  ImGui::BeginTooltip();
  ui.draw = ImGui::GetWindowDrawList();
  if (ui.app.popup.next.Empty()) ui.app.popup.next = at;
  return true;
}

void EndTip() { ImGui::EndTooltip(); }

Explanation Sourced(const Ui& ui, const char* row, const char* name, Explanation explanation) {
  for (const SourceRow& source : ui.app.catalog.sources) {
    if (source.row.find(row) == std::string::npos || source.name.find(name) == std::string::npos) continue;
    explanation.label = source.label;
    explanation.source = source.source + (source.date.empty() ? "" : ", " + source.date);
    if (explanation.note.empty()) explanation.note = source.note;
    break;
  }
  return explanation;
}

void Explain(const Ui& ui, const char* id, const Rect& rect, std::string_view value,
             const Explanation& explanation) {
  std::string text = explanation.title;
  for (const std::string* part : {&explanation.formula, &explanation.label, &explanation.source,
                                  &explanation.note}) {
    if (!part->empty()) text += (text.empty() ? "" : "; ") + *part;
  }
  ui.app.figures.push_back({id, std::string(value), text});
  if (!Hovered(rect)) return;
  Ui tip = ui;
  constexpr float kWidth = 340;
  const float inner = kWidth - 24;
  const TextStyle formula{Face::kMono, kNote, kText};
  const TextStyle label{Face::kSansBold, kNote, kGood};
  float height = 20 + ParagraphHeight(ui, inner, kTitleText, explanation.title);
  if (!explanation.formula.empty()) height += ParagraphHeight(ui, inner, formula, explanation.formula) + 4;
  const std::string origin = explanation.source;
  if (!explanation.label.empty()) height += LineHeight(label);
  if (!origin.empty()) height += ParagraphHeight(ui, inner, kNoteText, origin);
  if (!explanation.note.empty()) height += ParagraphHeight(ui, inner, kNoteText, explanation.note) + 4;
  BeginTip(tip, kWidth, height);
  const ImVec2 corner = ImGui::GetWindowPos();
  Rect at{corner.x + 12, corner.y + 10, inner, height};
  at.TakeTop(DrawParagraph(tip, at, kTitleText, explanation.title));
  if (!explanation.formula.empty()) at.TakeTop(DrawParagraph(tip, at, formula, explanation.formula) + 4);
  if (!explanation.label.empty()) {
    TextStyle style = label;
    if (explanation.label == "assumed") style.color = kNetwork;
    if (explanation.label == "published") style.color = kCompute;
    at.TakeTop(DrawParagraph(tip, at, style, explanation.label));
  }
  if (!origin.empty()) at.TakeTop(DrawParagraph(tip, at, kNoteText, origin));
  if (!explanation.note.empty()) {
    at.TakeTop(4);
    DrawParagraph(tip, at, kNoteText, explanation.note);
  }
  EndTip();
}

}  // namespace novascope::ui
