// All-gathers and the gather to rank 0. Part i of the data buffer starts out at rank i.

#include "plan/collectives/builders.h"

namespace novascope::plan {

Schedule BuildGatherMesh(GroupShape shape, uint32_t elements) {
  Schedule schedule{.algorithm = "gather-mesh", .op = CollectiveOp::kAllGather, .elements = elements};
  schedule.steps = 2;
  const int n = shape.ranks();
  const auto rank = [&](int chip, int core) {
    return static_cast<uint16_t>(chip * shape.cores + core);
  };
  for (int from = 0; from < shape.chips; ++from) {
    for (int core = 0; core < shape.cores; ++core) {
      const Range part = Part(elements, n, rank(from, core));
      for (int hop = 1; hop < shape.chips; ++hop) {
        Append(&schedule, {.src = rank(from, core), .dst = rank((from + hop) % shape.chips, core),
                           .step = 0, .src_offset = part.begin, .dst_offset = part.begin,
                           .count = part.count});
      }
    }
  }
  // Then each core passes the column of parts it holds to the other cores of its chip. Equal parts lie
  // a fixed stride apart and go as one message.
  const bool equal = elements % static_cast<uint32_t>(n) == 0;
  const uint32_t part_count = elements / static_cast<uint32_t>(n);
  for (int chip = 0; chip < shape.chips; ++chip) {
    for (int core = 0; core < shape.cores; ++core) {
      for (int peer = 0; peer < shape.cores; ++peer) {
        if (peer == core) continue;
        Message message{.src = rank(chip, core), .dst = rank(chip, peer), .step = 1};
        for (int from = 0; from < shape.chips; ++from) {
          const Range part = Part(elements, n, rank(from, core));
          message.src_offset = message.dst_offset = part.begin;
          message.count = part.count;
          if (equal) {
            message.repeat = static_cast<uint32_t>(shape.chips);
            message.stride = part_count * static_cast<uint32_t>(shape.cores);
          }
          Append(&schedule, message);
          if (equal) break;
        }
      }
    }
  }
  return schedule;
}

Schedule BuildGatherRing(GroupShape shape, uint32_t elements) {
  Schedule schedule{.algorithm = "gather-ring", .op = CollectiveOp::kAllGather, .elements = elements};
  const int n = shape.ranks();
  schedule.steps = n - 1;
  const std::vector<uint16_t> order = RingOrder(shape);
  for (int step = 0; step < n - 1; ++step) {
    for (int at = 0; at < n; ++at) {
      const Range part = Part(elements, n, order[(at - step + n) % n]);
      Append(&schedule, {.src = order[at], .dst = order[(at + 1) % n],
                         .step = static_cast<uint16_t>(step), .src_offset = part.begin,
                         .dst_offset = part.begin, .count = part.count});
    }
  }
  return schedule;
}

Schedule BuildCollect(GroupShape shape, uint32_t elements) {
  Schedule schedule{.algorithm = "collect", .op = CollectiveOp::kGather, .elements = elements};
  schedule.steps = 1;
  for (int rank = 1; rank < shape.ranks(); ++rank) {
    const Range part = Part(elements, shape.ranks(), rank);
    Append(&schedule, {.src = static_cast<uint16_t>(rank), .dst = 0, .step = 0, .src_offset = part.begin,
                       .dst_offset = part.begin, .count = part.count});
  }
  return schedule;
}

}  // namespace novascope::plan
