// Simulated time and data sizes. Time is integer picoseconds; one function turns bytes and a rate into
// a duration, rounding up, so that every part of the simulator agrees to the last picosecond.
#pragma once

#include <compare>
#include <cstdint>

namespace novascope {

// A span of, or a point in, simulated time. 2^63 ps are 106 days.
struct Picoseconds {
  int64_t ps = 0;
  friend constexpr auto operator<=>(Picoseconds, Picoseconds) = default;
  friend constexpr Picoseconds operator+(Picoseconds a, Picoseconds b) { return {a.ps + b.ps}; }
  friend constexpr Picoseconds operator-(Picoseconds a, Picoseconds b) { return {a.ps - b.ps}; }
  friend constexpr Picoseconds operator*(Picoseconds a, int64_t n) { return {a.ps * n}; }
  constexpr Picoseconds& operator+=(Picoseconds b) {
    ps += b.ps;
    return *this;
  }
};

constexpr Picoseconds Nanoseconds(int64_t n) { return {n * 1000}; }
constexpr Picoseconds Microseconds(int64_t n) { return {n * 1'000'000}; }

// ceil(bytes / rate). `bytes_per_second` must be positive. Exact for any 64-bit byte count.
constexpr Picoseconds TransferTime(uint64_t bytes, uint64_t bytes_per_second) {
  const unsigned __int128 scaled = static_cast<unsigned __int128>(bytes) * 1'000'000'000'000u;
  return {static_cast<int64_t>((scaled + bytes_per_second - 1) / bytes_per_second)};
}

// ceil(cycles / clock).
constexpr Picoseconds CycleTime(uint64_t cycles, uint64_t hertz) {
  return TransferTime(cycles, hertz);
}

inline constexpr uint64_t kKiB = 1024;
inline constexpr uint64_t kMiB = 1024 * kKiB;
inline constexpr uint64_t kGiB = 1024 * kMiB;

}  // namespace novascope
