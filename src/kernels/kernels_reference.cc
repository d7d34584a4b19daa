// The scalar reference: the arithmetic of kernels.h written down as plainly as possible. Built with
// the compiler's vectorisers off. When a SIMD row and this file differ, the SIMD row is wrong.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/kernel_rows.h"
#include "numerics/decode_table.h"
#include "numerics/math.h"

namespace novascope::kernels {
namespace {

using numerics::FromBf16;
using numerics::ToBf16;

float DecodeAt(FormatId format, const uint8_t* codes, int64_t i) {
  switch (format) {
    case FormatId::kE4M3:
    case FormatId::kE4M3FN:
    case FormatId::kE5M2:
    case FormatId::kE3M4:
      return numerics::DecodeTable(format)[codes[i]];
    case FormatId::kBF16:
    case FormatId::kFP16: {
      uint16_t code = 0;
      std::memcpy(&code, codes + 2 * i, 2);
      return format == FormatId::kBF16 ? FromBf16(code)
                                       : static_cast<float>(numerics::Decode(format, code));
    }
    case FormatId::kFP32:
      break;
  }
  float value = 0;
  std::memcpy(&value, codes + 4 * i, 4);
  return value;
}

void EncodeAt(FormatId format, float x, uint8_t* codes, int64_t i) {
  const int bytes = numerics::Get(format).bytes();
  const uint32_t code = numerics::Encode(format, x, numerics::Overflow::kSaturate);
  for (int b = 0; b < bytes; ++b) codes[i * bytes + b] = static_cast<uint8_t>(code >> (8 * b));
}

// The larger value; NaN wins; +0 is above -0. The order of the arguments does not matter.
float Max(float a, float b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

void Decode(FormatId format, const uint8_t* codes, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = DecodeAt(format, codes, i);
}

void Encode(FormatId format, const float* x, int64_t n, uint8_t* codes) {
  for (int64_t i = 0; i < n; ++i) EncodeAt(format, x[i], codes, i);
}

void Quantize(FormatId format, const float* x, int m, int k, int group, uint8_t* codes,
              float* scales) {
  const numerics::Format& f = numerics::Get(format);
  const int64_t groups = static_cast<int64_t>(m) * k / group;
  for (int64_t g = 0; g < groups; ++g) {
    const float* row = x + g * group;
    float scale = 1;
    if (f.bits == 8) {
      float absmax = 0;
      for (int i = 0; i < group; ++i) absmax = Max(absmax, std::fabs(row[i]));
      scale = absmax / static_cast<float>(f.max_finite);
      // 0, infinity and NaN, and rows so small that 1/scale overflows, are encoded as they are.
      if (!(scale >= kMinScale && scale <= std::numeric_limits<float>::max())) scale = 1;
    }
    const float inverse = 1.0f / scale;
    for (int i = 0; i < group; ++i) EncodeAt(format, row[i] * inverse, codes, g * group + i);
    scales[g] = scale;
  }
}

float WeightAt(const PackedWeights& w, int n, int k) {
  const int64_t at = (static_cast<int64_t>(n / kPanel) * w.k + k) * kPanel + n % kPanel;
  return DecodeAt(w.format, w.codes, at);
}

void MatMul(const float* a, const float* a_scale, int m, const PackedWeights& w, float* y) {
  float column[kKBlock];  // one output's weights over one block of K
  for (int j = 0; j < w.n; ++j) {
    for (int i = 0; i < m; ++i) y[static_cast<int64_t>(i) * w.n + j] = 0;
    for (int k0 = 0; k0 < w.k; k0 += kKBlock) {
      const int length = std::min(kKBlock, w.k - k0);
      for (int k = 0; k < length; ++k) column[k] = WeightAt(w, j, k0 + k);
      for (int i = 0; i < m; ++i) {
        const float* row = a + static_cast<int64_t>(i) * w.k + k0;
        float sum = 0;
        for (int k = 0; k < length; ++k) sum = sum + row[k] * column[k];
        y[static_cast<int64_t>(i) * w.n + j] += sum;
      }
    }
    for (int i = 0; i < m; ++i) {
      float& out = y[static_cast<int64_t>(i) * w.n + j];
      if (w.scale != nullptr) out = out * w.scale[j];
      if (a_scale != nullptr) out = out * a_scale[i];
    }
  }
}

void MatMulLeaf(const float* a, const float* a_scale, int m, int leaf, const PackedWeights& w,
                double* y) {
  const int leaves = w.k / leaf;
  for (int i = 0; i < m; ++i) {
    const float* row = a + static_cast<int64_t>(i) * w.k;
    for (int j = 0; j < w.n; ++j) {
      double total = 0;
      for (int l = 0; l < leaves; ++l) {
        float sum = 0;
        for (int k = l * leaf; k < (l + 1) * leaf; ++k) sum = sum + row[k] * WeightAt(w, j, k);
        double value = sum;
        if (a_scale != nullptr) value = value * a_scale[static_cast<int64_t>(i) * leaves + l];
        if (w.scale != nullptr) value = value * w.scale[j];
        total += RoundToGrid(value);
      }
      y[static_cast<int64_t>(i) * w.n + j] = total;
    }
  }
}

void RmsNorm(const uint16_t* x, const float* gamma, int m, int h, float eps, float* y) {
  for (int i = 0; i < m; ++i, x += h, y += h) {
    float lanes[4] = {0, 0, 0, 0};
    for (int c = 0; c < h; ++c) lanes[c % 4] = lanes[c % 4] + FromBf16(x[c]) * FromBf16(x[c]);
    const float sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    const float root = std::sqrt(sum / static_cast<float>(h) + eps);
    for (int c = 0; c < h; ++c) y[c] = (FromBf16(x[c]) / root) * gamma[c];
  }
}

void ResidualAdd(const double* sum, int64_t n, uint16_t* x) {
  for (int64_t i = 0; i < n; ++i) x[i] = ToBf16(FromBf16(x[i]) + static_cast<float>(sum[i]));
}

void SwiGlu(const float* gate, const float* up, int64_t n, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = (gate[i] / (1.0f + numerics::Exp(-gate[i]))) * up[i];
}

float AttentionScores(FormatId format, const float* q, const uint8_t* keys, int d, int valid,
                      float scale, float* scores) {
  float max = -std::numeric_limits<float>::infinity();
  for (int j = 0; j < valid; ++j) {
    float sum = 0;
    for (int i = 0; i < d; ++i) sum = sum + q[i] * DecodeAt(format, keys, i * kKvBlock + j);
    scores[j] = sum * scale;
    max = Max(max, scores[j]);
  }
  return max;
}

void AttentionValues(FormatId format, const float* scores, float max, const uint8_t* values, int d,
                     int valid, double* l, double* o) {
  float p[kKvBlock];
  float sum = 0;
  for (int j = 0; j < valid; ++j) {
    p[j] = FromBf16(ToBf16(numerics::Exp(scores[j] - max)));
    sum = sum + p[j];
  }
  *l += RoundToGrid(sum);
  for (int i = 0; i < d; ++i) {
    float dot = 0;
    for (int j = 0; j < valid; ++j) dot = dot + p[j] * DecodeAt(format, values, j * int64_t{d} + i);
    o[i] += RoundToGrid(dot);
  }
}

void AddF64(const double* src, int64_t stride, int repeat, int64_t n, double* dst) {
  for (int r = 0; r < repeat; ++r) {
    for (int64_t i = 0; i < n; ++i) dst[i] += src[r * stride + i];
  }
}

void AddF32(const float* src, int64_t stride, int repeat, int64_t n, float* dst) {
  for (int r = 0; r < repeat; ++r) {
    for (int64_t i = 0; i < n; ++i) dst[i] += src[r * stride + i];
  }
}

void MaxF32(const float* src, int64_t stride, int repeat, int64_t n, float* dst) {
  for (int r = 0; r < repeat; ++r) {
    for (int64_t i = 0; i < n; ++i) dst[i] = Max(dst[i], src[r * stride + i]);
  }
}

constexpr KernelSet kReference = {
    .id = "reference",
    .label = "Scalar reference",
    .decode = Decode,
    .encode = Encode,
    .quantize = Quantize,
    .matmul = MatMul,
    .matmul_leaf = MatMulLeaf,
    .rms_norm = RmsNorm,
    .residual_add = ResidualAdd,
    .swiglu = SwiGlu,
    .attention_scores = AttentionScores,
    .attention_values = AttentionValues,
    .add_f64 = AddF64,
    .add_f32 = AddF32,
    .max_f32 = MaxF32,
};

}  // namespace

const KernelSet& ReferenceRow() { return kReference; }

}  // namespace novascope::kernels
