// The thin strip: what is really computed here, what is modelled or assumed, and when prices were published.
#include <algorithm>

#include "ui/catalog.h"
#include "ui/format.h"
#include "ui/panels.h"

namespace novascope::ui {

namespace {

struct Piece {
  const char* id;
  const char* label;
  std::string words;
  Color color;
  Explanation explanation;
};

std::string FormatWord(const std::string& format) {
  return format.find('e') == 0 ? "FP8" : format == "bf16" ? "BF16" : format == "fp16" ? "FP16" : "FP32";
}

// Before the first run, what would be run.
const Form& Shown(const AppState& app) { return app.run.planned ? app.shown : app.form; }

Piece Words(const AppState& app) {
  const std::string model = ShortLabel(
      app.run.model_label.empty() ? LabelOf(app.catalog.models, Shown(app).model) : app.run.model_label);
  return {"words", "Words", model + ", really computed in " + FormatWord(Shown(app).weights) + " here", kGood,
          {"Words", "", "", "", app.run.words}};
}

Piece TimeAndMemory(const AppState& app, bool narrow) {
  Piece piece{"time", narrow ? "Time, memory" : "Time and memory", "", kNetwork,
              {"Time and memory", app.run.time, "", app.run.shape, app.run.memory}};
  if (!Shown(app).timed) {
    piece.words = "modelled: the toy itself, so small that fixed costs rule";
    return piece;
  }
  piece.words = "modelled: " + ShortLabel(LabelOf(app.catalog.shapes, Shown(app).shape)) + " shape";
  if (const ModelRow* row = FindModel(app.catalog, Shown(app).shape)) {
    if (row->range_low_b > 0 && row->range_high_b > row->range_low_b) {
      piece.words += Format(", %s %g\u2013%g B", row->provenance.c_str(), row->range_low_b, row->range_high_b);
    } else if (!row->provenance.empty()) {
      piece.words += ", " + row->provenance;
    }
  }
  return piece;
}

Piece Prices(const AppState& app) {
  Piece piece{"prices", "Prices", "", kCompute, {"Prices", "", "", "", app.run.prices}};
  const PriceRow* list = FindPrice(app.catalog.token_prices, Shown(app).list);
  const PriceRow* rent = FindPrice(app.catalog.hour_prices, Shown(app).rent);
  const PriceRow* shown = Shown(app).timed && list ? list : rent;
  if (shown) {
    piece.words = shown->provenance + " " + shown->date;
    piece.explanation.label = shown->provenance;
    piece.explanation.source = shown->source + ", " + shown->date;
  }
  return piece;
}

}  // namespace

void DrawProvenance(Ui& ui, Rect rect) {
  const AppState& app = ui.app;
  Rect area = rect.Inset(ui.narrow ? 16 : 20, 0);
  if (!app.catalog.ready) {
    DrawText(ui, area, kNoteText, "What is computed, modelled and published is said here once the core is loaded.");
    return;
  }
  const Piece pieces[] = {Words(app), TimeAndMemory(app, ui.narrow), Prices(app)};
  // On a wide screen one line; otherwise one line each, or two on a tablet.
  float total = -32;
  for (const Piece& piece : pieces) {
    total += TextWidth(ui, kNoteText, piece.label) + 8 + TextWidth(ui, kNoteText, piece.words) + 32;
  }
  const bool stacked = total > area.w;
  const float row_height = stacked ? std::min(22.0f, rect.h / 3) : rect.h;
  float x = area.x, y = area.y + (stacked ? 0.5f * (rect.h - 3 * row_height) : 0);
  for (const Piece& piece : pieces) {
    const float label = DrawText(ui, {x, y, area.right() - x, row_height}, kNoteText, piece.label);
    TextStyle style = kNoteText;
    style.color = piece.color;
    const Rect words{x + label + 8, y, std::max(0.0f, area.right() - x - label - 8), row_height};
    const float width = DrawText(ui, words, style, piece.words);
    Explain(ui, piece.id, {x, y, label + 8 + width, row_height}, piece.words, piece.explanation);
    if (stacked) {
      y += row_height;
    } else {
      x += label + 8 + width + 32;
    }
  }
}

}  // namespace novascope::ui
