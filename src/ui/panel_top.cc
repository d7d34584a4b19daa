// The bar at the top: whose page this is, and that it is independent.
#include "ui/panels.h"

namespace novascope::ui {

void DrawTop(Ui& ui, Rect rect) {
  Fill(ui, rect, kPanel);
  HorizontalLine(ui, rect.x, rect.right(), rect.bottom() - 1, kLine);
  Rect row = rect.Inset(ui.narrow ? 16 : 20, 0);
  const TextStyle brand{Face::kSansBold, kHead, kText};
  row.TakeLeft(DrawText(ui, row, brand, "Novascope") + (ui.narrow ? 16.0f : 44.0f));
  const TextStyle here{Face::kSansBold, kBody, kText};
  const float width = TextWidth(ui, here, "Playground");
  DrawText(ui, row, here, "Playground");
  Fill(ui, {row.x, rect.bottom() - 2, width, 2}, kAction);
  row.TakeLeft(width + 24);
  const char* words = "independent project, not affiliated with or endorsed by Amazon";
  if (TextWidth(ui, kNoteText, words) > row.w) words = "independent project";
  DrawText(ui, row, kNoteText, words, Align::kRight);
}

}  // namespace novascope::ui
