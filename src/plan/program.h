// A Program is what the machine must do for one step, out of model x plan: it knows nothing of time or
// arithmetic. It is SPMD and folded: a role is a pipeline stage; all TP ranks of a stage run the same ops
// on tensors of the same shape at the same local addresses, and peers follow from the rank. Sections with
// `repeat` stand for identical layers. exec gives it numbers, sim gives it time; both iterate it with
// ForEachOp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/collectives.h"
#include "plan/plan.h"

namespace novascope::plan {

enum class Space : uint8_t { kHbm, kSbuf, kPsum };
enum class DType : uint8_t { kE4M3, kE4M3FN, kE5M2, kE3M4, kBF16, kFP16, kFP32, kFP64, kI32 };
int DTypeBytes(DType type);
DType ToDType(FormatId id);

// A tensor in a rank's own memory. Layer-dependent tensors (weights, KV) lie `layer_stride` bytes apart.
struct TensorDecl {
  std::string name;       // "qkv.weight", "kv.keys", "x"
  Space space = Space::kHbm;
  Category category = Category::kScratch;
  DType dtype = DType::kFP32;
  int64_t rows = 0, columns = 0;  // per layer
  uint64_t offset = 0;            // in the rank's arena of that space, bytes, 64-aligned
  uint64_t bytes = 0;             // one layer
  uint64_t layer_stride = 0;      // 0: not per layer
  int layers = 1;
};

// The one operand type of both levels.
struct Operand {
  int16_t tensor = -1;   // index into Role::tensors; -1: none
  int32_t offset = 0;    // elements from the tensor's start (of the layer)
  int32_t stride = 0;    // elements between rows; 0: columns
};

enum class OpKind : uint8_t {
  kEmbed,           // out[m][hidden/tp]: this rank's columns of the embedding rows
  kAllGather,       // in place: every rank's part to every rank, [ranks][m][n]
  kUnpack,          // [ranks][m][n] -> [m][ranks * n]
  kRmsNorm,         // in0 x bf16, in1 gamma -> out codes, out1 scales (per token)
  kMatmul,          // in0 codes, in1 scales, weight -> out fp32 [m][n]
  kRope,            // in place on the q and k parts of qkv
  kKvAppend,        // the step's keys and values to the KV pages this rank holds
  kAttentionScores, // q x K over this rank's pages, local maximum
  kAttentionValues, // exp, sums and P x V over this rank's pages: partial (l, o)
  kAttentionFinish, // o / l, this rank's part, quantised per leaf
  kMatmulLeaf,      // split-K product -> partial sums
  kAllReduceSum,
  kAllReduceMax,
  kResidual,        // x += sum, to BF16
  kSwiGlu,          // gate, up -> quantised per leaf
  kSend,            // hidden rows to the same place of the next stage
  kRecv,
  kGather,          // logits to TP rank 0
  kSample,          // on TP rank 0 of the last stage; the host reads one token id
};
const char* OpKindName(OpKind kind);

enum class Engine : uint8_t { kTensor, kVector, kScalar, kGpSimd, kDma, kCollective, kNone };

enum class Phase : uint8_t { kForward, kBackward, kOptimizer };

struct Op {
  OpKind kind = OpKind::kMatmul;
  Phase phase = Phase::kForward;
  const char* name = "";   // "qkv", "attn.out", "ffn.up": static storage
  int16_t kernel = -1;     // ops with one number form one fused kernel: sim charges its fixed cost once
  Operand in[3] = {};           // matmuls: codes, scales, weight
  Operand out[2] = {};
  int32_t m = 0;           // rows (tokens of the step times sequences)
  int32_t n = 0, k = 0;    // matmul sizes; collectives: n elements per row of one rank's part
  int32_t leaf = 0;        // split-K leaf width
  int32_t heads = 0;       // query heads this rank works on
  int32_t head_dim = 0;
  int16_t group = -1;      // collective group: index into Program::groups
  int16_t part = -1;       // the output is this rank's part of a buffer that this group gathers: it lies
                           // index_in_group * m * n elements in
};

struct Section {
  int32_t first_op = 0, op_count = 0;
  int32_t repeat = 1;       // identical layers
};

struct Role {
  int stage = 0;
  int first_layer = 0;  // of the model
  std::vector<TensorDecl> tensors;
  std::vector<Op> ops;
  std::vector<Section> sections;
  uint64_t hbm_bytes = 0, sbuf_bytes = 0;  // arena sizes per rank
};

// Ranks that talk: `shape.ranks()` neighbours in a stage's TP order form one group, the next ones another.
struct Group {
  GroupShape shape;
  const char* name = "";
};

enum class StepKind : uint8_t { kPrefill, kDecode };

struct StepShape {
  StepKind kind = StepKind::kDecode;
  int rows = 1;            // tokens per sequence in this step
  int sequences = 1;       // per replica
  int kv_positions = 0;    // positions that attention reads, the step's own included
  bool logits = true;      // false for all but the last prefill chunk
};

struct Program {
  StepShape shape;
  std::vector<Role> roles;    // one per pipeline stage
  std::vector<Group> groups;  // [0]: TP; [1]: KV group
  int record_count() const;   // ops + sections + tensors over all roles: what folding keeps small
};

// `shape.sequences` and `kv_positions` are taken as given (a compiled bucket); rows * sequences must be at
// least 1.
Program BuildProgram(const Plan& plan, const StepShape& shape);

// Elements of a collective op's data buffer over its group, and of the whole schedule it runs by.
CollectiveOp CollectiveOf(OpKind kind);
bool IsCollective(OpKind kind);  // all-gather, all-reduce or gather
Schedule BuildSchedule(const Plan& plan, const Program& program, const Op& op, const Role& role);

// Calls fn(role, op, layer) in program order, repeats expanded; layer is the stage-local layer index.
template <typename Fn>
void ForEachOp(const Role& role, Fn&& fn) {
  for (const Section& section : role.sections) {
    for (int layer = 0; layer < section.repeat; ++layer) {
      for (int i = 0; i < section.op_count; ++i) fn(role.ops[section.first_op + i], layer);
    }
  }
}

}  // namespace novascope::plan
