#include <cmath>

#include "ui/format.h"
#include "ui/commands.h"
#include "ui/headline.h"
#include "ui/map_layout.h"
#include "ui/page.h"
#include "ui/playback.h"

namespace novascope::ui {

namespace {

const char* StateName(CoreState state) {
  constexpr const char* kNames[] = {"loading", "empty", "ready", "running", "paused", "done"};
  return kNames[static_cast<int>(state)];
}

std::string Answer(const Run& run) {
  std::string answer;
  for (const Token& token : run.tokens) answer += token.text;
  return answer;
}

Json RectJson(float x, float y, float w, float h) { return {{"x", x}, {"y", y}, {"w", w}, {"h", h}}; }

Json PlayheadJson(const AppState& app) {
  // Asked of the trace itself, so that it is right between frames, too.
  const trace::Snapshot snapshot = app.trace.At(app.playback.at_ps, app.run.machine.cores_per_chip);
  return {{"at_ps", snapshot.at_ps},           {"step", snapshot.step},
          {"busy_links", snapshot.busy_links}, {"active_chips", snapshot.active_chips},
          {"link_bytes", snapshot.link_bytes}, {"hbm_bytes", snapshot.hbm_bytes}};
}

double Rounded(float value) { return std::round(static_cast<double>(value) * 10) / 10; }

// The lane on which a lit link is drawn, from a quarter to three quarters of the way.
Json LinksOnScreen(const AppState& app) {
  Json links = Json::array();
  for (size_t i = 0; app.run.planned && i < app.map.links.size(); ++i) {
    if (app.map.links[i].kind == 0) continue;
    const ImVec2 a = LinkPoint(app.map, i, 0.25f), b = LinkPoint(app.map, i, 0.75f);
    links.push_back({{"link", i},
                     {"x0", Rounded(a.x)}, {"y0", Rounded(a.y)}, {"x1", Rounded(b.x)}, {"y1", Rounded(b.y)}});
  }
  return links;
}

Json ChipsOnScreen(const AppState& app) {
  Json chips = Json::array();
  for (size_t i = 0; i < app.map.chips.size(); ++i) {
    const ImVec2 at = ChipPoint(app.map, i);
    chips.push_back({Rounded(at.x), Rounded(at.y)});
  }
  return chips;
}

Json HbmSnapshot(const AppState& app) {
  const Hbm& hbm = app.run.hbm;
  Json json = {{"chip", app.selection.chip}, {"scale", app.hbm.scale == HbmScale::kUsed ? "used"
                                                       : app.hbm.scale == HbmScale::kFull ? "full" : "log"},
               {"stack_bytes", app.run.machine.stack_bytes}};
  const size_t stack = static_cast<size_t>(app.selection.chip * app.run.machine.stacks_per_chip);
  if (stack < hbm.bytes.size()) {
    for (size_t c = 0; c < hbm.categories.size(); ++c) json[hbm.categories[c]] = hbm.bytes[stack][c];
    json["kv_bytes_per_position"] = stack < hbm.kv_bytes_per_position.size() ? hbm.kv_bytes_per_position[stack] : 0.0;
  }
  return json;
}

Json ErrorJson(const AppState& app) {
  if (!app.error) return nullptr;
  const ErrorInfo& error = *app.error;
  return {{"code", error.code}, {"field", error.field}, {"value", error.value},
          {"message", error.message}, {"fix", error.fix}};
}

// What a reader without the picture is told.
std::string Summary(const AppState& app, const Headline& headline) {
  if (app.error) return "Refused: " + app.error->message + " " + app.error->fix;
  if (app.run.tokens.empty()) return app.run.state == CoreState::kLoading ? "Loading." : "Ready. Press Run.";
  std::string text = "Answer: " + Answer(app.run) + ". ";
  if (headline.ttft_ps > 0) text += "Time to first token " + Duration(headline.ttft_ps).text() + ". ";
  if (headline.tpot_ps > 0) text += "Time per token " + Duration(headline.tpot_ps).text() + ". ";
  const Run& run = app.run;
  const double per_mtok = run.steps.empty() ? 0 : run.steps.back().rented_total * 1e6 / static_cast<double>(run.tokens.size());
  text += "Rent per million output tokens " + Dollars(per_mtok) + ". ";
  if (run.money.ready) text += run.money.why_sentence + " " + run.money.break_even_sentence;
  return text;
}

}  // namespace

Json PageSnapshot(const AppState& app) {
  const Run& run = app.run;
  const Headline headline = MakeHeadline(run);
  Json json;
  json["state"] = StateName(run.state);
  json["scenario"] = ScenarioJson(app.form);
  json["answer"] = Answer(run);
  json["prompt_tokens"] = run.prompt_tokens;
  json["output_tokens"] = run.tokens.size();
  json["steps"] = run.steps.size();
  json["end_ps"] = EndPs(app);
  json["ttft_ms"] = static_cast<double>(headline.ttft_ps) / 1e9;
  json["tpot_ms"] = static_cast<double>(headline.tpot_ps) / 1e9;
  json["tokens_per_s"] = headline.tokens_per_s;
  json["wall_tokens_per_s"] = headline.wall_tokens_per_s;
  json["playhead"] = PlayheadJson(app);
  json["playing"] = app.playback.playing;
  json["live"] = app.playback.live;
  json["hbm"] = HbmSnapshot(app);
  json["cost"] = {{"rented_total", run.steps.empty() ? 0 : run.steps.back().rented_total},
                  {"list_total", run.timed && !run.steps.empty() ? Json(run.steps.back().list_total) : Json(nullptr)},
                  {"usd_per_mtok", run.tokens.empty() ? 0 : run.steps.back().rented_total * 1e6 / static_cast<double>(run.tokens.size())},
                  {"break_even_batch", run.money.break_even_batch ? Json(*run.money.break_even_batch) : Json(nullptr)},
                  {"sentence", run.money.sentence}, {"break_even_sentence", run.money.break_even_sentence}};
  json["why"] = run.money.why_sentence;
  json["provenance"] = {{"words", run.words}, {"time", run.time}, {"memory", run.memory}, {"prices", run.prices}};
  json["error"] = ErrorJson(app);
  json["selection"] = {{"chip", app.selection.chip}, {"link", app.selection.link}, {"token", app.selection.token}};
  json["panels"] = Json::array();
  for (const PanelRecord& panel : app.panels) {
    Json row = RectJson(panel.rect.x, panel.rect.y, panel.rect.w, panel.rect.h);
    row["id"] = panel.id;
    json["panels"].push_back(std::move(row));
  }
  json["figures"] = Json::array();
  for (const FigureRecord& figure : app.figures) {
    json["figures"].push_back({{"id", figure.id}, {"value", figure.value}, {"explanation", figure.explanation}});
  }
  json["fields"] = Json::array();
  for (const platform::TextField& field : app.text_fields) {
    Json row = RectJson(field.box.x, field.box.y, field.box.w, field.box.h);
    row["id"] = field.id;
    row["value"] = field.value;
    json["fields"].push_back(std::move(row));
  }
  json["links_screen"] = LinksOnScreen(app);
  json["chips_screen"] = ChipsOnScreen(app);
  json["view"] = {{"width", app.view.width}, {"height", app.view.height}, {"dpr", app.view.dpr},
                  {"scroll", app.view.scroll_y}, {"content_height", app.view.content_height}};
  json["frames"] = app.view.frames_drawn;
  json["idle"] = app.view.frames_wanted <= 0 && run.state != CoreState::kRunning && !app.view.moving;
  json["trace_bytes"] = app.trace.memory_bytes();
  json["dropped_steps"] = app.trace.dropped_steps();
  json["summary"] = Summary(app, headline);
  return json;
}

}  // namespace novascope::ui
