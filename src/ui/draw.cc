#include "ui/draw.h"

#include <algorithm>
#include <cmath>

namespace novascope::ui {

namespace {

// Of each face, as shares of the em: what Dear ImGui calls its size, the baseline below the top, and the
// height of capitals. From the fonts' hhea and OS/2 tables.
struct FaceMetrics {
  float size, ascent, capital;
};
constexpr FaceMetrics kMetrics[] = {
    {1.2102f, 0.9688f, 0.7273f}, {1.2102f, 0.9688f, 0.7273f}, {1.32f, 1.02f, 0.73f}};

const FaceMetrics& MetricsOf(Face face) { return kMetrics[static_cast<int>(face)]; }

float Em(Face face, float css_size) { return ImGuiSize(face, css_size) / MetricsOf(face).size; }

constexpr std::string_view kEllipsis = "\u2026";

// How many bytes of `text` fit into `width`.
size_t FittingBytes(const Ui& ui, const TextStyle& style, std::string_view text, float width) {
  if (text.empty()) return 0;
  const char* remaining = nullptr;
  FontOf(ui.app, style.face)
      ->CalcTextSizeA(ImGuiSize(style.face, style.size), std::max(width, 0.0f), 0.0f, text.data(),
                      text.data() + text.size(), &remaining);
  return static_cast<size_t>(remaining - text.data());
}

// One visual line from the front of `text`: how much it shows, and how much it consumes.
struct Line {
  size_t shown = 0, consumed = 0;
};

Line NextLine(const Ui& ui, const TextStyle& style, std::string_view text, float width) {
  const size_t newline = std::min(text.find('\n'), text.size());
  const std::string_view first = text.substr(0, newline);
  if (TextWidth(ui, style, first) <= width) {
    return {newline, std::min(newline + 1, text.size())};
  }
  const size_t fits = std::max<size_t>(1, FittingBytes(ui, style, first, width));
  if (fits >= first.size()) return {newline, std::min(newline + 1, text.size())};
  const size_t space = first.rfind(' ', fits);
  if (space != std::string_view::npos && space > 0) return {space, space + 1};
  size_t cut = fits;
  while (cut > 1 && (static_cast<unsigned char>(first[cut]) & 0xc0) == 0x80) --cut;
  return {cut, cut};
}

}  // namespace

ImFont* FontOf(const AppState& app, Face face) {
  const Fonts& fonts = app.view.fonts;
  switch (face) {
    case Face::kSansBold: return fonts.sans_bold;
    case Face::kMono: return fonts.mono;
    case Face::kSans: break;
  }
  return fonts.sans;
}

float ImGuiSize(Face face, float css_size) { return std::round(css_size * MetricsOf(face).size); }

float LineHeight(const TextStyle& style) { return std::round(Em(style.face, style.size) * 1.5f); }

float TextWidth(const Ui& ui, const TextStyle& style, std::string_view text) {
  if (text.empty()) return 0;
  return FontOf(ui.app, style.face)
      ->CalcTextSizeA(ImGuiSize(style.face, style.size), 1e6f, 0.0f, text.data(),
                      text.data() + text.size())
      .x;
}

float DrawText(const Ui& ui, const Rect& rect, const TextStyle& style, std::string_view text, Align align) {
  if (text.empty() || rect.w <= 1) return 0;
  std::string cut;
  float width = TextWidth(ui, style, text);
  if (width > rect.w + 0.5f) {
    const size_t bytes = FittingBytes(ui, style, text, rect.w - TextWidth(ui, style, kEllipsis));
    cut = std::string(text.substr(0, bytes)) + std::string(kEllipsis);
    text = cut;
    width = TextWidth(ui, style, text);
  }
  float x = rect.x;
  if (align == Align::kCenter) x += 0.5f * (rect.w - width);
  if (align == Align::kRight) x += rect.w - width;
  const float size = ImGuiSize(style.face, style.size);
  const float em = Em(style.face, style.size);
  const float baseline = rect.center_y() + 0.5f * MetricsOf(style.face).capital * em;
  const float y = std::round(baseline - std::ceil(MetricsOf(style.face).ascent * em));
  ui.draw->AddText(FontOf(ui.app, style.face), size, ImVec2(std::round(x), y), style.color, text.data(),
                   text.data() + text.size());
  return width;
}

float DrawParagraph(const Ui& ui, const Rect& rect, const TextStyle& style, std::string_view text,
                    int max_lines) {
  const float line_height = LineHeight(style);
  float y = rect.y;
  for (int line = 0; !text.empty() && line < max_lines; ++line) {
    const Line next = NextLine(ui, style, text, rect.w);
    const bool last = line + 1 == max_lines && next.consumed < text.size();
    // The last line takes all that is left, and so gets its ellipsis.
    const std::string_view shown = last ? text.substr(0, std::min(text.find('\n'), text.size()))
                                        : text.substr(0, next.shown);
    DrawText(ui, {rect.x, y, rect.w, line_height}, style, shown);
    text.remove_prefix(next.consumed);
    y += line_height;
  }
  return y - rect.y;
}

float ParagraphHeight(const Ui& ui, float width, const TextStyle& style, std::string_view text,
                      int max_lines) {
  int lines = 0;
  while (!text.empty() && lines < max_lines) {
    text.remove_prefix(NextLine(ui, style, text, width).consumed);
    ++lines;
  }
  return static_cast<float>(lines) * LineHeight(style);
}

void Fill(const Ui& ui, const Rect& rect, Color color, float radius) {
  if (!rect.Empty()) ui.draw->AddRectFilled(rect.min(), rect.max(), color, radius);
}

void Outline(const Ui& ui, const Rect& rect, Color color, float radius) {
  if (!rect.Empty()) ui.draw->AddRect(rect.min(), rect.max(), color, radius);
}

void HorizontalLine(const Ui& ui, float x0, float x1, float y, Color color) {
  ui.draw->AddRectFilled({x0, std::round(y)}, {x1, std::round(y) + 1}, color);
}

void DashedLine(const Ui& ui, float x0, float x1, float y, Color color) {
  for (float x = x0; x < x1; x += 8) {
    ui.draw->AddRectFilled({x, std::round(y)}, {std::min(x + 4, x1), std::round(y) + 1.5f}, color);
  }
}

void Hatch(const Ui& ui, const Rect& rect, Color color, float spacing) {
  if (rect.Empty()) return;
  ui.draw->PushClipRect(rect.min(), rect.max(), true);
  for (float x = rect.x - rect.h; x < rect.right(); x += spacing) {
    ui.draw->AddLine({x, rect.bottom()}, {x + rect.h, rect.y}, color, 1.0f);
  }
  ui.draw->PopClipRect();
}

float LegendItem(const Ui& ui, float x, float center_y, Color color, std::string_view word) {
  Fill(ui, {x, std::round(center_y - 5), 10, 10}, color, 2);
  const float width = TextWidth(ui, kNoteText, word);
  DrawText(ui, {x + 16, center_y - 8, width + 1, 16}, kNoteText, word);
  return 16 + width;
}

}  // namespace novascope::ui
