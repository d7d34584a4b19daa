// The one door to SIMD: the intrinsics of <wasm_simd128.h>, in wasm the compiler's own, natively
// SIMDe's under the same names.
#pragma once

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#define SIMDE_WASM_RELAXED_SIMD_ENABLE_NATIVE_ALIASES
#include <simde/wasm/relaxed-simd.h>
#include <simde/wasm/simd128.h>
#endif

#include <utility>

namespace novascope::kernels {

// What the row "simd128" does where the row "relaxed" may use a relaxed instruction.
struct Simd128Isa {
  static constexpr bool kFused = false;
  // a * b + c, where the product is exact.
  static v128_t MulAdd(v128_t a, v128_t b, v128_t c) {
    return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
  }
  // Bytes of a 16-byte table; 0 where the index is 128 or more. No index may be 16 to 127.
  static v128_t Lookup(v128_t table, v128_t index) { return wasm_i8x16_swizzle(table, index); }
  // Lookup(Sparse(table), SparseIndex(i)) is table[i] for i below 16, 0 for 16 to 127.
  static v128_t Sparse(v128_t table) { return table; }
  static v128_t SparseIndex(v128_t index) { return index; }
};

// Calls f(0) ... f(N - 1) with constants, so that arrays indexed by them become registers.
template <int N, typename F>
inline __attribute__((always_inline)) void Unroll(F&& f) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, kIndex>{}), ...);
  }
  (std::make_integer_sequence<int, N>{});
}

}  // namespace novascope::kernels
