// The row "relaxed": the same source with fused multiply-add on exact products and table lookups whose
// indices are always defined. Natively built for a CPU with FMA, and listed only where there is one.
#include "kernels/kernel_rows.h"

#if NOVASCOPE_HAS_RELAXED_ROW
#include "kernels/simd_rows.h"

namespace novascope::kernels {
namespace {

// Local to this file, so that no code built with its flags is shared with other files.
struct RelaxedIsa {
  static constexpr bool kFused = true;
  static v128_t MulAdd(v128_t a, v128_t b, v128_t c) { return wasm_f32x4_relaxed_madd(a, b, c); }
  static v128_t Lookup(v128_t table, v128_t index) {
    return wasm_i8x16_relaxed_swizzle(table, index);
  }
  // 0 to 15 stay; 16 to 127 get the top bit.
  static v128_t ZeroFrom16(v128_t index) {
    return wasm_v128_and(wasm_i8x16_add(index, wasm_i8x16_splat(0x70)),
                         wasm_i8x16_splat(-0x71));
  }
};

constexpr KernelSet kRow = MakeRow<RelaxedIsa>("relaxed", "WASM relaxed SIMD");

}  // namespace

const KernelSet& RelaxedRow() { return kRow; }

bool RelaxedRowRuns() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

}  // namespace novascope::kernels
#endif
