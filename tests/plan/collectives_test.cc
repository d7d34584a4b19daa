// Every collective row, over many group shapes and sizes: who ends with what, by an independent replay
// with sets of contributions instead of numbers.

#include "plan/collectives.h"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <vector>

#include "plan/collectives/builders.h"

namespace novascope::plan {
namespace {

// For every element of every rank's buffer: how often each rank's contribution is in it.
using Cell = std::vector<int>;
using Memory = std::vector<std::vector<Cell>>;

Memory Replay(const Schedule& s, int ranks) {
  const uint32_t size = s.elements + s.inbox_elements;
  Memory memory(static_cast<size_t>(ranks),
                std::vector<Cell>(size, Cell(static_cast<size_t>(ranks), 0)));
  for (int r = 0; r < ranks; ++r) {
    const Range own = s.op == CollectiveOp::kAllReduce ? Range{0, s.elements}
                                                        : Part(s.elements, ranks, r);
    for (uint32_t i = 0; i < own.count; ++i) memory[r][own.begin + i][r] = 1;
  }
  int last_step = 0;
  for (const Message& m : s.messages) {
    REQUIRE(m.src < ranks);
    REQUIRE(m.dst < ranks);
    REQUIRE(m.step >= last_step);
    REQUIRE(m.step < s.steps);
    last_step = m.step;
    for (uint32_t r = 0; r < m.repeat; ++r) {
      for (uint32_t i = 0; i < m.count; ++i) {
        const uint32_t from = m.src_offset + r * m.stride + i;
        const uint32_t to = m.dst_offset + (m.reduce ? 0 : r * m.stride) + i;
        REQUIRE(from < size);
        REQUIRE(to < size);
        const Cell source = memory[m.src][from];
        Cell& target = memory[m.dst][to];
        if (!m.reduce) {
          target = source;
        } else {
          for (int k = 0; k < ranks; ++k) target[k] += source[k];
        }
      }
    }
  }
  return memory;
}

constexpr GroupShape kShapes[] = {{1, 2}, {1, 4}, {2, 1}, {4, 1}, {2, 4}, {4, 4}, {16, 1}, {3, 2}, {16, 4}};

TEST_CASE("every rank ends with every contribution exactly once", "[plan][collectives]") {
  for (const Algorithm& row : Algorithms()) {
    for (const GroupShape& shape : kShapes) {
      const int n = shape.ranks();
      for (const uint32_t elements : {1u, 3u, static_cast<uint32_t>(n), static_cast<uint32_t>(4 * n + 1)}) {
        if (n == 64 && elements > 64) continue;  // the replay is cubic
        CAPTURE(row.id, shape.chips, shape.cores, elements);
        const Schedule s = row.build(shape, elements);
        CHECK(s.op == row.op);
        CHECK(std::string(s.algorithm) == row.id);
        const Memory memory = Replay(s, n);
        bool good = true;
        for (int r = 0; r < (row.op == CollectiveOp::kGather ? 1 : n); ++r) {
          for (uint32_t i = 0; i < elements; ++i) {
            for (int k = 0; k < n; ++k) {
              const Range part = Part(elements, n, k);
              const bool mine = i >= part.begin && i < part.begin + part.count;
              const int want = row.op == CollectiveOp::kAllReduce ? 1 : (mine ? 1 : 0);
              good = good && memory[r][i][k] == want;
            }
          }
        }
        CHECK(good);
      }
    }
  }
}

TEST_CASE("a ring all-reduce sends 2 (n-1)/n of the buffer per rank", "[plan][collectives]") {
  const Schedule s = BuildRing({16, 4}, 6400);
  std::map<int, uint64_t> sent;
  for (const Message& m : s.messages) sent[m.src] += m.count;
  for (const auto& [rank, elements] : sent) CHECK(elements == 12600);  // 1.96875 x 6,400
  CHECK(s.steps == 126);
  const Schedule gather = BuildGatherRing({16, 4}, 6400);
  sent.clear();
  for (const Message& m : gather.messages) sent[m.src] += m.count;
  for (const auto& [rank, elements] : sent) CHECK(elements == 6300);  // 0.984375 x 6,400
}

TEST_CASE("messages of a step do not disturb each other", "[plan][collectives]") {
  // No range is written in a step in which another message reads it: order within a step is free.
  for (const Algorithm& row : Algorithms()) {
    for (const GroupShape& shape : {GroupShape{4, 4}, GroupShape{2, 2}, GroupShape{4, 1}}) {
      const Schedule s = row.build(shape, 64);
      for (const Message& w : s.messages) {
        for (const Message& r : s.messages) {
          if (w.step != r.step || &w == &r || w.dst != r.src) continue;
          for (uint32_t i = 0; i < r.repeat; ++i) {
            for (uint32_t j = 0; j < (w.reduce ? 1 : w.repeat); ++j) {
              const uint32_t read = r.src_offset + i * r.stride;
              const uint32_t write = w.dst_offset + j * w.stride;
              INFO(row.id << " step " << w.step);
              const bool apart = read + r.count <= write || write + w.count <= read;
              if (!apart) FAIL("a range is read and written in one step");
            }
          }
        }
      }
    }
  }
  SUCCEED();
}

}  // namespace
}  // namespace novascope::plan
