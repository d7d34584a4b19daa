#include "ui/playback.h"

#include <algorithm>
#include <cmath>

namespace novascope::ui {

namespace {

constexpr double kFollowMs = 120;       // time constant of following the run
constexpr double kFlowPxPerSecond = 60;  // of particles while the playhead moves

}  // namespace

int64_t EndPs(const AppState& app) { return app.run.steps.empty() ? 0 : app.run.steps.back().end_ps; }

int StepIndexAt(const AppState& app, int64_t at_ps) {
  const std::vector<StepInfo>& steps = app.run.steps;
  const auto after = std::upper_bound(steps.begin(), steps.end(), at_ps,
                                      [](int64_t at, const StepInfo& step) { return at < step.start_ps; });
  return static_cast<int>(after - steps.begin()) - 1;
}

int64_t TellingMoment(const AppState& app, int step) {
  if (step < 0 || step >= static_cast<int>(app.run.steps.size())) return 0;
  const StepInfo& info = app.run.steps[static_cast<size_t>(step)];
  int64_t moment = (info.end_ps - info.start_ps) / 2;
  if (info.step_template >= 0 && info.step_template < static_cast<int>(app.timeline.views.size())) {
    moment = app.timeline.views[static_cast<size_t>(info.step_template)].telling_ps;
  }
  return info.start_ps + std::clamp<int64_t>(moment, 0, std::max<int64_t>(0, info.end_ps - info.start_ps - 1));
}

void ResetPlayback(AppState& app) {
  app.playback.at_ps = 0;
  app.playback.playing = false;
  app.playback.live = true;
}

void FollowRun(AppState& app) {
  if (app.view.reduced_motion && app.playback.live) SettlePlayhead(app);
}

void SettlePlayhead(AppState& app) {
  if (!app.playback.live || app.run.steps.empty()) return;
  app.playback.at_ps = TellingMoment(app, static_cast<int>(app.run.steps.size()) - 1);
}

void Seek(AppState& app, int64_t at_ps) {
  app.playback.live = false;
  app.playback.at_ps = std::clamp<int64_t>(at_ps, 0, EndPs(app));
}

void SetPlaying(AppState& app, bool playing) {
  Playback& playback = app.playback;
  if (app.run.steps.empty()) return;
  const int last = static_cast<int>(app.run.steps.size()) - 1;
  if (playing && playback.at_ps >= TellingMoment(app, last)) playback.at_ps = 0;
  playback.live = false;
  playback.playing = playing;
}

void MoveByStep(AppState& app, int steps) {
  if (app.run.steps.empty()) return;
  const int last = static_cast<int>(app.run.steps.size()) - 1;
  const int target = std::clamp(StepIndexAt(app, app.playback.at_ps) + steps, 0, last);
  app.playback.playing = false;
  Seek(app, TellingMoment(app, target));
}

void SelectToken(AppState& app, int token) {
  if (token < 0 || token >= static_cast<int>(app.run.tokens.size())) {
    app.selection.token = -1;
    return;
  }
  app.selection.token = token;
  app.playback.playing = false;
  app.timeline.follow = true;
  Seek(app, TellingMoment(app, app.run.tokens[static_cast<size_t>(token)].step));
}

bool AdvancePlayback(AppState& app, double elapsed_ms) {
  Playback& playback = app.playback;
  if (app.run.steps.empty()) return false;
  elapsed_ms = std::clamp(elapsed_ms, 0.0, 100.0);
  const int64_t before = playback.at_ps;
  if (playback.live) {
    const int64_t target = TellingMoment(app, static_cast<int>(app.run.steps.size()) - 1);
    const double left = static_cast<double>(target - playback.at_ps);
    const double moved = left * (1.0 - std::exp(-elapsed_ms / kFollowMs));
    playback.at_ps = std::fabs(left - moved) < 1e6 || app.view.reduced_motion
                         ? target
                         : playback.at_ps + static_cast<int64_t>(moved);
  } else if (playback.playing) {
    playback.at_ps += static_cast<int64_t>(kSpeeds[playback.speed].ps_per_second * elapsed_ms / 1000.0);
    if (playback.at_ps >= EndPs(app)) {
      playback.at_ps = TellingMoment(app, static_cast<int>(app.run.steps.size()) - 1);
      playback.playing = false;
    }
  }
  const bool moving = playback.at_ps != before || playback.playing;
  if (moving) playback.flow_px += kFlowPxPerSecond * elapsed_ms / 1000.0;
  return moving;
}

}  // namespace novascope::ui
