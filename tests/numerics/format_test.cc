// Number formats against a second, independent definition: a sorted list of every finite value of
// the format, in double, and its exact midpoints.
#include "numerics/format.h"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "numerics/decode_table.h"

namespace novascope::numerics {
namespace {

using enum FormatId;
constexpr Overflow kSat = Overflow::kSaturate;
constexpr Overflow kSpec = Overflow::kSpecial;

// The value of a code from the definition in the format's specification, with libm's ldexp.
double Definition(const Format& f, uint32_t code) {
  const int field = static_cast<int>(code >> f.mantissa_bits & ((1u << f.exponent_bits) - 1));
  const uint32_t fraction = code & ((1u << f.mantissa_bits) - 1);
  const double sign = code >> (f.bits - 1) != 0 ? -1 : 1;
  const int top = (1 << f.exponent_bits) - 1;
  if (field == top && f.has_infinity) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  if (field == top && fraction == (1u << f.mantissa_bits) - 1) return std::nan("");
  const double part = std::ldexp(static_cast<double>(fraction), -f.mantissa_bits);
  if (field == 0) return sign * std::ldexp(part, 1 - f.bias);
  return sign * std::ldexp(1 + part, field - f.bias);
}

bool IsNanCode(const Format& f, uint32_t code) { return std::isnan(Definition(f, code)); }

TEST_CASE("formats: rows are complete and names unique", "[numerics]") {
  REQUIRE(Formats().size() == 7);
  for (size_t i = 0; i < Formats().size(); ++i) {
    const Format& f = Formats()[i];
    INFO(f.name);
    CHECK(static_cast<size_t>(f.id) == i);
    CHECK(1 + f.exponent_bits + f.mantissa_bits == f.bits);
    CHECK(std::string(f.source).size() > 10);
    CHECK(std::string(f.label).size() > 3);
    CHECK(FindFormat(f.name, "format").value() == f.id);
    CHECK(f.min_normal == std::ldexp(1.0, 1 - f.bias));
    CHECK(f.min_subnormal == std::ldexp(1.0, 1 - f.bias - f.mantissa_bits));
    CHECK(Decode(f.id, 1) == f.min_subnormal);
    CHECK(Decode(f.id, Encode(f.id, HUGE_VAL, kSat)) == f.max_finite);
  }
}

TEST_CASE("formats: an unknown name lists the known ones", "[numerics]") {
  for (const char* name : {"", "E4M3", "fp8", "e4m3 ", "bf\xff"}) {
    const Result<FormatId> found = FindFormat(name, "weights");
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().code == ErrorCode::kUnknownId);
    CHECK(found.error().field == "weights");
    CHECK(found.error().fix.find("e4m3, e4m3fn, e5m2, e3m4, bf16, fp16, fp32") !=
          std::string::npos);
  }
}

TEST_CASE("formats: every code decodes to its definition and back", "[numerics]") {
  for (const Format& f : Formats()) {
    const uint64_t step = f.bits == 32 ? 9973 : 1;
    int wrong = 0;
    for (uint64_t c = 0; c < uint64_t{1} << f.bits; c += step) {
      const auto code = static_cast<uint32_t>(c);
      const double expected = Definition(f, code);
      const double value = Decode(f.id, code);
      const bool negative = code >> (f.bits - 1) != 0;
      if (std::isnan(expected)) {
        const uint64_t bits = negative ? 0xfff8000000000000u : 0x7ff8000000000000u;
        wrong += std::bit_cast<uint64_t>(value) != bits;
        continue;
      }
      wrong += value != expected || std::signbit(value) != negative;
      const uint32_t saturated = Encode(f.id, value, kSat);
      wrong += Encode(f.id, value, kSpec) != code;
      wrong += std::isinf(value) ? std::fabs(Decode(f.id, saturated)) != f.max_finite
                                 : saturated != code;
      wrong += Encode(f.id, static_cast<float>(value), kSpec) != code;
      wrong += Encode(f.id, static_cast<float>(value), kSat) != saturated;
    }
    INFO(f.name);
    CHECK(wrong == 0);
    if (f.bits == 8) {
      for (uint32_t code = 0; code < 256; ++code) {
        const float value = DecodeTable(f.id)[code];
        CHECK((IsNanCode(f, code) ? std::isnan(value) : value == Definition(f, code)));
      }
    }
  }
}

TEST_CASE("formats: how many NaN codes each has", "[numerics]") {
  const auto count = [](FormatId id) {
    int nans = 0;
    for (uint32_t c = 0; c < 1u << Get(id).bits; ++c) nans += std::isnan(Decode(id, c));
    return nans;
  };
  CHECK(count(kE4M3) == 14);
  CHECK(count(kE4M3FN) == 2);
  CHECK(count(kE5M2) == 6);
  CHECK(count(kE3M4) == 30);
  CHECK(count(kBF16) == 254);
  CHECK(count(kFP16) == 2046);
}

// Nearest even among all finite values, by search. The value beyond the largest decides overflow.
class Nearest {
 public:
  explicit Nearest(const Format& f) : f_(f) {
    for (uint32_t code = 0; code < 1u << (f.bits - 1); ++code) {
      const double value = Definition(f, code);
      if (!std::isfinite(value)) break;
      values_.push_back(value);
    }
    values_.push_back(2 * values_.back() - values_[values_.size() - 2]);
  }

  // Values where the result changes: the midpoints.
  std::vector<double> Midpoints() const {
    std::vector<double> points;
    for (size_t i = 0; i + 1 < values_.size(); ++i)
      points.push_back((values_[i] + values_[i + 1]) / 2);
    return points;
  }

  uint32_t operator()(double x, Overflow overflow) const {
    const uint32_t sign = std::signbit(x) ? 1u << (f_.bits - 1) : 0;
    const double a = std::fabs(x);
    const auto above = std::lower_bound(values_.begin(), values_.end(), a);
    size_t code = static_cast<size_t>(above - values_.begin());
    if (above == values_.end()) {
      code = values_.size() - 1;
    } else if (*above != a) {
      const double middle = (values_[code - 1] + values_[code]) / 2;
      if (a < middle || (a == middle && code % 2 == 1)) --code;
    }
    if (code < values_.size() - 1) return sign | static_cast<uint32_t>(code);
    if (overflow == Overflow::kSaturate) return sign | static_cast<uint32_t>(code - 1);
    return sign | static_cast<uint32_t>(code);  // infinity, or E4M3FN's NaN, is the next code
  }

 private:
  const Format& f_;
  std::vector<double> values_;
};

TEST_CASE("encode: nearest even from FP32 and FP64, by search", "[numerics]") {
  for (const FormatId id : {kE4M3, kE4M3FN, kE5M2, kE3M4, kFP16, kBF16}) {
    const Format& f = Get(id);
    const Nearest nearest(f);
    int wrong = 0;
    const auto check = [&](double x) {
      for (const Overflow overflow : {kSat, kSpec}) {
        wrong += Encode(id, x, overflow) != nearest(x, overflow);
        wrong += Encode(id, -x, overflow) != nearest(-x, overflow);
      }
    };
    const auto check32 = [&](float x) {
      for (const Overflow overflow : {kSat, kSpec}) {
        wrong += Encode(id, x, overflow) != nearest(x, overflow);
        wrong += Encode(id, -x, overflow) != nearest(-x, overflow);
      }
    };
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += 20011) check32(std::bit_cast<float>(bits));
    for (const double middle : nearest.Midpoints()) {
      check(middle);
      check(std::nextafter(middle, HUGE_VAL));
      check(std::nextafter(middle, 0.0));
      const auto single = static_cast<float>(middle);
      if (!std::isfinite(single)) continue;
      check32(single);
      check32(std::nextafter(single, std::numeric_limits<float>::infinity()));
      check32(std::nextafter(single, 0.0f));
    }
    for (const double x : {0.0, 5e-324, 1e-300, 1e300, std::numeric_limits<double>::max()})
      check(x);
    INFO(f.name);
    CHECK(wrong == 0);
  }
}

TEST_CASE("encode: FP32 from FP64 rounds like the hardware", "[numerics]") {
  int wrong = 0;
  for (uint64_t i = 0; i < 200'000; ++i) {
    // Doubles all over the FP32 range, with interesting low bits.
    const uint64_t bits = (i * 0x9e3779b97f4a7c15u) >> 1;
    const double x =
        std::bit_cast<double>((bits & 0x000fffffffffffffu) | (1023 - 160 + bits % 300) << 52);
    const auto expected = static_cast<float>(x);
    wrong += Encode(kFP32, x, kSpec) != std::bit_cast<uint32_t>(expected);
    const double middle =
        (double{expected} + std::nextafter(expected, std::numeric_limits<float>::infinity())) / 2;
    if (std::isfinite(middle)) {
      wrong += Encode(kFP32, middle, kSpec) != std::bit_cast<uint32_t>(static_cast<float>(middle));
    }
  }
  CHECK(wrong == 0);
  CHECK(Encode(kFP32, 1e300, kSpec) == 0x7f800000u);
  CHECK(Encode(kFP32, -1e300, kSat) == 0xff7fffffu);
}

TEST_CASE("encode: facts about overflow and subnormals", "[numerics]") {
  CHECK(Encode(kE4M3FN, 464.0, kSpec) == 0x7e);
  CHECK(Decode(kE4M3FN, 0x7e) == 448);
  CHECK(Encode(kE4M3FN, 465.0, kSpec) == 0x7f);
  CHECK(std::isnan(Decode(kE4M3FN, 0x7f)));
  CHECK(Encode(kE4M3FN, 464.00003f, kSpec) == 0x7f);
  CHECK(Encode(kE4M3, 247.99, kSpec) == 0x77);
  CHECK(Encode(kE4M3, 248.0, kSpec) == 0x78);
  CHECK(Decode(kE4M3, 0x78) == HUGE_VAL);
  CHECK(Encode(kE4M3, 248.0, kSat) == 0x77);
  CHECK(Decode(kE4M3, 0x77) == 240);
  CHECK(Encode(kE5M2, 61439.0, kSpec) == 0x7b);
  CHECK(Encode(kE5M2, 61440.0, kSpec) == 0x7c);
  CHECK(Encode(kE5M2, 65504.0, kSat) == 0x7b);
  CHECK(Encode(kE3M4, 15.74, kSpec) == 0x6f);
  CHECK(Encode(kE3M4, 15.75, kSpec) == 0x70);
  CHECK(Encode(kFP16, 65519.0, kSpec) == 0x7bff);
  CHECK(Encode(kFP16, 65520.0, kSpec) == 0x7c00);
  for (const FormatId id : {kE4M3, kE4M3FN}) {
    CHECK(Decode(id, Encode(id, 0x1p-10, kSpec)) == 0);
    CHECK(Decode(id, Encode(id, 0x1.8p-10, kSpec)) == 0x1p-9);
    CHECK(Decode(id, Encode(id, 0x1.8p-9, kSpec)) == 0x1p-8);
    CHECK(Encode(id, 0x1.000002p-10f, kSpec) == 0x01);
    CHECK(Encode(id, 7.5 * 0x1p-9, kSpec) == 0x08);
    CHECK(Decode(id, Encode(id, 1.31640625, kSpec)) == 1.375);
    CHECK(Decode(id, Encode(id, 4.25, kSpec)) == 4.0);
    CHECK(Decode(id, Encode(id, 4.75, kSpec)) == 5.0);
  }
  CHECK(Encode(kE4M3FN, HUGE_VAL, kSpec) == 0x7f);
  CHECK(Encode(kE4M3FN, -HUGE_VAL, kSat) == 0xfe);
  CHECK(Encode(kE5M2, HUGE_VAL, kSpec) == 0x7c);
}

// Conversion bugs found in other software, each by the name it is known under. The E4M3 ones hold
// for both kinds of E4M3 where the value is below 240.
struct BugVector {
  const char* name;
  FormatId format;
  double input;
  bool from_fp32;
  Overflow overflow;
  uint32_t right;
};
constexpr BugVector kBugVectors[] = {
    {"double rounding via f16", kE4M3FN, 1.0625 + 0x1p-20, true, kSpec, 0x39},
    {"double rounding via f16, Trainium2", kE4M3, 1.0625 + 0x1p-20, true, kSpec, 0x39},
    {"double rounding via f32, 432", kE4M3FN, -431.99999999999994, false, kSpec, 0xfd},
    {"double rounding via f32, 1.0625", kE4M3FN, 1.0625 + 0x1p-40, false, kSpec, 0x39},
    {"double rounding via f32, 464", kE4M3FN, 464.0000001, false, kSpec, 0x7f},
    {"double rounding via f32, subnormal", kE4M3FN, 0x1p-10 + 0x1p-60, false, kSpec, 0x01},
    {"ties away from zero, 1.125", kE5M2, 1.125, true, kSpec, 0x3c},
    {"ties away from zero, 1.625", kE5M2, 1.625, true, kSpec, 0x3e},
    {"off by one", kE4M3FN, 1.8131605, true, kSpec, 0x3f},
    {"truncation", kE4M3FN, 232.03683398, true, kSpec, 0x77},
    {"lost carry", kE4M3FN, 126.24, true, kSpec, 0x70},
    {"subnormals rounded twice, low", kE4M3FN, 0.000538887, true, kSpec, 0x00},
    {"subnormals rounded twice, high", kE4M3FN, 0.00112769, true, kSpec, 0x01},
    {"subnormals flushed, 2^-16", kE5M2, 0x1p-16, true, kSpec, 0x01},
    {"subnormals flushed, 1e-5", kE5M2, 1e-5, true, kSpec, 0x01},
    {"shift count overflow", kE5M2, 4.1e-25, true, kSpec, 0x00},
    {"finite overflow becomes NaN though saturating", kE4M3FN, 672, true, kSat, 0x7e},
    {"saturation, 464", kE4M3FN, 464, true, kSpec, 0x7e},
    {"saturation, 465", kE4M3FN, 465, true, kSpec, 0x7f},
    {"saturation, infinity", kE4M3FN, HUGE_VAL, true, kSpec, 0x7f},
    {"saturation, 464 clamped", kE4M3FN, 464, true, kSat, 0x7e},
    {"saturation, 465 clamped", kE4M3FN, 465, true, kSat, 0x7e},
    {"saturation, infinity clamped", kE4M3FN, HUGE_VAL, true, kSat, 0x7e},
    {"saturation, e5m2 infinity", kE5M2, HUGE_VAL, true, kSpec, 0x7c},
    {"minus zero becomes NaN", kE4M3FN, -0.0, true, kSpec, 0x80},
    {"minus zero becomes NaN, e5m2", kE5M2, -0.0, true, kSpec, 0x80},
};

TEST_CASE("encode: known bugs of other software", "[numerics]") {
  for (const BugVector& bug : kBugVectors) {
    INFO(bug.name);
    CHECK(Encode(bug.format, bug.input, bug.overflow) == bug.right);
    if (bug.from_fp32) {
      CHECK(Encode(bug.format, static_cast<float>(bug.input), bug.overflow) == bug.right);
    }
  }
  // Subnormal decoded as normal, and the top code as 480.
  CHECK(Decode(kE4M3FN, 0x01) == 0x1p-9);
  CHECK(std::isnan(Decode(kE4M3FN, 0x7f)));
  // A signalling NaN taken for infinity or for a finite value.
  for (const Format& f : Formats()) {
    const uint32_t code = Encode(f.id, std::bit_cast<float>(0x7fa00000u), kSat);
    INFO(f.name);
    CHECK(IsNanCode(f, code));
  }
}

TEST_CASE("encode: NaN keeps its sign and becomes the one NaN", "[numerics]") {
  const uint32_t expected[] = {0x7c, 0x7f, 0x7e, 0x78, 0x7fc0, 0x7e00, 0x7fc00000u};
  for (const Format& f : Formats()) {
    const uint32_t nan = expected[static_cast<int>(f.id)];
    const uint32_t sign = 1u << (f.bits - 1);
    for (const uint32_t payload : {1u, 0x400000u, 0x7fffffu}) {
      for (const Overflow overflow : {kSat, kSpec}) {
        CHECK(Encode(f.id, std::bit_cast<float>(0x7f800000u | payload), overflow) == nan);
        CHECK(Encode(f.id, std::bit_cast<float>(0xff800000u | payload), overflow) == (nan | sign));
      }
    }
    CHECK(Encode(f.id, std::bit_cast<double>(0x7ff0000000000001u), kSat) == nan);
    CHECK(Encode(f.id, std::bit_cast<double>(0xfff8000000000000u), kSpec) == (nan | sign));
  }
}

TEST_CASE("bf16: the short way equals the definition", "[numerics]") {
  int wrong = 0;
  for (uint64_t b = 0; b < uint64_t{1} << 32; b += 251) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(b));
    wrong += ToBf16(x) != Encode(kBF16, x, kSpec);
  }
  CHECK(wrong == 0);
  for (uint32_t code = 0; code < 1u << 16; ++code) {
    const float x = FromBf16(static_cast<uint16_t>(code));
    wrong += std::bit_cast<uint32_t>(x) != code << 16;
    if (x == x) wrong += x != Decode(kBF16, code);
  }
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace novascope::numerics
