// Collective schedules: who sends which range to whom, copied or reduced. One schedule drives both
// interpreters: exec moves real data by it, sim occupies links by it, and their byte counts must agree
// link by link. Every participant has a data buffer of `elements` and an inbox behind it; addresses are
// element offsets in [0, elements + inbox_elements).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace novascope::plan {

enum class CollectiveOp : uint8_t { kAllReduce, kAllGather, kGather, kSendRecv };

// One transfer. Reduce: `repeat` source ranges, `stride` elements apart, are added into one destination
// range. Copy: `repeat` ranges go to destinations as far apart. src == dst crosses no link.
struct Message {
  uint16_t src = 0, dst = 0;  // index in the group
  uint16_t step = 0;          // messages of a step run together; the next step waits for all of them
  bool reduce = false;
  uint32_t src_offset = 0, dst_offset = 0, count = 0;
  uint32_t repeat = 1, stride = 0;
};

struct Schedule {
  const char* algorithm = "";  // id of the row that made it
  CollectiveOp op = CollectiveOp::kAllReduce;
  uint32_t elements = 0;
  uint32_t inbox_elements = 0;
  int steps = 0;
  std::vector<Message> messages = {};  // sorted by step, then by order of issue
};

// How a group lies on the machine: `chips` chips with `cores` of its ranks each; index = chip * cores +
// core.
struct GroupShape {
  int chips = 1;
  int cores = 1;
  int width = 4;  // chips in a torus row
  int ranks() const { return chips * cores; }
  friend bool operator==(const GroupShape&, const GroupShape&) = default;
};

struct Algorithm {
  const char* id;     // "mesh", "mesh2", "ring", "exchange", ...
  const char* label;
  CollectiveOp op;
  const char* description;  // one line with its cost
  Schedule (*build)(GroupShape shape, uint32_t elements);
};
// The one table. All-reduce: "mesh" (a single step on the network: each core sends its share of the
// chip's sum to every chip), "mesh2" (reduce-scatter, then all-gather), "ring".
// All-gather: "gather-mesh", "gather-ring". Gather: "collect".
std::span<const Algorithm> Algorithms();
Result<const Algorithm*> FindAlgorithm(std::string_view id, std::string_view field);

enum class CollectiveChoice : uint8_t;
// What the hardware would pick: single-step mesh below 1 MB in decode, else two-step mesh, ring from
// 56 MB; a choice overrides it.
const Algorithm& ChooseAlgorithm(CollectiveOp op, CollectiveChoice choice, bool decode, GroupShape shape,
                                 uint64_t bytes);

}  // namespace novascope::plan
