// What the kernel tests share: inputs that depend on a seed only, and hashes of results in which
// every NaN counts as the same (its bits are not part of the contract).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/hash.h"
#include "base/rng.h"
#include "kernels/kernels.h"

namespace novascope::kernels {

inline uint64_t HashFloats(std::span<const float> values) {
  uint64_t hash = kHashSeed;
  for (const float v : values) {
    const uint32_t bits = v != v ? 0x7fc00000u : std::bit_cast<uint32_t>(v);
    hash = HashBytes(&bits, sizeof(bits), hash);
  }
  return hash;
}

inline uint64_t HashDoubles(std::span<const double> values) {
  uint64_t hash = kHashSeed;
  for (const double v : values) {
    const uint64_t bits = v != v ? 0x7ff8000000000000u : std::bit_cast<uint64_t>(v);
    hash = HashBytes(&bits, sizeof(bits), hash);
  }
  return hash;
}

inline float Uniform(uint64_t stream, uint64_t i) {
  return static_cast<float>(2 * RandomUnit(7, stream, i) - 1);
}

// Roughly normal with deviation 1: a sum of four uniforms, without libm.
inline float Normal(uint64_t stream, uint64_t i) {
  float sum = 0;
  for (uint64_t j = 0; j < 4; ++j) sum += Uniform(stream, 4 * i + j);
  return sum * 0.8660254f;
}

inline float AsBf16(float x) { return numerics::FromBf16(numerics::ToBf16(x)); }

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Ways to fill a row of activations. The last four break what quantised activations promise; the
// rows must agree all the same.
enum class Fill { kFp8, kBf16, kZero, kSpecials, kRawFp32, kHuge, kTiny, kCount };

inline float FillAt(Fill fill, uint64_t stream, uint64_t i) {
  switch (fill) {
    case Fill::kFp8:
      return static_cast<float>(numerics::Decode(
          FormatId::kE4M3, numerics::Encode(FormatId::kE4M3, 60 * Normal(stream, i),
                                            numerics::Overflow::kSaturate)));
    case Fill::kBf16:
      return AsBf16(Normal(stream, i));
    case Fill::kZero:
      return i % 3 == 0 ? -0.0f : 0.0f;
    case Fill::kSpecials:
      switch (RandomBits(8, stream, i) % 16) {
        case 0:
          return kNan;
        case 1:
          return kInf;
        case 2:
          return -kInf;
        default:
          return AsBf16(Normal(stream, i));
      }
    case Fill::kRawFp32:
      return Normal(stream, i);
    case Fill::kHuge:
      return AsBf16(Normal(stream, i) * 1e38f);
    case Fill::kTiny:
      return AsBf16(Normal(stream, i) * 1e-38f) + (i % 2 == 0 ? 0x1p-149f : 0.0f);
    case Fill::kCount:
      break;
  }
  return 0;
}

inline std::vector<float> Filled(Fill fill, uint64_t stream, size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = FillAt(fill, stream, i);
  return values;
}

// Codes of a format: any code at all, or those of a normal distribution.
inline std::vector<uint8_t> RandomCodes(FormatId format, uint64_t stream, size_t n, bool any) {
  const numerics::Format& f = numerics::Get(format);
  std::vector<uint8_t> codes(n * f.bytes());
  for (size_t i = 0; i < n; ++i) {
    uint32_t code = static_cast<uint32_t>(RandomBits(9, stream, i) >> 32);
    if (!any) {
      const float value =
          Normal(stream, i) * (f.bits == 8 ? static_cast<float>(f.max_finite) / 4 : 1.0f);
      code = numerics::Encode(format, value, numerics::Overflow::kSaturate);
    }
    for (int b = 0; b < f.bytes(); ++b)
      codes[i * f.bytes() + b] = static_cast<uint8_t>(code >> (8 * b));
  }
  return codes;
}

// A weight shard with its memory.
struct Shard {
  std::vector<uint8_t> packed;
  std::vector<float> scale;
  PackedWeights weights;
};
inline Shard RandomShard(FormatId format, int n, int k, uint64_t stream, bool any) {
  Shard shard;
  const std::vector<uint8_t> rows = RandomCodes(format, stream, static_cast<size_t>(n) * k, any);
  shard.packed.resize(PackedBytes(format, n, k));
  PackWeights(format, rows.data(), n, k, k, shard.packed.data());
  for (int i = 0; i < n; ++i)
    shard.scale.push_back(0.01f + 0.001f * std::fabs(Uniform(stream + 1, i)));
  shard.weights = {
      .format = format, .n = n, .k = k, .codes = shard.packed.data(), .scale = shard.scale.data()};
  return shard;
}

// The rows to check against the first.
inline std::span<const KernelSet> SimdRows() { return KernelSets().subspan(1); }
inline const KernelSet& Reference() { return KernelSets().front(); }

}  // namespace novascope::kernels
