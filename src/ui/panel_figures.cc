// The four figures people ask for first.
#include <algorithm>

#include "ui/format.h"
#include "ui/headline.h"
#include "ui/panels.h"

namespace novascope::ui {

namespace {

struct Figure {
  const char* id;
  const char* label;
  Quantity value;
  std::string note;
  Explanation explanation;
};

std::array<Figure, 4> MakeFigures(const AppState& app) {
  const Run& run = app.run;
  const Headline h = MakeHeadline(run);
  const std::string origin = run.time;
  const Quantity none{"\u2013", ""};
  const PlanInfo& plan = run.timing;
  std::array<Figure, 4> figures{{
      {"ttft", "TTFT", h.ttft_ps > 0 ? Duration(h.ttft_ps) : none,
       run.planned ? Format("%d prompt tokens", run.prompt_tokens) : "time to first token",
       {"Time to first token", "", "derived", "simulated", origin}},
      {"tpot", "TPOT", h.tpot_ps > 0 ? Duration(h.tpot_ps) : none,
       h.decode_tokens > 0 ? Format("mean of %d tokens", h.decode_tokens) : "time per output token",
       {"Time per output token", "", "derived", "simulated", origin}},
      {"throughput", "Throughput", h.tokens_per_s > 0 ? Quantity{Significant(h.tokens_per_s), "tok/s"} : none,
       run.planned ? Format("%d replica%s, batch %d each", plan.dp, plan.dp == 1 ? "" : "s", plan.batch)
                   : "all replicas together",
       {"Throughput", "", "derived", "simulated", origin}},
      {"wall", "Arithmetic in this browser",
       h.wall_tokens_per_s > 0 ? Quantity{Significant(h.wall_tokens_per_s), "tok/s"} : none,
       run.kernel_variant.empty() ? "FP8 kernels" : "FP8 kernels, " + run.kernel_variant,
       {"Arithmetic in this browser", "", "measured", "this page's clock around the core's decode steps", run.words}},
  }};
  if (h.ttft_ps > 0) {
    figures[0].explanation.formula = Format("%d prefill step%s for %d prompt tokens end at %s", h.prefill_steps,
                                            h.prefill_steps == 1 ? "" : "s", run.prompt_tokens, Duration(h.ttft_ps).text().c_str());
  }
  if (h.tpot_ps > 0) {
    figures[1].explanation.formula = Duration(h.decode_ps).text() + " of decode / " + std::to_string(h.decode_tokens) +
                                     " tokens = " + Duration(h.tpot_ps).text();
    figures[2].explanation.formula = Format("%d x %d sequences / %s = %s tok/s", plan.dp, plan.batch,
                                            Duration(h.tpot_ps).text().c_str(), Significant(h.tokens_per_s).c_str());
  }
  return figures;
}

}  // namespace

void DrawFigures(Ui& ui, Rect rect) {
  Fill(ui, rect, kPanel);
  if (!ui.narrow) HorizontalLine(ui, rect.x, rect.right(), rect.y, kLine);
  const std::array<Figure, 4> figures = MakeFigures(ui.app);
  const bool shortcuts = rect.h >= 110 && !ui.narrow;
  Rect area = rect.Inset(20, 0);
  if (shortcuts) {
    const Rect line = area.TakeBottom(24);
    DrawText(ui, line, kNoteText,
             "Space run or pause   arrows step   Enter play   click a token, link or chip to follow it   Home start, End live");
  }
  const int columns = ui.narrow ? 2 : 4;
  const int rows = 4 / columns;
  const float width = area.w / static_cast<float>(columns), height = area.h / static_cast<float>(rows);
  for (int i = 0; i < 4; ++i) {
    const Figure& figure = figures[static_cast<size_t>(i)];
    Rect cell{area.x + width * static_cast<float>(i % columns), area.y + height * static_cast<float>(i / columns),
              width - 12, height};
    const float pad = std::max(0.0f, 0.5f * (height - 72));
    cell.TakeTop(pad);
    const Rect whole{cell.x, cell.y, cell.w, 72};
    DrawText(ui, cell.TakeTop(18), kNoteText, figure.label);
    const Rect number = cell.TakeTop(34);
    const TextStyle big{Face::kMono, kFigure, kText};
    const float used = DrawText(ui, number, big, figure.value.number);
    Rect unit = number;
    unit.TakeLeft(used + 8);
    DrawText(ui, {unit.x, unit.y + 2, unit.w, unit.h}, {Face::kMono, kTitle, kSecondary}, figure.value.unit);
    DrawText(ui, cell.TakeTop(18), kNoteText, figure.note);
    Explain(ui, figure.id, whole, figure.value.text(), figure.explanation);
  }
}

}  // namespace novascope::ui
