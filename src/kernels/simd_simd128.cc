// The row "simd128": WebAssembly SIMD128 without relaxed instructions.
#include "kernels/kernel_rows.h"
#include "kernels/simd_rows.h"

namespace novascope::kernels {
namespace {

constexpr KernelSet kRow = MakeRow<Simd128Isa>("simd128", "WASM SIMD128");

}  // namespace

const KernelSet& Simd128Row() { return kRow; }

}  // namespace novascope::kernels
