#include "ui/activity.h"

#include <algorithm>

#include "ui/format.h"
#include "ui/playback.h"

namespace novascope::ui {

namespace {

// Bits of what runs on a rank class at one instant.
constexpr unsigned kComputes = 1, kMovesHbm = 2, kTalks = 4;

struct ClassActivity {
  unsigned running = 0;
  const trace::Slice* slice = nullptr;  // the one worth naming
};

std::vector<ClassActivity> ClassesAt(const trace::StepTemplate& step_template, int64_t relative_ps) {
  std::vector<ClassActivity> classes(step_template.classes.size());
  for (const trace::Slice& slice : step_template.slices) {
    if (slice.start_ps > relative_ps) break;
    if (slice.start_ps + slice.duration_ps <= relative_ps) continue;
    if (slice.track < 0 || static_cast<size_t>(slice.track) >= step_template.tracks.size()) continue;
    const trace::Track& track = step_template.tracks[static_cast<size_t>(slice.track)];
    if (track.rank_class < 0 || static_cast<size_t>(track.rank_class) >= classes.size()) continue;
    ClassActivity& activity = classes[static_cast<size_t>(track.rank_class)];
    unsigned bit = 0;
    switch (track.kind) {
      case trace::TrackKind::kTensor:
      case trace::TrackKind::kVector:
      case trace::TrackKind::kScalar: bit = kComputes; break;
      case trace::TrackKind::kDma: bit = kMovesHbm; break;
      case trace::TrackKind::kCollective: bit = kTalks; break;
      case trace::TrackKind::kWait: break;
    }
    activity.running |= bit;
    if (!activity.slice || bit == kTalks || bit == kComputes) activity.slice = &slice;
  }
  return classes;
}

gfx::CoreState StateOf(unsigned running) {
  if (running & kComputes) return gfx::CoreState::kCompute;
  if (running & kMovesHbm) return gfx::CoreState::kHbm;
  if (running & kTalks) return gfx::CoreState::kNetwork;
  return gfx::CoreState::kWait;
}

std::string Describe(const trace::StepTemplate& step_template, const ClassActivity& activity) {
  if (!activity.slice) return "";
  const trace::Slice& slice = *activity.slice;
  std::string text;
  if (slice.name >= 0 && static_cast<size_t>(slice.name) < step_template.names.size()) {
    text = step_template.names[static_cast<size_t>(slice.name)];
  }
  if (slice.layer >= 0) {
    int layers = 0;
    for (const trace::Slice& other : step_template.slices) layers = std::max(layers, other.layer + 1);
    text += Format(", layer %d of %d", slice.layer + 1, layers);
  }
  if (slice.bytes > 0) text += ", " + Bytes(static_cast<double>(slice.bytes)).text();
  return text;
}

}  // namespace

const trace::StepTemplate* TemplateAt(const AppState& app, int64_t at_ps, int64_t* relative_ps) {
  const int step = StepIndexAt(app, at_ps);
  if (step < 0) return nullptr;
  const StepInfo& info = app.run.steps[static_cast<size_t>(step)];
  if (at_ps >= info.end_ps || info.step_template < 0) return nullptr;
  if (static_cast<size_t>(info.step_template) >= app.trace.templates().size()) return nullptr;
  *relative_ps = at_ps - info.start_ps;
  return &app.trace.templates()[static_cast<size_t>(info.step_template)];
}

int ClassOfCore(const trace::StepTemplate& step_template, int core) {
  for (size_t i = 0; i < step_template.classes.size(); ++i) {
    const std::vector<int32_t>& cores = step_template.classes[i].cores;
    if (std::binary_search(cores.begin(), cores.end(), core)) return static_cast<int>(i);
  }
  return -1;
}

void UpdateActivity(AppState& app) {
  Activity& activity = app.activity;
  const Machine& machine = app.run.machine;
  if (activity.at_ps == app.playback.at_ps && activity.serial == app.run.serial &&
      activity.steps == app.run.steps.size()) {
    return;
  }
  activity.at_ps = app.playback.at_ps;
  activity.serial = app.run.serial;
  activity.steps = app.run.steps.size();
  activity.doing.clear();
  activity.snapshot = app.trace.At(app.playback.at_ps, machine.cores_per_chip);
  activity.chips.assign(static_cast<size_t>(machine.chips), {});
  activity.links.assign(machine.links.size(), {});
  for (uint16_t link : activity.snapshot.busy_links) {
    if (link < activity.links.size()) activity.links[link].busy = 1;
  }
  int64_t relative_ps = 0;
  const trace::StepTemplate* step_template = TemplateAt(app, app.playback.at_ps, &relative_ps);
  if (!step_template) return;
  const std::vector<ClassActivity> classes = ClassesAt(*step_template, relative_ps);
  for (size_t i = 0; i < classes.size(); ++i) {
    const bool outside = step_template->classes[i].stage < 0;
    const auto state = static_cast<uint8_t>(outside ? gfx::CoreState::kOutside : StateOf(classes[i].running));
    for (int32_t core : step_template->classes[i].cores) {
      const int chip = core / machine.cores_per_chip, cell = core % machine.cores_per_chip;
      if (chip < 0 || chip >= machine.chips || cell >= gfx::kMaxCores) continue;
      activity.chips[static_cast<size_t>(chip)].cores[static_cast<size_t>(cell)] = state;
    }
  }
  const size_t critical = static_cast<size_t>(std::max(0, step_template->critical_class));
  if (critical < classes.size()) activity.doing = Describe(*step_template, classes[critical]);
}

}  // namespace novascope::ui
