#include "sim/event_queue.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "base/rng.h"

namespace novascope::sim {
namespace {

TEST_CASE("events come by time, then band, then order of insertion", "[sim][queue]") {
  EventQueue queue;
  queue.Push({20}, Band::kRelease, 0, 0);
  queue.Push({10}, Band::kStart, 0, 1);
  queue.Push({10}, Band::kArrive, 0, 2);
  queue.Push({10}, Band::kStart, 0, 3);
  queue.Push({10}, Band::kRelease, 0, 4);
  queue.Push({0}, Band::kStart, 7, 5, 99);
  std::vector<uint32_t> order;
  const Event first = queue.Pop();
  CHECK(first.type == 7);
  CHECK(first.payload == 99);
  order.push_back(first.subject);
  while (!queue.empty()) order.push_back(queue.Pop().subject);
  CHECK(order == std::vector<uint32_t>{5, 4, 2, 1, 3, 0});
  CHECK(queue.now().ps == 20);
}

TEST_CASE("the comparator is a strict total order", "[sim][queue]") {
  std::vector<Event> events;
  for (uint64_t i = 0; i < 60; ++i) {
    events.push_back({{static_cast<int64_t>(RandomBits(1, 0, i) % 3)},
                      static_cast<Band>(RandomBits(1, 1, i) % 3),
                      i,
                      0,
                      0,
                      0});
  }
  for (size_t i = 0; i < events.size(); ++i) {
    for (size_t j = 0; j < events.size(); ++j) {
      REQUIRE((Before(events[i], events[j]) + Before(events[j], events[i])) == (i == j ? 0 : 1));
      for (size_t k = 0; k < events.size(); ++k) {
        if (Before(events[i], events[j]) && Before(events[j], events[k])) {
          REQUIRE(Before(events[i], events[k]));
        }
      }
    }
  }
}

TEST_CASE("a mixed run of pushes and pops equals a sort", "[sim][queue]") {
  EventQueue queue;
  std::vector<Event> mirror;
  uint64_t sequence = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    if (RandomBits(2, 0, i) % 5 < 3 || mirror.empty()) {
      const int64_t time = queue.now().ps + static_cast<int64_t>(RandomBits(2, 1, i) % 50);
      const auto band = static_cast<Band>(RandomBits(2, 2, i) % 3);
      queue.Push({time}, band, 0, static_cast<uint32_t>(i));
      mirror.push_back({{time}, band, sequence++, 0, static_cast<uint32_t>(i), 0});
    } else {
      const auto best = std::min_element(mirror.begin(), mirror.end(), Before);
      const Event popped = queue.Pop();
      REQUIRE(popped.subject == best->subject);
      REQUIRE(popped.time == best->time);
      mirror.erase(best);
    }
  }
  CHECK(!queue.empty());
}

}  // namespace
}  // namespace novascope::sim
