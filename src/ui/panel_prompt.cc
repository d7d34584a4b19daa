// What is asked, and the buttons that run it.
#include "ui/commands.h"
#include "ui/panels.h"

namespace novascope::ui {

namespace {

struct Preset {
  const char* label;
  const char* note;
  const char* prompt;
};
constexpr Preset kPresets[] = {
    {"Why is decode memory-bound?", "explain", "Why is decode memory-bound?"},
    {"Summarize server logs", "summarise",
     "Summarize these server logs:\n12:04 api ERROR timeout db-2\n12:05 api WARN retry 3"},
    {"Classify a ticket", "classify",
     "Classify this ticket: We were charged twice for the same month."},
    {"Positive or negative?", "sentiment",
     "Is this review positive or negative? The new version is fast and a joy to use."},
    {"What is the cloud?", "explain", "Explain the cloud in simple words."},
    {"Why FP8?", "explain", "Why do chips use FP8 numbers?"},
};

const char* RunLabel(CoreState state) {
  switch (state) {
    case CoreState::kRunning: return "Pause";
    case CoreState::kPaused: return "Resume";
    case CoreState::kDone: return "Run again";
    default: return "Run";
  }
}

void Examples(Ui& ui, const Rect& anchor) {
  const float row = 30;
  Ui popup = ui;
  if (!BeginPopup(popup, "examples", anchor, 300, row * std::size(kPresets) + 20)) return;
  const ImVec2 corner = ImGui::GetWindowPos();
  Rect list{corner.x + 8, corner.y + 10, 284, row * std::size(kPresets)};
  for (const Preset& preset : kPresets) {
    const bool chosen = ui.app.form.prompt == preset.prompt;
    if (OptionRow(popup, preset.label, list.TakeTop(row), preset.label, preset.note, chosen)) {
      ui.app.form.prompt = preset.prompt;
      ui.app.form.chat = true;
      ImGui::CloseCurrentPopup();
    }
  }
  EndPopup();
}

}  // namespace

void DrawPrompt(Ui& ui, Rect rect) {
  AppState& app = ui.app;
  rect = rect.Inset(kPad, 0);
  rect.TakeTop(rect.h < 160 ? 8 : 12);
  rect.TakeBottom(4);
  Rect title = rect.TakeTop(24);
  DrawText(ui, title, kTitleText, "Prompt");
  const Rect examples = title.TakeRight(76);
  if (Button(ui, "open examples", examples, "Examples", ButtonKind::kGhost)) OpenPopup("examples");
  Examples(ui, examples);
  rect.TakeTop(4);
  Rect buttons = rect.TakeBottom(30);
  rect.TakeBottom(8);
  const bool bad = app.error && app.error->field == "prompt";
  TextField(ui, "prompt", rect, &app.form.prompt,
            {.label = "Prompt", .multiline = true, .numeric = false, .bad = bad});

  const CoreState state = app.run.state;
  const bool usable = state != CoreState::kLoading && state != CoreState::kEmpty;
  const float width = (buttons.w - 16) / 3;
  if (Button(ui, "run", buttons.TakeLeft(width), RunLabel(state), ButtonKind::kPrimary, usable)) {
    RunOrPause(app);
  }
  buttons.TakeLeft(8);
  if (Button(ui, "step", buttons.TakeLeft(width), "Step", ButtonKind::kPlain, usable)) StepOnce(app);
  buttons.TakeLeft(8);
  const bool stoppable = state == CoreState::kRunning || state == CoreState::kPaused;
  if (Button(ui, "restart", buttons, "Start over", ButtonKind::kPlain, stoppable)) SendRun(app, false);
}

}  // namespace novascope::ui
