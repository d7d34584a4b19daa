// One builder per collective algorithm, one file each; the table is in collectives.cc. Group index =
// chip * cores + core. All builders accept any number of elements, also fewer than ranks.
#pragma once

#include "plan/collectives.h"

namespace novascope::plan {

Schedule BuildMesh(GroupShape shape, uint32_t elements);
Schedule BuildMesh2(GroupShape shape, uint32_t elements);
Schedule BuildRing(GroupShape shape, uint32_t elements);
Schedule BuildGatherMesh(GroupShape shape, uint32_t elements);
Schedule BuildGatherRing(GroupShape shape, uint32_t elements);
Schedule BuildCollect(GroupShape shape, uint32_t elements);

// The i-th of n nearly equal parts of [0, elements).
struct Range {
  uint32_t begin, count;
};
constexpr Range Part(uint32_t elements, int n, int i) {
  const auto at = [&](int j) {
    return static_cast<uint32_t>(static_cast<uint64_t>(elements) * static_cast<uint64_t>(j) /
                                 static_cast<uint64_t>(n));
  };
  return {at(i), at(i + 1) - at(i)};
}

// Ranks in the order of a ring that only joins neighbours: chips in rows of `width`, every second row
// reversed, so that on a torus each chip and the last and first are one hop apart.
std::vector<uint16_t> RingOrder(GroupShape shape);

// Appends unless the message is empty.
void Append(Schedule* schedule, const Message& message);

}  // namespace novascope::plan
