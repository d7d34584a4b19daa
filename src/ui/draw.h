// Text and shapes at exact places. Sizes are those of CSS; text is centred by its capital letters, which
// is what the eye measures a row by.
#pragma once

#include <string>
#include <string_view>

#include "ui/state.h"

namespace novascope::ui {

// What a drawing function needs; made anew for every window it draws into.
struct Ui {
  AppState& app;
  ImDrawList* draw = nullptr;
  bool narrow = false;  // one column
  bool in_popup = false;
};

enum class Align { kLeft, kCenter, kRight };

struct TextStyle {
  Face face = Face::kSans;
  float size = kBody;
  Color color = kText;
};
inline constexpr TextStyle kNoteText{Face::kSans, kNote, kSecondary};
inline constexpr TextStyle kLabelText{Face::kSans, kBody, kSecondary};
inline constexpr TextStyle kBodyText{Face::kSans, kBody, kText};
inline constexpr TextStyle kTitleText{Face::kSansBold, kTitle, kText};
inline constexpr TextStyle kNumberText{Face::kMono, kBody, kText};
inline constexpr TextStyle kSmallNumber{Face::kMono, kNote, kSecondary};

float TextWidth(const Ui& ui, const TextStyle& style, std::string_view text);
// Draws one line in a rectangle, centred vertically, cut with an ellipsis where it does not fit. Returns
// the width drawn.
float DrawText(const Ui& ui, const Rect& rect, const TextStyle& style, std::string_view text,
               Align align = Align::kLeft);
// Breaks text into lines at spaces; the last of `max_lines` takes an ellipsis. Returns the height used.
float DrawParagraph(const Ui& ui, const Rect& rect, const TextStyle& style, std::string_view text,
                    int max_lines = 99);
float ParagraphHeight(const Ui& ui, float width, const TextStyle& style, std::string_view text,
                      int max_lines = 99);
float LineHeight(const TextStyle& style);

void Fill(const Ui& ui, const Rect& rect, Color color, float radius = 0);
void Outline(const Ui& ui, const Rect& rect, Color color, float radius = 0);
void HorizontalLine(const Ui& ui, float x0, float x1, float y, Color color);
void DashedLine(const Ui& ui, float x0, float x1, float y, Color color);
// A pattern over a fill, so that kinds can be told apart without colour.
void Hatch(const Ui& ui, const Rect& rect, Color color, float spacing);

// A small square with its word after it, for legends. Returns the width used.
float LegendItem(const Ui& ui, float x, float center_y, Color color, std::string_view word);

ImFont* FontOf(const AppState& app, Face face);
// The size to give Dear ImGui for a CSS size: its sizes count ascent to descent, and are whole pixels.
float ImGuiSize(Face face, float css_size);

}  // namespace novascope::ui
