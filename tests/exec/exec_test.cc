// exec: the same bits for every plan, chunk size and kernel row; damage to weights and messages shows.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "support/random_model.h"
#include "support/run_model.h"

namespace novascope {
namespace {

using testing::Machine;
using testing::RandomTokens;

plan::PlanOptions Options(int tp, int pp, int dp = 1) {
  plan::PlanOptions o;
  o.tp = tp;
  o.pp = pp;
  o.dp = dp;
  return o;
}

uint64_t Hash(const std::vector<float>& logits) {
  REQUIRE(!logits.empty());
  for (const float x : logits) REQUIRE(std::isfinite(x));
  return HashBytes(logits.data(), logits.size() * sizeof(float));
}

TEST_CASE("logits are the same bits for every plan and chunk size", "[exec]") {
  const model::ModelSpec spec = testing::SmallSpec();
  const model::Weights weights = testing::RandomWeights(spec, 1);
  const std::vector<int32_t> tokens = RandomTokens(75, spec.vocab, 3);
  for (const auto kv : {plan::FormatId::kE4M3, plan::FormatId::kBF16}) {
    for (const auto act : {plan::FormatId::kE4M3, plan::FormatId::kBF16}) {
      plan::PlanOptions one = Options(1, 1);
      one.formats = {plan::FormatId::kE4M3, act, kv};
      const uint64_t want = Hash(Machine(spec, weights, one).Run(tokens, 128));
      for (const auto& [tp, pp] : {std::pair{1, 1}, {2, 1}, {4, 1}, {4, 4}, {8, 2}, {16, 4}, {32, 1}, {64, 4}}) {
        plan::PlanOptions o = Options(tp, pp);
        o.formats = one.formats;
        for (const auto choice : {plan::CollectiveChoice::kAuto, plan::CollectiveChoice::kRing}) {
          o.collective = choice;
          Machine machine(spec, weights, o);
          CAPTURE(tp, pp, static_cast<int>(choice));
          CHECK(Hash(machine.Run(tokens, 128)) == want);
          if (choice == plan::CollectiveChoice::kAuto) {
            CHECK(Hash(machine.Run(tokens, 33)) == want);
            CHECK(Hash(machine.Run(tokens, 1, 7)) == want);
          }
        }
      }
    }
  }
}

TEST_CASE("LNC=1 plans give the same bits", "[exec]") {
  const model::ModelSpec spec = testing::SmallSpec();
  const model::Weights weights = testing::RandomWeights(spec, 1);
  const std::vector<int32_t> tokens = RandomTokens(40, spec.vocab, 4);
  const uint64_t want = Hash(Machine(spec, weights, Options(1, 1)).Run(tokens, 128));
  plan::PlanOptions o = Options(64, 4);
  o.lnc = 1;
  CHECK(Hash(Machine(spec, weights, o).Run(tokens, 128)) == want);
}

TEST_CASE("every kernel row gives the same bits", "[exec]") {
  const model::ModelSpec spec = testing::SmallSpec();
  const model::Weights weights = testing::RandomWeights(spec, 5);
  const std::vector<int32_t> tokens = RandomTokens(50, spec.vocab, 6);
  for (const auto& formats : {plan::NumberFormats{plan::FormatId::kE4M3, plan::FormatId::kE4M3, plan::FormatId::kE4M3},
                              plan::NumberFormats{plan::FormatId::kE5M2, plan::FormatId::kE4M3FN, plan::FormatId::kE3M4},
                              plan::NumberFormats{plan::FormatId::kBF16, plan::FormatId::kBF16, plan::FormatId::kBF16},
                              plan::NumberFormats{plan::FormatId::kFP32, plan::FormatId::kFP32, plan::FormatId::kFP32}}) {
    plan::PlanOptions o = Options(16, 1);
    o.formats = formats;
    const uint64_t want = Hash(Machine(spec, weights, o, "reference").Run(tokens, 16));
    for (const kernels::KernelSet& row : kernels::KernelSets()) {
      CAPTURE(row.id, static_cast<int>(formats.weights));
      CHECK(Hash(Machine(spec, weights, o, row.id).Run(tokens, 16)) == want);
    }
  }
}

TEST_CASE("a NaN in one chip's shard reaches the logits", "[exec]") {
  const model::ModelSpec spec = testing::SmallSpec();
  const model::Weights weights = testing::RandomWeights(spec, 2);
  const std::vector<int32_t> tokens = RandomTokens(9, spec.vocab, 3);
  for (const char* tensor : {"qkv.weight", "o.weight", "gate_up.weight", "down.weight"}) {
    for (const int rank : {0, 37, 101, 255}) {
      Machine machine(spec, weights, Options(64, 4));
      const auto bytes = machine.engine->weight_bytes(rank, tensor, 0);
      REQUIRE(!bytes.empty());
      bytes[bytes.size() / 2] = 0x7f;
      const std::vector<float> logits = machine.Run(tokens, 128);
      bool nan = false;
      for (const float x : logits) nan = nan || std::isnan(x);
      CAPTURE(tensor, rank);
      CHECK(nan);
    }
  }
}

TEST_CASE("a dropped, doubled or swapped message is refused, whichever it is", "[exec]") {
  const model::ModelSpec spec = testing::SmallSpec();
  const model::Weights weights = testing::RandomWeights(spec, 2);
  const std::vector<int32_t> tokens = RandomTokens(3, spec.vocab, 3);
  for (const auto choice : {plan::CollectiveChoice::kAuto, plan::CollectiveChoice::kRing}) {
    plan::PlanOptions o = Options(8, 2);
    o.collective = choice;
    Machine machine(spec, weights, o);
    const uint64_t want = Hash(machine.Run(tokens, 128));
    const int64_t messages = machine.engine->messages();
    REQUIRE(messages > 500);
    for (const auto kind : {exec::Tamper::Kind::kDrop, exec::Tamper::Kind::kDuplicate,
                            exec::Tamper::Kind::kSwap}) {
      int64_t refused = 0;
      for (int64_t i = 0; i < messages; ++i) {
        machine.engine->set_tamper({kind, i, false});
        refused += machine.Run(tokens, 128).empty() && !machine.engine->status().ok() ? 1 : 0;
      }
      CAPTURE(static_cast<int>(kind));
      CHECK(refused == messages);
    }
    machine.engine->set_tamper({});
    CHECK(Hash(machine.Run(tokens, 128)) == want);
  }
}

TEST_CASE("unchecked, damage goes on into the logits", "[exec]") {
  const model::ModelSpec spec = testing::SmallSpec();
  const model::Weights weights = testing::RandomWeights(spec, 2);
  const std::vector<int32_t> tokens = RandomTokens(5, spec.vocab, 3);
  plan::PlanOptions o = Options(16, 1);
  o.collective = plan::CollectiveChoice::kRing;
  Machine machine(spec, weights, o);
  const uint64_t want = Hash(machine.Run(tokens, 128));
  const int64_t messages = machine.engine->messages();
  for (const auto kind : {exec::Tamper::Kind::kDrop, exec::Tamper::Kind::kDuplicate,
                          exec::Tamper::Kind::kSwap}) {
    int changed = 0, tried = 0;
    for (int64_t i = 0; i < messages; i += 1 + messages / 61, ++tried) {
      machine.engine->set_tamper({kind, i, true});
      const std::vector<float> logits = machine.Run(tokens, 128);
      changed += HashBytes(logits.data(), logits.size() * 4) != want ? 1 : 0;
    }
    CAPTURE(static_cast<int>(kind), changed, tried);
    // Not all: a copy that comes twice changes nothing, nor does one that a buffer holds already.
    CHECK(changed * 10 > tried * (kind == exec::Tamper::Kind::kDuplicate ? 2 : 5));
  }
}

TEST_CASE("in-order FP32 sums differ, and only in the last bits", "[exec]") {
  const model::ModelSpec spec = testing::SmallSpec();
  const model::Weights weights = testing::RandomWeights(spec, 2);
  const std::vector<int32_t> tokens = RandomTokens(30, spec.vocab, 8);
  plan::PlanOptions o = Options(64, 1);
  o.formats.activations = plan::FormatId::kBF16;
  o.formats.kv = plan::FormatId::kBF16;
  const std::vector<float> exact = Machine(spec, weights, o).Run(tokens, 128);
  o.reduce = plan::ReduceMode::kF32InOrder;
  o.collective = plan::CollectiveChoice::kRing;
  const std::vector<float> ring = Machine(spec, weights, o).Run(tokens, 128);
  double worst = 0, largest = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    worst = std::max<double>(worst, std::fabs(exact[i] - ring[i]));
    largest = std::max<double>(largest, std::fabs(exact[i]));
  }
  CAPTURE(worst, largest);
  CHECK(worst > 0);
  CHECK(worst < 0.01 * largest);  // a BF16 step of the residual stream is 0.4 to 0.8 %
}

TEST_CASE("rows too small for a scale become zeros, not NaN", "[exec]") {
  const model::ModelSpec spec = testing::SmallSpec();
  std::vector<uint8_t> file = testing::RandomSafetensors(spec, 4);
  Result<model::Weights> weights = model::Weights::FromSafetensors(file, "random");
  // Shrink one row's scale until its values are FP32 subnormals.
  const model::Tensor& up = *weights.value().Find("model.layers.1.mlp.up_proj.weight");
  const_cast<float&>(up.scale[3]) = 1e-42f;
  plan::PlanOptions o = Options(4, 1);
  o.formats.weights = plan::FormatId::kE5M2;
  Hash(Machine(spec, weights.value(), o).Run(RandomTokens(5, spec.vocab, 1), 128));
}

TEST_CASE("a machine too big for this computer is refused with a sentence", "[exec]") {
  model::ModelSpec spec = testing::SmallSpec();
  const model::Weights weights = testing::RandomWeights(spec, 4);
  const hw::System& system = *hw::FindSystem("trn2-ultraserver", "system").value();
  const hw::Topology topology = hw::BuildTopology(system);
  for (const auto& [context, tp] : {std::pair{1 << 24, 8}, {100'001, 1}, {1 << 20, 64}}) {
    spec.context = context;
    Result<plan::Plan> plan = plan::MakePlan(spec, system, Options(tp, 1));
    REQUIRE(plan.ok());
    const Result<exec::Engine> engine = exec::Engine::Create(
        plan.value(), weights, topology, &kernels::KernelSets().front());
    CAPTURE(context);
    REQUIRE_FALSE(engine.ok());
    CHECK(engine.error().field == "context");
    CHECK_FALSE(engine.error().fix.empty());
  }
}

TEST_CASE("every byte of weights that the plan counts is placed", "[exec][plan]") {
  const model::ModelSpec spec = testing::SmallSpec();
  const model::Weights weights = testing::RandomWeights(spec, 2);
  for (const auto& [tp, pp, dp] : {std::tuple{1, 1, 1}, {4, 1, 3}, {16, 4, 4}, {64, 4, 1}, {64, 1, 4}}) {
    Machine machine(spec, weights, Options(tp, pp, dp));
    const plan::MemoryMap map = plan::BuildMemory(machine.plan);
    uint64_t in_map = 0;
    for (int s = 0; s < 256; ++s) in_map += map.at(s, plan::Category::kWeights);
    CAPTURE(tp, pp, dp);
    CHECK(in_map == map.unique_weight_bytes + map.replicated_weight_bytes);
    // The map counts 64-byte alignment of every tensor; the engine counts the tensors themselves.
    const uint64_t placed = machine.engine->placed_weight_bytes() * static_cast<uint64_t>(dp);
    CHECK(placed <= in_map);
    CHECK(in_map - placed < uint64_t{64} * 16 * 4 * 256);
    // Independent count: matrices split over TP, norms on every rank, the tied head stored again.
    const uint64_t h = 64, q = 128, kv = 32, f = 128, v = 128;
    const uint64_t copies = static_cast<uint64_t>(machine.plan.kv_copies);
    const uint64_t t = static_cast<uint64_t>(tp);
    const uint64_t qkv = q + 2 * kv * copies;
    const uint64_t panels = (qkv / t + 3) / 4 * 4 * t;  // rows are packed in panels of four
    const uint64_t layer = h * panels + 4 * qkv + h * q + 4 * h * t + 2 * h * f + 8 * f + h * f +
                           4 * h * t + 8 * h * t;
    const uint64_t head = (v / t + 3) / 4 * 4 * t * h;
    const uint64_t ends = v * h + 4 * v * t + head + 4 * v + 4 * h * t;
    CHECK(placed == static_cast<uint64_t>(dp) * (4 * layer + ends));
  }
}

}  // namespace
}  // namespace novascope
