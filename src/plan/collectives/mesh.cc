// Single-step mesh all-reduce: one step on the network. The cores of a chip first reduce a share each
// among themselves; every core then sends its share once to the core of the same number in every other
// chip, adds up what landed, and the cores of the chip exchange their shares.

#include <algorithm>

#include "plan/collectives/builders.h"

namespace novascope::plan {

Schedule BuildMesh(GroupShape shape, uint32_t elements) {
  Schedule schedule{.algorithm = "mesh", .op = CollectiveOp::kAllReduce, .elements = elements};
  uint32_t slot = 0;  // the largest share
  for (int core = 0; core < shape.cores; ++core) {
    slot = std::max(slot, Part(elements, shape.cores, core).count);
  }
  schedule.inbox_elements = static_cast<uint32_t>(shape.chips - 1) * slot;
  schedule.steps = 4;
  const auto rank = [&](int chip, int core) {
    return static_cast<uint16_t>(chip * shape.cores + core);
  };
  // Every message of a step, in the order of the rank that it is for or from.
  const auto for_each_core = [&](auto&& fn) {
    for (int chip = 0; chip < shape.chips; ++chip) {
      for (int core = 0; core < shape.cores; ++core) fn(chip, core, Part(elements, shape.cores, core));
    }
  };
  for_each_core([&](int chip, int core, Range own) {
    for (int hop = 1; hop < shape.cores; ++hop) {
      Append(&schedule, {.src = rank(chip, (core + hop) % shape.cores), .dst = rank(chip, core), .step = 0,
                         .reduce = true, .src_offset = own.begin, .dst_offset = own.begin,
                         .count = own.count});
    }
  });
  for_each_core([&](int chip, int core, Range own) {
    for (int hop = 1; hop < shape.chips; ++hop) {
      const int to = (chip + hop) % shape.chips;
      const auto index = static_cast<uint32_t>(chip < to ? chip : chip - 1);
      Append(&schedule, {.src = rank(chip, core), .dst = rank(to, core), .step = 1,
                         .src_offset = own.begin, .dst_offset = elements + index * slot,
                         .count = own.count});
    }
  });
  for_each_core([&](int chip, int core, Range own) {
    if (shape.chips == 1) return;
    Append(&schedule, {.src = rank(chip, core), .dst = rank(chip, core), .step = 2, .reduce = true,
                       .src_offset = elements, .dst_offset = own.begin, .count = own.count,
                       .repeat = static_cast<uint32_t>(shape.chips - 1), .stride = slot});
  });
  for_each_core([&](int chip, int core, Range own) {
    for (int hop = 1; hop < shape.cores; ++hop) {
      Append(&schedule, {.src = rank(chip, core), .dst = rank(chip, (core + hop) % shape.cores), .step = 3,
                         .src_offset = own.begin, .dst_offset = own.begin, .count = own.count});
    }
  });
  return schedule;
}

}  // namespace novascope::plan
