#include "sim/work.h"

#include "sim/testing.h"

namespace novascope::sim {
namespace {

using plan::DType;
using plan::OpKind;

const hw::Chip& Chip() { return *hw::FindChip("trainium2", "chip").value(); }

TEST_CASE("matmul tiles cost what the instruction reference says", "[sim][work]") {
  CHECK(MatmulCycles(Chip(), 128, 128, 512, 128) == 512);  // 213 ns at 2.4 GHz, 78.6 TFLOPS
  CHECK(MatmulCycles(Chip(), 128, 128, 1, 128) == 64);     // decode at batch 1
  CHECK(MatmulCycles(Chip(), 128, 128, 64, 128) == 64);
  CHECK(MatmulCycles(Chip(), 128, 128, 65, 128) == 65);
  CHECK(MatmulCycles(Chip(), 32, 128, 1, 128) == 32);  // max(min(64, M), N)
  CHECK(MatmulCycles(Chip(), 129, 128, 1, 128) == 64 + 1);
  CHECK(MatmulCycles(Chip(), 128, 129, 1, 128) == 2 * 64);
  CHECK(MatmulCycles(Chip(), 128, 256, 1, 256) == 64);  // double FP8
  CHECK(MatmulCycles(Chip(), 128, 128, 513, 128) == 512 + 64);
  CHECK(MatmulCycles(Chip(), 256, 512, 1024, 128) == 2 * 4 * 1024);
}

TEST_CASE("element ops spread over 128 lanes and never cost less than 64 cycles", "[sim][work]") {
  CHECK(ElementCycles(1, 1, 1) == 64);
  CHECK(ElementCycles(128 * 64, 1, 1) == 64);
  CHECK(ElementCycles(128 * 65, 1, 1) == 65);
  CHECK(ElementCycles(128 * 200, 3, 2) == 300);
  CHECK(ElementCycles(0, 1, 1) == 0);
}

TEST_CASE("the FP8 rate needs both operands in FP8", "[sim][work]") {
  testing::Bench bench(testing::Degrees());
  const auto work = [&](DType codes, DType weights) {
    const plan::Op op = bench.Matmul(codes, weights, 1, 512, 1024);
    return WorkOf(bench.plan, bench.program, bench.role(), op);
  };
  // LNC=2: 256 outputs for each physical core = 2 tiles of 64 cycles, K in steps of 128 or 256.
  CHECK(work(DType::kBF16, DType::kBF16).tensor_cycles == 2 * 8 * 64);
  CHECK(work(DType::kBF16, DType::kE4M3).tensor_cycles == 2 * 8 * 64);
  CHECK(!work(DType::kBF16, DType::kE4M3).fp8);
  CHECK(work(DType::kE4M3, DType::kE4M3).tensor_cycles == 2 * 4 * 64);
  CHECK(work(DType::kE4M3, DType::kE4M3).fp8);
  CHECK(work(DType::kE5M2, DType::kE4M3).tensor_cycles == 2 * 4 * 64);  // E4 and E5 may be mixed
  CHECK(work(DType::kE3M4, DType::kE3M4).tensor_cycles ==
        2 * 8 * 64);  // E3M4 runs at the BF16 rate
  CHECK(work(DType::kFP32, DType::kFP32).tensor_cycles == 4 * 2 * 8 * 64);
  CHECK(work(DType::kE4M3, DType::kE4M3).read_bytes == 512 * 1024 + 512 * 4);
  CHECK(work(DType::kBF16, DType::kBF16).read_bytes == 512 * 1024 * 2);
  CHECK(work(DType::kE4M3, DType::kE4M3).write_bytes == 0);
}

TEST_CASE("attention reads the KV pages of this rank's share", "[sim][work]") {
  plan::PlanOptions options = testing::Degrees(64, 4);
  options.formats.kv = plan::FormatId::kBF16;
  const plan::Plan plan = testing::MakePlan("scope-micro", "trn2-ultraserver", options);
  REQUIRE(plan.kv_group == 4);
  plan::StepShape shape{.kv_positions = 256};
  plan::Program program = plan::BuildProgram(plan, shape);
  uint64_t read = 0, written = 0;
  const auto count = [&] {
    read = written = 0;
    for (const plan::Op& op : program.roles[0].ops) {
      const Work work = WorkOf(plan, program, program.roles[0], op);
      if (op.kind == OpKind::kAttentionScores || op.kind == OpKind::kAttentionValues) {
        read += work.read_bytes;
      }
      written += work.write_bytes;
    }
  };
  count();
  CHECK(read == 2 * (256 / 4) * 16 * 2);  // K and V, a quarter of the positions, head size 16, BF16
  CHECK(written == 2 * 16 * 2 / 4);       // one position among four ranks
  shape.sequences = 3;
  program = plan::BuildProgram(plan, shape);
  count();
  CHECK(read == 3 * 2 * (256 / 4) * 16 * 2);
  CHECK(written == 3 * 2 * 16 * 2 / 4);
}

TEST_CASE("weights read by all ranks are the model's, once per replica", "[sim][work]") {
  for (const int tp : {1, 4, 64}) {
    const plan::Plan plan =
        testing::MakePlan("scope-micro", "trn2-ultraserver", testing::Degrees(tp));
    const plan::Program program = plan::BuildProgram(plan, {.kv_positions = 1});
    uint64_t bytes = 0;
    plan::ForEachOp(program.roles[0], [&](const plan::Op& op, int) {
      if (op.kind != OpKind::kMatmul && op.kind != OpKind::kMatmulLeaf) return;
      bytes += static_cast<uint64_t>(op.n) * static_cast<uint64_t>(op.k);
      const Work work = WorkOf(plan, program, program.roles[0], op);
      CHECK(work.read_bytes == static_cast<uint64_t>(op.n) * static_cast<uint64_t>(op.k + 4));
      CHECK(work.first_bytes <= work.read_bytes);
    });
    const model::ParamCount count = model::CountParams(plan.model);
    // Shards of replicated KV heads come on top of the model's own.
    const int64_t own =
        count.attention + count.ffn + (count.head > 0 ? count.head : count.embedding);
    const int64_t copies = int64_t{plan.kv_copies - 1} * plan.model.layers * 2 *
                           plan.model.kv_width() * plan.model.hidden;
    CHECK(static_cast<int64_t>(bytes) * tp == own + copies);
  }
}

TEST_CASE("causal tiles that the mask empties cost nothing", "[sim][work]") {
  const plan::Plan plan = testing::MakePlan("scope-micro", "trn2-ultraserver", testing::Degrees());
  const auto cycles = [&](int rows, int positions) {
    const plan::Program program = plan::BuildProgram(
        plan, {.kind = plan::StepKind::kPrefill, .rows = rows, .kv_positions = positions});
    for (const plan::Op& op : program.roles[0].ops) {
      if (op.kind == OpKind::kAttentionScores) {
        return WorkOf(plan, program, program.roles[0], op).vector_cycles;
      }
    }
    return uint64_t{0};
  };
  // A chunk of 512 on its own sees 320 positions on average by tiles, and 512 more behind 512.
  CHECK(cycles(512, 512) * (512 + 320) == cycles(512, 1024) * 320);
}

}  // namespace
}  // namespace novascope::sim
