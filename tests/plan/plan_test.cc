// Placement, feasibility, memory and the folded Program.

#include "plan/plan.h"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>
#include <string>

#include "plan/program.h"

namespace novascope::plan {
namespace {

const hw::System& UltraServer() { return *hw::FindSystem("trn2-ultraserver", "system").value(); }

Plan Make(const char* model, int tp, int pp, int dp, int batch = 1) {
  PlanOptions o;
  o.tp = tp;
  o.pp = pp;
  o.dp = dp;
  o.batch = batch;
  Result<Plan> plan = MakePlan(model::FindModel(model, "model").value(), UltraServer(), o);
  if (!plan.ok()) FAIL(Describe(plan.error()));
  return plan.value();
}

TEST_CASE("ranks lie TP innermost, then PP, then DP, over instance, chip and core", "[plan]") {
  const Plan plan = Make("scope-micro", 64, 4, 1);
  REQUIRE(plan.ranks.size() == 256);
  for (int pp = 0; pp < 4; ++pp) {
    for (int tp = 0; tp < 64; ++tp) {
      const RankPlace& place = plan.ranks[static_cast<size_t>(plan.rank(tp, pp, 0))];
      CHECK(place.chip == pp * 16 + tp / 4);  // one stage per 16-chip instance
      CHECK(place.core == tp % 4);
    }
  }
  CHECK(plan.kv_group == 4);   // the four cores of a chip share its query head
  CHECK(plan.kv_copies == 4);  // 16 heads, 4 KV heads
}

TEST_CASE("a plan says whether Neuron serving software offers it", "[plan]") {
  CHECK_FALSE(Make("scope-micro", 64, 4, 1).neuron_today);
  CHECK(Make("scope-micro", 64, 1, 4).neuron_today);
  for (const Plan& plan : {Make("scope-micro", 64, 4, 1), Make("scope-micro", 64, 1, 4)}) {
    CHECK(plan.neuron_note.size() > 20);
  }
}

TEST_CASE("infeasible degrees are refused with the feasible ones named", "[plan]") {
  const model::ModelSpec spec = model::FindModel("scope-micro", "model").value();
  struct Case {
    int tp, pp, dp, lnc;
    const char *field, *fix_has;
  };
  for (const Case& c : {Case{48, 1, 1, 2, "tp", "1, 2, 4, 8, 16, 32, 64"}, Case{3, 1, 1, 2, "tp", "1, 2, 4"},
                        Case{0, 1, 1, 2, "tp", "1 to 256"}, Case{-5, 1, 1, 2, "tp", "1 to 256"},
                        Case{64, 3, 1, 2, "pp", "1, 2, 4"}, Case{64, 4, 2, 2, "tp x pp x dp", "1"},
                        Case{1, 1, 257, 2, "dp", "1 to 256"}, Case{1, 1, 1, 3, "lnc", "1 or 2"},
                        Case{2147483647, 1, 1, 2, "tp", "1 to 256"}}) {
    PlanOptions o;
    o.tp = c.tp;
    o.pp = c.pp;
    o.dp = c.dp;
    o.lnc = c.lnc;
    const Result<Plan> plan = MakePlan(spec, UltraServer(), o);
    CAPTURE(c.tp, c.pp, c.dp, c.lnc);
    REQUIRE_FALSE(plan.ok());
    CHECK(plan.error().field == c.field);
    CHECK(plan.error().fix.find(c.fix_has) != std::string::npos);
    CHECK_FALSE(plan.error().message.empty());
  }
}

TEST_CASE("every feasible TP degree that a refusal names is feasible", "[plan]") {
  const model::ModelSpec spec = model::FindModel("scope-micro", "model").value();
  std::set<int> feasible;
  for (int tp = 1; tp <= 256; ++tp) {
    PlanOptions o;
    o.tp = tp;
    if (MakePlan(spec, UltraServer(), o).ok()) feasible.insert(tp);
  }
  CHECK(feasible == std::set<int>{1, 2, 4, 8, 16, 32, 64});
}

TEST_CASE("a step of Llama-3.1-405B at TP64 folds to under 2,000 records", "[plan]") {
  const Plan plan = Make("llama-3.1-405b", 64, 1, 1);
  for (const StepShape& shape : {StepShape{StepKind::kDecode, 1, 1, 8192, true},
                                 StepShape{StepKind::kPrefill, 2048, 1, 2048, true}}) {
    const Program program = BuildProgram(plan, shape);
    CHECK(program.record_count() < 2000);
    int expanded = 0;
    ForEachOp(program.roles[0], [&](const Op&, int) { ++expanded; });
    CHECK(expanded > 126 * 10);  // and still stands for every layer
  }
}

TEST_CASE("weights and KV lie at the same addresses in every step", "[plan]") {
  for (const auto& [tp, pp] : {std::pair{64, 4}, {4, 1}, {1, 1}}) {
    const Plan plan = Make("scope-micro", tp, pp, 1);
    const Program decode = BuildProgram(plan, {StepKind::kDecode, 1, 1, 1024, true});
    for (const StepShape& shape : {StepShape{StepKind::kPrefill, 128, 1, 128, true},
                                   StepShape{StepKind::kPrefill, 7, 1, 128, false}}) {
      const Program other = BuildProgram(plan, shape);
      for (size_t s = 0; s < decode.roles.size(); ++s) {
        for (const TensorDecl& t : decode.roles[s].tensors) {
          if (t.category != Category::kWeights && t.category != Category::kKv) continue;
          bool found = false;
          for (const TensorDecl& u : other.roles[s].tensors) {
            if (u.name != t.name) continue;
            found = true;
            CHECK(u.offset == t.offset);
            CHECK(u.bytes == t.bytes);
            CHECK(u.layer_stride == t.layer_stride);
          }
          CHECK(found);
        }
      }
    }
  }
}

TEST_CASE("tensors of a rank do not overlap", "[plan]") {
  for (const char* model : {"scope-micro", "nova-micro-like"}) {
    const Plan plan = Make(model, 64, 1, 1);
    const Program program = BuildProgram(plan, {StepKind::kPrefill, 128, 1, 1024, true});
    for (const Space space : {Space::kHbm, Space::kSbuf}) {
      std::map<uint64_t, uint64_t> ranges;
      for (const TensorDecl& t : program.roles[0].tensors) {
        if (t.space != space) continue;
        const uint64_t size = t.layer_stride > 0 ? t.layer_stride * static_cast<uint64_t>(t.layers) : t.bytes;
        CHECK(t.offset % 64 == 0);
        CHECK(ranges.emplace(t.offset, t.offset + size).second);
      }
      uint64_t end = 0;
      for (const auto& [begin, finish] : ranges) {
        CHECK(begin >= end);
        end = finish;
      }
    }
  }
}

TEST_CASE("memory: KV bytes per position follow the copies", "[plan]") {
  // 80 layers x K and V x 128 x 2 bytes on each of 64 ranks: one KV head per rank, eight copies of each.
  PlanOptions o;
  o.tp = 64;
  o.formats.kv = FormatId::kBF16;
  const model::ModelSpec spec = model::FindModel("llama-3.1-70b", "model").value();
  const hw::System& instance = *hw::FindSystem("trn2.48xlarge", "system").value();
  uint64_t kv[2] = {};
  for (const int positions : {1024, 1056}) {
    o.max_positions = positions;
    const MemoryMap map = BuildMemory(MakePlan(spec, instance, o).value());
    for (int stack = 0; stack < 64; ++stack) kv[positions == 1056] += map.at(stack, Category::kKv);
  }
  CHECK((kv[1] - kv[0]) / 32 == 2'621'440);
}

TEST_CASE("a plan that does not fit names the stack, the part and a plan that fits", "[plan]") {
  const Plan plan = Make("llama-3.1-405b", 4, 1, 1);
  const Status status = CheckMemory(plan, BuildMemory(plan));
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kOutOfMemory);
  CHECK(status.error().message.find("HBM stack 0 of chip 0") != std::string::npos);
  CHECK(status.error().message.find("weights") != std::string::npos);
  CHECK(status.error().message.find("GiB too much") != std::string::npos);
  CHECK(status.error().fix.find("TP") != std::string::npos);
  const Plan fits = Make("scope-micro", 64, 4, 1);
  CHECK(CheckMemory(fits, BuildMemory(fits)).ok());
}

TEST_CASE("memory: the runtime's own code is counted on every core of the plan", "[plan]") {
  const MemoryMap map = BuildMemory(Make("scope-micro", 64, 4, 1));
  const uint64_t code = 2 * hw::FindChip("trainium2", "chip").value()->code_bytes_per_core.value;  // LNC=2
  for (int stack = 0; stack < 256; ++stack) {
    CHECK(map.at(stack, Category::kCode) == code);
  }
  const MemoryMap one = BuildMemory(Make("scope-micro", 1, 1, 1));
  CHECK(one.at(0, Category::kCode) > 0);
  CHECK(one.used(1) == 0);
}

}  // namespace
}  // namespace novascope::plan
