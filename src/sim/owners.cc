#include "sim/owners.h"

#include <algorithm>
#include <array>

namespace novascope::sim {
namespace {

struct Edge {
  int64_t at;
  int owner;
  int change;
};

void AddEdges(const std::vector<Interval>& intervals, trace::Owner owner, int64_t end,
              std::vector<Edge>* edges) {
  for (const Interval& interval : intervals) {
    const int64_t to = std::min(interval.end, end);
    if (interval.start >= to) continue;
    edges->push_back({interval.start, static_cast<int>(owner), 1});
    edges->push_back({to, static_cast<int>(owner), -1});
  }
}

}  // namespace

std::vector<OwnedSegment> OwnerSegments(const std::vector<Interval>& compute,
                                        const std::vector<Interval>& hbm,
                                        const std::vector<Interval>& network, int64_t end) {
  std::vector<Edge> edges;
  AddEdges(compute, trace::Owner::kCompute, end, &edges);
  AddEdges(hbm, trace::Owner::kHbm, end, &edges);
  AddEdges(network, trace::Owner::kNetwork, end, &edges);
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    if (a.at != b.at) return a.at < b.at;
    if (a.owner != b.owner) return a.owner < b.owner;
    return a.change < b.change;
  });
  std::vector<OwnedSegment> segments;
  std::array<int, 3> active{};
  int64_t at = 0;
  const auto emit = [&](int64_t to) {
    if (to <= at) return;
    trace::Owner owner = trace::Owner::kWait;
    for (int i = 2; i >= 0; --i) {
      if (active[static_cast<size_t>(i)] > 0) owner = static_cast<trace::Owner>(i);
    }
    if (!segments.empty() && segments.back().owner == owner) {
      segments.back().end = to;
    } else {
      segments.push_back({at, to, owner});
    }
    at = to;
  };
  for (const Edge& edge : edges) {
    emit(edge.at);
    active[static_cast<size_t>(edge.owner)] += edge.change;
  }
  emit(end);
  return segments;
}

void AddSegments(const std::vector<OwnedSegment>& segments, int64_t from, int64_t to,
                 trace::Split* split) {
  auto at = std::partition_point(segments.begin(), segments.end(),
                                 [from](const OwnedSegment& s) { return s.end <= from; });
  for (; at != segments.end() && at->start < to; ++at) {
    split->ps[static_cast<size_t>(at->owner)] += std::min(at->end, to) - std::max(at->start, from);
  }
}

}  // namespace novascope::sim
