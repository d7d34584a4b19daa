// Counter-based random numbers: the value depends on (seed, stream, index) only, never on call order, so
// that a result is the same however a run was sliced.
#pragma once

#include <cstdint>

namespace novascope {

// SplitMix64's finaliser over a mixed key. Uniform over 64 bits.
constexpr uint64_t RandomBits(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + stream * 0xd1b54a32d192ed03u + index + 1;
  for (int round = 0; round < 2; ++round) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  return z;
}

// Uniform in [0, 1), 53 bits.
constexpr double RandomUnit(uint64_t seed, uint64_t stream, uint64_t index) {
  return static_cast<double>(RandomBits(seed, stream, index) >> 11) * 0x1p-53;
}

}  // namespace novascope
