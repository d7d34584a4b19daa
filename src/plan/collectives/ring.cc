// Ring all-reduce: n-1 steps in which each rank adds one part into its successor's buffer, then n-1 steps
// that pass the finished parts round. A rank never reads the part it receives in the same step.

#include "plan/collectives/builders.h"

namespace novascope::plan {

std::vector<uint16_t> RingOrder(GroupShape shape) {
  std::vector<uint16_t> order;
  for (int i = 0; i < shape.chips; ++i) {
    const int row = i / shape.width;
    const int row_end = (row + 1) * shape.width;
    const bool whole_row = row_end <= shape.chips;
    const int chip = row % 2 == 1 && whole_row ? row_end - 1 - i % shape.width : i;
    for (int core = 0; core < shape.cores; ++core) {
      order.push_back(static_cast<uint16_t>(chip * shape.cores + core));
    }
  }
  return order;
}

void Append(Schedule* schedule, const Message& message) {
  if (message.count > 0 && message.repeat > 0) schedule->messages.push_back(message);
}

Schedule BuildRing(GroupShape shape, uint32_t elements) {
  Schedule schedule{.algorithm = "ring", .op = CollectiveOp::kAllReduce, .elements = elements};
  const int n = shape.ranks();
  schedule.steps = 2 * (n - 1);
  const std::vector<uint16_t> order = RingOrder(shape);
  for (int step = 0; step < schedule.steps; ++step) {
    const bool reduce = step < n - 1;
    for (int at = 0; at < n; ++at) {
      const int part = ((reduce ? at - step : at + 1 - (step - (n - 1))) + 2 * n) % n;
      const Range range = Part(elements, n, part);
      Append(&schedule, {.src = order[at], .dst = order[(at + 1) % n],
                         .step = static_cast<uint16_t>(step), .reduce = reduce,
                         .src_offset = range.begin, .dst_offset = range.begin, .count = range.count});
    }
  }
  return schedule;
}

}  // namespace novascope::plan
