#include "sim/event_queue.h"

#include <cstddef>

namespace novascope::sim {
namespace {

constexpr std::size_t kArity = 4;

}  // namespace

void EventQueue::Push(Picoseconds time, Band band, uint32_t type, uint32_t subject,
                      uint64_t payload) {
  assert(time >= now_);
  std::size_t at = heap_.size();
  heap_.push_back({time, band, next_sequence_++, type, subject, payload});
  const Event event = heap_.back();
  while (at > 0) {
    const std::size_t parent = (at - 1) / kArity;
    if (!Before(event, heap_[parent])) break;
    heap_[at] = heap_[parent];
    at = parent;
  }
  heap_[at] = event;
}

Event EventQueue::Pop() {
  assert(!heap_.empty());
  const Event first = heap_.front();
  const Event last = heap_.back();
  heap_.pop_back();
  now_ = first.time;
  if (heap_.empty()) return first;
  std::size_t at = 0;
  for (;;) {
    const std::size_t child = at * kArity + 1;
    if (child >= heap_.size()) break;
    std::size_t best = child;
    for (std::size_t i = child + 1; i < child + kArity && i < heap_.size(); ++i) {
      if (Before(heap_[i], heap_[best])) best = i;
    }
    if (!Before(heap_[best], last)) break;
    heap_[at] = heap_[best];
    at = best;
  }
  heap_[at] = last;
  return first;
}

}  // namespace novascope::sim
