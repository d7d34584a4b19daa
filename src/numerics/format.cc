#include "numerics/format.h"

#include <array>
#include <bit>
#include <cassert>
#include <limits>
#include <string>

#include "base/utf8.h"
#include "numerics/decode_table.h"

namespace novascope::numerics {
namespace {

constexpr Format kFormats[] = {
    {FormatId::kE4M3, "e4m3", "Trainium2 E4M3 (240)", 8, 4, 3, 7, true, 240.0, 0x1p-6, 0x1p-9,
     "AWS Neuron documentation, NKI data types: nl.float8_e4m3"},
    {FormatId::kE4M3FN, "e4m3fn", "OCP E4M3FN (448)", 8, 4, 3, 7, false, 448.0, 0x1p-6, 0x1p-9,
     "OCP 8-bit Floating Point Specification (OFP8) 1.0, E4M3"},
    {FormatId::kE5M2, "e5m2", "OCP E5M2 (57344)", 8, 5, 2, 15, true, 57344.0, 0x1p-14, 0x1p-16,
     "OCP 8-bit Floating Point Specification (OFP8) 1.0, E5M2"},
    {FormatId::kE3M4, "e3m4", "Trainium2 E3M4 (15.5)", 8, 3, 4, 3, true, 15.5, 0x1p-2, 0x1p-6,
     "AWS Neuron documentation, NKI data types: FP8_E3; bits as in ml_dtypes float8_e3m4"},
    {FormatId::kBF16, "bf16", "BF16", 16, 8, 7, 127, true, 0x1.fep127, 0x1p-126, 0x1p-133,
     "AWS Neuron documentation, NKI data types: nl.bfloat16 (upper half of binary32)"},
    {FormatId::kFP16, "fp16", "FP16", 16, 5, 10, 15, true, 65504.0, 0x1p-14, 0x1p-24,
     "IEEE 754-2019, binary16"},
    {FormatId::kFP32, "fp32", "FP32", 32, 8, 23, 127, true, 0x1.fffffep127, 0x1p-126, 0x1p-149,
     "IEEE 754-2019, binary32"},
};

constexpr uint32_t SignBit(const Format& f) { return 1u << (f.bits - 1); }
// Exponent field all ones, mantissa zero: infinity, where the format has one.
constexpr uint32_t TopExponentCode(const Format& f) {
  return ((1u << f.exponent_bits) - 1) << f.mantissa_bits;
}
constexpr uint32_t MaxFiniteCode(const Format& f) {
  return f.has_infinity ? TopExponentCode(f) - 1 : SignBit(f) - 2;
}
constexpr uint32_t NanCode(const Format& f) {
  return f.has_infinity ? TopExponentCode(f) | 1u << (f.mantissa_bits - 1) : SignBit(f) - 1;
}

// 2^exponent for the exponents of normal doubles.
constexpr double PowerOfTwo(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

constexpr double DecodeBits(const Format& f, uint32_t code) {
  const bool negative = (code & SignBit(f)) != 0;
  const uint32_t magnitude = code & (SignBit(f) - 1);
  double value = 0;
  if (magnitude > MaxFiniteCode(f)) {
    if (!f.has_infinity || magnitude != TopExponentCode(f)) {
      // By bits: the sign that arithmetic gives a NaN is not the same everywhere.
      return std::bit_cast<double>(negative ? 0xfff8000000000000u : 0x7ff8000000000000u);
    }
    value = std::numeric_limits<double>::infinity();
  } else {
    const int field = static_cast<int>(magnitude >> f.mantissa_bits);
    const uint32_t fraction = magnitude & ((1u << f.mantissa_bits) - 1);
    const uint32_t units = field == 0 ? fraction : fraction | 1u << f.mantissa_bits;
    value = units * PowerOfTwo((field == 0 ? 1 : field) - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

constexpr std::array<float, 256> MakeTable(const Format& f) {
  std::array<float, 256> table{};
  for (uint32_t code = 0; code < 256; ++code) {
    const double value = DecodeBits(f, code);
    table[code] = value != value ? std::bit_cast<float>(code & 0x80 ? 0xffc00000u : 0x7fc00000u)
                                 : static_cast<float>(value);
  }
  return table;
}

constexpr std::array<float, 256> kTables[] = {MakeTable(kFormats[0]), MakeTable(kFormats[1]),
                                              MakeTable(kFormats[2]), MakeTable(kFormats[3])};

uint32_t OverflowCode(const Format& f, Overflow overflow) {
  if (overflow == Overflow::kSaturate) return MaxFiniteCode(f);
  return f.has_infinity ? TopExponentCode(f) : NanCode(f);
}

// Rounds the finite magnitude `significand` * 2^`exponent` in integer arithmetic.
uint32_t EncodeMagnitude(const Format& f, uint64_t significand, int exponent, Overflow overflow) {
  if (significand == 0) return 0;
  // The exponent field the unrounded value belongs to; 1 also serves the subnormals, whose unit is
  // the same as that of the lowest normal binade.
  const int top = exponent + std::bit_width(significand) - 1;
  const int field = top + f.bias < 1 ? 1 : top + f.bias;
  const int shift = field - f.bias - f.mantissa_bits - exponent;  // source units to code units
  uint64_t units = 0;
  if (shift <= 0) {
    units = significand << -shift;
  } else if (shift < 64) {
    const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
    const uint64_t half = uint64_t{1} << (shift - 1);
    units = significand >> shift;
    if (rest > half || (rest == half && (units & 1) != 0)) ++units;
  }
  // Codes of one sign are consecutive, so a carry out of the mantissa needs no case of its own.
  const uint64_t code = (static_cast<uint64_t>(field - 1) << f.mantissa_bits) + units;
  return code > MaxFiniteCode(f) ? OverflowCode(f, overflow) : static_cast<uint32_t>(code);
}

}  // namespace

std::span<const Format> Formats() { return kFormats; }

const std::array<float, 256>& DecodeTable(FormatId id) {
  assert(Get(id).bits == 8);
  return kTables[static_cast<size_t>(id)];
}

Result<FormatId> FindFormat(std::string_view name, std::string_view field) {
  std::string names;
  for (const Format& f : kFormats) {
    if (name == f.name) return f.id;
    names += names.empty() ? "" : ", ";
    names += f.name;
  }
  return Error{ErrorCode::kUnknownId, std::string(field), Excerpt(name),
               "This is not a number format.", "Use one of " + names + "."};
}

double Decode(FormatId id, uint32_t code) { return DecodeBits(Get(id), code); }

uint32_t Encode(FormatId id, double value, Overflow overflow) {
  const Format& f = Get(id);
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint32_t sign = bits >> 63 != 0 ? SignBit(f) : 0;
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t fraction = bits & 0xfffffffffffffu;
  if (field == 0x7ff) return sign | (fraction != 0 ? NanCode(f) : OverflowCode(f, overflow));
  const uint64_t significand = field == 0 ? fraction : fraction | uint64_t{1} << 52;
  return sign | EncodeMagnitude(f, significand, (field == 0 ? 1 : field) - 1075, overflow);
}

uint32_t Encode(FormatId id, float value, Overflow overflow) {
  // Not through double: converting a NaN may change its sign.
  const Format& f = Get(id);
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 31 != 0 ? SignBit(f) : 0;
  const int field = static_cast<int>(bits >> 23 & 0xff);
  const uint32_t fraction = bits & 0x7fffffu;
  if (field == 0xff) return sign | (fraction != 0 ? NanCode(f) : OverflowCode(f, overflow));
  const uint64_t significand = field == 0 ? fraction : fraction | 1u << 23;
  return sign | EncodeMagnitude(f, significand, (field == 0 ? 1 : field) - 150, overflow);
}

uint16_t ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  if (nan) return static_cast<uint16_t>((bits >> 16 & 0x8000u) | 0x7fc0u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

float FromBf16(uint16_t code) { return std::bit_cast<float>(static_cast<uint32_t>(code) << 16); }

}  // namespace novascope::numerics
