// Matrix products: what the reference computes, and every SIMD row against it bit by bit.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "kernels/compare.h"

namespace novascope::kernels {
namespace {

constexpr int kFills = static_cast<int>(Fill::kCount);

struct Shape {
  int m;
  int n;
  int k;
};

uint64_t MatMulHash(const KernelSet& set, const Shape& s, const std::vector<float>& a,
                    const float* a_scale, const PackedWeights& w) {
  // One element more than there is, to see that nothing is written beyond the end.
  std::vector<float> y(static_cast<size_t>(s.m) * s.n + 1, 123.0f);
  set.matmul(a.data(), a_scale, s.m, w, y.data());
  REQUIRE(y.back() == 123.0f);
  return HashFloats(y);
}

// How many rows of the table disagree with the reference. Every second stream has any code at all,
// NaN and infinity among them.
int Mismatches(const Shape& s, FormatId format, Fill fill, uint64_t stream) {
  Shard shard = RandomShard(format, s.n, s.k, stream, stream % 2 == 0);
  const std::vector<float> a = Filled(fill, stream + 100, static_cast<size_t>(s.m) * s.k);
  const std::vector<float> a_scale = Filled(Fill::kBf16, stream + 200, s.m);
  if (stream % 5 == 0) shard.weights.scale = nullptr;
  const float* scales = stream % 3 == 0 ? nullptr : a_scale.data();
  const uint64_t expected = MatMulHash(Reference(), s, a, scales, shard.weights);
  int wrong = 0;
  for (const KernelSet& set : SimdRows()) {
    wrong += MatMulHash(set, s, a, scales, shard.weights) != expected;
  }
  return wrong;
}

TEST_CASE("matmul: every tail of m, n and k in every format", "[kernels]") {
  uint64_t stream = 1;
  for (const numerics::Format& f : numerics::Formats()) {
    int cases = 0;
    int wrong = 0;
    for (int n = 1; n <= 2 * 16 + 1; ++n) {
      for (int m = 0; m <= 2 * 6 + 1; ++m) {
        for (const int k : {0, 1, 2, 3, 4, 5, 7, 8, 9}) {
          const auto fill = static_cast<Fill>(stream % kFills);
          wrong += Mismatches({m, n, k}, f.id, fill, stream);
          ++stream;
          ++cases;
        }
      }
    }
    INFO(f.name << ": " << wrong << " of " << cases);
    CHECK(wrong == 0);
  }
}

TEST_CASE("matmul: sums over blocks of K", "[kernels]") {
  uint64_t stream = 1;
  for (const numerics::Format& f : numerics::Formats()) {
    for (int fill = 0; fill < kFills; ++fill) {
      for (const int k : {255, 256, 257, 259, 511, 512, 513, 777}) {
        for (const int m : {1, 2, 7}) {
          const Shape shape = {m, m == 7 ? 13 : 21, k};
          INFO(f.name << " fill " << fill << " k " << k << " m " << m);
          CHECK(Mismatches(shape, f.id, static_cast<Fill>(fill), ++stream) == 0);
        }
      }
    }
  }
}

TEST_CASE("matmul: the shapes of a sharded model", "[kernels]") {
  uint64_t stream = 1;
  for (const numerics::Format& f : numerics::Formats()) {
    for (const int n : {12, 16, 24, 384}) {
      for (const int m : {1, 2, 32, 64}) {
        INFO(f.name << " n " << n << " m " << m);
        CHECK(Mismatches({m, n, 256}, f.id, Fill::kFp8, ++stream) == 0);
      }
    }
  }
}

TEST_CASE("matmul: by hand", "[kernels]") {
  // Two outputs over three inputs: 1, 2, 3 . (1, 0.5, -2) and . (0, 0, 448).
  const float rows[] = {1, 0.5f, -2, 0, 0, 448};
  std::vector<uint8_t> codes(6);
  Reference().encode(FormatId::kE4M3FN, rows, 6, codes.data());
  std::vector<uint8_t> packed(PackedBytes(FormatId::kE4M3FN, 2, 3));
  REQUIRE(packed.size() == 12);
  PackWeights(FormatId::kE4M3FN, codes.data(), 2, 3, 3, packed.data());
  const float scale[] = {2, 0.5f};
  const PackedWeights w = {
      .format = FormatId::kE4M3FN, .n = 2, .k = 3, .codes = packed.data(), .scale = scale};
  const float a[] = {1, 2, 3};
  const float a_scale = 10;
  for (const KernelSet& set : KernelSets()) {
    float y[2] = {};
    set.matmul(a, &a_scale, 1, w, y);
    INFO(set.id);
    CHECK(y[0] == -80.0f);
    CHECK(y[1] == 6720.0f);
    double y64[2] = {};
    set.matmul_leaf(a, &a_scale, 1, 3, w, y64);
    CHECK(y64[0] == -80.0);
    CHECK(y64[1] == 6720.0);
  }
}

TEST_CASE("matmul: blocks of K are summed apart", "[kernels]") {
  // 2^24 + 1 is not an FP32 number: in one chain the ones of the second block would be lost.
  constexpr int kK = 2 * kKBlock;
  std::vector<float> a(kK, 0.0f);
  a[0] = 0x1p24f;
  for (int k = kKBlock; k < kKBlock + 2; ++k) a[k] = 1;
  std::vector<float> ones(kK, 1.0f);
  std::vector<uint8_t> codes(kK);
  Reference().encode(FormatId::kE4M3, ones.data(), kK, codes.data());
  std::vector<uint8_t> packed(PackedBytes(FormatId::kE4M3, 1, kK));
  PackWeights(FormatId::kE4M3, codes.data(), 1, kK, kK, packed.data());
  const PackedWeights w = {.format = FormatId::kE4M3, .n = 1, .k = kK, .codes = packed.data()};
  for (const KernelSet& set : KernelSets()) {
    float y = 0;
    set.matmul(a.data(), nullptr, 1, w, &y);
    INFO(set.id);
    CHECK(y == 0x1p24f + 2);
  }
}

TEST_CASE("matmul: NaN and infinity in a shard reach their outputs and no others", "[kernels]") {
  for (const numerics::Format& f : numerics::Formats()) {
    for (const double special : {std::nan(""), HUGE_VAL}) {
      if (special > 0 && !f.has_infinity) continue;
      for (const int m : {1, 3}) {
        constexpr int kN = 19;
        constexpr int kK = 41;
        for (int bad = 0; bad < kN; ++bad) {
          std::vector<uint8_t> codes = RandomCodes(f.id, 5, kN * kK, false);
          const uint32_t code = numerics::Encode(f.id, special, numerics::Overflow::kSpecial);
          const size_t at = (static_cast<size_t>(bad) * kK + bad * 2) * f.bytes();
          for (int b = 0; b < f.bytes(); ++b) codes[at + b] = static_cast<uint8_t>(code >> (8 * b));
          std::vector<uint8_t> packed(PackedBytes(f.id, kN, kK));
          PackWeights(f.id, codes.data(), kN, kK, kK, packed.data());
          const PackedWeights w = {.format = f.id, .n = kN, .k = kK, .codes = packed.data()};
          const std::vector<float> a = Filled(Fill::kBf16, 6, m * kK);
          for (const KernelSet& set : KernelSets()) {
            std::vector<float> y(m * kN);
            std::vector<double> y64(m * kN);
            set.matmul(a.data(), nullptr, m, w, y.data());
            set.matmul_leaf(a.data(), nullptr, m, kK, w, y64.data());
            int wrong = 0;
            for (int i = 0; i < m * kN; ++i) {
              wrong += std::isfinite(y[i]) == (i % kN == bad);
              wrong += std::isfinite(y64[i]) == (i % kN == bad);
              if (special != special && i % kN == bad)
                wrong += !std::isnan(y[i]) + !std::isnan(y64[i]);
            }
            INFO(set.id << " " << f.name << " output " << bad);
            REQUIRE(wrong == 0);
          }
        }
      }
    }
  }
}

struct LeafShape {
  int m;
  int n;
  int leaf;
  int leaves;
};

uint64_t LeafHash(const KernelSet& set, const LeafShape& s, const std::vector<float>& a,
                  const float* a_scale, const PackedWeights& w) {
  std::vector<double> y(static_cast<size_t>(s.m) * s.n + 1, 123.0);
  set.matmul_leaf(a.data(), a_scale, s.m, s.leaf, w, y.data());
  REQUIRE(y.back() == 123.0);
  return HashDoubles(y);
}

int LeafMismatches(const LeafShape& s, FormatId format, Fill fill, uint64_t stream) {
  Shard shard = RandomShard(format, s.n, s.leaf * s.leaves, stream, stream % 2 == 0);
  const std::vector<float> a =
      Filled(fill, stream + 100, static_cast<size_t>(s.m) * s.leaf * s.leaves);
  const std::vector<float> a_scale =
      Filled(Fill::kBf16, stream + 200, static_cast<size_t>(s.m) * s.leaves);
  if (stream % 5 == 0) shard.weights.scale = nullptr;
  const float* scales = stream % 3 == 0 ? nullptr : a_scale.data();
  const uint64_t expected = LeafHash(Reference(), s, a, scales, shard.weights);
  int wrong = 0;
  for (const KernelSet& set : SimdRows()) {
    wrong += LeafHash(set, s, a, scales, shard.weights) != expected;
  }
  return wrong;
}

TEST_CASE("matmul_leaf: every tail in every format", "[kernels]") {
  uint64_t stream = 1;
  for (const numerics::Format& f : numerics::Formats()) {
    int wrong = 0;
    int cases = 0;
    for (int n = 1; n <= 2 * 8 + 1; ++n) {
      for (int m = 0; m <= 2 * 6 + 1; ++m) {
        for (int leaf = 1; leaf <= 9; ++leaf) {
          const auto fill = static_cast<Fill>(stream % kFills);
          const int leaves = static_cast<int>(stream % 4);
          wrong += LeafMismatches({m, n, leaf, leaves}, f.id, fill, stream);
          ++stream;
          ++cases;
        }
      }
    }
    INFO(f.name << ": " << wrong << " of " << cases);
    CHECK(wrong == 0);
  }
}

TEST_CASE("matmul_leaf: model shapes, many leaves and leaves longer than a block", "[kernels]") {
  uint64_t stream = 1;
  for (const numerics::Format& f : numerics::Formats()) {
    for (int fill = 0; fill < kFills; ++fill) {
      for (const LeafShape s : {LeafShape{1, 256, 4, 1},
                                {32, 256, 4, 1},
                                {1, 64, 12, 1},
                                {7, 64, 12, 1},
                                {1, 12, 4, 64},
                                {3, 12, 4, 64},
                                {1, 9, 12, 64},
                                {3, 9, 12, 64},
                                {1, 9, 300, 3},
                                {9, 9, 300, 3},
                                {5, 6, 513, 2},
                                {2, 5, 256, 3}}) {
        INFO(f.name << " fill " << fill << " m " << s.m << " leaf " << s.leaf);
        CHECK(LeafMismatches(s, f.id, static_cast<Fill>(fill), ++stream) == 0);
      }
    }
  }
}

TEST_CASE("matmul_leaf: sums do not depend on how K is split", "[kernels]") {
  constexpr int kLeaf = 12;
  constexpr int kLeaves = 16;
  constexpr int kK = kLeaf * kLeaves;
  constexpr int kN = 20;
  const std::vector<uint8_t> codes = RandomCodes(FormatId::kE4M3, 1, kN * kK, false);
  const std::vector<float> a = Filled(Fill::kFp8, 2, kK);
  const std::vector<float> a_scale = Filled(Fill::kBf16, 3, kLeaves);
  const std::vector<float> scale = Filled(Fill::kRawFp32, 4, kN);
  const auto part = [&](int first, int count, const KernelSet& set) {
    std::vector<uint8_t> packed(PackedBytes(FormatId::kE4M3, kN, count * kLeaf));
    PackWeights(FormatId::kE4M3, codes.data() + first * kLeaf, kN, count * kLeaf, kK,
                packed.data());
    const PackedWeights w = {.format = FormatId::kE4M3,
                             .n = kN,
                             .k = count * kLeaf,
                             .codes = packed.data(),
                             .scale = scale.data()};
    std::vector<double> y(kN);
    set.matmul_leaf(a.data() + first * kLeaf, a_scale.data() + first, 1, kLeaf, w, y.data());
    return y;
  };
  for (const KernelSet& set : KernelSets()) {
    INFO(set.id);
    const std::vector<double> whole = part(0, kLeaves, set);
    // Sixteen shards, added from the last to the first.
    std::vector<double> sum(kN);
    for (int l = kLeaves - 1; l >= 0; --l) {
      const std::vector<double> y = part(l, 1, set);
      set.add_f64(y.data(), kN, 1, kN, sum.data());
    }
    CHECK(HashDoubles(sum) == HashDoubles(whole));
    // The grid costs at most half its step per leaf against the product in FP64.
    for (int n = 0; n < kN; ++n) {
      double exact = 0;
      for (int k = 0; k < kK; ++k) {
        exact += a[k] * double{a_scale[k / kLeaf]} * scale[n] *
                 numerics::Decode(FormatId::kE4M3, codes[n * kK + k]);
      }
      CHECK(std::fabs(whole[n] - exact) < 1e-2);
    }
  }
}

TEST_CASE("RoundToGrid rounds to even multiples of 2^-30 and lets specials through", "[kernels]") {
  CHECK(kGrid == 0x1p-30);
  CHECK(RoundToGrid(0x1p-31) == 0.0);
  CHECK(RoundToGrid(-0x1p-31) == 0.0);
  CHECK_FALSE(std::signbit(RoundToGrid(-0x1p-31)));
  CHECK(RoundToGrid(0x1.8p-30) == 0x1p-29);
  CHECK(RoundToGrid(0x1.4p-29) == 0x1p-29);
  CHECK(RoundToGrid(0x1.4p-29 + 0x1p-60) == 0x1.8p-29);
  CHECK(RoundToGrid(-0x1.8p-30) == -0x1p-29);
  CHECK(RoundToGrid(0x1.fffffffffffffp20) == 0x1p21);
  CHECK(RoundToGrid(1048576.0 + kGrid) == 1048576.0 + kGrid);
  CHECK(RoundToGrid(HUGE_VAL) == HUGE_VAL);
  CHECK(RoundToGrid(-HUGE_VAL) == -HUGE_VAL);
  CHECK(std::isnan(RoundToGrid(std::nan(""))));
}

TEST_CASE("weights pack into panels of four outputs, padded with zeros", "[kernels]") {
  CHECK(PackedBytes(FormatId::kE4M3, 5, 3) == 24);
  CHECK(PackedBytes(FormatId::kBF16, 8, 3) == 48);
  CHECK(PackedBytes(FormatId::kFP32, 1, 1) == 16);
  CHECK(PackedBytes(FormatId::kE4M3, 100'000, 50'000) == 5'000'000'000u);
  // Rows of four codes, of which three are packed.
  const uint8_t rows[] = {1,  2,  3,  99, 11, 12, 13, 99, 21, 22,
                          23, 99, 31, 32, 33, 99, 41, 42, 43, 99};
  const uint8_t expected[] = {1,  11, 21, 31, 2,  12, 22, 32, 3,  13, 23, 33,
                              41, 0,  0,  0,  42, 0,  0,  0,  43, 0,  0,  0};
  uint8_t packed[24];
  std::memset(packed, 77, sizeof(packed));
  PackWeights(FormatId::kE4M3, rows, 5, 3, 4, packed);
  CHECK(std::memcmp(packed, expected, sizeof(expected)) == 0);
}

TEST_CASE("matmul: the same bits on every machine", "[kernels]") {
  // Recorded once; native, wasm and relaxed builds must all give them.
  const Shard shard = RandomShard(FormatId::kE4M3, 37, 300, 11, false);
  const std::vector<float> a = Filled(Fill::kFp8, 12, 5 * 300);
  const std::vector<float> scale = Filled(Fill::kBf16, 13, 5 * 25);
  for (const KernelSet& set : KernelSets()) {
    INFO(set.id);
    CHECK(MatMulHash(set, {5, 37, 300}, a, scale.data(), shard.weights) == 0xa756f75257f65f26u);
    CHECK(LeafHash(set, {5, 37, 12, 25}, a, scale.data(), shard.weights) == 0x2eff88ed2c0da8f5u);
  }
}

}  // namespace
}  // namespace novascope::kernels
