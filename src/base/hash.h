// 64-bit FNV-1a over bytes: for golden values and template keys, not for security.
#pragma once

#include <cstddef>
#include <cstdint>

namespace novascope {

inline constexpr uint64_t kHashSeed = 0xcbf29ce484222325u;

inline uint64_t HashBytes(const void* data, size_t size, uint64_t hash = kHashSeed) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

}  // namespace novascope
