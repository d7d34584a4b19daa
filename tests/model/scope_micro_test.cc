// The files that ship: the small model's weights, tokenizer and config belong together.
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "model/read_file.h"
#include "model/spec.h"
#include "model/tokenizer.h"
#include "model/weights.h"

namespace novascope::model {
namespace {

const std::string kFolder = "assets/models/scope-micro/";

TEST_CASE("scope-micro: the file fits its row", "[model][assets]") {
  const std::string file = ReadSourceFile(kFolder + "model.safetensors");
  CHECK(file.size() <= 4 * 1024 * 1024);
  Result<Weights> loaded = Weights::FromSafetensors({file.begin(), file.end()}, "scope-micro");
  REQUIRE(loaded.ok());
  const Weights& weights = loaded.value();
  CHECK(weights.notes().empty());
  const ModelSpec spec = FindModel("scope-micro", "model").value();
  const Status checked = CheckWeights(spec, weights, "scope-micro");
  REQUIRE(checked.ok());

  int64_t elements = 0;
  for (const auto& [name, tensor] : weights.tensors()) {
    CAPTURE(name);
    int64_t count = 1;
    for (int64_t size : tensor.shape) count *= size;
    elements += count;
    if (tensor.shape.size() == 1) continue;
    // FP8 with a scale per output channel, and codes that mean the same in both E4M3s.
    REQUIRE(tensor.format == numerics::FormatId::kE4M3);
    REQUIRE(static_cast<int64_t>(tensor.scale.size()) == tensor.shape[0]);
    bool codes_ok = true;
    for (uint8_t code : tensor.bytes) codes_ok = codes_ok && (code & 0x7f) <= 0x77;
    CHECK(codes_ok);
  }
  CHECK(elements == CountParams(spec).total());
}

TEST_CASE("scope-micro: its config.json reads as its row", "[model][assets]") {
  const Result<ModelSpec> read =
      SpecFromConfig(ReadSourceFile(kFolder + "config.json"), "scope-micro");
  REQUIRE(read.ok());
  const ModelSpec row = FindModel("scope-micro", "model").value();
  const ModelSpec& spec = read.value();
  CHECK(spec.layers == row.layers);
  CHECK(spec.hidden == row.hidden);
  CHECK(spec.heads == row.heads);
  CHECK(spec.kv_heads == row.kv_heads);
  CHECK(spec.head_dim == row.head_dim);
  CHECK(spec.ffn == row.ffn);
  CHECK(spec.vocab == row.vocab);
  CHECK(spec.context == row.context);
  CHECK(spec.tied_embeddings == row.tied_embeddings);
  CHECK(spec.rope_theta == row.rope_theta);
  CHECK(spec.norm_eps == row.norm_eps);
  const Result<Tokenizer> tokenizer =
      Tokenizer::FromJson(ReadSourceFile(kFolder + "tokenizer.json"), "tokenizer.json");
  REQUIRE(tokenizer.ok());
  CHECK(tokenizer.value().vocab_size() == row.vocab);
}

}  // namespace
}  // namespace novascope::model
