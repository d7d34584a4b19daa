#include "sim/work.h"

#include <algorithm>

namespace novascope::sim {
namespace {

using plan::DType;
using plan::OpKind;

// Published: "nki.isa API reference, SDK 2.26.1", AWS Neuron documentation, read 2026-12-01: one element
// per partition and cycle over 128 partitions, never less than 64 cycles an instruction; FP32 matmuls
// take four times as long.
constexpr int64_t kLanes = 128;
constexpr int64_t kMinCycles = 64;
constexpr uint64_t kFp32Passes = 4;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Derived from the same reference's cost table. Both engines pass over the elements of an op this
// often. Vector: a tensor_scalar, reduce, copy or
// cast costs one pass, a tensor_tensor on FP32 two; Scalar: an activation one, scale and
// accumulation free.
struct ElementRow {
  OpKind kind;
  int vector_passes, scalar_passes;
};
constexpr ElementRow kElementRows[] = {
    {OpKind::kEmbed, 1, 0},     // dequantise
    {OpKind::kUnpack, 1, 0},    // copy
    {OpKind::kRmsNorm, 5, 1},   // square and sum | scale, gamma (2), abs max, quantise
    {OpKind::kRope, 6, 0},      // four products and two sums of half the width, two passes each
    {OpKind::kKvAppend, 1, 0},  // cast
    {OpKind::kAttentionFinish, 4, 0},  // divide (2), abs max, quantise
    {OpKind::kResidual, 2, 0},         // add
    {OpKind::kSwiGlu, 4, 1},           // SiLU | product (2), abs max, quantise
    {OpKind::kSample, 2, 0},           // max8, find_index8
};

// Cycles to take `columns` PSUM columns out, a bank of 512 at a time.
uint64_t DrainCycles(int64_t columns, int64_t bank) {
  const int64_t rest = columns % bank;
  return static_cast<uint64_t>(columns / bank * bank + (rest > 0 ? std::max(kMinCycles, rest) : 0));
}

bool IsFp8(DType type) {  // E3M4 runs at the BF16 rate
  return type == DType::kE4M3 || type == DType::kE4M3FN || type == DType::kE5M2;
}

const plan::TensorDecl& Tensor(const plan::Role& role, const plan::Operand& operand) {
  return role.tensors[static_cast<size_t>(operand.tensor)];
}

// Split over the physical cores of a logical one: by outputs or by the sum's terms, whichever is
// faster.
uint64_t SplitMatmulCycles(const hw::Chip& chip, int64_t n, int64_t k, int64_t columns,
                           int64_t k_tile, int64_t cores) {
  return std::min(MatmulCycles(chip, CeilDiv(n, cores), k, columns, k_tile),
                  MatmulCycles(chip, n, CeilDiv(k, cores), columns, k_tile));
}

Work MatmulWork(const plan::Plan& plan, const plan::Role& role, const plan::Op& op) {
  const hw::Chip& chip = *plan.chip;
  const int64_t cores = plan.options.lnc;
  const DType codes = Tensor(role, op.in[0]).dtype;
  const DType weights = Tensor(role, op.in[2]).dtype;
  Work work{.overlapped = true};
  work.fp8 = IsFp8(codes) && IsFp8(weights);
  const int64_t k_tile = chip.pe_rows.value * (work.fp8 ? chip.fp8_rows_per_cycle.value : 1);
  const bool fp32 = codes == DType::kFP32 || weights == DType::kFP32;
  work.tensor_cycles =
      SplitMatmulCycles(chip, op.n, op.k, op.m, k_tile, cores) * (fp32 ? kFp32Passes : 1);
  // Out of PSUM through the Vector engine; scales of the weights and of the tokens are one pass
  // each.
  const int64_t tiles = CeilDiv(CeilDiv(op.n, cores), chip.pe_columns.value);
  work.vector_cycles =
      DrainCycles(tiles * op.m, chip.matmul_max_n.value) * (plan::DTypeBytes(weights) == 1 ? 2 : 1);
  const auto size = static_cast<uint64_t>(plan::DTypeBytes(weights));
  work.read_bytes = static_cast<uint64_t>(op.n) * static_cast<uint64_t>(op.k) * size;
  if (size == 1) work.read_bytes += static_cast<uint64_t>(op.n) * 4;  // FP32 scale of each output
  work.first_bytes = std::min(work.read_bytes,
                              static_cast<uint64_t>(cores * chip.pe_columns.value * k_tile) * size);
  return work;
}

// Scores and values read this rank's share of the KV pages and run at the BF16 rate whatever the
// cache's format. The share is the mean over the ranks of a head, so that bytes add up. Tiles that
// the causal mask empties are left out.
Work AttentionWork(const plan::Plan& plan, const plan::StepShape& shape, const plan::Op& op) {
  const hw::Chip& chip = *plan.chip;
  const int64_t cores = plan.options.lnc;
  const int64_t sequences = shape.sequences, rows = shape.rows;
  const int64_t kv_heads = plan.kv_heads_per_rank;
  const int64_t own = std::min<int64_t>(rows, (rows + chip.pe_columns.value) / 2);
  const int64_t seen = std::max<int64_t>(1, shape.kv_positions - rows + own);
  const int64_t share = CeilDiv(seen, plan.kv_group);
  const int64_t columns = rows * std::max<int64_t>(1, op.heads / kv_heads);  // queries per KV head
  const int64_t products = CeilDiv(sequences * kv_heads, cores);
  const int64_t split = sequences * kv_heads > 1 ? 1 : cores;
  const int64_t positions = CeilDiv(share, split);
  const int64_t scores = sequences * op.heads * rows * share;
  Work work{.overlapped = true};
  if (op.kind == OpKind::kAttentionScores) {  // K stationary, queries moving
    work.tensor_cycles = static_cast<uint64_t>(products) *
                         MatmulCycles(chip, positions, op.head_dim, columns, chip.pe_rows.value);
    work.vector_cycles = ElementCycles(scores, 2, plan.options.lnc);  // out of PSUM, maximum
  } else {  // V stationary, probabilities moving
    work.tensor_cycles = static_cast<uint64_t>(products) *
                         MatmulCycles(chip, op.head_dim, positions, columns, chip.pe_rows.value);
    work.scalar_cycles = ElementCycles(scores, 1, plan.options.lnc);  // exp, its sum comes free
    work.vector_cycles =
        ElementCycles(sequences * op.heads * rows * op.head_dim, 1, plan.options.lnc);
  }
  const auto size = static_cast<uint64_t>(numerics::Get(plan.options.formats.kv).bytes());
  const auto row = static_cast<uint64_t>(sequences * kv_heads * op.head_dim) * size;
  work.read_bytes =
      static_cast<uint64_t>(CeilDiv(std::max(1, shape.kv_positions), plan.kv_group)) * row;
  work.first_bytes = std::min(
      work.read_bytes, static_cast<uint64_t>(cores * chip.pe_columns.value * op.head_dim) * size);
  return work;
}

Work ElementWork(const plan::Plan& plan, const plan::Program& program, const plan::Role& role,
                 const plan::Op& op) {
  Work work;
  int64_t elements = int64_t{op.m} * op.n;
  if (op.kind == OpKind::kUnpack && op.group >= 0) {
    elements *= program.groups[static_cast<size_t>(op.group)].shape.ranks();
  }
  for (const ElementRow& row : kElementRows) {
    if (row.kind != op.kind) continue;
    work.vector_cycles = ElementCycles(elements, row.vector_passes, plan.options.lnc);
    work.scalar_cycles = ElementCycles(elements, row.scalar_passes, plan.options.lnc);
  }
  if (op.kind == OpKind::kEmbed) {  // the rows of the step's tokens
    const auto size = static_cast<uint64_t>(plan::DTypeBytes(Tensor(role, op.in[2]).dtype));
    work.read_bytes =
        static_cast<uint64_t>(elements) * size + (size == 1 ? static_cast<uint64_t>(op.m) * 4 : 0);
    work.first_bytes = work.read_bytes;
  }
  if (op.kind == OpKind::kKvAppend) {
    const auto size = static_cast<int64_t>(numerics::Get(plan.options.formats.kv).bytes());
    const int64_t bytes = int64_t{op.m} * 2 * plan.kv_heads_per_rank * op.head_dim * size;
    work.write_bytes = static_cast<uint64_t>(CeilDiv(bytes, plan.kv_group));
  }
  return work;
}

}  // namespace

uint64_t MatmulCycles(const hw::Chip& chip, int64_t n, int64_t k, int64_t columns, int64_t k_tile) {
  const int64_t max_m = chip.pe_columns.value, max_n = chip.matmul_max_n.value;
  const int64_t floor = chip.matmul_min_cycles.value;
  const auto over_columns = [&](int64_t m) {  // one stationary tile of m outputs against all tokens
    const int64_t rest = columns % max_n;
    const int64_t pair_floor = std::min(floor, m);
    return columns / max_n * std::max(pair_floor, max_n) +
           (rest > 0 ? std::max(pair_floor, rest) : 0);
  };
  const int64_t rest = n % max_m;
  const int64_t outputs = n / max_m * over_columns(max_m) + (rest > 0 ? over_columns(rest) : 0);
  return static_cast<uint64_t>(CeilDiv(k, k_tile) * outputs);
}

uint64_t ElementCycles(int64_t elements, int passes, int cores) {
  if (elements <= 0 || passes <= 0) return 0;
  return static_cast<uint64_t>(passes * std::max(kMinCycles, CeilDiv(elements, kLanes * cores)));
}

Work WorkOf(const plan::Plan& plan, const plan::Program& program, const plan::Role& role,
            const plan::Op& op) {
  switch (op.kind) {
    case OpKind::kMatmul:
    case OpKind::kMatmulLeaf:
      return MatmulWork(plan, role, op);
    case OpKind::kAttentionScores:
    case OpKind::kAttentionValues:
      return AttentionWork(plan, program.shape, op);
    case OpKind::kAllGather:
    case OpKind::kAllReduceSum:
    case OpKind::kAllReduceMax:
    case OpKind::kGather:
    case OpKind::kSend:
    case OpKind::kRecv:
      return {};
    default:
      return ElementWork(plan, program, role, op);
  }
}

}  // namespace novascope::sim
