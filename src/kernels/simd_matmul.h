// Matrix products of the SIMD rows. With one row of activations, up to four panels are decoded in
// registers and used at once. With more rows, a pair of panels is decoded into a stack buffer and
// used for all rows, six at a time, which keeps twelve independent sums in flight.
#pragma once

#include "kernels/kernels.h"
#include "kernels/simd_codec.h"

namespace novascope::kernels {

inline constexpr int kRowPanels = 4;
inline constexpr int kTilePanels = 2;
inline constexpr int kTileRows = 6;
inline constexpr int kRowSums = 256;  // vectors of sums that are buffered with one row

// acc + a * w. kExact says that the product is exact in FP32, so that fused equals unfused.
template <typename Isa, bool kExact>
NOVASCOPE_INLINE v128_t Accumulate(v128_t a, v128_t w, v128_t acc) {
  if constexpr (kExact) return Isa::MulAdd(a, w, acc);
  return wasm_f32x4_add(acc, wasm_f32x4_mul(a, w));
}

// Whether the row may fuse products of `a` with values of `format`: never unless these are FP8.
// Then all a must have 16 zero bits at the end (FP8 and BF16 values do) and be below 2^110, so that
// nothing overflows. An FP8 value has at most five significant bits and is a multiple of 2^-16, a
// BF16 value a multiple of 2^-133, so nothing underflows either.
template <typename Isa>
bool MayFuse(FormatId format, const float* a, int64_t n) {
  if (!Isa::kFused || !IsFp8(format)) return false;
  constexpr uint32_t kLimit = (127u + 110u) << 24;
  v128_t low = wasm_i32x4_splat(0);
  v128_t high = wasm_i32x4_splat(0);
  const auto look = [&](v128_t v) {
    low = wasm_v128_or(low, v);
    high = wasm_u32x4_max(high, wasm_i32x4_shl(v, 1));  // without the signs
  };
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) look(wasm_v128_load(a + i));
  for (; i < n; ++i) look(wasm_v128_load32_zero(a + i));
  const v128_t bad =
      wasm_v128_or(wasm_v128_and(low, wasm_i32x4_splat(0xffff)),
                   wasm_u32x4_ge(high, wasm_i32x4_splat(static_cast<int32_t>(kLimit))));
  return !wasm_v128_any_true(bad);
}

// Up to four floats and doubles at the edge of a matrix.
NOVASCOPE_INLINE v128_t LoadFloats(const float* y, int count, float missing = 0) {
  if (count >= 4) return wasm_v128_load(y);
  float padded[4] = {missing, missing, missing, missing};
  for (int c = 0; c < count; ++c) padded[c] = y[c];
  return wasm_v128_load(padded);
}
NOVASCOPE_INLINE void StoreFloats(v128_t v, int count, float* y) {
  if (count >= 4) {
    wasm_v128_store(y, v);
    return;
  }
  float padded[4];
  wasm_v128_store(padded, v);
  for (int c = 0; c < count; ++c) y[c] = padded[c];
}
// The scales of a panel's outputs, ones where there are none.
NOVASCOPE_INLINE v128_t PanelScales(const PackedWeights& w, int panel) {
  if (w.scale == nullptr) return wasm_f32x4_splat(1);
  return LoadFloats(w.scale + panel * kPanel, w.n - panel * kPanel, 1);
}

// The four outputs of a panel in FP64: lanes 0, 1 and lanes 2, 3.
struct DoublePair {
  v128_t low;
  v128_t high;
};
NOVASCOPE_INLINE DoublePair Promote(v128_t v) {
  return {wasm_f64x2_promote_low_f32x4(v),
          wasm_f64x2_promote_low_f32x4(wasm_i64x2_shuffle(v, v, 1, 1))};
}
NOVASCOPE_INLINE DoublePair Add(DoublePair a, DoublePair b) {
  return {wasm_f64x2_add(a.low, b.low), wasm_f64x2_add(a.high, b.high)};
}
NOVASCOPE_INLINE DoublePair LoadDoubles(const double* y, int count) {
  if (count >= 4) return {wasm_v128_load(y), wasm_v128_load(y + 2)};
  double padded[4] = {};
  for (int c = 0; c < count; ++c) padded[c] = y[c];
  return {wasm_v128_load(padded), wasm_v128_load(padded + 2)};
}
NOVASCOPE_INLINE void StoreDoubles(DoublePair v, int count, double* y) {
  if (count >= 4) {
    wasm_v128_store(y, v.low);
    wasm_v128_store(y + 2, v.high);
    return;
  }
  double padded[4];
  wasm_v128_store(padded, v.low);
  wasm_v128_store(padded + 2, v.high);
  for (int c = 0; c < count; ++c) y[c] = padded[c];
}
// RoundToGrid in all lanes.
NOVASCOPE_INLINE DoublePair RoundLanesToGrid(DoublePair x) {
  const v128_t shift = wasm_f64x2_splat(0x1.8p52 * kGrid);
  return {wasm_f64x2_sub(wasm_f64x2_add(x.low, shift), shift),
          wasm_f64x2_sub(wasm_f64x2_add(x.high, shift), shift)};
}
// RoundToGrid((sum * a_scale) * scale).
NOVASCOPE_INLINE DoublePair LeafOnGrid(v128_t sum, v128_t a_scale, DoublePair scale) {
  const DoublePair v = Promote(sum);
  return RoundLanesToGrid({wasm_f64x2_mul(wasm_f64x2_mul(v.low, a_scale), scale.low),
                           wasm_f64x2_mul(wasm_f64x2_mul(v.high, a_scale), scale.high)});
}

// ---------- One row

struct RowJob {
  const float* a = nullptr;
  const uint8_t* codes = nullptr;  // the first panel's
  int64_t panel_bytes = 0;
  int leaf = 0;
  int leaves = 0;
  int groups = 1;          // groups of panels that are decoded side by side
  v128_t* sums = nullptr;  // [groups][leaves][panels]
};

// One leaf of kPanels panels, summed from zero in increasing k.
template <typename Isa, bool kExact, int kPanels, typename Decoder>
NOVASCOPE_INLINE void DotLeaf(const Decoder& decode, const float* a, const uint8_t* codes,
                              int64_t panel_bytes, int leaf, v128_t* out) {
  constexpr int kStep = kPanel * Decoder::kBytes;  // bytes of one k
  v128_t sums[kPanels];
  Unroll<kPanels>([&](auto p) { sums[p] = wasm_f32x4_splat(0); });
  int k = 0;
  for (; k + 4 <= leaf; k += 4) {
    v128_t x[4];
    Unroll<4>([&](auto i) { x[i] = wasm_v128_load32_splat(a + k + i); });
    Unroll<kPanels>([&](auto p) {
      v128_t w[4];
      decode(codes + p * panel_bytes + k * kStep, w);
      Unroll<4>([&](auto i) { sums[p] = Accumulate<Isa, kExact>(x[i], w[i], sums[p]); });
    });
  }
  if (k < leaf) {
    for (int p = 0; p < kPanels; ++p) {
      v128_t w[4];
      DecodeTail(decode, codes + p * panel_bytes + k * kStep, (leaf - k) * kPanel, w);
      for (int i = 0; i < leaf - k; ++i) {
        sums[p] = Accumulate<Isa, kExact>(wasm_v128_load32_splat(a + k + i), w[i], sums[p]);
      }
    }
  }
  Unroll<kPanels>([&](auto p) { out[p] = sums[p]; });
}

template <typename Isa, typename Decoder, bool kExact, int kPanels>
void DotLeaves(FormatId format, const RowJob& job) {
  const Decoder decode(format);
  const int64_t leaf_bytes = int64_t{job.leaf} * kPanel * Decoder::kBytes;
  v128_t* sums = job.sums;
  for (int g = 0; g < job.groups; ++g) {
    const uint8_t* codes = job.codes + g * kPanels * job.panel_bytes;
    const float* a = job.a;
    for (int l = 0; l < job.leaves; ++l, a += job.leaf, codes += leaf_bytes, sums += kPanels) {
      DotLeaf<Isa, kExact, kPanels>(decode, a, codes, job.panel_bytes, job.leaf, sums);
    }
  }
}

template <typename Isa, typename Decoder, bool kExact>
void DotLeavesOf(FormatId format, int panels, const RowJob& job) {
  switch (panels) {
    case 1:
      return DotLeaves<Isa, Decoder, kExact, 1>(format, job);
    case 2:
      return DotLeaves<Isa, Decoder, kExact, 2>(format, job);
    case 3:
      return DotLeaves<Isa, Decoder, kExact, 3>(format, job);
    default:
      return DotLeaves<Isa, Decoder, kExact, kRowPanels>(format, job);
  }
}

// Formats that are decoded in registers; the others take the way of many rows.
constexpr bool HasRowKernel(FormatId format) { return format <= FormatId::kBF16; }

// `panels` is 1 ... kRowPanels.
template <typename Isa>
void DotRow(FormatId format, bool fuse, int panels, const RowJob& job) {
  const auto run = [&]<typename Decoder>(std::type_identity<Decoder>) {
    if constexpr (Isa::kFused && Decoder::kIsFp8) {
      if (fuse) return DotLeavesOf<Isa, Decoder, true>(format, panels, job);
    }
    DotLeavesOf<Isa, Decoder, false>(format, panels, job);
  };
  if (format == FormatId::kBF16) return run(std::type_identity<Bf16Decoder<Isa>>{});
  if (format == FormatId::kE5M2) return run(std::type_identity<Fp8Decoder<Isa, 2>>{});
  if (format == FormatId::kE3M4) return run(std::type_identity<Fp8Decoder<Isa, 4>>{});
  run(std::type_identity<Fp8Decoder<Isa, 3>>{});
}

// How many panels go side by side when `panels` are left: no thin rest where that can be helped.
constexpr int GroupPanels(int panels) {
  if (panels < kRowPanels) return panels;
  return panels % 4 != 0 && panels % 3 == 0 ? 3 : kRowPanels;
}

template <typename Isa>
void MatMulRow(bool fuse, const float* a, const float* a_scale, const PackedWeights& w, float* y) {
  const int64_t step = int64_t{kPanel} * numerics::Get(w.format).bytes();
  const v128_t row_scale = wasm_f32x4_splat(a_scale == nullptr ? 1.0f : *a_scale);
  const int panels = (w.n + kPanel - 1) / kPanel;
  for (int panel = 0, group = 0; panel < panels; panel += group) {
    group = GroupPanels(panels - panel);
    v128_t total[kRowPanels];
    for (v128_t& sum : total) sum = wasm_f32x4_splat(0);
    for (int k = 0; k < w.k; k += kKBlock) {
      v128_t sums[kRowPanels];
      DotRow<Isa>(w.format, fuse, group,
                  {.a = a + k,
                   .codes = w.codes + (int64_t{panel} * w.k + k) * step,
                   .panel_bytes = w.k * step,
                   .leaf = w.k - k < kKBlock ? w.k - k : kKBlock,
                   .leaves = 1,
                   .sums = sums});
      for (int p = 0; p < group; ++p) total[p] = wasm_f32x4_add(total[p], sums[p]);
    }
    for (int p = 0; p < group; ++p) {
      const v128_t sum = wasm_f32x4_mul(total[p], PanelScales(w, panel + p));
      const int first = (panel + p) * kPanel;
      StoreFloats(wasm_f32x4_mul(sum, row_scale), w.n - first, y + first);
    }
  }
}

// Adds leaves' sums [groups][leaves][kPanels], scaled and on the grid, to y from `panel` on; sets y
// if these are the `first` leaves.
template <typename Isa, int kPanels>
void AddRowLeaves(const v128_t* sums, int groups, int leaves, const float* a_scale, bool first,
                  const PackedWeights& w, int panel, double* y) {
  for (int g = 0; g < groups; ++g, panel += kPanels) {
    DoublePair total[kPanels];
    DoublePair scales[kPanels];
    Unroll<kPanels>([&](auto p) {
      const int column = (panel + p) * kPanel;
      scales[p] = Promote(PanelScales(w, panel + p));
      total[p] = {wasm_f64x2_splat(0), wasm_f64x2_splat(0)};
      if (!first) total[p] = LoadDoubles(y + column, w.n - column);
    });
    for (int l = 0; l < leaves; ++l, sums += kPanels) {
      const v128_t row_scale = wasm_f64x2_splat(a_scale == nullptr ? 1.0 : a_scale[l]);
      Unroll<kPanels>(
          [&](auto p) { total[p] = Add(total[p], LeafOnGrid(sums[p], row_scale, scales[p])); });
    }
    Unroll<kPanels>([&](auto p) {
      const int column = (panel + p) * kPanel;
      StoreDoubles(total[p], w.n - column, y + column);
    });
  }
}

// a_scale: one per leaf, or null.
template <typename Isa>
void MatMulLeafRow(bool fuse, const float* a, const float* a_scale, int leaf,
                   const PackedWeights& w, double* y) {
  constexpr int kMaxLeaves = kRowSums / kRowPanels;
  const int64_t step = int64_t{kPanel} * numerics::Get(w.format).bytes();
  const int panels = (w.n + kPanel - 1) / kPanel;
  const int leaves = w.k / leaf;
  const int chunk = leaves < kMaxLeaves ? leaves : kMaxLeaves;
  v128_t sums[kRowSums];
  for (int panel = 0, taken = 0; panel < panels; panel += taken) {
    const int size = GroupPanels(panels - panel);
    const int fit = kRowSums / (chunk * size);
    const int groups = (panels - panel) / size < fit ? (panels - panel) / size : fit;
    taken = groups * size;
    for (int l = 0; l < leaves; l += chunk) {
      const int count = leaves - l < chunk ? leaves - l : chunk;
      DotRow<Isa>(w.format, fuse, size,
                  {.a = a + int64_t{l} * leaf,
                   .codes = w.codes + (int64_t{panel} * w.k + int64_t{l} * leaf) * step,
                   .panel_bytes = w.k * step,
                   .leaf = leaf,
                   .leaves = count,
                   .groups = groups,
                   .sums = sums});
      const float* scale = a_scale == nullptr ? nullptr : a_scale + l;
      const bool first = l == 0;
      if (size == 1) AddRowLeaves<Isa, 1>(sums, groups, count, scale, first, w, panel, y);
      if (size == 2) AddRowLeaves<Isa, 2>(sums, groups, count, scale, first, w, panel, y);
      if (size == 3) AddRowLeaves<Isa, 3>(sums, groups, count, scale, first, w, panel, y);
      if (size == 4) AddRowLeaves<Isa, 4>(sums, groups, count, scale, first, w, panel, y);
    }
  }
}

// ---------- Many rows

struct TileJob {
  const float* a = nullptr;
  int64_t a_stride = 0;
  const float* w = nullptr;  // [panels][w_stride], decoded: k, then kPanel outputs
  int64_t w_stride = 0;
  int length = 0;
  bool carry = false;      // go on from `sums` instead of from zero
  v128_t* sums = nullptr;  // [rows][panels]
};

template <typename Isa, bool kExact, int kRows, int kPanels>
void DotTile(const TileJob& job) {
  const TileJob j = job;
  v128_t sums[kRows * kPanels];
  if (j.carry) {
    Unroll<kRows * kPanels>([&](auto i) { sums[i] = j.sums[i]; });
  } else {
    Unroll<kRows * kPanels>([&](auto i) { sums[i] = wasm_f32x4_splat(0); });
  }
  const auto step = [&](int k, auto unrolled) __attribute__((always_inline)) {
    v128_t w[kPanels];
    Unroll<kPanels>(
        [&](auto p) { w[p] = wasm_v128_load(j.w + p * j.w_stride + (k + unrolled) * kPanel); });
    Unroll<kRows>([&](auto r) {
      const v128_t x = wasm_v128_load32_splat(j.a + r * j.a_stride + k + unrolled);
      Unroll<kPanels>([&](auto p) {
        v128_t& sum = sums[r * kPanels + p];
        sum = Accumulate<Isa, kExact>(x, w[p], sum);
      });
    });
  };
  int k = 0;
  for (; k + 4 <= j.length; k += 4) Unroll<4>([&](auto i) { step(k, i); });
  for (; k < j.length; ++k) step(k, std::integral_constant<int, 0>{});
  Unroll<kRows * kPanels>([&](auto i) { j.sums[i] = sums[i]; });
}

// Rows of the next tile when `left` are left.
constexpr int NextTileRows(int left) {
  return left >= kTileRows ? kTileRows : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

template <typename Isa, bool kExact, int kPanels>
void DotTileOf(int rows, const TileJob& job) {
  switch (rows) {
    case 1:
      return DotTile<Isa, kExact, 1, kPanels>(job);
    case 2:
      return DotTile<Isa, kExact, 2, kPanels>(job);
    case 4:
      return DotTile<Isa, kExact, 4, kPanels>(job);
    default:
      return DotTile<Isa, kExact, kTileRows, kPanels>(job);
  }
}

template <typename Isa>
void DotTileRows(bool fuse, int rows, int panels, const TileJob& job) {
  if constexpr (Isa::kFused) {
    if (fuse) {
      if (panels == 1) return DotTileOf<Isa, true, 1>(rows, job);
      return DotTileOf<Isa, true, kTilePanels>(rows, job);
    }
  }
  if (panels == 1) return DotTileOf<Isa, false, 1>(rows, job);
  DotTileOf<Isa, false, kTilePanels>(rows, job);
}

// Decodes k = first ... first + length - 1 of `panels` panels to tile[panel][k][4].
template <typename Isa>
void DecodePanels(const PackedWeights& w, int panel, int panels, int64_t first, int length,
                  float* tile) {
  const int64_t step = int64_t{kPanel} * numerics::Get(w.format).bytes();
  for (int p = 0; p < panels; ++p) {
    Decode<Isa>(w.format, w.codes + (int64_t{panel + p} * w.k + first) * step,
                int64_t{length} * kPanel, tile + p * kKBlock * kPanel);
  }
}

template <typename Isa>
void MatMulRows(bool fuse, const float* a, const float* a_scale, int m, const PackedWeights& w,
                float* y) {
  const int panels = (w.n + kPanel - 1) / kPanel;
  float tile[kTilePanels * kKBlock * kPanel];
  for (int panel = 0; panel < panels; panel += kTilePanels) {
    const int group = panels - panel < kTilePanels ? panels - panel : kTilePanels;
    int k = 0;
    do {
      const int length = w.k - k < kKBlock ? w.k - k : kKBlock;
      const bool last = k + length == w.k;
      DecodePanels<Isa>(w, panel, group, k, length, tile);
      for (int row = 0, rows = 0; row < m; row += rows) {
        rows = NextTileRows(m - row);
        v128_t sums[kTileRows * kTilePanels];
        DotTileRows<Isa>(fuse, rows, group,
                         {.a = a + int64_t{row} * w.k + k,
                          .a_stride = w.k,
                          .w = tile,
                          .w_stride = kKBlock * kPanel,
                          .length = length,
                          .sums = sums});
        for (int i = 0; i < rows * group; ++i) {
          const int first = (panel + i % group) * kPanel;
          float* out = y + int64_t{row + i / group} * w.n + first;
          // A block's sum is never -0, so the first needs no addition to zero.
          v128_t sum = sums[i];
          if (k > 0) sum = wasm_f32x4_add(LoadFloats(out, w.n - first), sum);
          if (last) {
            const float row_scale = a_scale == nullptr ? 1.0f : a_scale[row + i / group];
            sum = wasm_f32x4_mul(sum, PanelScales(w, panel + i % group));
            sum = wasm_f32x4_mul(sum, wasm_f32x4_splat(row_scale));
          }
          StoreFloats(sum, w.n - first, out);
        }
      }
      k += length;
    } while (k < w.k);
  }
}

// One leaf's sums of a tile of rows x kPanels, scaled and added to y (the first row's first
// output), of whose columns `width` exist. A value on the grid is never -0, so the first leaf needs
// no addition.
template <typename Isa, int kPanels>
void AddLeaf(const v128_t* sums, int rows, const DoublePair* scales, const float* a_scale,
             int64_t a_scale_stride, bool first, int64_t stride, int width, double* y) {
  const auto add = [&](auto whole) __attribute__((always_inline)) {
    for (int r = 0; r < rows; ++r, y += stride, sums += kPanels) {
      const v128_t row_scale =
          wasm_f64x2_splat(a_scale == nullptr ? 1.0 : a_scale[r * a_scale_stride]);
      Unroll<kPanels>([&](auto p) {
        const int count = whole ? kPanel : width - p * kPanel;
        DoublePair sum = LeafOnGrid(sums[p], row_scale, scales[p]);
        if (!first) sum = Add(LoadDoubles(y + p * kPanel, count), sum);
        StoreDoubles(sum, count, y + p * kPanel);
      });
    }
  };
  if (width >= kPanels * kPanel) {
    add(std::true_type{});
  } else {
    add(std::false_type{});
  }
}

// Rows row ... row + rows - 1. Leaves of up to kKBlock are decoded several at a time for all rows;
// a longer leaf goes through the buffer in parts, and its sums stay in `sums`: then `rows` is one
// tile.
template <typename Isa>
void MatMulLeafRows(bool fuse, const float* a, const float* a_scale, int begin, int end, int leaf,
                    const PackedWeights& w, double* y) {
  const int panels = (w.n + kPanel - 1) / kPanel;
  const int leaves = w.k / leaf;
  const int chunk = leaf < kKBlock ? kKBlock / leaf : 1;  // leaves in the buffer
  float tile[kTilePanels * kKBlock * kPanel];
  v128_t sums[kTileRows * kTilePanels];
  for (int panel = 0; panel < panels; panel += kTilePanels) {
    const int group = panels - panel < kTilePanels ? panels - panel : kTilePanels;
    DoublePair scales[kTilePanels];
    for (int p = 0; p < group; ++p) scales[p] = Promote(PanelScales(w, panel + p));
    for (int l0 = 0; l0 < leaves; l0 += chunk) {
      const int count = leaves - l0 < chunk ? leaves - l0 : chunk;
      const int64_t first = int64_t{l0} * leaf;
      for (int part = 0; part < leaf; part += kKBlock) {
        const int length = leaf - part < kKBlock ? leaf - part : kKBlock;
        DecodePanels<Isa>(w, panel, group, first + part, count * length, tile);
        for (int row = begin, rows = 0; row < end; row += rows) {
          rows = NextTileRows(end - row);
          for (int i = 0; i < count; ++i) {
            DotTileRows<Isa>(fuse, rows, group,
                             {.a = a + int64_t{row} * w.k + first + part + i * leaf,
                              .a_stride = w.k,
                              .w = tile + i * leaf * kPanel,
                              .w_stride = kKBlock * kPanel,
                              .length = length,
                              .carry = part > 0,
                              .sums = sums});
            if (part + length < leaf) continue;
            const int l = l0 + i;
            const float* scale = a_scale == nullptr ? nullptr : a_scale + int64_t{row} * leaves + l;
            double* out = y + int64_t{row} * w.n + panel * kPanel;
            const int width = w.n - panel * kPanel;
            if (group == 1) {
              AddLeaf<Isa, 1>(sums, rows, scales, scale, leaves, l == 0, w.n, width, out);
            } else {
              AddLeaf<Isa, kTilePanels>(sums, rows, scales, scale, leaves, l == 0, w.n, width, out);
            }
          }
        }
      }
    }
  }
}

// ---------- The two products

template <typename Isa>
void MatMul(const float* a, const float* a_scale, int m, const PackedWeights& w, float* y) {
  const bool fuse = MayFuse<Isa>(w.format, a, int64_t{m} * w.k);
  if (m == 1 && HasRowKernel(w.format)) {
    MatMulRow<Isa>(fuse, a, a_scale, w, y);
  } else {
    MatMulRows<Isa>(fuse, a, a_scale, m, w, y);
  }
}

template <typename Isa>
void MatMulLeaf(const float* a, const float* a_scale, int m, int leaf, const PackedWeights& w,
                double* y) {
  if (w.k < leaf) {
    for (int64_t i = 0; i < int64_t{m} * w.n; ++i) y[i] = 0;
    return;
  }
  const bool fuse = MayFuse<Isa>(w.format, a, int64_t{m} * w.k);
  if (m == 1 && HasRowKernel(w.format)) {
    MatMulLeafRow<Isa>(fuse, a, a_scale, leaf, w, y);
    return;
  }
  for (int row = 0, rows = 0; row < m; row += rows) {
    rows = leaf <= kKBlock ? m : NextTileRows(m - row);
    MatMulLeafRows<Isa>(fuse, a, a_scale, row, row + rows, leaf, w, y);
  }
}

}  // namespace novascope::kernels
