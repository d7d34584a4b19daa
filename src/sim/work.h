// What one op asks of one logical core: engine cycles and HBM bytes, by the tile arithmetic and the
// instruction costs published for NeuronCore-v3. A logical core at LNC=2 splits an op over two
// physical cores; cycles are those of the busier one.
#pragma once

#include <cstdint>

#include "plan/plan.h"
#include "plan/program.h"

namespace novascope::sim {

struct Work {
  uint64_t tensor_cycles = 0, vector_cycles = 0, scalar_cycles = 0;
  // Engines work on one tile after another side by side (matmul, attention); else the Scalar
  // engine's part comes first and the Vector engine's after it.
  bool overlapped = false;
  uint64_t read_bytes = 0;   // weights or KV pages: the DMA queue streams them ahead of the engines
  uint64_t first_bytes = 0;  // of those, what must be there before the first engine can start
  uint64_t write_bytes = 0;  // KV appended: posted, nobody waits for it within the step
  bool fp8 = false;          // a matmul at the double-FP8 rate
};

// Tensor engine cycles of out[n][columns] = weights[n][k] x tokens[k][columns] on one physical
// core: stationary tiles of k_tile x 128 weights, tokens moving 512 at a time, max(min(64, M), N)
// per pair.
uint64_t MatmulCycles(const hw::Chip& chip, int64_t n, int64_t k, int64_t columns, int64_t k_tile);

// Vector or Scalar engine cycles of `passes` instructions over `elements`, spread over 128 lanes of
// each of `cores` physical cores.
uint64_t ElementCycles(int64_t elements, int passes, int cores);

Work WorkOf(const plan::Plan& plan, const plan::Program& program, const plan::Role& role,
            const plan::Op& op);

}  // namespace novascope::sim
