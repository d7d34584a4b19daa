#include "trace/trace.h"

#include <algorithm>
#include <cassert>

namespace novascope::trace {
namespace {

uint64_t SizeOf(const StepTemplate& t) {
  uint64_t bytes = sizeof(StepTemplate) + t.label.size() + t.slices.size() * sizeof(Slice) +
                   t.link_slices.runs.size() * sizeof(LinkRun) + t.tracks.size() * sizeof(Track) +
                   t.bytes_by_link.size() * sizeof(uint64_t);
  for (const LinkPattern& pattern : t.link_slices.patterns) {
    bytes += sizeof(LinkPattern) + pattern.slices.size() * sizeof(LinkSlice);
  }
  for (const std::string& name : t.names) bytes += sizeof(std::string) + name.size();
  for (const RankClass& c : t.classes)
    bytes += sizeof(RankClass) + c.cores.size() * sizeof(int32_t);
  return bytes;
}

constexpr uint64_t kStepBytes = sizeof(Step) + 2 * sizeof(uint64_t);

// What of `bytes` has moved `elapsed` into a slice.
uint64_t ProRata(uint64_t bytes, int64_t elapsed, int64_t duration) {
  if (elapsed >= duration) return bytes;
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) *
                               static_cast<unsigned __int128>(elapsed) /
                               static_cast<unsigned __int128>(duration));
}

bool IsActive(TrackKind kind) {
  return kind == TrackKind::kTensor || kind == TrackKind::kVector || kind == TrackKind::kScalar ||
         kind == TrackKind::kDma;
}

void Normalise(auto* ids) {
  std::sort(ids->begin(), ids->end());
  ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
}

}  // namespace

LinkSlice LinkTimeline::Iterator::operator*() const {
  const LinkRun& run = timeline_->runs[run_];
  LinkSlice slice = timeline_->patterns[static_cast<size_t>(run.pattern)].slices[slice_];
  slice.start_ps += run.start_ps;
  slice.name = run.name;
  slice.layer = run.layer;
  return slice;
}

LinkTimeline::Iterator& LinkTimeline::Iterator::operator++() {
  const LinkRun& run = timeline_->runs[run_];
  if (++slice_ == timeline_->patterns[static_cast<size_t>(run.pattern)].slices.size()) {
    ++run_;
    slice_ = 0;
  }
  return *this;
}

size_t LinkTimeline::size() const {
  size_t count = 0;
  for (const LinkRun& run : runs) count += patterns[static_cast<size_t>(run.pattern)].slices.size();
  return count;
}

int Trace::AddTemplate(StepTemplate step_template) {
  uint64_t link_bytes = 0;
  for (uint64_t bytes : step_template.link_bytes) link_bytes += bytes;
  template_link_bytes_.push_back(link_bytes);
  template_bytes_ += SizeOf(step_template);
  templates_.push_back(std::move(step_template));
  return static_cast<int>(templates_.size()) - 1;
}

int Trace::FindTemplate(uint64_t key) const {
  for (size_t i = 0; i < templates_.size(); ++i) {
    if (templates_[i].key == key) return static_cast<int>(i);
  }
  return -1;
}

void Trace::AddStep(const Step& step) {
  assert(step.step_template >= 0 && static_cast<size_t>(step.step_template) < templates_.size());
  assert(step.start_ps >= end_ps() || steps_.empty());
  uint64_t link_before = 0, hbm_before = 0;
  if (!steps_.empty()) {
    const auto last = static_cast<size_t>(steps_.back().step_template);
    link_before = link_bytes_before_.back() + template_link_bytes_[last];
    hbm_before = hbm_bytes_before_.back() + templates_[last].hbm_bytes;
  }
  steps_.push_back(step);
  link_bytes_before_.push_back(link_before);
  hbm_bytes_before_.push_back(hbm_before);
  if (memory_bytes() <= budget_bytes_) return;
  // An eighth at a time, so that a long run does not move the whole vector at each step.
  const uint64_t over = (memory_bytes() - budget_bytes_ + kStepBytes - 1) / kStepBytes;
  const uint64_t drop =
      std::min<uint64_t>(std::max<uint64_t>(over, steps_.size() / 8), steps_.size() - 1);
  const auto count = static_cast<std::ptrdiff_t>(drop);
  steps_.erase(steps_.begin(), steps_.begin() + count);
  link_bytes_before_.erase(link_bytes_before_.begin(), link_bytes_before_.begin() + count);
  hbm_bytes_before_.erase(hbm_bytes_before_.begin(), hbm_bytes_before_.begin() + count);
  dropped_steps_ += drop;
}

int64_t Trace::end_ps() const {
  if (steps_.empty()) return 0;
  const Step& last = steps_.back();
  return last.start_ps + templates_[static_cast<size_t>(last.step_template)].duration_ps;
}

uint64_t Trace::memory_bytes() const { return template_bytes_ + steps_.size() * kStepBytes; }

int Trace::StepAt(int64_t at_ps) const {
  const auto after =
      std::upper_bound(steps_.begin(), steps_.end(), at_ps,
                       [](int64_t at, const Step& step) { return at < step.start_ps; });
  if (after == steps_.begin()) return -1;
  const Step& step = *(after - 1);
  const int64_t end =
      step.start_ps + templates_[static_cast<size_t>(step.step_template)].duration_ps;
  return at_ps < end ? static_cast<int>(after - steps_.begin()) - 1 : -1;
}

Snapshot Trace::At(int64_t at_ps, int cores_per_chip) const {
  Snapshot snapshot;
  snapshot.at_ps = at_ps;
  snapshot.step = StepAt(at_ps);
  const auto after =
      std::upper_bound(steps_.begin(), steps_.end(), at_ps,
                       [](int64_t at, const Step& step) { return at < step.start_ps; });
  if (after == steps_.begin()) {
    if (!steps_.empty()) {  // what was dropped has been done, though its steps are gone
      snapshot.link_bytes = link_bytes_before_.front();
      snapshot.hbm_bytes = hbm_bytes_before_.front();
    }
    return snapshot;
  }
  const auto index = static_cast<size_t>(after - steps_.begin()) - 1;
  const Step& step = steps_[index];
  const StepTemplate& t = templates_[static_cast<size_t>(step.step_template)];
  const int64_t now = at_ps - step.start_ps;
  snapshot.link_bytes = link_bytes_before_[index];
  snapshot.hbm_bytes = hbm_bytes_before_[index];
  for (const LinkRun& run : t.link_slices.runs) {
    if (run.start_ps > now) break;
    const LinkPattern& pattern = t.link_slices.patterns[static_cast<size_t>(run.pattern)];
    const int64_t inside = now - run.start_ps;
    if (inside >= pattern.span_ps) {
      snapshot.link_bytes += pattern.bytes;
      continue;
    }
    for (const LinkSlice& slice : pattern.slices) {
      if (slice.start_ps > inside) break;
      snapshot.link_bytes += ProRata(slice.bytes, inside - slice.start_ps, slice.duration_ps);
      if (inside < slice.start_ps + slice.duration_ps) snapshot.busy_links.push_back(slice.link);
    }
  }
  for (const Slice& slice : t.slices) {
    if (slice.start_ps > now) break;
    const Track& track = t.tracks[static_cast<size_t>(slice.track)];
    if (!IsActive(track.kind)) continue;
    const std::vector<int32_t>& cores = t.classes[static_cast<size_t>(track.rank_class)].cores;
    if (track.kind == TrackKind::kDma) {
      snapshot.hbm_bytes +=
          ProRata(slice.bytes, now - slice.start_ps, slice.duration_ps) * cores.size();
    }
    if (now >= slice.start_ps + slice.duration_ps) continue;
    for (int32_t core : cores)
      snapshot.active_chips.push_back(static_cast<int16_t>(core / cores_per_chip));
  }
  Normalise(&snapshot.busy_links);
  Normalise(&snapshot.active_chips);
  return snapshot;
}

}  // namespace novascope::trace
