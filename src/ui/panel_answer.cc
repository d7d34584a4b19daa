// The words as they come, one box per token, coloured by how long the machine took for each.
#include <algorithm>
#include <cmath>

#include "ui/format.h"
#include "ui/panels.h"
#include "ui/playback.h"

namespace novascope::ui {

namespace {

constexpr float kTokenLine = 22;
constexpr TextStyle kTokenText{Face::kMono, kBody, kText};

struct Range {
  double low_ms = 0, high_ms = 0;
};

// Of the tokens after the first, whose time is the prefill's.
Range DecodeRange(const std::vector<Token>& tokens) {
  Range range;
  for (size_t i = 1; i < tokens.size(); ++i) {
    const double ms = static_cast<double>(tokens[i].end_ps - tokens[i].start_ps) / 1e9;
    if (i == 1 || ms < range.low_ms) range.low_ms = ms;
    range.high_ms = std::max(range.high_ms, ms);
  }
  return range;
}

Color SpeedColor(double ms, const Range& range) {
  const double span = range.high_ms - range.low_ms;
  if (span < 0.01 * range.high_ms) return kGood;
  const double t = std::clamp((ms - range.low_ms) / span, 0.0, 1.0);
  return t < 0.5 ? Mix(kGood, kScratch, static_cast<float>(2 * t))
                 : Mix(kScratch, kWaiting, static_cast<float>(2 * t - 1));
}

void SplitLines(Ui& tip, Rect& at, const OwnerTimes& split) {
  int64_t total = 0;
  for (int64_t part : split) total += part;
  if (total <= 0) return;
  Rect bar = at.TakeTop(8);
  float x = bar.x;
  for (int owner = 0; owner < trace::kOwners; ++owner) {
    const float width = bar.w * static_cast<float>(static_cast<double>(split[static_cast<size_t>(owner)]) /
                                                   static_cast<double>(total));
    Fill(tip, {x, bar.y, width, bar.h}, OwnerColor(owner));
    x += width;
  }
  at.TakeTop(4);
  for (int owner = 0; owner < trace::kOwners; ++owner) {
    const int64_t part = split[static_cast<size_t>(owner)];
    if (part == 0) continue;
    const Rect row = at.TakeTop(18);
    LegendItem(tip, row.x, row.center_y(), OwnerColor(owner), OwnerLabel(owner));
    TextStyle number = kSmallNumber;
    number.color = kText;
    DrawText(tip, row, number, Duration(part).text(), Align::kRight);
  }
}

void TokenTip(const Ui& ui, const Token& token, size_t index) {
  Ui tip = ui;
  const size_t rows = std::min<size_t>(token.top.size(), 5);
  int owners = 0;
  for (int64_t part : token.split) owners += part > 0;
  const float height = 24 + 22 + 22 * 2 + 20 * static_cast<float>(rows) + 26 + 18 * static_cast<float>(owners);
  BeginTip(tip, 290, height);
  const ImVec2 corner = ImGui::GetWindowPos();
  Rect at{corner.x + 12, corner.y + 10, 266, height};
  Rect head = at.TakeTop(22);
  DrawText(tip, head, {Face::kMono, kTitle, kText}, "\"" + Visible(token.text) + "\"");
  DrawText(tip, head, kNoteText, Format("token %d, id %d", static_cast<int>(index + 1), token.id),
           Align::kRight);
  Rect time = at.TakeTop(22);
  DrawText(tip, time, kLabelText, index == 0 ? "prefill and first token" : "time of this token");
  DrawText(tip, time, kNumberText, Duration(token.end_ps - token.start_ps).text(), Align::kRight);
  Rect money = at.TakeTop(22);
  DrawText(tip, money, kLabelText, "rent of this token");
  DrawText(tip, money, kNumberText, token.usd_rented.empty() ? "-" : Dollars(std::atof(token.usd_rented.c_str())),
           Align::kRight);
  for (size_t i = 0; i < rows; ++i) {
    const Candidate& candidate = token.top[i];
    Rect row = at.TakeTop(20);
    const float chance = static_cast<float>(std::exp(candidate.logprob));
    Fill(tip, {row.x + 96, row.center_y() - 4, 64 * chance, 8},
         candidate.id == token.id ? kCompute : kIdle, 2);
    DrawText(tip, {row.x, row.y, 90, row.h}, {Face::kMono, kNote, candidate.id == token.id ? kText : kSecondary},
             Visible(candidate.text));
    DrawText(tip, row, kSmallNumber, Format("%.1f %%  %.2f", 100 * std::exp(candidate.logprob), candidate.logprob),
             Align::kRight);
  }
  at.TakeTop(6);
  SplitLines(tip, at, token.split);
  EndTip();
}

bool StartsWord(const Token& token) {
  return token.text.empty() || token.text[0] == ' ' || token.text[0] == '\n';
}

// Width of a token with those after it that belong to the same word.
float WordWidth(const Ui& ui, const std::vector<Token>& tokens, size_t first) {
  float width = TextWidth(ui, kTokenText, tokens[first].text);
  for (size_t i = first + 1; i < tokens.size() && !StartsWord(tokens[i]); ++i) {
    width += TextWidth(ui, kTokenText, tokens[i].text);
  }
  return width;
}

// Lays tokens out as running text. A line break in a token breaks the line after it.
void DrawTokens(Ui& ui, const Rect& area) {
  AppState& app = ui.app;
  const Range range = DecodeRange(app.run.tokens);
  const int at_step = StepIndexAt(app, app.playback.at_ps);
  const ImVec2 origin = ImGui::GetCursorScreenPos();
  float x = 0, y = 0;
  int hovered = -1;
  for (size_t i = 0; i < app.run.tokens.size(); ++i) {
    const Token& token = app.run.tokens[i];
    if (token.text.empty()) continue;
    std::string shown = token.text;
    const bool breaks = shown.find('\n') != std::string::npos;
    std::replace(shown.begin(), shown.end(), '\n', ' ');
    if (x == 0 && shown.size() > 1 && shown[0] == ' ') shown.erase(0, 1);
    float width = std::max(6.0f, TextWidth(ui, kTokenText, shown));
    const float word = StartsWord(token) ? std::min(WordWidth(ui, app.run.tokens, i), area.w - 10) : width;
    if (x > 0 && x + word > area.w - 10) {
      x = 0;
      y += kTokenLine;
      if (shown.size() > 1 && shown[0] == ' ') shown.erase(0, 1);
      width = std::max(6.0f, TextWidth(ui, kTokenText, shown));
    }
    const Rect box{origin.x + x, origin.y + y, std::min(width, area.w - 10), kTokenLine};
    const double ms = static_cast<double>(token.end_ps - token.start_ps) / 1e9;
    const bool future = !app.playback.live && token.step > at_step;
    const Color tint = i == 0 ? kCompute : SpeedColor(ms, range);
    Fill(ui, {box.x, box.y + 2, box.w - 1, kTokenLine - 4}, WithAlpha(tint, future ? 0.06f : 0.2f), 2);
    TextStyle style = kTokenText;
    if (future) style.color = kIdle;
    DrawText(ui, {box.x, box.y, box.w + 2, box.h}, style, shown);
    const bool selected = app.selection.token == static_cast<int>(i) || (!app.playback.live && token.step == at_step);
    if (selected) Outline(ui, {box.x, box.y + 2, box.w - 1, kTokenLine - 4}, kText, 2);
    ImGui::PushID(static_cast<int>(i));
    const Press press = Hit(ui, "token", box);
    ImGui::PopID();
    if (press.hovered) hovered = static_cast<int>(i);
    if (!app.playback.live && token.step == at_step && app.answer.shown_step != at_step) {
      app.answer.shown_step = at_step;
      const float top = origin.y + y;
      const ImVec2 low = ui.draw->GetClipRectMin(), high = ui.draw->GetClipRectMax();
      if (top < low.y || top + kTokenLine > high.y) ImGui::SetScrollFromPosY(top - ImGui::GetWindowPos().y, 0.5f);
    }
    if (press.clicked) SelectToken(app, static_cast<int>(i));
    x += width;
    if (breaks) {
      x = 0;
      y += kTokenLine;
    }
  }
  ImGui::SetCursorScreenPos({origin.x, origin.y + (x > 0 ? y + kTokenLine : y) - 1});
  ImGui::Dummy({1, 1});
  if (hovered >= 0) TokenTip(ui, app.run.tokens[static_cast<size_t>(hovered)], static_cast<size_t>(hovered));
  if (app.answer.shown_tokens != app.run.tokens.size()) {
    app.answer.shown_tokens = app.run.tokens.size();
    if (app.playback.live) ImGui::SetScrollHereY(1.0f);
  }
  if (app.playback.live) app.answer.shown_step = -1;
}

void DrawEmpty(const Ui& ui, const Rect& area) {
  const Run& run = ui.app.run;
  std::string words;
  switch (run.state) {
    case CoreState::kLoading:
    case CoreState::kEmpty: words = "The model's weights are on their way."; break;
    case CoreState::kRunning: words = "Reading the prompt\u2026"; break;
    default: words = "Press Run: scope-micro writes here, token by token."; break;
  }
  DrawParagraph(ui, area, kLabelText, words, 3);
  if (run.state == CoreState::kLoading && run.load_share >= 0) {
    const Rect bar{area.x, area.y + 28, area.w, 4};
    Fill(ui, bar, kLine, 2);
    Fill(ui, {bar.x, bar.y, bar.w * static_cast<float>(run.load_share), bar.h}, kAction, 2);
  }
}

}  // namespace

void DrawAnswer(Ui& ui, Rect rect) {
  AppState& app = ui.app;
  rect = rect.Inset(kPad, 0);
  rect.TakeTop(rect.h < 130 ? 2 : 8);
  Rect title = rect.TakeTop(24);
  DrawText(ui, title, kTitleText, "Answer");
  if (!app.run.tokens.empty()) {
    DrawText(ui, title, kNoteText,
             Format("%d in, %d out", app.run.prompt_tokens, static_cast<int>(app.run.tokens.size())),
             Align::kRight);
  }
  Rect legend = rect.TakeBottom(22);
  if (app.run.tokens.empty()) {
    DrawEmpty(ui, rect);
    return;
  }
  const Range range = DecodeRange(app.run.tokens);
  const float label = DrawText(ui, legend, kNoteText, "colour: milliseconds per token");
  if (app.run.tokens.size() > 1 && range.high_ms - range.low_ms >= 0.01 * range.high_ms) {
    Rect scale = legend;
    scale.TakeLeft(label + 12);
    DrawText(ui, scale, kSmallNumber, Format("%s\u2013%s", Significant(range.low_ms).c_str(), Significant(range.high_ms).c_str()),
             Align::kRight);
  }
  // Whole lines only.
  rect.h = std::max(kTokenLine, std::floor(rect.h / kTokenLine) * kTokenLine);
  ImGui::SetCursorScreenPos(rect.min());
  if (ImGui::BeginChild("tokens", {rect.w, rect.h})) {
    Ui inner = ui;
    inner.draw = ImGui::GetWindowDrawList();
    DrawTokens(inner, rect);
  }
  ImGui::EndChild();
}

}  // namespace novascope::ui
