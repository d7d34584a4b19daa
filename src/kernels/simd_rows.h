// The SIMD rows' quantisation, norms, activations, attention and reductions.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/simd_matmul.h"
#include "numerics/exp.h"

namespace novascope::kernels {

// The largest magnitude's pattern; NaN patterns are above infinity's.
template <typename Isa>
inline float AbsMax(const float* x, int n) {
  const v128_t magnitude = wasm_i32x4_splat(0x7fffffff);
  v128_t max = wasm_i32x4_splat(0);
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    max = wasm_i32x4_max(max, wasm_v128_and(wasm_v128_load(x + i), magnitude));
  }
  for (; i < n; ++i) {
    max = wasm_i32x4_max(max, wasm_v128_and(wasm_v128_load32_zero(x + i), magnitude));
  }
  max = wasm_i32x4_max(max, wasm_i32x4_shuffle(max, max, 2, 3, 0, 1));
  max = wasm_i32x4_max(max, wasm_i32x4_shuffle(max, max, 1, 0, 3, 2));
  return wasm_f32x4_extract_lane(max, 0);
}

template <typename Isa>
void Quantize(FormatId format, const float* x, int m, int k, int group, uint8_t* codes,
              float* scales) {
  const numerics::Format& f = numerics::Get(format);
  const int64_t total = int64_t{m} * k;
  if (f.bits != 8) {
    for (int64_t g = 0; g < total / group; ++g) scales[g] = 1;
    Encode<Isa>(format, x, total, codes);
    return;
  }
  // Scaled values of several groups are encoded together, since groups may be short.
  constexpr int kBuffer = 256;
  float buffer[kBuffer];
  int filled = 0;
  for (int64_t begin = 0; begin < total; begin += group) {
    float scale = AbsMax<Isa>(x + begin, group) / static_cast<float>(f.max_finite);
    if (!(scale >= kMinScale && scale <= std::numeric_limits<float>::max())) scale = 1;
    scales[begin / group] = scale;
    const float inverse = 1.0f / scale;
    const v128_t factor = wasm_f32x4_splat(inverse);
    for (int i = 0; i < group;) {
      const int piece = group - i < kBuffer - filled ? group - i : kBuffer - filled;
      const float* from = x + begin + i;
      int j = 0;
      for (; j + 4 <= piece; j += 4) {
        wasm_v128_store(buffer + filled + j, wasm_f32x4_mul(wasm_v128_load(from + j), factor));
      }
      for (; j < piece; ++j) buffer[filled + j] = from[j] * inverse;
      filled += piece;
      i += piece;
      if (filled < kBuffer && begin + i < total) continue;
      Encode<Isa>(format, buffer, filled, codes);
      codes += filled;
      filled = 0;
    }
  }
}

// Four BF16 values as FP32.
NOVASCOPE_INLINE v128_t LoadBf16(const uint16_t* x) {
  return wasm_i16x8_shuffle(wasm_i32x4_splat(0), wasm_v128_load64_zero(x), 0, 8, 1, 9, 2, 10, 3,
                            11);
}
NOVASCOPE_INLINE v128_t LoadBf16Tail(const uint16_t* x, int count) {
  uint16_t padded[4] = {};
  std::memcpy(padded, x, static_cast<size_t>(count) * 2);
  return LoadBf16(padded);
}

template <typename Isa>
void RmsNorm(const uint16_t* x, const float* gamma, int m, int h, float eps, float* y) {
  const int whole = h & ~3;
  for (int row = 0; row < m; ++row, x += h, y += h) {
    v128_t sums = wasm_f32x4_splat(0);
    const auto add = [&](v128_t v) { sums = wasm_f32x4_add(sums, wasm_f32x4_mul(v, v)); };
    for (int c = 0; c < whole; c += 4) add(LoadBf16(x + c));
    if (whole < h) add(LoadBf16Tail(x + whole, h - whole));
    const float sum = (wasm_f32x4_extract_lane(sums, 0) + wasm_f32x4_extract_lane(sums, 1)) +
                      (wasm_f32x4_extract_lane(sums, 2) + wasm_f32x4_extract_lane(sums, 3));
    const v128_t root = wasm_f32x4_sqrt(wasm_f32x4_splat(sum / static_cast<float>(h) + eps));
    for (int c = 0; c < whole; c += 4) {
      wasm_v128_store(
          y + c, wasm_f32x4_mul(wasm_f32x4_div(LoadBf16(x + c), root), wasm_v128_load(gamma + c)));
    }
    if (whole < h) {
      const v128_t v = wasm_f32x4_div(LoadBf16Tail(x + whole, h - whole), root);
      StoreFloats(wasm_f32x4_mul(v, LoadFloats(gamma + whole, h - whole)), h - whole, y + whole);
    }
  }
}

template <typename Isa>
void ResidualAdd(const double* sum, int64_t n, uint16_t* x) {
  const auto add = [](const double* s, v128_t v) {
    const v128_t low = wasm_f32x4_demote_f64x2_zero(wasm_v128_load(s));
    const v128_t high = wasm_f32x4_demote_f64x2_zero(wasm_v128_load(s + 2));
    return RoundToBf16<false>(wasm_f32x4_add(v, wasm_i64x2_shuffle(low, high, 0, 2)));
  };
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const v128_t low = add(sum + i, LoadBf16(x + i));
    const v128_t high = add(sum + i + 4, LoadBf16(x + i + 4));
    wasm_v128_store(x + i, wasm_u16x8_narrow_i32x4(low, high));
  }
  for (; i < n; i += 4) {
    const int count = n - i < 4 ? static_cast<int>(n - i) : 4;
    double rest[4] = {};
    std::memcpy(rest, sum + i, static_cast<size_t>(count) * sizeof(double));
    const v128_t v = add(rest, LoadBf16Tail(x + i, count));
    uint16_t out[8];
    wasm_v128_store(out, wasm_u16x8_narrow_i32x4(v, v));
    std::memcpy(x + i, out, static_cast<size_t>(count) * 2);
  }
}

// numerics::Exp in four lanes, by the rule of numerics/exp.h.
NOVASCOPE_INLINE v128_t ExpLanes(v128_t x) {
  namespace rule = numerics::exp_rule;
  x = wasm_f32x4_pmin(x, wasm_f32x4_splat(rule::kHigh));
  x = wasm_f32x4_pmax(x, wasm_f32x4_splat(rule::kLow));
  const v128_t magic = wasm_f32x4_splat(rule::kMagic);
  const v128_t t = wasm_f32x4_add(wasm_f32x4_mul(x, wasm_f32x4_splat(rule::kLog2E)), magic);
  const v128_t n = wasm_i32x4_sub(t, magic);
  const v128_t f = wasm_f32x4_sub(t, magic);
  v128_t r = wasm_f32x4_sub(x, wasm_f32x4_mul(f, wasm_f32x4_splat(rule::kLn2High)));
  r = wasm_f32x4_sub(r, wasm_f32x4_mul(f, wasm_f32x4_splat(rule::kLn2Low)));
  v128_t p = wasm_f32x4_splat(rule::kTerms[0]);
  Unroll<5>([&](auto i) {
    p = wasm_f32x4_add(wasm_f32x4_mul(p, r), wasm_f32x4_splat(rule::kTerms[i + 1]));
  });
  p = wasm_f32x4_add(wasm_f32x4_mul(p, wasm_f32x4_mul(r, r)), r);
  p = wasm_f32x4_add(p, wasm_f32x4_splat(1));
  const auto power = [](v128_t e) {
    return wasm_i32x4_shl(wasm_i32x4_add(e, wasm_i32x4_splat(127)), 23);
  };
  const v128_t half = wasm_i32x4_shr(n, 1);
  return wasm_f32x4_mul(wasm_f32x4_mul(p, power(half)), power(wasm_i32x4_sub(n, half)));
}

template <typename Isa>
void SwiGlu(const float* gate, const float* up, int64_t n, float* y) {
  const auto apply = [](v128_t g, v128_t u) {
    const v128_t e = wasm_f32x4_add(wasm_f32x4_splat(1), ExpLanes(wasm_f32x4_neg(g)));
    return wasm_f32x4_mul(wasm_f32x4_div(g, e), u);
  };
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    wasm_v128_store(y + i, apply(wasm_v128_load(gate + i), wasm_v128_load(up + i)));
  }
  if (i == n) return;
  const int count = static_cast<int>(n - i);
  StoreFloats(apply(LoadFloats(gate + i, count), LoadFloats(up + i, count)), count, y + i);
}

// sums[8] += q . keys for `length` rows of decoded keys [d][kKvBlock].
template <typename Isa, bool kExact>
void DotKeys(const float* q, const float* keys, int length, v128_t* sums) {
  v128_t acc[8];
  Unroll<8>([&](auto j) { acc[j] = sums[j]; });
  for (int i = 0; i < length; ++i, keys += kKvBlock) {
    const v128_t x = wasm_v128_load32_splat(q + i);
    Unroll<8>(
        [&](auto j) { acc[j] = Accumulate<Isa, kExact>(x, wasm_v128_load(keys + 4 * j), acc[j]); });
  }
  Unroll<8>([&](auto j) { sums[j] = acc[j]; });
}

template <typename Isa>
float AttentionScores(FormatId format, const float* q, const uint8_t* keys, int d, int valid,
                      float scale, float* scores) {
  constexpr int kChunk = 32;
  float decoded[kChunk * kKvBlock];
  v128_t sums[8];
  for (v128_t& sum : sums) sum = wasm_f32x4_splat(0);
  const bool fuse = MayFuse<Isa>(format, q, d);
  const int64_t key_bytes = int64_t{kKvBlock} * numerics::Get(format).bytes();
  for (int i = 0; i < d; i += kChunk) {
    const int length = d - i < kChunk ? d - i : kChunk;
    Decode<Isa>(format, keys + i * key_bytes, int64_t{length} * kKvBlock, decoded);
    if (fuse) {
      DotKeys<Isa, true>(q + i, decoded, length, sums);
    } else {
      DotKeys<Isa, false>(q + i, decoded, length, sums);
    }
  }
  float block[kKvBlock];
  Unroll<8>([&](auto j) {
    wasm_v128_store(block + 4 * j, wasm_f32x4_mul(sums[j], wasm_f32x4_splat(scale)));
  });
  std::memcpy(scores, block, static_cast<size_t>(valid) * sizeof(float));
  const int padded = (valid + 3) & ~3;
  for (int j = valid; j < padded; ++j) block[j] = block[0];
  v128_t max = wasm_v128_load(block);
  for (int j = 4; j < padded; j += 4) max = wasm_f32x4_max(max, wasm_v128_load(block + j));
  max = wasm_f32x4_max(max, wasm_i32x4_shuffle(max, max, 2, 3, 0, 1));
  max = wasm_f32x4_max(max, wasm_i32x4_shuffle(max, max, 1, 0, 3, 2));
  return wasm_f32x4_extract_lane(max, 0);
}

// o += the leaf's sums of p * v over kVectors * 4 columns of decoded values [valid][stride], of
// which `count` exist.
template <typename Isa, bool kExact, int kVectors>
void DotValues(const float* p, const float* values, int64_t stride, int valid, int count,
               double* o) {
  v128_t acc[kVectors];
  Unroll<kVectors>([&](auto c) { acc[c] = wasm_f32x4_splat(0); });
  for (int j = 0; j < valid; ++j, values += stride) {
    const v128_t x = wasm_v128_load32_splat(p + j);
    Unroll<kVectors>([&](auto c) {
      acc[c] = Accumulate<Isa, kExact>(x, wasm_v128_load(values + 4 * c), acc[c]);
    });
  }
  Unroll<kVectors>([&](auto c) {
    const int width = count - 4 * c;
    if (width <= 0) return;
    const DoublePair sum = RoundLanesToGrid(Promote(acc[c]));
    StoreDoubles(Add(LoadDoubles(o + 4 * c, width), sum), width, o + 4 * c);
  });
}

template <typename Isa>
void AttentionValues(FormatId format, const float* scores, float max, const uint8_t* values, int d,
                     int valid, double* l, double* o) {
  float p[kKvBlock] = {};
  std::memcpy(p, scores, static_cast<size_t>(valid) * sizeof(float));
  const v128_t shift = wasm_f32x4_splat(max);
  for (int j = 0; j < valid; j += 4) {
    const v128_t e = ExpLanes(wasm_f32x4_sub(wasm_v128_load(p + j), shift));
    wasm_v128_store(p + j, wasm_i32x4_shl(RoundToBf16<false>(e), 16));
  }
  float sum = 0;
  for (int j = 0; j < valid; ++j) sum = sum + p[j];
  *l += RoundToGrid(sum);
  const bool fuse = MayFuse<Isa>(format, p, valid);
  // Columns go in strips of kStrip; a strip as wide as the rows is contiguous and decoded in one
  // go.
  constexpr int kStrip = 32;
  const int bytes = numerics::Get(format).bytes();
  float decoded[kKvBlock * kStrip + 16];
  if (d % 16 != 0) std::memset(decoded, 0, sizeof(decoded));  // lanes beyond d are computed too
  for (int i = 0; i < d; i += kStrip) {
    const int count = d - i < kStrip ? d - i : kStrip;
    if (count == d) {
      Decode<Isa>(format, values, int64_t{valid} * d, decoded);
    } else {
      for (int j = 0; j < valid; ++j) {
        Decode<Isa>(format, values + (int64_t{j} * d + i) * bytes, count, decoded + j * count);
      }
    }
    for (int c = 0; c < count; c += 16) {
      const float* from = decoded + c;
      if (fuse) {
        DotValues<Isa, true, 4>(p, from, count, valid, count - c, o + i + c);
      } else {
        DotValues<Isa, false, 4>(p, from, count, valid, count - c, o + i + c);
      }
    }
  }
}

template <typename Isa>
void AddF64(const double* src, int64_t stride, int repeat, int64_t n, double* dst) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    v128_t low = wasm_v128_load(dst + i);
    v128_t high = wasm_v128_load(dst + i + 2);
    for (int r = 0; r < repeat; ++r) {
      low = wasm_f64x2_add(low, wasm_v128_load(src + r * stride + i));
      high = wasm_f64x2_add(high, wasm_v128_load(src + r * stride + i + 2));
    }
    wasm_v128_store(dst + i, low);
    wasm_v128_store(dst + i + 2, high);
  }
  for (; i < n; ++i) {
    for (int r = 0; r < repeat; ++r) dst[i] += src[r * stride + i];
  }
}

// dst = combine(dst, src[r]) for all r.
template <typename Isa, typename Combine>
NOVASCOPE_INLINE void Reduce(const float* src, int64_t stride, int repeat, int64_t n, float* dst,
                             Combine combine) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    v128_t v = wasm_v128_load(dst + i);
    for (int r = 0; r < repeat; ++r) v = combine(v, wasm_v128_load(src + r * stride + i));
    wasm_v128_store(dst + i, v);
  }
  for (; i < n; ++i) {
    v128_t v = wasm_v128_load32_zero(dst + i);
    for (int r = 0; r < repeat; ++r) v = combine(v, wasm_v128_load32_zero(src + r * stride + i));
    wasm_v128_store32_lane(dst + i, v, 0);
  }
}

template <typename Isa>
void AddF32(const float* src, int64_t stride, int repeat, int64_t n, float* dst) {
  Reduce<Isa>(src, stride, repeat, n, dst, [](v128_t a, v128_t b) { return wasm_f32x4_add(a, b); });
}

template <typename Isa>
void MaxF32(const float* src, int64_t stride, int repeat, int64_t n, float* dst) {
  Reduce<Isa>(src, stride, repeat, n, dst, [](v128_t a, v128_t b) { return wasm_f32x4_max(a, b); });
}

template <typename Isa>
constexpr KernelSet MakeRow(const char* id, const char* label) {
  return {
      .id = id,
      .label = label,
      .decode = Decode<Isa>,
      .encode = Encode<Isa>,
      .quantize = Quantize<Isa>,
      .matmul = MatMul<Isa>,
      .matmul_leaf = MatMulLeaf<Isa>,
      .rms_norm = RmsNorm<Isa>,
      .residual_add = ResidualAdd<Isa>,
      .swiglu = SwiGlu<Isa>,
      .attention_scores = AttentionScores<Isa>,
      .attention_values = AttentionValues<Isa>,
      .add_f64 = AddF64<Isa>,
      .add_f32 = AddF32<Isa>,
      .max_f32 = MaxF32<Isa>,
  };
}

}  // namespace novascope::kernels
