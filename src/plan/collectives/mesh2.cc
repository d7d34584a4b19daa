// Two-step mesh all-reduce: every rank sends each other rank its part (step 0), adds what it got (step 1,
// local), and sends the finished part to all (step 2).

#include <algorithm>

#include "plan/collectives/builders.h"

namespace novascope::plan {

Schedule BuildMesh2(GroupShape shape, uint32_t elements) {
  Schedule schedule{.algorithm = "mesh2", .op = CollectiveOp::kAllReduce, .elements = elements};
  const int n = shape.ranks();
  uint32_t slot = 0;  // the largest part
  for (int i = 0; i < n; ++i) slot = std::max(slot, Part(elements, n, i).count);
  schedule.inbox_elements = static_cast<uint32_t>(n - 1) * slot;
  schedule.steps = 3;
  for (int src = 0; src < n; ++src) {
    for (int hop = 1; hop < n; ++hop) {
      const int dst = (src + hop) % n;
      const Range part = Part(elements, n, dst);
      const auto index = static_cast<uint32_t>(src < dst ? src : src - 1);
      Append(&schedule, {.src = static_cast<uint16_t>(src), .dst = static_cast<uint16_t>(dst), .step = 0,
                         .src_offset = part.begin, .dst_offset = elements + index * slot,
                         .count = part.count});
    }
  }
  for (int rank = 0; rank < n && n > 1; ++rank) {
    const Range part = Part(elements, n, rank);
    Append(&schedule, {.src = static_cast<uint16_t>(rank), .dst = static_cast<uint16_t>(rank), .step = 1,
                       .reduce = true, .src_offset = elements, .dst_offset = part.begin,
                       .count = part.count, .repeat = static_cast<uint32_t>(n - 1), .stride = slot});
  }
  for (int src = 0; src < n; ++src) {
    const Range part = Part(elements, n, src);
    for (int hop = 1; hop < n; ++hop) {
      Append(&schedule, {.src = static_cast<uint16_t>(src), .dst = static_cast<uint16_t>((src + hop) % n),
                         .step = 2, .src_offset = part.begin, .dst_offset = part.begin,
                         .count = part.count});
    }
  }
  return schedule;
}

}  // namespace novascope::plan
