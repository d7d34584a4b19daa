#include "model/spec.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace novascope::model {
namespace {

TEST_CASE("models: every row is valid, sourced and found by its id", "[model][spec]") {
  std::set<std::string> ids;
  REQUIRE(!Models().empty());
  CHECK(Models()[0].id == "scope-micro");
  for (const ModelSpec& model : Models()) {
    CAPTURE(model.id);
    CHECK(ids.insert(model.id).second);
    CHECK(!model.label.empty());
    CHECK(ValidateSpec(model).ok());
    CHECK(std::string(model.published_params_b.source).size() > 10);
    CHECK(std::string(model.published_params_b.date).size() >= 7);
    CHECK(model.range_low_b > 0);
    CHECK(model.range_low_b <= model.range_high_b);
    const Result<ModelSpec> found = FindModel(model.id, "model");
    REQUIRE(found.ok());
    CHECK(found.value().id == model.id);
  }
}

TEST_CASE("models: exact parameter counts", "[model][spec]") {
  const auto total = [](const char* id) {
    return CountParams(FindModel(id, "model").value()).total();
  };
  // The counts that the checkpoints' own tensors add up to.
  CHECK(total("llama-3.2-1b") == 1'235'814'400);
  CHECK(total("llama-3.1-8b") == 8'030'261'248);
  CHECK(total("llama-3.1-70b") == 70'553'706'496);
  CHECK(total("llama-3.1-405b") == 405'853'388'800);
  CHECK(total("scope-micro") == 3'279'104);
  CHECK(total("nova-micro-like") == 9'607'385'088);
}

TEST_CASE("models: counts are within half a percent of the published figures", "[model][spec]") {
  for (const ModelSpec& model : Models()) {
    CAPTURE(model.id);
    const double billions = static_cast<double>(CountParams(model).total()) * 1e-9;
    CHECK(billions >= model.range_low_b * 0.995);
    CHECK(billions <= model.range_high_b * 1.005);
    if (model.published_params_b.value == 0) {
      // Nothing published: the row must say that it is assumed, and stand for a real range.
      CHECK(model.published_params_b.label == Label::kAssumed);
      CHECK(model.range_low_b < model.range_high_b);
      CHECK(model.label.find("-like") != std::string::npos);
      CHECK(model.label.find("assumed") != std::string::npos);
      CHECK(!model.runnable);
    } else {
      CHECK(std::fabs(billions / model.published_params_b.value - 1) < 0.005);
    }
  }
}

TEST_CASE("models: scope-micro divides as its plans need", "[model][spec]") {
  const ModelSpec model = Models()[0];
  CHECK(model.runnable);
  CHECK(model.layers % 4 == 0);
  CHECK(model.hidden % 64 == 0);
  CHECK(model.ffn % 64 == 0);
  CHECK(model.vocab % 64 == 0);
  CHECK(model.heads % 16 == 0);
  CHECK(model.head_dim % 8 == 0);
  CHECK(16 % model.kv_heads == 0);
  CHECK(model.context >= 512);
}

TEST_CASE("models: an unknown id names the known ones", "[model][spec]") {
  const Result<ModelSpec> found = FindModel("nova-micro", "model");
  REQUIRE(!found.ok());
  CHECK(found.error().code == ErrorCode::kUnknownId);
  CHECK(found.error().field == "model");
  CHECK(found.error().value == "nova-micro");
  for (const ModelSpec& model : Models()) {
    CHECK(found.error().fix.find(model.id) != std::string::npos);
  }
}

TEST_CASE("ValidateSpec names the size that is wrong", "[model][spec]") {
  const auto field = [](auto change) {
    ModelSpec spec = Models()[0];
    change(spec);
    const Status status = ValidateSpec(spec);
    return status.ok() ? std::string("ok") : status.error().field;
  };
  CHECK(field([](ModelSpec&) {}) == "ok");
  CHECK(field([](ModelSpec& s) { s.layers = 0; }) == "layers");
  CHECK(field([](ModelSpec& s) { s.hidden = -256; }) == "hidden");
  CHECK(field([](ModelSpec& s) { s.vocab = 1 << 30; }) == "vocab");
  CHECK(field([](ModelSpec& s) { s.kv_heads = 3; }) == "kv_heads");
  CHECK(field([](ModelSpec& s) { s.head_dim = 15; }) == "head_dim");
  CHECK(field([](ModelSpec& s) { s.context = 0; }) == "context");
  CHECK(field([](ModelSpec& s) { s.rope_theta = 0; }) == "rope_theta");
  CHECK(field([](ModelSpec& s) { s.norm_eps = std::nanf(""); }) == "norm_eps");
}

constexpr const char* kConfig = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
  "hidden_size": 2048, "intermediate_size": 5632, "num_attention_heads": 32,
  "num_hidden_layers": 22, "num_key_value_heads": 4, "vocab_size": 32000,
  "max_position_embeddings": 2048, "rms_norm_eps": 1e-05, "rope_scaling": null,
  "attention_bias": false, "tie_word_embeddings": false, "rope_theta": 10000.0})";

std::string With(std::string from, std::string to) {
  std::string config = kConfig;
  const size_t at = config.find(from);
  REQUIRE(at != std::string::npos);
  return config.replace(at, from.size(), to);
}

TEST_CASE("SpecFromConfig reads a Llama config", "[model][spec]") {
  const Result<ModelSpec> result = SpecFromConfig(kConfig, "tiny");
  REQUIRE(result.ok());
  const ModelSpec& spec = result.value();
  CHECK(spec.id == "tiny");
  CHECK(spec.layers == 22);
  CHECK(spec.hidden == 2048);
  CHECK(spec.heads == 32);
  CHECK(spec.kv_heads == 4);
  CHECK(spec.head_dim == 64);  // derived
  CHECK(spec.ffn == 5632);
  CHECK(spec.vocab == 32000);
  CHECK(spec.context == 2048);
  CHECK(!spec.tied_embeddings);
  CHECK(spec.rope_theta == 10000.0f);
  CHECK(spec.norm_eps == 1e-5f);
  CHECK(spec.runnable);
  CHECK(CountParams(spec).total() == 1'100'048'384);  // the figure of a public model of this shape

  CHECK(SpecFromConfig(With("\"num_key_value_heads\": 4,", ""), "m").value().kv_heads == 32);
  CHECK(SpecFromConfig(With("\"vocab_size\"", "\"head_dim\": 80, \"vocab_size\""), "m")
            .value()
            .head_dim == 80);
  CHECK(SpecFromConfig(With("\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true"), "m")
            .value()
            .tied_embeddings);
  CHECK(SpecFromConfig(With("\"rope_theta\": 10000.0",
                            R"("rope_parameters": {"rope_type": "default", "rope_theta": 5e5})"),
                       "m")
            .value()
            .rope_theta == 500000.0f);
}

TEST_CASE("SpecFromConfig refuses what it would compute wrongly", "[model][spec]") {
  const auto field = [](const std::string& config) {
    const Result<ModelSpec> result = SpecFromConfig(config, "m");
    if (result.ok()) return std::string("ok");
    CHECK(result.error().code == ErrorCode::kBadFile);
    CHECK(!result.error().message.empty());
    CHECK(!result.error().fix.empty());
    return result.error().field;
  };
  CHECK(field("") == "config.json");
  CHECK(field("[1]") == "config.json");
  CHECK(field("{}") == "config.json: model_type");
  CHECK(field(With("\"llama\"", "\"qwen2\"")) == "config.json: model_type");
  CHECK(field(With("\"llama\"", "7")) == "config.json: model_type");
  CHECK(field(With("\"silu\"", "\"gelu\"")) == "config.json: hidden_act");
  CHECK(field(With("\"attention_bias\": false", "\"attention_bias\": true")) ==
        "config.json: attention_bias");
  CHECK(field(With("\"rope_scaling\": null", R"("rope_scaling": {"rope_type": "llama3"})")) ==
        "config.json: rope_scaling");
  CHECK(field(With("2048, \"intermediate_size\": 5632,", "2048,")) ==
        "config.json: intermediate_size");
  CHECK(field(With("5632", "-5632")) == "config.json: intermediate_size");
  CHECK(field(With("5632", "5632.5")) == "config.json: intermediate_size");
  CHECK(field(With("5632", "1e30")) == "config.json: intermediate_size");
  CHECK(field(With("5632", "99999999999999999999999")) == "config.json: intermediate_size");
  CHECK(field(With("22", "\"22\"")) == "config.json: num_hidden_layers");
  CHECK(field(With("\"num_key_value_heads\": 4", "\"num_key_value_heads\": 5")) ==
        "config.json: kv_heads");
  CHECK(field(With("1e-05", "\"small\"")) == "config.json: rms_norm_eps");
  CHECK(field(With("1e-05", "0")) == "config.json: norm_eps");
  CHECK(field(With("\"tie_word_embeddings\": false", "\"tie_word_embeddings\": 1")) ==
        "config.json: tie_word_embeddings");
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK(field(With("5632", deep)) == "config.json");
  CHECK(field(With("\"silu\"", deep)) == "config.json");
  CHECK(field(With("5632", std::string(50, '[') + std::string(50, ']'))) ==
        "config.json: intermediate_size");
}

}  // namespace
}  // namespace novascope::model
