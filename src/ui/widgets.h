// Controls and explanations. Every control takes its rectangle; ids are unique within a panel.
#pragma once

#include <span>
#include <string>

#include "ui/draw.h"

namespace novascope::ui {

struct Press {
  bool clicked = false, hovered = false, held = false;
};
// A place that can be pressed.
Press Hit(const Ui& ui, const char* id, const Rect& rect, platform::Cursor cursor = platform::Cursor::kHand);

enum class ButtonKind { kPrimary, kPlain, kGhost };
bool Button(const Ui& ui, const char* id, const Rect& rect, std::string_view label,
            ButtonKind kind = ButtonKind::kPlain, bool enabled = true);

// A row of words of which one holds. Returns whether it changed.
bool Segments(const Ui& ui, const char* id, const Rect& rect, std::span<const char* const> labels,
              int* index);

// Label left, value right, a hairline below; pressed, it opens something. `bad` marks a refused value.
bool ValueRow(const Ui& ui, const char* id, const Rect& rect, std::string_view label,
              std::string_view value, bool bad = false);

// A popup below (or above) a rectangle. Between Begin (true) and End, draw with ui.draw of the popup.
bool BeginPopup(Ui& ui, const char* id, const Rect& anchor, float width, float height);
void EndPopup();
void OpenPopup(const char* id);

// One row of a list of choices; returns whether it was picked.
bool OptionRow(const Ui& ui, const char* id, const Rect& rect, std::string_view label,
               std::string_view note, bool chosen);

// A text field. Returns whether the text changed. The place lays its own input over it where it has one.
struct FieldOptions {
  const char* label = "";
  bool multiline = false, numeric = false, bad = false;
};
bool TextField(const Ui& ui, const char* id, const Rect& rect, std::string* value,
               const FieldOptions& options);
// A number typed or stepped with - and +. Out of range is refused by the core, visibly, not here.
bool NumberField(const Ui& ui, const char* id, const Rect& rect, double* value, double step,
                 const FieldOptions& options);

// A track with a knob; value in 0..1. Returns whether it moved.
bool Slider(const Ui& ui, const char* id, const Rect& rect, double* value);

// What a figure says of itself: the formula with the numbers put in, and where they come from.
struct Explanation {
  std::string title;
  std::string formula;
  std::string label;   // published, measured, derived, assumed
  std::string source;  // with its date
  std::string note;
};
// Shows it while the rectangle is hovered, and records it with the figure's value for the snapshot.
void Explain(const Ui& ui, const char* id, const Rect& rect, std::string_view value,
             const Explanation& explanation);
// "source, date" of a row, with its label.
Explanation Sourced(const Ui& ui, const char* row, const char* name, Explanation explanation);

// A tooltip of a few lines beside the pointer; `draw_lines` true while open.
bool BeginTip(Ui& ui, float width, float height);
void EndTip();

// Whether the pointer is over the rectangle and nothing covers it.
bool Hovered(const Rect& rect);

}  // namespace novascope::ui
