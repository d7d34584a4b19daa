#include "numerics/math.h"

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "base/hash.h"

namespace novascope::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The distance of `got` from the exact value in units of the last place of FP32.
double UlpError(float got, double exact) {
  if (got == static_cast<float>(exact)) return 0;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(got - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

TEST_CASE("exp: within 2 ulp, down into the subnormals", "[numerics]") {
  double worst = 0;
  float at = 0;
  for (uint64_t b = 0; b < uint64_t{1} << 32; b += 1009) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(b));
    if (!(x > -105.0f && x < 88.72f)) continue;
    const double error = UlpError(Exp(x), std::exp(double{x}));
    if (error > worst) {
      worst = error;
      at = x;
    }
  }
  INFO("worst " << worst << " ulp at " << at);
  CHECK(worst < 1.5);
}

TEST_CASE("exp: ends of the range", "[numerics]") {
  CHECK(Exp(0.0f) == 1.0f);
  CHECK(Exp(-0.0f) == 1.0f);
  CHECK(Exp(0x1p-149f) == 1.0f);
  CHECK(Exp(88.72f) < kInf);
  CHECK(Exp(88.73f) == kInf);
  CHECK(Exp(1e30f) == kInf);
  CHECK(Exp(kInf) == kInf);
  CHECK(Exp(-103.9f) == 0x1p-149f);
  CHECK(Exp(-103.98f) == 0.0f);
  CHECK(Exp(-1e30f) == 0.0f);
  CHECK(Exp(-kInf) == 0.0f);
  CHECK_FALSE(std::signbit(Exp(-kInf)));
  CHECK(std::isnan(Exp(kNan)));
  CHECK(std::isnan(Exp(-kNan)));
}

TEST_CASE("log: within 2 ulp", "[numerics]") {
  double worst = 0;
  for (uint32_t b = 1; b < 0x7f800000u; b += 997) {
    const auto x = std::bit_cast<float>(b);
    worst = std::max(worst, UlpError(Log(x), std::log(double{x})));
  }
  // Where the result is near zero.
  for (int i = -2000; i <= 2000; ++i) {
    const float x = std::bit_cast<float>(std::bit_cast<uint32_t>(1.0f) + static_cast<uint32_t>(i));
    worst = std::max(worst, UlpError(Log(x), std::log(double{x})));
  }
  INFO("worst " << worst << " ulp");
  CHECK(worst < 1.0);
  CHECK(Log(1.0f) == 0.0f);
  CHECK(Log(0.0f) == -kInf);
  CHECK(Log(-0.0f) == -kInf);
  CHECK(Log(kInf) == kInf);
  CHECK(std::isnan(Log(-1.0f)));
  CHECK(std::isnan(Log(-kInf)));
  CHECK(std::isnan(Log(kNan)));
}

TEST_CASE("sine and cosine: within 1e-7", "[numerics]") {
  double worst = 0;
  const auto check = [&](double x) {
    float sine = 0;
    float cosine = 0;
    SinCos(x, &sine, &cosine);
    worst = std::max({worst, std::fabs(sine - std::sin(x)), std::fabs(cosine - std::cos(x))});
  };
  for (int i = -400'000; i <= 400'000; ++i) check(i * 0.2499913);
  for (int i = 0; i < 4096; ++i) check(i);  // positions times the highest RoPE frequency
  for (int i = -60'000; i <= 60'000; i += 7) check(i * 1.5707963267948966);
  check(1e5);
  check(-1e5);
  CHECK(worst < 1e-7);
  float sine = 1;
  float cosine = 1;
  for (const double x : {1.00001e5, -2e9, HUGE_VAL, std::nan("")}) {
    SinCos(x, &sine, &cosine);
    CHECK(std::isnan(sine));
    CHECK(std::isnan(cosine));
  }
  SinCos(0, &sine, &cosine);
  CHECK(sine == 0.0f);
  CHECK(cosine == 1.0f);
}

TEST_CASE("pow: RoPE frequencies and the ends of the range", "[numerics]") {
  double worst = 0;
  for (const double base : {1e-310, 1e-5, 0.5, 2.0, 10'000.0, 500'000.0, 1e300}) {
    for (int i = -300; i <= 300; ++i) {
      const double exact = std::pow(base, i * 0.0137);
      if (exact == 0 || std::isinf(exact)) continue;
      worst = std::max(worst, std::fabs(Pow(base, i * 0.0137) / exact - 1));
    }
  }
  CHECK(worst < 1e-12);
  CHECK(Pow(10'000, 0) == 1);
  CHECK(Pow(1, 123) == 1);
  CHECK(Pow(10, 400) == HUGE_VAL);
  CHECK(Pow(10, -400) == 0);
  CHECK(std::isnan(Pow(0, 1)));
  CHECK(std::isnan(Pow(-2, 1)));
  CHECK(std::isnan(Pow(2, std::nan(""))));
}

TEST_CASE("elementary functions: the same bits on every machine", "[numerics]") {
  // Recorded once; native and wasm builds must all give them.
  uint64_t hash = kHashSeed;
  const auto add = [&](float v) {
    const uint32_t bits = v != v ? 0x7fc00000u : std::bit_cast<uint32_t>(v);
    hash = HashBytes(&bits, sizeof(bits), hash);
  };
  for (uint64_t b = 0; b < uint64_t{1} << 32; b += 65521) {
    const auto x = std::bit_cast<float>(static_cast<uint32_t>(b));
    add(Exp(x));
    add(Log(x));
    float sine = 0;
    float cosine = 0;
    SinCos(x, &sine, &cosine);
    add(sine);
    add(cosine);
    add(static_cast<float>(Pow(x, 0.375)));
  }
  CHECK(hash == 0xff20f4a33a38143eu);
}

}  // namespace
}  // namespace novascope::numerics
