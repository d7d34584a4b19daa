// Norm, activation, attention and reductions: what the reference computes, and every SIMD row
// against it bit by bit.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "kernels/compare.h"
#include "numerics/math.h"

namespace novascope::kernels {
namespace {

constexpr int kFills = static_cast<int>(Fill::kCount);

std::vector<uint16_t> Bf16Codes(const std::vector<float>& x) {
  std::vector<uint16_t> codes;
  for (const float v : x) codes.push_back(numerics::ToBf16(v));
  return codes;
}

uint64_t HashBf16(std::span<const uint16_t> codes) {
  std::vector<float> values;
  for (const uint16_t code : codes) values.push_back(numerics::FromBf16(code));
  return HashFloats(values);
}

TEST_CASE("rms_norm: every row of the table, length and fill", "[kernels]") {
  for (int fill = 0; fill < kFills; ++fill) {
    for (int h = 1; h <= 37; ++h) {
      const int m = 1 + h % 3;
      const std::vector<uint16_t> x = Bf16Codes(Filled(static_cast<Fill>(fill), h, m * h));
      const std::vector<float> gamma = Filled(Fill::kRawFp32, 99, h);
      const auto run = [&](const KernelSet& set) {
        std::vector<float> y(m * h + 1, 7.0f);
        set.rms_norm(x.data(), gamma.data(), m, h, 1e-5f, y.data());
        REQUIRE(y.back() == 7.0f);
        return HashFloats(y);
      };
      for (const KernelSet& set : SimdRows()) {
        INFO(set.id << " fill " << fill << " h " << h);
        CHECK(run(set) == run(Reference()));
      }
    }
  }
}

TEST_CASE("rms_norm: near its value in FP64, safe on zeros", "[kernels]") {
  constexpr int kH = 256;
  const std::vector<uint16_t> x = Bf16Codes(Filled(Fill::kBf16, 1, kH));
  const std::vector<float> gamma = Filled(Fill::kRawFp32, 2, kH);
  double mean = 0;
  for (const uint16_t code : x) mean += std::pow(numerics::FromBf16(code), 2) / kH;
  for (const KernelSet& set : KernelSets()) {
    INFO(set.id);
    std::vector<float> y(kH);
    set.rms_norm(x.data(), gamma.data(), 1, kH, 1e-5f, y.data());
    for (int i = 0; i < kH; ++i) {
      const double exact = numerics::FromBf16(x[i]) / std::sqrt(mean + 1e-5) * gamma[i];
      REQUIRE(std::fabs(y[i] - exact) <= 1e-6 * (1 + std::fabs(exact)));
    }
    const std::vector<uint16_t> zeros(kH);
    set.rms_norm(zeros.data(), gamma.data(), 1, kH, 1e-5f, y.data());
    for (const float v : y) REQUIRE(v == 0.0f);
  }
}

TEST_CASE("residual_add: every row of the table, length and fill", "[kernels]") {
  for (int fill = 0; fill < kFills; ++fill) {
    for (int n = 0; n <= 37; ++n) {
      const std::vector<uint16_t> x = Bf16Codes(Filled(Fill::kBf16, n, n));
      std::vector<double> sum;
      for (const float v : Filled(static_cast<Fill>(fill), n + 50, n)) sum.push_back(v * 1.0000001);
      const auto run = [&](const KernelSet& set) {
        std::vector<uint16_t> out = x;
        out.push_back(0x1234);
        set.residual_add(sum.data(), n, out.data());
        REQUIRE(out.back() == 0x1234);
        return HashBf16(out);
      };
      for (const KernelSet& set : SimdRows()) {
        INFO(set.id << " fill " << fill << " n " << n);
        CHECK(run(set) == run(Reference()));
      }
    }
  }
  for (const KernelSet& set : KernelSets()) {
    // 1 + 2^-8 is halfway between two BF16 values and goes to the even one; infinities stay.
    uint16_t x[] = {0x3f80, 0x3f80, 0x3f81, 0x7f7f};
    const double sum[] = {0x1p-8, 0x1.1p-8, 0x1p-8, 1e300};
    set.residual_add(sum, 4, x);
    CHECK(x[0] == 0x3f80);
    CHECK(x[1] == 0x3f81);
    CHECK(x[2] == 0x3f82);
    CHECK(x[3] == 0x7f80);
  }
}

TEST_CASE("swiglu: every row of the table, length and fill", "[kernels]") {
  for (int fill = 0; fill < kFills; ++fill) {
    for (int n = 0; n <= 21; ++n) {
      std::vector<float> gate = Filled(static_cast<Fill>(fill), n, n);
      for (float& g : gate) g *= 8;
      const std::vector<float> up = Filled(Fill::kRawFp32, n + 50, n);
      const auto run = [&](const KernelSet& set) {
        std::vector<float> y(n + 1, 7.0f);
        set.swiglu(gate.data(), up.data(), n, y.data());
        REQUIRE(y.back() == 7.0f);
        return HashFloats(y);
      };
      for (const KernelSet& set : SimdRows()) {
        INFO(set.id << " fill " << fill << " n " << n);
        CHECK(run(set) == run(Reference()));
      }
    }
  }
}

TEST_CASE("swiglu: all gates, so that exp agrees in SIMD lanes", "[kernels]") {
  std::vector<float> gate;
  for (uint64_t b = 0; b < uint64_t{1} << 32; b += 4001) {
    gate.push_back(std::bit_cast<float>(static_cast<uint32_t>(b)));
  }
  for (float x = -110; x < 110; x += 0.0037f) gate.push_back(x);
  const std::vector<float> up(gate.size(), 1.0f);
  std::vector<float> expected(gate.size());
  for (size_t i = 0; i < gate.size(); ++i) expected[i] = gate[i] / (1.0f + numerics::Exp(-gate[i]));
  for (const KernelSet& set : KernelSets()) {
    std::vector<float> y(gate.size());
    set.swiglu(gate.data(), up.data(), static_cast<int64_t>(gate.size()), y.data());
    INFO(set.id);
    CHECK(HashFloats(y) == HashFloats(expected));
  }
}

// One KV block: keys [d][32], values [32][d], a query, and what a row of the table makes of them.
struct Block {
  FormatId format = FormatId::kE4M3;
  int d = 16;
  int valid = kKvBlock;
  float scale = 0.25f;
  std::vector<float> q;
  std::vector<uint8_t> keys;
  std::vector<uint8_t> values;
};
Block RandomBlock(FormatId format, int d, int valid, Fill fill, bool any, uint64_t stream) {
  Block b = {.format = format, .d = d, .valid = valid};
  b.q = Filled(fill, stream, d);
  b.keys = RandomCodes(format, stream + 1, static_cast<size_t>(d) * kKvBlock, any);
  b.values = RandomCodes(format, stream + 2, static_cast<size_t>(d) * kKvBlock, any);
  if (numerics::Get(format).bits == 8) b.scale = 0x1p-10f;
  return b;
}
struct Attended {
  float max = 0;
  std::vector<float> scores;
  std::vector<double> sums;  // l, then o
};
Attended Attend(const KernelSet& set, const Block& b) {
  Attended r;
  r.scores.assign(kKvBlock + 1, 77.0f);
  r.max = set.attention_scores(b.format, b.q.data(), b.keys.data(), b.d, b.valid, b.scale,
                               r.scores.data());
  r.sums.assign(b.d + 2, 0.5);
  set.attention_values(b.format, r.scores.data(), r.max, b.values.data(), b.d, b.valid,
                       r.sums.data(), r.sums.data() + 1);
  return r;
}

TEST_CASE("attention: every valid count, head size, format and fill", "[kernels]") {
  uint64_t stream = 1;
  for (const numerics::Format& f : numerics::Formats()) {
    int wrong = 0;
    for (const int d : {1, 4, 8, 16, 24, 31, 32, 40, 64, 128}) {
      for (int valid = 1; valid <= kKvBlock; ++valid) {
        const auto fill = static_cast<Fill>(stream % kFills);
        const Block block = RandomBlock(f.id, d, valid, fill, stream % 2 == 0, stream);
        const Attended expected = Attend(Reference(), block);
        for (const KernelSet& set : SimdRows()) {
          const Attended got = Attend(set, block);
          wrong += HashFloats({&got.max, 1}) != HashFloats({&expected.max, 1});
          wrong += HashFloats(got.scores) != HashFloats(expected.scores);
          wrong += HashDoubles(got.sums) != HashDoubles(expected.sums);
          for (int j = valid; j <= kKvBlock; ++j) wrong += got.scores[j] != 77.0f;
          wrong += got.sums.back() != 0.5;
        }
        ++stream;
      }
    }
    INFO(f.name);
    CHECK(wrong == 0);
  }
}

TEST_CASE("attention: near softmax in FP64", "[kernels]") {
  for (const FormatId format : {FormatId::kE4M3, FormatId::kBF16, FormatId::kFP32}) {
    for (const int valid : {1, 17, 32}) {
      const Block b = RandomBlock(format, 16, valid, Fill::kBf16, false, 40);
      const auto code = [&](const std::vector<uint8_t>& codes, int i) {
        uint32_t c = 0;
        const int bytes = numerics::Get(format).bytes();
        std::memcpy(&c, codes.data() + i * bytes, bytes);
        return numerics::Decode(format, c);
      };
      double weights[kKvBlock];
      double total = 0;
      for (int j = 0; j < valid; ++j) {
        double s = 0;
        for (int i = 0; i < b.d; ++i) s += b.q[i] * code(b.keys, i * kKvBlock + j);
        weights[j] = std::exp(s * b.scale);
        total += weights[j];
      }
      for (const KernelSet& set : KernelSets()) {
        const Attended got = Attend(set, b);
        INFO(set.id << " valid " << valid);
        for (int i = 0; i < b.d; ++i) {
          double exact = 0;
          double size = 0;
          for (int j = 0; j < valid; ++j) {
            exact += weights[j] / total * code(b.values, j * b.d + i);
            size += weights[j] / total * std::fabs(code(b.values, j * b.d + i));
          }
          // p is BF16: eight significant bits.
          const double value = (got.sums[1 + i] - 0.5) / (got.sums[0] - 0.5);
          CHECK(std::fabs(value - exact) < 0x1p-8 * size);
        }
      }
    }
  }
}

TEST_CASE("attention: the maximum sees NaN, infinity and both zeros", "[kernels]") {
  for (const KernelSet& set : KernelSets()) {
    INFO(set.id);
    for (int at = 0; at < kKvBlock; ++at) {
      Block b = RandomBlock(FormatId::kBF16, 8, kKvBlock, Fill::kBf16, false, 3);
      std::fill(b.q.begin(), b.q.end(), 1.0f);
      const auto put = [&](uint16_t code) { std::memcpy(b.keys.data() + 2 * at, &code, 2); };
      put(0x7fc0);
      for (const int valid : {at, at + 1}) {
        if (valid == 0) continue;
        b.valid = valid;
        CHECK(std::isnan(Attend(set, b).max) == (valid > at));
      }
      b.valid = kKvBlock;
      put(0x7f80);
      CHECK(Attend(set, b).max == kInf);
    }
    // All products -0: the sums start from +0 and stay there.
    Block zeros = {.d = 8, .q = std::vector<float>(8, -1.0f)};
    zeros.keys.resize(8 * kKvBlock);
    zeros.values.resize(8 * kKvBlock);
    CHECK_FALSE(std::signbit(Attend(set, zeros).max));
  }
}

TEST_CASE("add_f64, add_f32 and max_f32: every length and repeat", "[kernels]") {
  for (int n = 0; n <= 19; ++n) {
    for (const int repeat : {0, 1, 2, 5}) {
      const int64_t stride = n + n % 3;
      const size_t size = static_cast<size_t>(stride) * repeat + n;
      for (const Fill fill : {Fill::kRawFp32, Fill::kSpecials, Fill::kZero}) {
        const std::vector<float> src = Filled(fill, n, size);
        const std::vector<double> src64(src.begin(), src.end());
        const std::vector<float> start = Filled(Fill::kRawFp32, n + 1, n + 1);
        const auto run = [&](const KernelSet& set) {
          std::vector<float> sum = start;
          std::vector<float> max = start;
          std::vector<double> sum64(start.begin(), start.end());
          set.add_f32(src.data(), stride, repeat, n, sum.data());
          set.max_f32(src.data(), stride, repeat, n, max.data());
          set.add_f64(src64.data(), stride, repeat, n, sum64.data());
          sum.insert(sum.end(), max.begin(), max.end());
          return HashFloats(sum) ^ HashDoubles(sum64);
        };
        for (const KernelSet& set : SimdRows()) {
          INFO(set.id << " n " << n << " repeat " << repeat);
          CHECK(run(set) == run(Reference()));
        }
      }
    }
  }
}

TEST_CASE("reductions: in order, NaN wins, +0 is above -0", "[kernels]") {
  for (const KernelSet& set : KernelSets()) {
    INFO(set.id);
    // 2^24 + 1 is lost in FP32, so the order shows.
    const float src[] = {0x1p24f, 1, -0x1p24f};
    float dst = 1;
    set.add_f32(src, 1, 3, 1, &dst);
    CHECK(dst == 0.0f);
    std::vector<float> max = {1, kNan, -0.0f, 0.0f, -3, 2, -kInf, 5};
    const float other[] = {kNan, 1, 0.0f, -0.0f, -2, kInf, -kInf, 4};
    set.max_f32(other, 8, 1, 8, max.data());
    CHECK(std::isnan(max[0]));
    CHECK(std::isnan(max[1]));
    CHECK_FALSE(std::signbit(max[2]));
    CHECK_FALSE(std::signbit(max[3]));
    CHECK(max[4] == -2);
    CHECK(max[5] == kInf);
    CHECK(max[6] == -kInf);
    CHECK(max[7] == 5);
  }
}

}  // namespace
}  // namespace novascope::kernels
