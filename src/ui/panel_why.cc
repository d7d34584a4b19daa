// One sentence on why the step takes what it takes, with what to change; or what was refused, and the fix.
#include <algorithm>

#include "ui/commands.h"
#include "ui/format.h"
#include "ui/panels.h"
#include "ui/playback.h"

namespace novascope::ui {

namespace {

void DrawError(Ui& ui, Rect rect, const ErrorInfo& error) {
  Fill(ui, {rect.x, rect.y, 3, rect.h}, kWaiting, 1);
  Rect row = rect.Inset(kPad, 6);
  const Rect close = row.TakeRight(64);
  std::string what = error.field;
  if (!error.value.empty()) what += " = " + Shorten(Visible(error.value), 40);
  const std::string sentence = error.message;
  const Rect top = row.TakeTop(18);
  TextStyle note = kNoteText;
  note.color = kWaiting;
  const float width = DrawText(ui, top, note, what);
  Rect after = top;
  after.TakeLeft(width + (width > 0 ? 10.0f : 0.0f));
  DrawText(ui, after, kNoteText, error.fix);
  DrawParagraph(ui, row, {Face::kSansBold, kBody, kText}, sentence, ui.narrow ? 3 : 2);
  Explain(ui, "error", rect, what,
          {.title = sentence, .formula = what, .label = "", .source = "", .note = error.fix});
  if (Button(ui, "dismiss", close.Inset(0, 4), "Dismiss", ButtonKind::kGhost)) ui.app.error.reset();
}

std::string Heading(const AppState& app) {
  const int step = StepIndexAt(app, app.playback.at_ps);
  if (step < 0) return "Why a step takes what it takes";
  const StepInfo& info = app.run.steps[static_cast<size_t>(step)];
  return std::string("Why this ") + (info.kind == trace::StepKind::kPrefill ? "prefill" : "decode") +
         " step takes " + Duration(info.end_ps - info.start_ps).text();
}

// Before the core has said why: the largest owner of the step at the playhead, from its split.
std::string OwnSentence(const AppState& app) {
  const int step = StepIndexAt(app, app.playback.at_ps);
  if (step < 0) {
    return app.run.state == CoreState::kLoading ? "Loading the core and the model\u2026"
                                                : "Press Run to see where every microsecond goes.";
  }
  const OwnerTimes& split = app.run.steps[static_cast<size_t>(step)].split;
  int64_t total = 0;
  int largest = 0;
  for (int owner = 0; owner < trace::kOwners; ++owner) {
    total += split[static_cast<size_t>(owner)];
    if (split[static_cast<size_t>(owner)] > split[static_cast<size_t>(largest)]) largest = owner;
  }
  if (total <= 0) return "";
  constexpr const char* kWords[] = {"engines computing", "reading HBM", "moving data over links",
                                    "fixed kernel and collective time", "idle"};
  return Percent(static_cast<double>(split[static_cast<size_t>(largest)]) / static_cast<double>(total)) + " is " +
         kWords[largest] + ".";
}

}  // namespace

void DrawWhy(Ui& ui, Rect rect) {
  AppState& app = ui.app;
  if (app.error) {
    DrawError(ui, rect, *app.error);
    return;
  }
  Rect row = rect.Inset(kPad, 6);
  const MoneyInfo& money = app.run.money;
  const int batch = money.ready ? money.try_batch : 0;
  Rect heading = ui.narrow ? row.TakeTop(22) : row;
  if (batch > 0 && app.form.timed) {
    const std::string label = "Try batch " + std::to_string(batch);
    const Rect button = (ui.narrow ? heading : row).TakeRight(TextWidth(ui, kBodyText, label) + 20);
    if (Button(ui, "try", button, label, ButtonKind::kGhost)) {
      app.form.batch = batch;
      SendRun(app, false);
    }
  }
  if (!ui.narrow) heading = row.TakeTop(18);
  DrawText(ui, heading, kNoteText, Heading(app));
  // The core's sentence is about decode steps.
  const int step = StepIndexAt(app, app.playback.at_ps);
  const bool decode = step >= 0 && app.run.steps[static_cast<size_t>(step)].kind == trace::StepKind::kDecode;
  const bool told = decode && money.ready && !money.why_sentence.empty();
  const std::string sentence = told ? money.why_sentence : OwnSentence(app);
  const TextStyle style{Face::kSansBold, kBody, kText};
  DrawParagraph(ui, row, style, sentence, std::max(1, static_cast<int>((row.h + 2) / LineHeight(style))));
  Explain(ui, "why", rect, sentence, {.title = Heading(app), .formula = sentence, .label = "derived",
                                      .source = "the trace's split of the critical core's time by owner",
                                      .note = app.run.time});
}

}  // namespace novascope::ui
