// The row "relaxed": the same source with fused multiply-add on exact products and table lookups
// whose indices are always defined. Natively built for a CPU with FMA, and listed only where there
// is one.
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
  // 15 - i is 0 to 15 for those, and 144 to 255 for 16 to 127.
  static v128_t Sparse(v128_t table) {
    return wasm_i8x16_shuffle(table, table, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  }
  static v128_t SparseIndex(v128_t index) { return wasm_i8x16_sub(wasm_i8x16_splat(15), index); }
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
