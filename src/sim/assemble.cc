#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "sim/machine_state.h"

namespace novascope::sim {
namespace {

using trace::RankClass;
using trace::StepTemplate;
using trace::TrackKind;

constexpr int kTrackKinds = 6;

std::string Label(const plan::StepShape& shape) {
  const std::string positions = std::to_string(shape.kv_positions) + " positions";
  const std::string batch = shape.sequences > 1 ? ", batch " + std::to_string(shape.sequences) : "";
  if (shape.kind == plan::StepKind::kDecode) return "decode, " + positions + batch;
  return "prefill of " + std::to_string(shape.rows) + " tokens, " + positions + batch;
}

bool SameSchedule(const Actor& a, const Actor& b) {
  return a.role == b.role && a.finish == b.finish && a.hbm_bytes == b.hbm_bytes &&
         a.slices == b.slices && a.compute == b.compute && a.hbm == b.hbm && a.network == b.network;
}

// Actors that did the same at the same times, as indices, in order of (stage, first core).
std::vector<std::vector<int32_t>> MergeActors(const SimCore& core) {
  std::vector<std::vector<int32_t>> groups;
  for (size_t a = 0; a < core.actors.size(); ++a) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return SameSchedule(core.actors[static_cast<size_t>(group.front())], core.actors[a]);
    });
    if (same != groups.end()) {
      same->push_back(static_cast<int32_t>(a));
    } else {
      groups.push_back({static_cast<int32_t>(a)});
    }
  }
  return groups;
}

void AddClass(const SimCore& core, const std::vector<int32_t>& group, int64_t duration,
              const std::vector<OwnedSegment>& segments, StepTemplate* t) {
  RankClass c;
  const Actor& actor = core.actors[static_cast<size_t>(group.front())];
  c.stage = static_cast<int16_t>(actor.role);
  for (const int32_t a : group) {
    for (const int32_t rank : core.actors[static_cast<size_t>(a)].ranks) {
      const plan::RankPlace& place = core.plan->ranks[static_cast<size_t>(rank)];
      c.cores.push_back(place.chip * core.plan->cores_per_chip + place.core);
    }
  }
  std::sort(c.cores.begin(), c.cores.end());
  AddSegments(segments, 0, duration, &c.split);
  const auto class_index = static_cast<int16_t>(t->classes.size());
  std::array<int16_t, kTrackKinds> track_of{};
  for (int kind = 0; kind < kTrackKinds; ++kind) {
    const bool used =
        std::any_of(actor.slices.begin(), actor.slices.end(),
                    [&](const ActorSlice& s) { return static_cast<int>(s.kind) == kind; });
    if (!used) continue;
    track_of[static_cast<size_t>(kind)] = static_cast<int16_t>(t->tracks.size());
    t->tracks.push_back({static_cast<TrackKind>(kind), class_index});
  }
  for (const ActorSlice& slice : actor.slices) {
    t->slices.push_back({.start_ps = slice.start,
                         .duration_ps = slice.duration,
                         .name = slice.name,
                         .track = track_of[static_cast<size_t>(slice.kind)],
                         .layer = slice.layer,
                         .bytes = slice.bytes});
  }
  t->hbm_bytes += actor.hbm_bytes * c.cores.size();
  t->classes.push_back(std::move(c));
}

// Cores that no busy rank sits on.
void AddIdleClass(const SimCore& core, StepTemplate* t) {
  std::vector<bool> used(
      static_cast<size_t>(core.plan->system->chips() * core.plan->cores_per_chip));
  for (const RankClass& c : t->classes) {
    for (const int32_t id : c.cores) used[static_cast<size_t>(id)] = true;
  }
  RankClass idle;
  idle.stage = -1;
  for (size_t id = 0; id < used.size(); ++id) {
    if (!used[id]) idle.cores.push_back(static_cast<int32_t>(id));
  }
  if (idle.cores.empty()) return;
  idle.split.ps[static_cast<size_t>(trace::Owner::kIdle)] = t->duration_ps;
  t->classes.push_back(std::move(idle));
}

bool EarlierSlice(const trace::LinkSlice& a, const trace::LinkSlice& b) {
  if (a.start_ps != b.start_ps) return a.start_ps < b.start_ps;
  return a.link < b.link;  // a link is never busy twice at once
}

bool SameSlices(const std::vector<trace::LinkSlice>& a, const std::vector<trace::LinkSlice>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.start_ps == y.start_ps && x.duration_ps == y.duration_ps && x.bytes == y.bytes &&
           x.link == y.link;
  });
}

// The pattern of some records that ran together, added where no earlier one equals it.
int32_t InternPattern(std::vector<trace::LinkSlice> slices, trace::LinkTimeline* links) {
  std::sort(slices.begin(), slices.end(), EarlierSlice);
  for (size_t i = 0; i < links->patterns.size(); ++i) {
    if (SameSlices(links->patterns[i].slices, slices)) return static_cast<int32_t>(i);
  }
  trace::LinkPattern pattern;
  for (const trace::LinkSlice& slice : slices) {
    pattern.span_ps = std::max(pattern.span_ps, slice.start_ps + slice.duration_ps);
    pattern.bytes += slice.bytes;
  }
  pattern.slices = std::move(slices);
  links->patterns.push_back(std::move(pattern));
  return static_cast<int32_t>(links->patterns.size()) - 1;
}

// Parties of one exchange that start together become one run; equal runs share a pattern.
void AddLinks(const SimCore& core, StepTemplate* t) {
  std::vector<RawLinkRun> raw = core.link_runs;
  std::sort(raw.begin(), raw.end(), [](const RawLinkRun& a, const RawLinkRun& b) {
    if (a.start != b.start) return a.start < b.start;
    if (a.role != b.role) return a.role < b.role;
    if (a.op != b.op) return a.op < b.op;
    if (a.layer != b.layer) return a.layer < b.layer;
    return a.record < b.record;
  });
  std::map<std::vector<int32_t>, int32_t> pattern_of;  // by the records that ran together
  t->bytes_by_link.assign(core.topology->links.size(), 0);
  for (size_t at = 0; at < raw.size();) {
    const RawLinkRun& first = raw[at];
    std::vector<int32_t> records;
    for (; at < raw.size() && raw[at].start == first.start && raw[at].role == first.role &&
           raw[at].op == first.op && raw[at].layer == first.layer;
         ++at) {
      records.push_back(raw[at].record);
    }
    auto known = pattern_of.find(records);
    if (known == pattern_of.end()) {
      std::vector<trace::LinkSlice> slices;
      for (const int32_t record : records) {
        const auto& more = core.link_records[static_cast<size_t>(record)];
        slices.insert(slices.end(), more.begin(), more.end());
      }
      const int32_t id = slices.empty() ? -1 : InternPattern(std::move(slices), &t->link_slices);
      known = pattern_of.emplace(std::move(records), id).first;
    }
    if (known->second < 0) continue;
    t->link_slices.runs.push_back(
        {.start_ps = first.start,
         .pattern = known->second,
         .name = core.name_of_op[static_cast<size_t>(first.role)][static_cast<size_t>(first.op)],
         .layer = first.layer});
    for (const trace::LinkSlice& slice :
         t->link_slices.patterns[static_cast<size_t>(known->second)].slices) {
      t->bytes_by_link[slice.link] += slice.bytes;
      t->link_bytes[static_cast<size_t>(core.topology->links[slice.link].kind)] += slice.bytes;
    }
  }
}

// Walks from the end to the beginning through whoever was waited for.
void FollowCriticalPath(const SimCore& core, const std::vector<std::vector<OwnedSegment>>& segments,
                        const std::vector<int32_t>& class_of, StepTemplate* t) {
  size_t at = 0;
  for (size_t a = 1; a < core.actors.size(); ++a) {
    if (core.actors[a].finish > core.actors[at].finish) at = a;
  }
  std::vector<int64_t> held(t->classes.size());
  int64_t until = t->duration_ps;
  while (until > 0) {
    const Actor& actor = core.actors[at];
    const Jump* jump = nullptr;
    for (const Jump& candidate : actor.jumps) {
      if (candidate.end <= until) jump = &candidate;
    }
    const int64_t from = jump != nullptr ? jump->start : 0;
    AddSegments(segments[at], from, until, &t->critical_split);
    held[static_cast<size_t>(class_of[at])] += until - from;
    until = from;
    if (jump != nullptr) at = static_cast<size_t>(jump->from);
  }
  t->critical_class =
      static_cast<int32_t>(std::max_element(held.begin(), held.end()) - held.begin());
}

}  // namespace

StepTemplate Assemble(const SimCore& core) {
  StepTemplate t;
  t.key = StepKey(*core.plan, core.program->shape, core.replicas, core.options);
  t.label = Label(core.program->shape);
  t.names = core.names;
  for (const Actor& actor : core.actors) t.duration_ps = std::max(t.duration_ps, actor.finish);
  if (core.options.host_gap) t.duration_ps += core.plan->system->host_gap_ps.value;
  std::vector<std::vector<OwnedSegment>> segments;
  for (const Actor& actor : core.actors) {
    segments.push_back(OwnerSegments(actor.compute, actor.hbm, actor.network, t.duration_ps));
  }
  std::vector<int32_t> class_of(core.actors.size());
  for (const std::vector<int32_t>& group : MergeActors(core)) {
    for (const int32_t a : group) {
      class_of[static_cast<size_t>(a)] = static_cast<int32_t>(t.classes.size());
    }
    AddClass(core, group, t.duration_ps, segments[static_cast<size_t>(group.front())], &t);
  }
  FollowCriticalPath(core, segments, class_of, &t);
  AddIdleClass(core, &t);
  std::stable_sort(t.slices.begin(), t.slices.end(),
                   [](const trace::Slice& a, const trace::Slice& b) {
                     if (a.start_ps != b.start_ps) return a.start_ps < b.start_ps;
                     return a.track < b.track;
                   });
  AddLinks(core, &t);
  return t;
}

}  // namespace novascope::sim
