// The constants of numerics::Exp, for code that evaluates it in SIMD lanes and must give the same
// bits. The rule, every step a single IEEE FP32 operation (a NaN passes all comparisons):
//
//   x = x > kHigh ? kHigh : x
//   x = x < kLow ? kLow : x
//   t = x * kLog2E + kMagic
//   n = bits(t) - bits(kMagic), f = t - kMagic: both round(x / ln 2)
//   r = (x - f * kLn2High) - f * kLn2Low
//   p = kTerms[0], then for each further term p = p * r + term
//   p = ((p * (r * r)) + r) + 1
//   e^x = (p * 2^(n >> 1)) * 2^(n - (n >> 1)): two steps reach the subnormals
#pragma once

namespace novascope::numerics::exp_rule {

inline constexpr float kHigh = 89.0f;   // above this the result is infinite
inline constexpr float kLow = -104.0f;  // below this it rounds to zero
inline constexpr float kLog2E = 0x1.715476p0f;
inline constexpr float kMagic = 0x1.8p23f;
// ln 2 in two parts; the first has 10 significant bits, so that f * kLn2High is exact.
inline constexpr float kLn2High = 0x1.63p-1f;
inline constexpr float kLn2Low = -0x1.bd0106p-13f;
// 1/7!, 1/6! ... 1/2!: the remainder of the series is below 0.1 ulp for |r| <= 0.35.
inline constexpr float kTerms[] = {1.0f / 5040, 1.0f / 720, 1.0f / 120,
                                   1.0f / 24,   1.0f / 6,   1.0f / 2};

}  // namespace novascope::numerics::exp_rule
