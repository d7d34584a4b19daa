// Sixteen codes to four vectors of FP32 and back. FP8 decoding looks the bytes of the value's BF16
// pattern up in 16-entry tables: the low byte is a shift of the code, the high byte depends on the
// code's top four bits, and one more lookup per byte mends subnormals, infinities and NaN. No FP32
// subnormal ever becomes an operand, which costs 150 times an ordinary one on some machines.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/wasm_simd.h"
#include "numerics/format.h"

namespace novascope::kernels {

using numerics::FormatId;

#define NOVASCOPE_INLINE inline __attribute__((always_inline))

// Loop constants come from memory through this: LLVM would otherwise build them again in every
// turn.
NOVASCOPE_INLINE v128_t LoadConstant(const void* bytes) {
  asm("" : "+r"(bytes));
  return wasm_v128_load(bytes);
}

// The layout of an FP8 format, for constants computed at compile time; the table of formats is the
// truth, and the tests walk all codes of both.
struct Fp8Layout {
  int mantissa = 0;
  int bias = 0;
  int max_finite = 0;  // codes
  int nan = 0;
};
template <FormatId kFormat>
inline constexpr Fp8Layout kFp8{};
template <>
inline constexpr Fp8Layout kFp8<FormatId::kE4M3>{3, 7, 0x77, 0x7c};
template <>
inline constexpr Fp8Layout kFp8<FormatId::kE4M3FN>{3, 7, 0x7e, 0x7f};
template <>
inline constexpr Fp8Layout kFp8<FormatId::kE5M2>{2, 15, 0x7b, 0x7e};
template <>
inline constexpr Fp8Layout kFp8<FormatId::kE3M4>{4, 3, 0x6f, 0x78};

// What the shift and the first lookup make of a magnitude: right for normal values.
constexpr uint16_t UnmendedBf16(const Fp8Layout& f, int magnitude) {
  return static_cast<uint16_t>((magnitude << (7 - f.mantissa)) + ((127 - f.bias) << 7));
}
// The BF16 pattern of a magnitude.
constexpr uint16_t ExactBf16(const Fp8Layout& f, int magnitude) {
  if (magnitude > f.max_finite) return (magnitude & ((1 << f.mantissa) - 1)) == 0 ? 0x7f80 : 0x7fc0;
  if (magnitude >> f.mantissa != 0) return UnmendedBf16(f, magnitude);
  if (magnitude == 0) return 0;
  int exponent = 127 + 1 - f.bias;
  int significand = magnitude << (7 - f.mantissa);
  for (; (significand & 0x80) == 0; significand <<= 1) --exponent;
  return static_cast<uint16_t>((exponent << 7) + (significand & 0x7f));
}

// The sixteen magnitudes to mend are -8 ... 7 modulo 128: with mantissas of up to three bits these
// hold all specials and all subnormals. E3M4 has sixteen of each; its tables hold magnitudes 0
// ... 15.
constexpr int FirstMended(int mantissa) { return mantissa == 4 ? 0 : -8; }

struct Fp8Tables {
  alignas(16) std::array<uint8_t, 16> high{};       // high byte, by the code's upper bits
  alignas(16) std::array<uint8_t, 16> mend_high{};  // XORed into the bytes, by magnitude
  alignas(16) std::array<uint8_t, 16> mend_low{};
};
constexpr Fp8Tables MakeFp8Tables(const Fp8Layout& f) {
  Fp8Tables tables;
  for (int i = 0; i < 16; ++i) {
    const int code = i << (f.mantissa + 1);
    const int sign = f.mantissa == 2 ? 0 : code & 0x80;  // E5M2's sign does not fit into the index
    tables.high[i] = static_cast<uint8_t>(UnmendedBf16(f, code & 0x7f) >> 8 | sign);
    const int magnitude = (i + FirstMended(f.mantissa)) & 0x7f;
    const int mend = UnmendedBf16(f, magnitude) ^ ExactBf16(f, magnitude);
    tables.mend_high[i] = static_cast<uint8_t>(mend >> 8);
    tables.mend_low[i] = static_cast<uint8_t>(mend);
  }
  return tables;
}
// By FormatId; only FP8 formats come before BF16.
inline constexpr Fp8Tables kFp8Tables[] = {
    MakeFp8Tables(kFp8<FormatId::kE4M3>), MakeFp8Tables(kFp8<FormatId::kE4M3FN>),
    MakeFp8Tables(kFp8<FormatId::kE5M2>), MakeFp8Tables(kFp8<FormatId::kE3M4>)};
constexpr bool IsFp8(FormatId format) { return format < FormatId::kBF16; }

// Sixteen 16-bit values to the upper halves of four vectors of 32-bit lanes.
NOVASCOPE_INLINE void ToUpperHalves(v128_t first, v128_t second, v128_t out[4]) {
  const v128_t zero = wasm_i32x4_splat(0);
  out[0] = wasm_i16x8_shuffle(zero, first, 0, 8, 1, 9, 2, 10, 3, 11);
  out[1] = wasm_i16x8_shuffle(zero, first, 4, 12, 5, 13, 6, 14, 7, 15);
  out[2] = wasm_i16x8_shuffle(zero, second, 0, 8, 1, 9, 2, 10, 3, 11);
  out[3] = wasm_i16x8_shuffle(zero, second, 4, 12, 5, 13, 6, 14, 7, 15);
}

// Decoders turn sixteen codes into four vectors. They are made from the format once before a loop,
// and hold its tables in registers.
template <typename Isa, int kMantissa>
class Fp8Decoder {
 public:
  static constexpr int kBytes = 1;
  static constexpr bool kIsFp8 = true;

  explicit NOVASCOPE_INLINE Fp8Decoder(FormatId format)
      : high_(LoadConstant(kFp8Tables[static_cast<int>(format)].high.data())),
        mend_high_(
            Isa::Sparse(LoadConstant(kFp8Tables[static_cast<int>(format)].mend_high.data()))),
        mend_low_(Isa::Sparse(LoadConstant(kFp8Tables[static_cast<int>(format)].mend_low.data()))) {
  }

  NOVASCOPE_INLINE void operator()(const uint8_t* codes, v128_t out[4]) const {
    constexpr int kLowShift = 7 - kMantissa;
    const v128_t magnitude_mask = wasm_i8x16_splat(0x7f);
    const v128_t b = wasm_v128_load(codes);
    v128_t low = wasm_v128_and(wasm_i16x8_shl(b, kLowShift),
                               wasm_i8x16_splat(static_cast<int8_t>(0xff << kLowShift)));
    v128_t high = Isa::Lookup(high_, wasm_v128_and(wasm_u16x8_shr(b, kMantissa + 1),
                                                   wasm_i8x16_splat(kMantissa == 4 ? 7 : 15)));
    if constexpr (kMantissa == 2) {
      high = wasm_v128_or(high, wasm_v128_and(b, wasm_i8x16_splat(-128)));
    }
    v128_t index = wasm_v128_and(b, magnitude_mask);
    if constexpr (kMantissa == 4) {
      const v128_t special = wasm_u8x16_gt(index, wasm_i8x16_splat(0x6f));
      high = wasm_v128_or(high, wasm_v128_and(special, magnitude_mask));
    } else {
      index = wasm_v128_and(wasm_i8x16_sub(b, wasm_i8x16_splat(FirstMended(kMantissa))),
                            magnitude_mask);
    }
    index = Isa::SparseIndex(index);
    low = wasm_v128_xor(low, Isa::Lookup(mend_low_, index));
    high = wasm_v128_xor(high, Isa::Lookup(mend_high_, index));
    ToUpperHalves(
        wasm_i8x16_shuffle(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
        wasm_i8x16_shuffle(low, high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
        out);
  }

 private:
  v128_t high_;
  v128_t mend_high_;
  v128_t mend_low_;
};

template <typename Isa>
class Bf16Decoder {
 public:
  static constexpr int kBytes = 2;
  static constexpr bool kIsFp8 = false;
  explicit Bf16Decoder(FormatId) {}
  NOVASCOPE_INLINE void operator()(const uint8_t* codes, v128_t out[4]) const {
    ToUpperHalves(wasm_v128_load(codes), wasm_v128_load(codes + 16), out);
  }
};

template <typename Isa>
class Fp16Decoder {
 public:
  static constexpr int kBytes = 2;
  static constexpr bool kIsFp8 = false;
  explicit Fp16Decoder(FormatId) {}
  NOVASCOPE_INLINE void operator()(const uint8_t* codes, v128_t out[4]) const {
    v128_t halves[4];
    ToUpperHalves(wasm_v128_load(codes), wasm_v128_load(codes + 16), halves);
    Unroll<4>([&](auto i) { out[i] = Widen(halves[i]); });
  }

 private:
  // From the upper half of each lane.
  static NOVASCOPE_INLINE v128_t Widen(v128_t x) {
    const v128_t rebias = wasm_i32x4_splat((127 - 15) << 23);
    const v128_t magnitude = wasm_u32x4_shr(wasm_v128_and(x, wasm_i32x4_splat(0x7fff0000)), 3);
    v128_t normal = wasm_i32x4_add(magnitude, rebias);
    const v128_t special = wasm_i32x4_gt(magnitude, wasm_i32x4_splat(0x0f7fffff));
    normal = wasm_i32x4_add(normal, wasm_v128_and(special, rebias));
    // A subnormal, given the exponent of the lowest binade, is too large by exactly its unit.
    const v128_t lowest = wasm_i32x4_splat((127 - 14) << 23);
    const v128_t subnormal = wasm_f32x4_sub(wasm_i32x4_add(magnitude, lowest), lowest);
    const v128_t is_subnormal = wasm_i32x4_lt(magnitude, wasm_i32x4_splat(1 << 23));
    return wasm_v128_or(wasm_v128_bitselect(subnormal, normal, is_subnormal),
                        wasm_v128_and(x, wasm_i32x4_splat(INT32_MIN)));
  }
};

template <typename Isa>
class Fp32Decoder {
 public:
  static constexpr int kBytes = 4;
  static constexpr bool kIsFp8 = false;
  explicit Fp32Decoder(FormatId) {}
  NOVASCOPE_INLINE void operator()(const uint8_t* codes, v128_t out[4]) const {
    Unroll<4>([&](auto i) { out[i] = wasm_v128_load(codes + 16 * i); });
  }
};

// Calls fn with a decoder of the format.
template <typename Isa, typename Fn>
NOVASCOPE_INLINE void WithDecoder(FormatId format, Fn&& fn) {
  switch (format) {
    case FormatId::kE4M3:
    case FormatId::kE4M3FN:
      return fn(Fp8Decoder<Isa, 3>(format));
    case FormatId::kE5M2:
      return fn(Fp8Decoder<Isa, 2>(format));
    case FormatId::kE3M4:
      return fn(Fp8Decoder<Isa, 4>(format));
    case FormatId::kBF16:
      return fn(Bf16Decoder<Isa>(format));
    case FormatId::kFP16:
      return fn(Fp16Decoder<Isa>(format));
    case FormatId::kFP32:
      return fn(Fp32Decoder<Isa>(format));
  }
}

// The first `count` < 16 codes; the rest of `out` is zero. Reads nothing beyond them.
template <typename Decoder>
NOVASCOPE_INLINE void DecodeTail(const Decoder& decode, const uint8_t* codes, int64_t count,
                                 v128_t out[4]) {
  uint8_t padded[16 * Decoder::kBytes] = {};
  std::memcpy(padded, codes, static_cast<size_t>(count) * Decoder::kBytes);
  decode(padded, out);
}

template <typename Isa>
void Decode(FormatId format, const uint8_t* codes, int64_t n, float* out) {
  WithDecoder<Isa>(format, [&](const auto& decode) {
    using Decoder = std::remove_cvref_t<decltype(decode)>;
    v128_t v[4];
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      decode(codes + i * Decoder::kBytes, v);
      Unroll<4>([&](auto j) { wasm_v128_store(out + i + 4 * j, v[j]); });
    }
    if (i == n) return;
    float rest[16];
    DecodeTail(decode, codes + i * Decoder::kBytes, n - i, v);
    Unroll<4>([&](auto j) { wasm_v128_store(rest + 4 * j, v[j]); });
    std::memcpy(out + i, rest, static_cast<size_t>(n - i) * sizeof(float));
  });
}

// BF16 patterns, nearest even, in the low halves of the lanes; NaN becomes the canonical one. With
// kSaturate infinities and overflow become the largest finite value.
template <bool kSaturate>
NOVASCOPE_INLINE v128_t RoundToBf16(v128_t x) {
  const v128_t magnitude = wasm_v128_and(x, wasm_i32x4_splat(0x7fffffff));
  const v128_t odd = wasm_v128_and(wasm_u32x4_shr(magnitude, 16), wasm_i32x4_splat(1));
  v128_t code =
      wasm_u32x4_shr(wasm_i32x4_add(wasm_i32x4_add(magnitude, wasm_i32x4_splat(0x7fff)), odd), 16);
  if (kSaturate) code = wasm_i32x4_min(code, wasm_i32x4_splat(0x7f7f));
  const v128_t nan = wasm_i32x4_gt(magnitude, wasm_i32x4_splat(0x7f800000));
  code = wasm_v128_bitselect(wasm_i32x4_splat(0x7fc0), code, nan);
  return wasm_v128_or(code, wasm_v128_and(wasm_u32x4_shr(x, 16), wasm_i32x4_splat(0x8000)));
}

// Encodes sixteen values, saturating.
template <FormatId kFormat>
NOVASCOPE_INLINE void Encode16(const float* x, uint8_t* codes) {
  v128_t v[4];
  Unroll<4>([&](auto i) { v[i] = wasm_v128_load(x + 4 * i); });
  if constexpr (kFormat == FormatId::kFP32) {
    Unroll<4>([&](auto i) {
      const v128_t magnitude = wasm_v128_and(v[i], wasm_i32x4_splat(0x7fffffff));
      const v128_t nan = wasm_i32x4_gt(magnitude, wasm_i32x4_splat(0x7f800000));
      const v128_t code =
          wasm_v128_bitselect(wasm_i32x4_splat(0x7fc00000),
                              wasm_i32x4_min(magnitude, wasm_i32x4_splat(0x7f7fffff)), nan);
      wasm_v128_store(codes + 16 * i,
                      wasm_v128_or(code, wasm_v128_and(v[i], wasm_i32x4_splat(INT32_MIN))));
    });
  } else if constexpr (kFormat == FormatId::kBF16) {
    Unroll<4>([&](auto i) { v[i] = RoundToBf16<true>(v[i]); });
    wasm_v128_store(codes, wasm_u16x8_narrow_i32x4(v[0], v[1]));
    wasm_v128_store(codes + 16, wasm_u16x8_narrow_i32x4(v[2], v[3]));
  } else if constexpr (kFormat == FormatId::kFP16) {
    for (int i = 0; i < 16; ++i) {
      const auto code =
          static_cast<uint16_t>(numerics::Encode(kFormat, x[i], numerics::Overflow::kSaturate));
      std::memcpy(codes + 2 * i, &code, 2);
    }
  } else {
    constexpr int kMantissa = kFp8<kFormat>.mantissa;
    constexpr int kBias = kFp8<kFormat>.bias;
    constexpr int kMaxFinite = kFp8<kFormat>.max_finite;
    constexpr int kDropped = 23 - kMantissa;  // mantissa bits FP32 has and the format has not
    constexpr int kCap = (127 + 1 + (kMaxFinite >> kMantissa) - kBias) << 23;
    v128_t code[4];
    Unroll<4>([&](auto i) {
      const v128_t magnitude = wasm_v128_and(v[i], wasm_i32x4_splat(0x7fffffff));
      const v128_t a = wasm_i32x4_min(magnitude, wasm_i32x4_splat(kCap));
      // The power of two of the value's binade, or of the lowest normal one.
      const v128_t binade = wasm_i32x4_max(wasm_v128_and(a, wasm_i32x4_splat(0x7f800000)),
                                           wasm_i32x4_splat((127 + 1 - kBias) << 23));
      // Added to a number 2^kDropped times as large, the value is rounded to the format's unit.
      const v128_t magic = wasm_i32x4_add(binade, wasm_i32x4_splat(kDropped << 23));
      const v128_t units = wasm_i32x4_sub(wasm_f32x4_add(a, magic), magic);
      v128_t c = wasm_i32x4_add(units, wasm_u32x4_shr(binade, kDropped));
      c = wasm_i32x4_sub(c, wasm_i32x4_splat((128 - kBias) << kMantissa));
      c = wasm_i32x4_min(c, wasm_i32x4_splat(kMaxFinite));
      const v128_t nan = wasm_i32x4_gt(magnitude, wasm_i32x4_splat(0x7f800000));
      code[i] = wasm_v128_bitselect(wasm_i32x4_splat(kFp8<kFormat>.nan), c, nan);
    });
    const v128_t magnitudes = wasm_u8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(code[0], code[1]),
                                                      wasm_i16x8_narrow_i32x4(code[2], code[3]));
    // Signed narrowing saturates, so it keeps the signs of the patterns.
    const v128_t signs = wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(v[0], v[1]),
                                                 wasm_i16x8_narrow_i32x4(v[2], v[3]));
    wasm_v128_store(codes, wasm_v128_or(magnitudes, wasm_v128_and(signs, wasm_i8x16_splat(-128))));
  }
}

template <typename Isa, FormatId kFormat>
void EncodeRun(const float* x, int64_t n, uint8_t* codes) {
  constexpr int kBytes = IsFp8(kFormat) ? 1 : kFormat == FormatId::kFP32 ? 4 : 2;
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) Encode16<kFormat>(x + i, codes + i * kBytes);
  if (i == n) return;
  float padded[16] = {};
  uint8_t out[16 * kBytes];
  std::memcpy(padded, x + i, static_cast<size_t>(n - i) * sizeof(float));
  Encode16<kFormat>(padded, out);
  std::memcpy(codes + i * kBytes, out, static_cast<size_t>(n - i) * kBytes);
}

template <typename Isa>
void Encode(FormatId format, const float* x, int64_t n, uint8_t* codes) {
  switch (format) {
    case FormatId::kE4M3:
      return EncodeRun<Isa, FormatId::kE4M3>(x, n, codes);
    case FormatId::kE4M3FN:
      return EncodeRun<Isa, FormatId::kE4M3FN>(x, n, codes);
    case FormatId::kE5M2:
      return EncodeRun<Isa, FormatId::kE5M2>(x, n, codes);
    case FormatId::kE3M4:
      return EncodeRun<Isa, FormatId::kE3M4>(x, n, codes);
    case FormatId::kBF16:
      return EncodeRun<Isa, FormatId::kBF16>(x, n, codes);
    case FormatId::kFP16:
      return EncodeRun<Isa, FormatId::kFP16>(x, n, codes);
    case FormatId::kFP32:
      return EncodeRun<Isa, FormatId::kFP32>(x, n, codes);
  }
}

}  // namespace novascope::kernels
