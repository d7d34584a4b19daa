// Dollars per million output tokens as they run, where the time they pay for goes, and what the list says.
// A list price stands beside a rent only where the timed shape is one it could be for.
#include <algorithm>

#include "ui/catalog.h"
#include "ui/format.h"
#include "ui/panels.h"
#include "ui/playback.h"

namespace novascope::ui {

namespace {

constexpr float kRow = 26;

struct Sofar {
  double rented_usd = 0, list_usd = 0;
  int tokens = 0;
  OwnerTimes split{};
  double per_mtok() const { return tokens > 0 ? rented_usd * 1e6 / tokens : 0; }
};

// Up to and including the step at the playhead: rent is time, so its split is the time's.
Sofar UpToPlayhead(const AppState& app) {
  Sofar sofar;
  const int last = StepIndexAt(app, app.playback.at_ps);
  for (int i = 0; i <= last; ++i) {
    const StepInfo& step = app.run.steps[static_cast<size_t>(i)];
    sofar.tokens += step.token >= 0;
    for (size_t owner = 0; owner < step.split.size(); ++owner) sofar.split[owner] += step.split[owner];
  }
  if (last >= 0) {
    sofar.rented_usd = app.run.steps[static_cast<size_t>(last)].rented_total;
    sofar.list_usd = app.run.steps[static_cast<size_t>(last)].list_total;
  }
  return sofar;
}

void DrawFigure(const Ui& ui, Rect row, const Sofar& sofar) {
  const AppState& app = ui.app;
  const std::string value = sofar.tokens > 0 ? Dollars(sofar.per_mtok()) : "$ -";
  const TextStyle big{Face::kMono, kBigFigure, kText};
  const float width = DrawText(ui, row, big, value);
  const PriceRow* rent = FindPrice(app.catalog.hour_prices, app.shown.rent);
  const PlanInfo& plan = app.run.timing;
  Explanation explanation{"Rent per million output tokens", "", "derived", "", "Rent is what a customer would pay, not what Amazon pays."};
  if (rent && sofar.tokens > 0) {
    explanation.formula = Format("%s so far / %d tokens x 1,000,000 = %s\n%d chips x %s per chip-hour, shared by %d sequences",
                                 Dollars(sofar.rented_usd).c_str(), sofar.tokens, Dollars(sofar.per_mtok()).c_str(),
                                 plan.chips, Dollars(rent->usd_per_hour).c_str(), plan.batch * plan.dp);
    explanation.source = rent->label + ": " + rent->source + ", " + rent->date + " (" + rent->provenance + ")";
  }
  Explain(ui, "usd_per_mtok", {row.x, row.y, std::max(width, 40.0f), row.h}, value, explanation);
  Rect rest = row;
  rest.TakeLeft(width + 12);
  rest = {rest.x, rest.bottom() - 24, rest.w, 20};
  const MoneyInfo& money = app.run.money;
  if (money.rented_high > money.rented_low) {
    rest.TakeLeft(DrawText(ui, rest, {Face::kMono, kBody, kSecondary},
                           Format("%s \u2013 %s", Significant(money.rented_low).c_str(),
                                  Significant(money.rented_high).c_str())) + 10);
  }
  DrawText(ui, rest, kNoteText, "rented, output", Align::kRight);
}

void DrawSplit(const Ui& ui, Rect area, const OwnerTimes& split) {
  int64_t total = 0;
  for (int64_t part : split) total += part;
  const Rect bar = area.TakeTop(14);
  Fill(ui, bar, kWell, 3);
  if (total <= 0) return;
  float x = bar.x;
  float label_x = area.x;
  const Rect labels{area.x, area.y + 2, area.w, 16};
  for (int owner = 0; owner < trace::kOwners; ++owner) {
    const int64_t part = split[static_cast<size_t>(owner)];
    if (part <= 0) continue;
    const double share = static_cast<double>(part) / static_cast<double>(total);
    const float width = bar.w * static_cast<float>(share);
    const Rect piece{x, bar.y, std::max(1.0f, width - 1), bar.h};
    Fill(ui, piece, OwnerColor(owner), 2);
    Explain(ui, (std::string("split.") + OwnerLabel(owner)).c_str(), {x, bar.y, width, bar.h + 18}, Percent(share),
            {.title = std::string(OwnerLabel(owner)) + ", " + Percent(share),
             .formula = Duration(part).text() + " of " + Duration(total).text() + " of the critical core's time so far",
             .label = "derived", .source = "the trace: every picosecond has one owner", .note = ""});
    // Labels stand under their pieces where there is room, else after the one before.
    const std::string word = std::string(OwnerLabel(owner)) + " " + Percent(share);
    const float word_width = TextWidth(ui, kNoteText, word);
    const float wanted = x + 0.5f * (width - word_width);
    if (share >= 0.02 && std::max(label_x, wanted) + word_width <= labels.right() + 1) {
      const float at = std::max(label_x, wanted);
      DrawText(ui, {at, labels.y, word_width + 2, labels.h}, kNoteText, word);
      label_x = at + word_width + 8;
    }
    x += width;
  }
}

void DrawRow(const Ui& ui, Rect row, const std::string& name, const std::string& value, const std::string& note,
             bool strong) {
  TextStyle name_style = strong ? TextStyle{Face::kSansBold, kBody, kText} : kLabelText;
  HorizontalLine(ui, row.x, row.right(), row.bottom() - 1, kLine);
  const Rect note_at{row.x + 0.68f * row.w, row.y, 0.32f * row.w, row.h};
  const Rect value_at{row.x + 0.44f * row.w, row.y, 0.23f * row.w, row.h};
  DrawText(ui, {row.x, row.y, 0.46f * row.w, row.h}, name_style, name);
  DrawText(ui, value_at, {Face::kMono, kBody, kText}, value, Align::kRight);
  DrawText(ui, note_at, kNoteText, note, Align::kRight);
}

std::string ListName(const PriceRow& list) {
  std::string name = list.label;
  if (name.rfind("Amazon ", 0) == 0) name.erase(0, 7);
  return name + " list";
}

void DrawTable(const Ui& ui, Rect area, const Sofar& sofar) {
  AppState& app = ui.app;
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  Rect rows{origin.x, origin.y, area.w - 8, 4000};
  const PriceRow* list = FindPrice(app.catalog.token_prices, app.shown.list);
  if (app.run.timed && list) {
    const Rect row = rows.TakeTop(kRow);
    DrawRow(ui, row, ListName(*list), Dollars(list->output_usd), list->provenance, false);
    Explain(ui, "list_output", row, Dollars(list->output_usd),
            {.title = list->label + ", list price per million output tokens",
             .formula = Format("input %s, output %s per million tokens", Dollars(list->input_usd).c_str(), Dollars(list->output_usd).c_str()),
             .label = list->provenance, .source = list->source + ", " + list->date, .note = list->note});
  }
  const Rect own = rows.TakeTop(kRow);
  DrawRow(ui, own, "this run", sofar.tokens > 0 ? Dollars(sofar.per_mtok()) : "-", "modelled", true);
  const MoneyInfo& money = app.run.money;
  for (const BatchRow& batch : money.by_batch) {
    const Rect row = rows.TakeTop(kRow);
    const bool meets = money.break_even_batch && batch.batch == *money.break_even_batch;
    DrawRow(ui, row, Format("batch %d", batch.batch), Dollars(batch.usd_per_mtok),
            meets ? "meets the list" : Significant(batch.tpot_ms) + " ms/tok", false);
    Explain(ui, Format("batch.%d", batch.batch).c_str(), row, Dollars(batch.usd_per_mtok),
            {.title = Format("Batch %d per replica", batch.batch),
             .formula = Format("one decode step takes %s ms and yields %d tokens per replica", Significant(batch.tpot_ms).c_str(), batch.batch),
             .label = "derived", .source = "one simulated decode step at this batch", .note = app.run.prices});
  }
  if (!money.sentence.empty()) {
    rows.TakeTop(6);
    rows.TakeTop(DrawParagraph(ui, rows, kNoteText, money.sentence, 12));
  }
  ImGui::SetCursorScreenPos({origin.x, rows.y});
  ImGui::Dummy({1, 1});
}

std::string Verdict(const AppState& app) {
  if (!app.run.timed) return "The toy's own rent: no list price is for a model this small.";
  if (!app.run.money.ready) return "The batch at which rent meets the list price comes with the last token.";
  if (app.run.money.break_even_batch) {
    return Format("Meets the list price from batch %d per replica.", *app.run.money.break_even_batch);
  }
  if (app.run.money.by_batch.empty()) return app.run.money.break_even_sentence;
  return Format("Does not meet the list price up to batch %d.", app.run.money.by_batch.back().batch);
}

}  // namespace

void DrawCost(Ui& ui, Rect rect) {
  AppState& app = ui.app;
  rect = rect.Inset(kPad, 0);
  DrawText(ui, rect.TakeTop(rect.h < 280 ? 34.0f : 38.0f), kTitleText, "Cost per million tokens");
  rect.TakeBottom(8);
  if (!app.run.planned) {
    DrawText(ui, rect, kLabelText, "Rent against list price shows here.", Align::kCenter);
    return;
  }
  const Sofar sofar = UpToPlayhead(app);
  DrawFigure(ui, rect.TakeTop(36), sofar);
  rect.TakeTop(8);
  DrawSplit(ui, rect.TakeTop(34), sofar.split);
  rect.TakeTop(4);
  const Rect rent_note = rect.TakeBottom(18);
  const std::string verdict = Verdict(app);
  const float height = ParagraphHeight(ui, rect.w, kBodyText, verdict, 2);
  const Rect verdict_at = rect.TakeBottom(height);
  rect.TakeBottom(6);
  DrawParagraph(ui, verdict_at, kBodyText, verdict, 2);
  Explain(ui, "break_even", verdict_at, verdict,
          {.title = "Break-even", .formula = app.run.money.break_even_sentence, .label = "derived",
           .source = app.run.prices, .note = app.run.money.sentence});
  DrawText(ui, rent_note, kNoteText, "Rent is not Amazon's own cost.");
  ImGui::SetCursorScreenPos(rect.min());
  if (ImGui::BeginChild("rows", {rect.w + 8, rect.h})) {
    Ui inner = ui;
    inner.draw = ImGui::GetWindowDrawList();
    DrawTable(inner, {rect.x, rect.y, rect.w + 8, rect.h}, sofar);
  }
  ImGui::EndChild();
}

}  // namespace novascope::ui
