// Number formats as rows. Decode is exact for every code; encode rounds to nearest even in one step
// from FP32 or FP64, never through a narrower type, and overflows in a declared way. Codes sit in
// the low `bits` bits of a uint32_t. Definitions: OCP OFP8 v1.0, Neuron data type tables (NKI),
// IEEE 754.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace novascope::numerics {

enum class FormatId : uint8_t { kE4M3, kE4M3FN, kE5M2, kE3M4, kBF16, kFP16, kFP32 };

struct Format {
  FormatId id;
  const char*
      name;  // stable, in URLs and flags: "e4m3", "e4m3fn", "e5m2", "e3m4", "bf16", "fp16", "fp32"
  const char* label;  // for people: "Trainium2 E4M3 (240)"
  int bits;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  bool has_infinity;  // false only for E4M3FN, whose all-ones code is the one NaN
  double max_finite;
  double min_normal;
  double min_subnormal;
  const char* source;

  constexpr int bytes() const { return bits / 8; }
};

// All rows, indexed by FormatId.
std::span<const Format> Formats();
inline const Format& Get(FormatId id) { return Formats()[static_cast<size_t>(id)]; }
// The row named `name`; otherwise an Error for `field` that lists the names.
Result<FormatId> FindFormat(std::string_view name, std::string_view field);

enum class Overflow : uint8_t {
  kSaturate,  // finite overflow and infinities become +-max_finite; NaN stays NaN
  kSpecial,   // infinity, or NaN where the format has none
};

// The exact value of a code. NaN codes give the canonical quiet NaN with the code's sign.
double Decode(FormatId id, uint32_t code);
// Nearest even, one rounding. Overflow is decided after rounding. Signs of zero and NaN are kept.
uint32_t Encode(FormatId id, double value, Overflow overflow);
uint32_t Encode(FormatId id, float value, Overflow overflow);

// FP32 <-> BF16 on bit patterns, nearest even, NaN kept quiet: the residual stream's type.
uint16_t ToBf16(float value);
float FromBf16(uint16_t code);

}  // namespace novascope::numerics
