// The arithmetic of every op, as rows of one table: the scalar reference (the specification, always
// in the binary, built with vectorisers off) and SIMD rows written in wasm intrinsics (native
// through SIMDe). A row is chosen at run time; every row gives the same bits. The bit contract:
//   * Matmul operands are values of their format (FP8, BF16; FP32 only with format fp32), so a
//     product is exact in FP32 and fused equals unfused; a row that fuses still looks at the
//     activations first, so the bits hold for any values. A sum over K runs over blocks of
//     kKBlock, each summed from zero in increasing k in FP32 by `acc = acc + a*w`, the blocks'
//     sums then added in order in FP32.
//   * Sums over a dimension that plans split are order-free: fixed leaves, each summed in
//     increasing k in FP32 from zero, scaled in FP64, rounded to a multiple of 2^-30
//     (RoundToGrid) and added in FP64, which is exact while sums stay below 2^22.
//   * The bits of a NaN, its sign among them, are not part of the contract.
//   * exp, sin, cos are numerics/math.h's; a SIMD row may inline the same operations lane by lane.
// Shapes are row-major. Nothing allocates; callers bring scratch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "numerics/format.h"

namespace novascope::kernels {

using numerics::FormatId;

inline constexpr int kKBlock = 256;
inline constexpr int kPanel = 4;     // outputs that sit side by side in packed weights
inline constexpr int kKvBlock = 32;  // positions in a KV page, and in a leaf of attention's sums
inline constexpr double kGrid = 0x1p-30;
inline constexpr float kMinScale = 0x1p-126f;  // smaller scales have no finite reciprocal

// A weight shard as it lies in HBM: panels of kPanel outputs, [ceil(n/4)][k][4] codes in `format`,
// the last panel padded with zero codes; `scale[n]` per output channel (null: all 1).
struct PackedWeights {
  FormatId format = FormatId::kFP32;
  int n = 0;
  int k = 0;
  const uint8_t* codes = nullptr;
  const float* scale = nullptr;
};
// Bytes of the panels: ceil(n/4)*4*k*bytes(format).
uint64_t PackedBytes(FormatId format, int n, int k);
// Packs rows [n][k] of codes with row stride `stride` codes into `out` (PackedBytes long).
void PackWeights(FormatId format, const uint8_t* rows, int n, int k, int64_t stride, uint8_t* out);

// Rounds to a multiple of 2^-30, nearest even; exact for |x| < 2^21; NaN and infinity pass through.
double RoundToGrid(double x);

struct KernelSet {
  const char* id;     // "reference", "simd128", "relaxed"
  const char* label;  // for people

  // FP8 or BF16 codes to the FP32 values they stand for. Any n.
  void (*decode)(FormatId format, const uint8_t* codes, int64_t n, float* out);
  // FP32 to codes, nearest even, saturating.
  void (*encode)(FormatId format, const float* x, int64_t n, uint8_t* codes);

  // Rows x[m][k] to codes with one scale per row and group of `group` columns (group divides k;
  // group == k is per token): scale = absmax / max_finite (1 where that is below kMinScale, so also
  // for a row of zeros, or absmax is not finite), codes = encode(x * (1/scale)). For bf16, fp16 and
  // fp32 formats scale is 1. scales: [m][k/group].
  void (*quantize)(FormatId format, const float* x, int m, int k, int group, uint8_t* codes,
                   float* scales);

  // y[m][n] = ((sum_k a[m][k] * w[n][k]) * w.scale[n]) * a_scale[m]. `a` holds decoded values;
  // a_scale may be null (1). y has row stride n.
  void (*matmul)(const float* a, const float* a_scale, int m, const PackedWeights& w, float* y);
  // The split-K product: K = leaves * leaf. y[m][n] = sum over leaves of
  // RoundToGrid(((double)leaf_sum * a_scale[m][leaf]) * w.scale[n]); a_scale may be null (1).
  // Overwrites y, row stride n.
  void (*matmul_leaf)(const float* a, const float* a_scale, int m, int leaf, const PackedWeights& w,
                      double* y);

  // y = (x / sqrt(mean(x^2) + eps)) * gamma over rows of `h` BF16 values. The sum of squares runs
  // in four lanes (i mod 4), combined as (0+1)+(2+3); sqrt and divide are IEEE FP32.
  void (*rms_norm)(const uint16_t* x, const float* gamma, int m, int h, float eps, float* y);
  // x[h] = bf16(x[h] + (float)sum[h]).
  void (*residual_add)(const double* sum, int64_t n, uint16_t* x);
  // y = (g / (1 + exp(-g))) * u.
  void (*swiglu)(const float* gate, const float* up, int64_t n, float* y);

  // Scores of one query head against one KV block: s[j] = (sum_i q[i] * k[i][j]) * scale for j <
  // valid; q holds BF16 values as FP32, keys are codes [d][kKvBlock] in `format`. Returns the
  // maximum of the valid scores (NaN if any is NaN, +0 above -0). valid is 1..kKvBlock; scores
  // beyond it stay untouched.
  float (*attention_scores)(FormatId format, const float* q, const uint8_t* keys, int d, int valid,
                            float scale, float* scores);
  // One leaf of softmax(s) V: p[j] = bf16(exp(s[j] - max)); l += RoundToGrid(sum p), o[i] +=
  // RoundToGrid(sum_j p[j] * v[j][i]), both summed in increasing j in FP32. Values are codes
  // [kKvBlock][d].
  void (*attention_values)(FormatId format, const float* scores, float max, const uint8_t* values,
                           int d, int valid, double* l, double* o);

  // dst[i] += sum over r of src[r * stride + i], r increasing: the reduce of an all-reduce.
  // `stride` in elements.
  void (*add_f64)(const double* src, int64_t stride, int repeat, int64_t n, double* dst);
  void (*add_f32)(const float* src, int64_t stride, int repeat, int64_t n, float* dst);
  // dst[i] = max(dst[i], src[r * stride + i]) over r; NaN wins, +0 is above -0.
  void (*max_f32)(const float* src, int64_t stride, int repeat, int64_t n, float* dst);
};

// The rows of this binary: reference first, the fastest last.
std::span<const KernelSet> KernelSets();
// The row `id`; empty means the last. Error for `field` lists the rows.
Result<const KernelSet*> FindKernelSet(std::string_view id, std::string_view field);

}  // namespace novascope::kernels
