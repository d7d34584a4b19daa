// Single-step mesh all-reduce. Step 0: every rank sends its whole buffer once to every other chip, where
// it lands beside the core of the same number. Step 1: each core of a chip reduces its share of the range
// out of all that landed in the chip. Step 2: the cores exchange their shares.

#include "plan/collectives/builders.h"

namespace novascope::plan {

Schedule BuildMesh(GroupShape shape, uint32_t elements) {
  Schedule schedule{.algorithm = "mesh", .op = CollectiveOp::kAllReduce, .elements = elements};
  schedule.inbox_elements = static_cast<uint32_t>(shape.chips - 1) * elements;
  schedule.steps = 3;
  const auto rank = [&](int chip, int core) {
    return static_cast<uint16_t>(chip * shape.cores + core);
  };
  for (int from = 0; from < shape.chips; ++from) {
    for (int core = 0; core < shape.cores; ++core) {
      for (int to = 0; to < shape.chips; ++to) {
        if (to == from) continue;
        const auto slot = static_cast<uint32_t>(from < to ? from : from - 1);
        Append(&schedule, {.src = rank(from, core), .dst = rank(to, core), .step = 0,
                           .dst_offset = elements * (1 + slot), .count = elements});
      }
    }
  }
  for (int chip = 0; chip < shape.chips; ++chip) {
    for (int core = 0; core < shape.cores; ++core) {
      const Range own = Part(elements, shape.cores, core);
      for (int peer = 0; peer < shape.cores; ++peer) {
        if (peer != core) {
          Append(&schedule, {.src = rank(chip, peer), .dst = rank(chip, core), .step = 1, .reduce = true,
                             .src_offset = own.begin, .dst_offset = own.begin, .count = own.count});
        }
        if (shape.chips > 1) {
          Append(&schedule, {.src = rank(chip, peer), .dst = rank(chip, core), .step = 1, .reduce = true,
                             .src_offset = elements + own.begin, .dst_offset = own.begin,
                             .count = own.count, .repeat = static_cast<uint32_t>(shape.chips - 1),
                             .stride = elements});
        }
      }
    }
  }
  for (int chip = 0; chip < shape.chips; ++chip) {
    for (int core = 0; core < shape.cores; ++core) {
      const Range own = Part(elements, shape.cores, core);
      for (int peer = 0; peer < shape.cores; ++peer) {
        if (peer == core) continue;
        Append(&schedule, {.src = rank(chip, core), .dst = rank(chip, peer), .step = 2,
                           .src_offset = own.begin, .dst_offset = own.begin, .count = own.count});
      }
    }
  }
  return schedule;
}

}  // namespace novascope::plan
