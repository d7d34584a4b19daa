#include "numerics/math.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "numerics/exp.h"

namespace novascope::numerics {
namespace {

// ln 2 and pi/2 in two parts, the first short enough that its product with a small integer is
// exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kHalfPiHigh = 0x1.921fb544p0;
constexpr double kHalfPiLow = 0x1.0b4611a626331p-34;
constexpr double kMagic = 0x1.8p52;  // adding it leaves the nearest integer in the low bits

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The nearest integer to x, |x| < 2^31, as a double and as an integer.
double NearestInteger(double x, int32_t* integer) {
  const double shifted = x + kMagic;
  *integer = static_cast<int32_t>(static_cast<uint32_t>(std::bit_cast<uint64_t>(shifted)));
  return shifted - kMagic;
}

// 2^n for the exponents of normal numbers.
float PowerOfTwo32(int32_t n) {
  return std::bit_cast<float>((static_cast<uint32_t>(n) + 127u) << 23);
}
double PowerOfTwo64(int32_t n) {
  return std::bit_cast<double>(static_cast<uint64_t>(static_cast<int64_t>(n) + 1023) << 52);
}

// ln x of a positive normal finite x, relative error below 1e-15.
double LogFinite(double x) {
  uint64_t bits = std::bit_cast<uint64_t>(x);
  // Split x into 2^exponent * m with m between sqrt(1/2) and sqrt(2), so that ln m is small near 1.
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcdu;
  const int64_t exponent = static_cast<int64_t>(bits - kSqrtHalf) >> 52;
  bits -= static_cast<uint64_t>(exponent) << 52;
  const double m = std::bit_cast<double>(bits);
  // ln m = 2 artanh z; z^2 < 0.0295, so eleven terms reach the last bit.
  const double z = (m - 1) / (m + 1);
  const double z2 = z * z;
  double sum = 1.0 / 21;
  for (int odd = 19; odd >= 1; odd -= 2) sum = sum * z2 + 1.0 / odd;
  const double e = static_cast<double>(exponent);
  return e * kLn2High + (e * kLn2Low + 2 * z * sum);
}

double Exp64(double x) {
  if (x != x) return x;
  if (x > 710) return kInfinity;
  if (x < -746) return 0;
  int32_t n = 0;
  const double f = NearestInteger(x * 0x1.71547652b82fep0, &n);
  const double r = (x - f * kLn2High) - f * kLn2Low;
  // 1 + r + r^2/2 + ... + r^13/13!, as 1 + r(1 + r/2(1 + r/3(...))).
  double p = 1;
  for (int term = 13; term >= 1; --term) p = 1 + p * (r / term);
  const int32_t half = n >> 1;
  return p * PowerOfTwo64(half) * PowerOfTwo64(n - half);
}

}  // namespace

float Exp(float x) {
  namespace rule = exp_rule;
  x = x > rule::kHigh ? rule::kHigh : x;
  x = x < rule::kLow ? rule::kLow : x;
  const float t = x * rule::kLog2E + rule::kMagic;
  const auto n =
      static_cast<int32_t>(std::bit_cast<uint32_t>(t) - std::bit_cast<uint32_t>(rule::kMagic));
  const float f = t - rule::kMagic;
  const float r = (x - f * rule::kLn2High) - f * rule::kLn2Low;
  float p = rule::kTerms[0];
  for (int i = 1; i < 6; ++i) p = p * r + rule::kTerms[i];
  p = (p * (r * r) + r) + 1.0f;
  const int32_t half = n >> 1;
  // In unsigned arithmetic: for NaN, n is any number.
  const auto rest = static_cast<int32_t>(static_cast<uint32_t>(n) - static_cast<uint32_t>(half));
  return (p * PowerOfTwo32(half)) * PowerOfTwo32(rest);
}

float Log(float x) {
  if (x != x) return x;
  if (x < 0) return static_cast<float>(kNan);
  if (x == 0) return static_cast<float>(-kInfinity);
  if (x > std::numeric_limits<float>::max()) return x;
  return static_cast<float>(LogFinite(x));
}

void SinCos(double x, float* sine, float* cosine) {
  if (!(x >= -1e5 && x <= 1e5)) {
    *sine = *cosine = static_cast<float>(kNan);
    return;
  }
  int32_t quadrant = 0;
  const double f = NearestInteger(x * 0x1.45f306dc9c883p-1, &quadrant);
  const double r = (x - f * kHalfPiHigh) - f * kHalfPiLow;
  const double r2 = r * r;
  double s = 1;
  double c = 1;
  for (int i = 14; i >= 2; i -= 2) {
    s = 1 - s * (r2 / (i * (i + 1)));
    c = 1 - c * (r2 / (i * (i - 1)));
  }
  s *= r;
  const bool swap = (quadrant & 1) != 0;
  const double sin_abs = swap ? c : s;
  const double cos_abs = swap ? s : c;
  *sine = static_cast<float>((quadrant & 2) != 0 ? -sin_abs : sin_abs);
  *cosine = static_cast<float>(((quadrant + 1) & 2) != 0 ? -cos_abs : cos_abs);
}

double Pow(double base, double exponent) {
  if (!(base > 0)) return kNan;
  if (base > std::numeric_limits<double>::max()) {
    return exponent > 0 ? kInfinity : exponent < 0 ? 0 : exponent == 0 ? 1 : kNan;
  }
  // Subnormals are lifted into the normal range first.
  const bool subnormal = base < std::numeric_limits<double>::min();
  const double lift = 60 * (kLn2High + kLn2Low);
  const double log = subnormal ? LogFinite(base * 0x1p60) - lift : LogFinite(base);
  return Exp64(exponent * log);
}

}  // namespace novascope::numerics
