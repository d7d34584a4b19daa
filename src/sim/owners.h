// Who owns each picosecond of a core: compute if an engine runs, else HBM if its DMA moves HBM
// bytes, else network if a transfer it needs is on a link, else wait.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/trace.h"

namespace novascope::sim {

struct Interval {
  int64_t start = 0, end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

struct OwnedSegment {
  int64_t start = 0, end = 0;
  trace::Owner owner = trace::Owner::kWait;
};

// Covers [0, end) without gaps or overlaps. Intervals may overlap and come in any order; what lies
// beyond `end` is cut.
std::vector<OwnedSegment> OwnerSegments(const std::vector<Interval>& compute,
                                        const std::vector<Interval>& hbm,
                                        const std::vector<Interval>& network, int64_t end);

// Adds the parts of `segments` that lie in [from, to) to `split`.
void AddSegments(const std::vector<OwnedSegment>& segments, int64_t from, int64_t to,
                 trace::Split* split);

}  // namespace novascope::sim
