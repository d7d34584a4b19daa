// Decoding, encoding and quantising by every kernel row against numerics/format.h.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <string>

#include "kernels/compare.h"

namespace novascope::kernels {
namespace {

using numerics::Decode;
using numerics::Encode;
using numerics::Overflow;

#if defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr FormatId kFp8Formats[] = {FormatId::kE4M3, FormatId::kE4M3FN, FormatId::kE5M2,
                                    FormatId::kE3M4};

TEST_CASE("kernel rows: reference first, fastest last", "[kernels]") {
  std::string ids;
  for (const KernelSet& set : KernelSets()) {
    ids += std::string(set.id) + " ";
    CHECK(std::string(set.label).size() > 3);
    CHECK((set.decode && set.encode && set.quantize && set.matmul && set.matmul_leaf));
    CHECK((set.rms_norm && set.residual_add && set.swiglu));
    CHECK((set.attention_scores && set.attention_values));
    CHECK((set.add_f64 && set.add_f32 && set.max_f32));
    CHECK(FindKernelSet(set.id, "kernels").value() == &set);
  }
  // The baseline binary and a CPU without fused multiply-add have no row "relaxed".
  CHECK((ids == "reference simd128 relaxed " || ids == "reference simd128 "));
  CHECK(FindKernelSet("", "kernels").value() == &KernelSets().back());
  const Result<const KernelSet*> found = FindKernelSet("avx512", "kernels");
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().code == ErrorCode::kUnknownId);
  CHECK(found.error().field == "kernels");
  CHECK(found.error().value == "avx512");
  CHECK(found.error().fix.find("reference, simd128") != std::string::npos);
}

TEST_CASE("decode: every code in every lane", "[kernels]") {
  for (const numerics::Format& f : numerics::Formats()) {
    const uint64_t step = f.bits == 32 ? 65521 : 1;
    std::vector<uint32_t> codes;
    for (uint64_t c = 0; c < uint64_t{1} << f.bits; c += step)
      codes.push_back(static_cast<uint32_t>(c));
    for (const KernelSet& set : KernelSets()) {
      int wrong = 0;
      // Shifting the list by one at a time brings each code to each lane, and changes the tail.
      for (int lane = 0; lane < (f.bits == 8 ? 16 : 3); ++lane) {
        std::vector<uint8_t> bytes((codes.size() + lane) * f.bytes(), 0x35);
        for (size_t i = 0; i < codes.size(); ++i) {
          for (int b = 0; b < f.bytes(); ++b) {
            bytes[(i + lane) * f.bytes() + b] = static_cast<uint8_t>(codes[i] >> (8 * b));
          }
        }
        std::vector<float> out(codes.size() + lane + 1, 123.0f);
        set.decode(f.id, bytes.data(), static_cast<int64_t>(codes.size() + lane), out.data());
        wrong += out.back() != 123.0f;
        for (size_t i = 0; i < codes.size(); ++i) {
          const double expected = Decode(f.id, codes[i]);
          const float got = out[i + lane];
          wrong += expected != expected
                       ? got == got
                       : got != expected || std::signbit(got) != std::signbit(expected);
        }
      }
      INFO(set.id << " " << f.name);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("decode: every length", "[kernels]") {
  for (const numerics::Format& f : numerics::Formats()) {
    for (int n = 0; n <= 2 * 16 + 1; ++n) {
      const std::vector<uint8_t> codes = RandomCodes(f.id, n, n, true);
      std::vector<float> expected(n + 1, 5.0f);
      Reference().decode(f.id, codes.data(), n, expected.data());
      for (const KernelSet& set : SimdRows()) {
        std::vector<float> out(n + 1, 5.0f);
        set.decode(f.id, codes.data(), n, out.data());
        INFO(set.id << " " << f.name << " " << n);
        REQUIRE(HashFloats(out) == HashFloats(expected));
      }
    }
  }
}

// Compares a row's codes for x[n] with the definition's.
int WrongCodes(const KernelSet& set, const numerics::Format& f, const std::vector<float>& x,
               const std::vector<uint32_t>& expected) {
  std::vector<uint8_t> codes(x.size() * f.bytes() + 1, 0xaa);
  set.encode(f.id, x.data(), static_cast<int64_t>(x.size()), codes.data());
  int wrong = codes.back() != 0xaa;
  for (size_t i = 0; i < x.size(); ++i) {
    uint32_t code = 0;
    for (int b = 0; b < f.bytes(); ++b) code |= uint32_t{codes[i * f.bytes() + b]} << (8 * b);
    wrong += code != expected[i];
  }
  return wrong;
}

// Every row's codes for each `step`th FP32 pattern.
void CheckPatterns(uint64_t step) {
  constexpr uint64_t kEnd = uint64_t{1} << 32;
  constexpr uint64_t kBatch = 1 << 14;
  std::vector<float> x;
  std::vector<uint32_t> expected;
  for (const FormatId id : kFp8Formats) {
    const numerics::Format& f = numerics::Get(id);
    std::vector<int64_t> wrong(KernelSets().size());
    for (uint64_t bits = 0; bits < kEnd;) {
      const uint64_t count = std::min(kBatch, (kEnd - bits + step - 1) / step);
      x.resize(count);
      expected.resize(count);
      for (uint64_t i = 0; i < count; ++i, bits += step) {
        x[i] = std::bit_cast<float>(static_cast<uint32_t>(bits));
        expected[i] = Encode(id, x[i], Overflow::kSaturate);
      }
      for (size_t s = 1; s < KernelSets().size(); ++s) {
        wrong[s] += WrongCodes(KernelSets()[s], f, x, expected);
      }
    }
    for (size_t s = 1; s < KernelSets().size(); ++s) {
      INFO(KernelSets()[s].id << " " << f.name);
      CHECK(wrong[s] == 0);
    }
  }
}

TEST_CASE("encode: every 61st FP32 pattern", "[kernels]") {
  CheckPatterns(kSanitized ? 977 : 61);  // the sanitizers look at memory, not at values
}

TEST_CASE("encode: all FP32 patterns", "[.exhaustive]") { CheckPatterns(1); }

TEST_CASE("encode: rounding borders and their neighbours in every lane", "[kernels]") {
  for (const numerics::Format& f : numerics::Formats()) {
    // Magnitudes halfway between neighbouring codes, one FP32 step to both sides, and the codes.
    std::vector<float> borders = {0.0f, 0x1p-149f, 0x1p-126f, 3e38f, kInf};
    const uint32_t codes = 1u << (f.bits - 1);
    const uint32_t step = f.bits == 8 ? 1 : f.bits == 16 ? 37 : 1'000'003;
    for (uint64_t c = 0; c + 1 < codes; c += step) {
      const double low = Decode(f.id, static_cast<uint32_t>(c));
      double high = Decode(f.id, static_cast<uint32_t>(c) + 1);
      if (!std::isfinite(low)) continue;
      if (!std::isfinite(high)) high = 2 * low - Decode(f.id, static_cast<uint32_t>(c) - 1);
      const auto middle = static_cast<float>((low + high) / 2);
      borders.push_back(static_cast<float>(low));
      borders.push_back(middle);
      borders.push_back(std::nextafter(middle, kInf));
      borders.push_back(std::nextafter(middle, 0.0f));
    }
    for (const KernelSet& set : KernelSets()) {
      int wrong = 0;
      for (int lane = 0; lane < 16; ++lane) {
        std::vector<float> x(lane, 1.0f);
        for (const float border : borders) x.push_back(border);
        for (const float border : borders) x.push_back(-border);
        std::vector<uint32_t> expected;
        for (const float v : x) expected.push_back(Encode(f.id, v, Overflow::kSaturate));
        wrong += WrongCodes(set, f, x, expected);
      }
      INFO(set.id << " " << f.name);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("encode: NaN, infinity and every length", "[kernels]") {
  for (const numerics::Format& f : numerics::Formats()) {
    for (const KernelSet& set : KernelSets()) {
      for (int n = 0; n <= 2 * 16 + 1; ++n) {
        std::vector<float> x;
        std::vector<uint32_t> expected;
        for (int i = 0; i < n; ++i) {
          const uint32_t specials[] = {0x7fc00000u, 0xffc00000u, 0x7fa00000u, 0xffffffffu,
                                       0x7f800000u, 0xff800000u, 0x80000000u, 0x3f900000u};
          x.push_back(std::bit_cast<float>(specials[(i + n) % 8]));
          expected.push_back(Encode(f.id, x.back(), Overflow::kSaturate));
        }
        INFO(set.id << " " << f.name << " " << n);
        REQUIRE(WrongCodes(set, f, x, expected) == 0);
      }
    }
  }
}

struct Quantized {
  std::vector<uint8_t> codes;
  std::vector<float> scales;
};
Quantized Quantize(const KernelSet& set, FormatId id, const std::vector<float>& x, int m, int k,
                   int group) {
  Quantized q;
  q.codes.assign(x.size() * numerics::Get(id).bytes() + 1, 0xaa);
  q.scales.assign(x.size() / group + 1, 123.0f);
  set.quantize(id, x.data(), m, k, group, q.codes.data(), q.scales.data());
  REQUIRE(q.codes.back() == 0xaa);
  REQUIRE(q.scales.back() == 123.0f);
  return q;
}

TEST_CASE("quantize: every row of the table, group and fill", "[kernels]") {
  for (const numerics::Format& f : numerics::Formats()) {
    for (int fill = 0; fill < static_cast<int>(Fill::kCount); ++fill) {
      for (const int group : {1, 3, 4, 7, 12, 16, 255, 256, 257, 600}) {
        for (const int groups : {1, 2, 5}) {
          const int k = group * groups;
          const std::vector<float> x = Filled(static_cast<Fill>(fill), group, 3 * k);
          const Quantized expected = Quantize(Reference(), f.id, x, 3, k, group);
          for (const KernelSet& set : SimdRows()) {
            const Quantized q = Quantize(set, f.id, x, 3, k, group);
            INFO(set.id << " " << f.name << " fill " << fill << " group " << group);
            CHECK(HashFloats(q.scales) == HashFloats(expected.scales));
            // A NaN's sign is not part of the contract.
            int wrong = 0;
            for (size_t i = 0; i < x.size(); ++i) {
              const uint8_t* a = q.codes.data() + i * f.bytes();
              const uint8_t* b = expected.codes.data() + i * f.bytes();
              wrong += std::memcmp(a, b, f.bytes()) != 0 && x[i] == x[i];
            }
            CHECK(wrong == 0);
          }
        }
      }
    }
  }
}

TEST_CASE("quantize: what it gives", "[kernels]") {
  for (const KernelSet& set : KernelSets()) {
    INFO(set.id);
    // Two groups: the largest magnitude becomes 240.
    Quantized q = Quantize(set, FormatId::kE4M3, {1, -4, 2, 0, 0.5f, 0.25f, 0, 0}, 1, 8, 4);
    CHECK(q.scales[0] == 4.0f / 240);
    CHECK(q.scales[1] == 0.5f / 240);
    CHECK(Decode(FormatId::kE4M3, q.codes[1]) == -240);
    CHECK(Decode(FormatId::kE4M3, q.codes[2]) == 120);
    CHECK(Decode(FormatId::kE4M3, q.codes[4]) == 240);
    // A row of zeros, one too small to scale, one with NaN and one with infinity keep scale 1.
    q = Quantize(set, FormatId::kE4M3, {0, -0.0f, 0, 0}, 1, 4, 4);
    CHECK(q.scales[0] == 1);
    CHECK(q.codes[0] == 0);
    CHECK(q.codes[1] == 0x80);
    q = Quantize(set, FormatId::kE4M3, {0, 1e-40f, 0, 0x1p-149f}, 1, 4, 4);
    CHECK(q.scales[0] == 1);
    for (int i = 0; i < 4; ++i) CHECK(q.codes[i] == 0);
    q = Quantize(set, FormatId::kE4M3, {3, kNan, -1, kInf}, 1, 4, 4);
    CHECK(q.scales[0] == 1);
    CHECK(Decode(FormatId::kE4M3, q.codes[0]) == 3);
    CHECK(std::isnan(Decode(FormatId::kE4M3, q.codes[1])));
    q = Quantize(set, FormatId::kE4M3, {3, 5, -kInf, kInf}, 1, 4, 4);
    CHECK(q.scales[0] == 1);
    CHECK(Decode(FormatId::kE4M3, q.codes[2]) == -240);
    CHECK(Decode(FormatId::kE4M3, q.codes[3]) == 240);
    // BF16 has no scale.
    q = Quantize(set, FormatId::kBF16, {3, 500, -7, 1e30f}, 2, 2, 2);
    CHECK(q.scales[0] == 1);
    CHECK(q.scales[1] == 1);
  }
}

}  // namespace
}  // namespace novascope::kernels
