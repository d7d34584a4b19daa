// Our own elementary functions, so that every build (native, wasm, any libm) gives the same bits.
// All are FP32 in, FP32 out, computed with FP32/FP64 mul and add only (no FMA, no libm).
#pragma once

namespace novascope::numerics {

// e^x. Within 2 ulp; 0 below -103.98 and +inf above 88.73; NaN for NaN.
float Exp(float x);
// Natural logarithm. Within 2 ulp; -inf for 0, NaN below 0.
float Log(float x);
// Sine and cosine of an angle in radians, |x| <= 1e5, absolute error below 1e-7.
void SinCos(double x, float* sine, float* cosine);
// base^exponent for RoPE frequencies: exp2(exponent * log2(base)) in FP64, deterministic, base > 0.
double Pow(double base, double exponent);

}  // namespace novascope::numerics
