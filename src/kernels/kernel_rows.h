// The rows that make up KernelSets(), one function per source file that defines a row.
#pragma once

#include "kernels/kernels.h"

// A wasm module with relaxed instructions does not load in an engine without them, so the baseline
// binary is built without the row.
#if defined(__wasm__) && !defined(__wasm_relaxed_simd__)
#define NOVASCOPE_HAS_RELAXED_ROW 0
#else
#define NOVASCOPE_HAS_RELAXED_ROW 1
#endif

namespace novascope::kernels {

const KernelSet& ReferenceRow();
const KernelSet& Simd128Row();
#if NOVASCOPE_HAS_RELAXED_ROW
const KernelSet& RelaxedRow();
bool RelaxedRowRuns();  // whether this CPU has the instructions
#endif

}  // namespace novascope::kernels
