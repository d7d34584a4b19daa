// Everything that can be chosen, one row each; a row opens what it can be. All choices come from the
// core's tables.
#include <algorithm>
#include <array>

#include "ui/catalog.h"
#include "ui/commands.h"
#include "ui/format.h"
#include "ui/panels.h"

namespace novascope::ui {

namespace {

constexpr float kOption = 28;

bool Refused(const AppState& app, const char* field) {
  return app.error && app.error->field == field;
}

// Degrees are refused by the name of one of them.
bool DegreesRefused(const AppState& app, const std::string& prefix) {
  if (!app.error) return false;
  for (const char* name : {"tp", "pp", "dp", "lnc", "batch", "plan", "memory", "hbm"}) {
    if (app.error->field == prefix + name) return true;
  }
  return false;
}

Rect PopupArea() {
  const ImVec2 corner = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  return Rect{corner.x, corner.y, size.x, size.y}.Inset(10, 10);
}

// A list of choices in a popup; returns whether one was picked.
bool ChoiceList(const Ui& popup, Rect area, const std::vector<Choice>& choices, std::string* id) {
  bool picked = false;
  for (const Choice& choice : choices) {
    if (OptionRow(popup, choice.id.c_str(), area.TakeTop(kOption), choice.label, choice.note, choice.id == *id)) {
      *id = choice.id;
      picked = true;
    }
  }
  return picked;
}

struct RowMaker {
  Ui& ui;
  Rect area;
  float row_height;
  bool changed = false;

  Rect Next() { return area.TakeTop(row_height); }

  void Choose(const char* id, const char* label, const std::vector<Choice>& choices, std::string* value,
              bool bad) {
    const Rect row = Next();
    std::string shown = value->empty() ? "fastest" : LabelOf(choices, *value);
    if (TextWidth(ui, kBodyText, shown) > row.w - 12 - TextWidth(ui, kLabelText, label)) shown = ShortLabel(shown);
    if (ValueRow(ui, id, row, label, shown, bad)) OpenPopup(id);
    Ui popup = ui;
    if (choices.empty()) return;
    const float height = kOption * static_cast<float>(choices.size()) + 20;
    if (!BeginPopup(popup, id, row, 380, height)) return;
    if (ChoiceList(popup, PopupArea(), choices, value)) {
      changed = true;
      ImGui::CloseCurrentPopup();
    }
    EndPopup();
  }
};

// A column of powers of two for one degree.
bool DegreeColumn(const Ui& popup, Rect area, const char* title, int* value, int most) {
  DrawText(popup, area.TakeTop(20), kNoteText, title);
  bool changed = false;
  ImGui::PushID(title);
  for (int degree = 1; degree <= most; degree *= 2) {
    const std::string label = std::to_string(degree);
    if (OptionRow(popup, label.c_str(), area.TakeTop(24), label, "", degree == *value)) {
      changed = *value != degree;
      *value = degree;
    }
  }
  ImGui::PopID();
  return changed;
}

bool DegreesGrid(const Ui& popup, Rect area, Degrees* degrees) {
  const float width = area.w / 4;
  bool changed = DegreeColumn(popup, area.TakeLeft(width).Inset(2, 0), "tensor", &degrees->tp, 64);
  changed |= DegreeColumn(popup, area.TakeLeft(width).Inset(2, 0), "pipeline", &degrees->pp, 64);
  changed |= DegreeColumn(popup, area.TakeLeft(width).Inset(2, 0), "data", &degrees->dp, 64);
  changed |= DegreeColumn(popup, area.Inset(2, 0), "LNC", &degrees->lnc, 2);
  return changed;
}

// LNC=2 is what everybody runs, and goes without saying.
std::string PlanText(const Degrees& plan) {
  return DegreesLabel(plan) + (plan.lnc == 2 ? "" : Format(", LNC=%d", plan.lnc));
}

Degrees OwnPlan(const AppState& app) {
  if (const ModelRow* row = FindModel(app.catalog, app.form.model)) {
    for (const auto& [system, plan] : row->default_plans) {
      if (system == app.form.system) return plan;
    }
  }
  return app.form.plan;
}

void ExecPlan(RowMaker& rows) {
  Ui& ui = rows.ui;
  Form& form = ui.app.form;
  const Degrees shown = form.own_plan ? OwnPlan(ui.app) : form.plan;
  const Rect row = rows.Next();
  const std::string value = PlanText(shown) + (form.own_plan ? " (its own)" : "");
  if (ValueRow(ui, "exec plan", row, "Words' plan", value, DegreesRefused(ui.app, ""))) OpenPopup("exec plan");
  Ui popup = ui;
  if (!BeginPopup(popup, "exec plan", row, 380, 248)) return;
  Rect area = PopupArea();
  int mode = form.own_plan ? 0 : 1;
  constexpr std::array<const char*, 2> kModes{"the model's own plan", "chosen here"};
  if (Segments(popup, "mode", area.TakeTop(28), kModes, &mode)) {
    form.own_plan = mode == 0;
    form.plan = OwnPlan(ui.app);
    rows.changed = true;
  }
  area.TakeTop(6);
  Degrees plan = shown;
  if (DegreesGrid(popup, area, &plan)) {
    form.own_plan = false;
    form.plan = plan;
    rows.changed = true;
  }
  EndPopup();
}

void TimedPlan(RowMaker& rows) {
  Ui& ui = rows.ui;
  Form& form = ui.app.form;
  const Rect row = rows.Next();
  const std::string value =
      PlanText(form.timing) + Format(", batch %d", form.batch);
  if (ValueRow(ui, "timed plan", row, "Timed plan", value, DegreesRefused(ui.app, "timing."))) {
    OpenPopup("timed plan");
  }
  Ui popup = ui;
  if (!BeginPopup(popup, "timed plan", row, 380, 252)) return;
  Rect area = PopupArea();
  Rect batch_row = area.TakeBottom(30);
  area.TakeBottom(8);
  if (DegreesGrid(popup, area, &form.timing)) rows.changed = true;
  DrawText(popup, batch_row, kLabelText, "sequences per replica");
  double batch = form.batch;
  if (NumberField(popup, "batch", batch_row.TakeRight(150), &batch, 1, {.label = "Batch per replica"})) {
    form.batch = static_cast<int>(std::clamp(batch, 0.0, 1e6));
    rows.changed = true;
  }
  EndPopup();
}

std::string ShortFormat(const std::string& id) {
  std::string text = id;
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

void Formats(RowMaker& rows) {
  Ui& ui = rows.ui;
  Form& form = ui.app.form;
  const Rect row = rows.Next();
  std::string value = ShortFormat(form.weights);
  value += form.weights == form.activations ? " w/a" : " w, " + ShortFormat(form.activations) + " a";
  value += ", " + ShortFormat(form.kv) + " KV";
  const bool bad = ui.app.error && ui.app.error->field.find("format") != std::string::npos;
  if (ValueRow(ui, "formats", row, "Formats", value, bad)) OpenPopup("formats");
  const std::vector<Choice>& formats = ui.app.catalog.formats;
  if (formats.empty()) return;
  Ui popup = ui;
  const float height = 26 * static_cast<float>(formats.size()) + 44;
  if (!BeginPopup(popup, "formats", row, 420, height)) return;
  Rect area = PopupArea();
  const float width = area.w / 3;
  const std::array<std::pair<const char*, std::string*>, 3> columns{
      {{"weights", &form.weights}, {"activations", &form.activations}, {"KV cache", &form.kv}}};
  for (const auto& [title, id] : columns) {
    Rect column = area.TakeLeft(width).Inset(2, 0);
    DrawText(popup, column.TakeTop(22), kNoteText, title);
    ImGui::PushID(title);
    for (const Choice& format : formats) {
      const Rect option = column.TakeTop(26);
      if (OptionRow(popup, format.id.c_str(), option, ShortFormat(format.id), "", format.id == *id)) {
        rows.changed |= *id != format.id;
        *id = format.id;
      }
      Explain(popup, format.id.c_str(), option, format.id, {.title = format.label, .formula = "", .label = "", .source = format.note, .note = ""});
    }
    ImGui::PopID();
  }
  EndPopup();
}

void Collectives(RowMaker& rows) {
  Ui& ui = rows.ui;
  Form& form = ui.app.form;
  const Rect row = rows.Next();
  const bool bad = Refused(ui.app, "collective") || Refused(ui.app, "reduce");
  if (ValueRow(ui, "collective", row, "Collectives", form.collective + ", " + form.reduce, bad)) {
    OpenPopup("collective");
  }
  const Catalog& catalog = ui.app.catalog;
  Ui popup = ui;
  const float lines = static_cast<float>(std::max(catalog.collectives.size(), catalog.reduces.size()));
  if (!BeginPopup(popup, "collective", row, 360, kOption * lines + 44)) return;
  Rect area = PopupArea();
  Rect left = area.TakeLeft(0.5f * area.w).Inset(2, 0);
  area = area.Inset(2, 0);
  DrawText(popup, left.TakeTop(22), kNoteText, "all-reduce");
  DrawText(popup, area.TakeTop(22), kNoteText, "order of sums");
  rows.changed |= ChoiceList(popup, left, catalog.collectives, &form.collective);
  rows.changed |= ChoiceList(popup, area, catalog.reduces, &form.reduce);
  EndPopup();
}

void Numbers(RowMaker& rows) {
  Ui& ui = rows.ui;
  Form& form = ui.app.form;
  const Rect row = rows.Next();
  std::string value = form.temperature == 0 ? "greedy" : Format("T %.3g", form.temperature);
  if (form.top_p < 1) value += Format(", top-p %.3g", form.top_p);
  if (form.top_k > 0) value += Format(", top-k %d", form.top_k);
  value += ", seed " + std::to_string(form.seed);
  const AppState& app = ui.app;
  const bool bad = Refused(app, "temperature") || Refused(app, "top_p") || Refused(app, "top_k") || Refused(app, "seed");
  if (ValueRow(ui, "sampling", row, "Sampling", value, bad)) OpenPopup("sampling");
  Ui popup = ui;
  if (!BeginPopup(popup, "sampling", row, 320, 4 * 38 + 20)) return;
  Rect area = PopupArea();
  const auto number = [&](const char* id, const char* label, double current, double step) {
    Rect line = area.TakeTop(38).Inset(0, 4);
    DrawText(popup, line, kLabelText, label);
    double next = current;
    rows.changed |= NumberField(popup, id, line.TakeRight(160), &next, step, {.label = label, .bad = Refused(app, id)});
    return next;
  };
  form.temperature = number("temperature", "temperature", form.temperature, 0.1);
  form.top_p = number("top_p", "top-p", form.top_p, 0.05);
  form.top_k = static_cast<int>(std::clamp(number("top_k", "top-k (0: off)", form.top_k, 1), 0.0, 1e6));
  form.seed = static_cast<uint64_t>(
      std::clamp(number("seed", "seed", static_cast<double>(form.seed), 1), 0.0, 9007199254740992.0));
  EndPopup();
}

void Output(RowMaker& rows) {
  Ui& ui = rows.ui;
  Form& form = ui.app.form;
  const Rect row = rows.Next();
  const std::string value = std::to_string(form.max_tokens) + " tokens at most";
  if (ValueRow(ui, "output", row, "Output", value, Refused(ui.app, "max_tokens"))) OpenPopup("output");
  Ui popup = ui;
  if (!BeginPopup(popup, "output", row, 320, 2 * 38 + 20)) return;
  Rect area = PopupArea();
  Rect line = area.TakeTop(38).Inset(0, 4);
  DrawText(popup, line, kLabelText, "tokens at most");
  double tokens = form.max_tokens;
  if (NumberField(popup, "max_tokens", line.TakeRight(160), &tokens, 16, {.label = "Output tokens at most"})) {
    form.max_tokens = static_cast<int>(std::clamp(tokens, 0.0, 1e6));
    rows.changed = true;
  }
  line = area.TakeTop(38).Inset(0, 4);
  DrawText(popup, line, kLabelText, "prompt is");
  int mode = form.chat ? 0 : 1;
  constexpr std::array<const char*, 2> kModes{"a question", "continued"};
  if (Segments(popup, "chat", line.TakeRight(180), kModes, &mode)) {
    form.chat = mode == 0;
    rows.changed = true;
  }
  EndPopup();
}

void PriceMenu(RowMaker& rows) {
  Ui& ui = rows.ui;
  Form& form = ui.app.form;
  const Catalog& catalog = ui.app.catalog;
  const PriceRow* rent = FindPrice(catalog.hour_prices, form.rent);
  const Rect row = rows.Next();
  if (ValueRow(ui, "rent", row, "Rent", rent ? Format("$%.4g per chip-hour", rent->usd_per_hour) : form.rent,
               Refused(ui.app, "rent") || Refused(ui.app, "list"))) {
    OpenPopup("rent");
  }
  Ui popup = ui;
  const size_t lines = catalog.hour_prices.size() + catalog.token_prices.size();
  if (lines == 0 || !BeginPopup(popup, "rent", row, 430, kOption * static_cast<float>(lines) + 70)) return;
  Rect area = PopupArea();
  const auto list = [&](const char* title, const std::vector<PriceRow>& prices, std::string* id, bool hours) {
    DrawText(popup, area.TakeTop(24), kNoteText, title);
    for (const PriceRow& price : prices) {
      const std::string note = hours ? Format("$%.4g per chip-hour", price.usd_per_hour)
                                     : Dollars(price.input_usd) + " in, " + Dollars(price.output_usd) + " out";
      if (OptionRow(popup, price.id.c_str(), area.TakeTop(kOption), price.label, note, price.id == *id)) {
        rows.changed |= *id != price.id;
        *id = price.id;
      }
    }
  };
  list("rented by the hour", catalog.hour_prices, &form.rent, true);
  area.TakeTop(4);
  list("list price, per million tokens", catalog.token_prices, &form.list, false);
  EndPopup();
}

void DrawRows(Ui& ui, Rect area, float row_height) {
  AppState& app = ui.app;
  Form& form = app.form;
  RowMaker rows{ui, area, row_height};
  Rect timed = rows.Next();
  DrawText(ui, timed, kLabelText, "Time");
  int mode = form.timed ? 0 : 1;
  constexpr std::array<const char*, 2> kModes{"larger shape", "the toy itself"};
  if (Segments(ui, "timed", timed.TakeRight(std::min(190.0f, timed.w - 44)).Inset(0, 2), kModes, &mode)) {
    form.timed = mode == 0;
    rows.changed = true;
  }
  if (form.timed) {
    rows.Choose("shape", "Timed shape", app.catalog.shapes, &form.shape, Refused(app, "timing.shape"));
    TimedPlan(rows);
  }
  rows.Choose("model", "Words by", app.catalog.models, &form.model, Refused(app, "model"));
  ExecPlan(rows);
  rows.Choose("system", "System", app.catalog.systems, &form.system, Refused(app, "system"));
  Formats(rows);
  Collectives(rows);
  Output(rows);
  Numbers(rows);
  PriceMenu(rows);
  rows.Choose("kernels", "Kernels", app.catalog.kernels, &form.kernels, Refused(app, "kernels"));
  if (rows.changed) SendValidate(app);
  ImGui::SetCursorScreenPos({area.x, rows.area.y});
  ImGui::Dummy({1, 1});
}

}  // namespace

void DrawScenario(Ui& ui, Rect rect) {
  AppState& app = ui.app;
  rect = rect.Inset(kPad, 0);
  HorizontalLine(ui, rect.x, rect.right(), rect.y, kLine);
  rect.TakeTop(rect.h < 300 ? 4 : 8);
  rect.TakeBottom(8);
  Rect title = rect.TakeTop(24);
  DrawText(ui, title, kTitleText, "Scenario");
  if (app.run.planned && !(app.form == app.sent)) {
    TextStyle note = kNoteText;
    note.color = kNetwork;
    DrawText(ui, title, note, "changed: press Run", Align::kRight);
  }
  if (!app.catalog.ready) {
    DrawText(ui, rect.TakeTop(24), kLabelText, "The choices come with the core.");
    return;
  }
  constexpr int kMostRows = 12;
  const float row_height = std::clamp(rect.h / kMostRows, 26.0f, 30.0f);
  ImGui::SetCursorScreenPos(rect.min());
  // Wider than its rows, so that their hover and error frames show.
  ImGui::SetCursorScreenPos({rect.x - 8, rect.y});
  if (ImGui::BeginChild("rows", {rect.w + 16, rect.h})) {
    Ui inner = ui;
    inner.draw = ImGui::GetWindowDrawList();
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    DrawRows(inner, {origin.x + 8, origin.y, rect.w - 4, 12 * row_height + 4}, row_height);
  }
  ImGui::EndChild();
}

}  // namespace novascope::ui
