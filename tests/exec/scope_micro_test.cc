// The shipped model: logits of 20 prompts of 128 tokens, the same bits for every plan, whole and chunked,
// and in every build: the recorded hash is compared natively, in wasm and in relaxed wasm.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>
#include <iterator>

#include "base/hash.h"
#include "support/run_model.h"

namespace novascope {
namespace {

// Over all prompts' logits. Changes with assets/models/scope-micro and with the numerics contract only.
constexpr uint64_t kRecorded = 0x1232ec46f5dc8b03u;

model::Weights ShippedWeights() {
  std::ifstream file(NOVASCOPE_SOURCE_DIR "/assets/models/scope-micro/model.safetensors",
                     std::ios::binary);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Result<model::Weights> weights = model::Weights::FromSafetensors(std::move(bytes), "scope-micro");
  if (!weights.ok()) FAIL(Describe(weights.error()));
  return std::move(weights.value());
}

TEST_CASE("scope-micro: 20 prompts of 128 tokens, the same logits everywhere", "[exec][scope-micro]") {
  const model::ModelSpec spec = model::FindModel("scope-micro", "model").value();
  const model::Weights weights = ShippedWeights();
  struct Case {
    int tp, pp, chunk;
  };
  for (const Case& c : {Case{1, 1, 128}, Case{64, 4, 128}, Case{16, 4, 128}, Case{4, 1, 128},
                        Case{64, 4, 37}, Case{1, 1, 37}}) {
    plan::PlanOptions o;
    o.tp = c.tp;
    o.pp = c.pp;
    o.formats.kv = plan::FormatId::kE4M3;
    testing::Machine machine(spec, weights, o);
    uint64_t hash = kHashSeed;
    bool finite = true;
    for (uint64_t prompt = 0; prompt < 20; ++prompt) {
      const std::vector<float> logits =
          machine.Run(testing::RandomTokens(128, spec.vocab, 100 + prompt), c.chunk);
      REQUIRE(logits.size() == 1024);
      for (const float x : logits) finite = finite && std::isfinite(x);
      hash = HashBytes(logits.data(), logits.size() * sizeof(float), hash);
    }
    CAPTURE(c.tp, c.pp, c.chunk);
    CHECK(finite);
    CHECK(hash == kRecorded);
  }
}

}  // namespace
}  // namespace novascope
