#include "sim/owners.h"

#include <catch2/catch_test_macros.hpp>

#include "base/rng.h"

namespace novascope::sim {
namespace {

using trace::Owner;

bool Covers(const std::vector<Interval>& intervals, int64_t at) {
  for (const Interval& i : intervals) {
    if (i.start <= at && at < i.end) return true;
  }
  return false;
}

TEST_CASE("compute goes before HBM before network before wait", "[sim][owners]") {
  const std::vector<OwnedSegment> segments =
      OwnerSegments({{10, 20}}, {{5, 15}, {30, 40}}, {{0, 12}, {35, 50}}, 60);
  struct Want {
    int64_t start, end;
    Owner owner;
  };
  const std::vector<Want> want = {{0, 5, Owner::kNetwork},   {5, 10, Owner::kHbm},
                                  {10, 20, Owner::kCompute}, {20, 30, Owner::kWait},
                                  {30, 40, Owner::kHbm},     {40, 50, Owner::kNetwork},
                                  {50, 60, Owner::kWait}};
  REQUIRE(segments.size() == want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    CAPTURE(i);
    CHECK(segments[i].start == want[i].start);
    CHECK(segments[i].end == want[i].end);
    CHECK(segments[i].owner == want[i].owner);
  }
  trace::Split split;
  AddSegments(segments, 7, 42, &split);
  CHECK(split.ps == std::array<int64_t, trace::kOwners>{10, 13, 2, 10, 0});
}

TEST_CASE("every picosecond has exactly one owner", "[sim][owners]") {
  for (uint64_t round = 0; round < 50; ++round) {
    std::vector<Interval> lists[3];
    for (uint64_t i = 0; i < 12; ++i) {
      const auto start = static_cast<int64_t>(RandomBits(3, round, 3 * i) % 120);
      const auto length = static_cast<int64_t>(RandomBits(3, round, 3 * i + 1) % 20);
      lists[RandomBits(3, round, 3 * i + 2) % 3].push_back({start, start + length});
    }
    const std::vector<OwnedSegment> segments = OwnerSegments(lists[0], lists[1], lists[2], 100);
    trace::Split split, slow;
    AddSegments(segments, 0, 100, &split);
    for (int64_t at = 0; at < 100; ++at) {
      int owner = 3;
      for (int i = 2; i >= 0; --i) {
        if (Covers(lists[i], at)) owner = i;
      }
      ++slow.ps[static_cast<size_t>(owner)];
    }
    REQUIRE(split.total() == 100);
    REQUIRE(split.ps == slow.ps);
  }
}

}  // namespace
}  // namespace novascope::sim
