// A deterministic event queue: events are ordered by (time, band, sequence), one comparator.
// Handlers append follow-up events; they never call each other.
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "base/units.h"

namespace novascope::sim {

// Ties at one time, in this order, each for its reason.
enum class Band : uint8_t {
  kRelease,  // resources are freed before anyone asks for them
  kArrive,   // data arrives before ops that wait for it start
  kStart,    // ops start last
};

struct Event {
  Picoseconds time;
  Band band = Band::kStart;
  uint64_t sequence = 0;  // order of insertion
  uint32_t type = 0;      // the simulator's own
  uint32_t subject = 0;   // index of a core, link, op ...
  uint64_t payload = 0;
};

// True where a comes before b. A total order: sequences differ.
constexpr bool Before(const Event& a, const Event& b) {
  if (a.time != b.time) return a.time < b.time;
  if (a.band != b.band) return a.band < b.band;
  return a.sequence < b.sequence;
}

// A 4-ary heap in one vector.
class EventQueue {
 public:
  // `time` must not lie before the last popped event's.
  void Push(Picoseconds time, Band band, uint32_t type, uint32_t subject, uint64_t payload = 0);
  Event Pop();
  bool empty() const { return heap_.empty(); }
  Picoseconds now() const { return now_; }

 private:
  std::vector<Event> heap_;
  Picoseconds now_{};
  uint64_t next_sequence_ = 0;
};

}  // namespace novascope::sim
