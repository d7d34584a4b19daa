#include "model/spec.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "model/json_text.h"

namespace novascope::model {
namespace {

constexpr const char* kLlamaSource =
    "models/sku_list.py in meta-llama/llama-models, GitHub (shape); parameter count on the model's "
    "Hugging Face page";
constexpr const char* kScaledRope =
    "Llama 3.1's RoPE frequency scaling is left out: it changes numbers, not sizes or time.";
constexpr const char* kRead = "2026-12-01";

// A row whose shape Meta published.
ModelSpec Llama(const char* id, const char* label, int layers, int hidden, int heads, int head_dim,
                int ffn, bool tied, double params_b, const char* note) {
  return {.id = id,
          .label = label,
          .layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = 8,
          .head_dim = head_dim,
          .ffn = ffn,
          .vocab = 128256,
          .context = 131072,
          .tied_embeddings = tied,
          .rope_theta = 500000.0f,
          .norm_eps = 1e-5f,
          .runnable = false,
          .published_params_b = {.value = params_b,
                                 .label = Label::kPublished,
                                 .source = kLlamaSource,
                                 .date = kRead,
                                 .note = note},
          .range_low_b = params_b,
          .range_high_b = params_b};
}

std::vector<ModelSpec> BuildModels() {
  std::vector<ModelSpec> rows;
  rows.push_back(
      {.id = "scope-micro",
       .label = "scope-micro (ours, 3.3 M)",
       .layers = 4,
       .hidden = 256,
       .heads = 16,
       .kv_heads = 4,
       .head_dim = 16,
       .ffn = 768,
       .vocab = 1024,
       .context = 1024,
       .tied_embeddings = true,
       .rope_theta = 10000.0f,
       .norm_eps = 1e-5f,
       .runnable = true,
       .published_params_b = {.value = 0.003279104,
                              .label = Label::kDerived,
                              .source = "count of the tensors of assets/models/scope-micro",
                              .date = kRead,
                              .note = "Our own stand-in, trained by a script in the tree."},
       .range_low_b = 0.003279104,
       .range_high_b = 0.003279104});
  rows.push_back(
      {.id = "nova-micro-like",
       .label = "Nova-Micro-like (assumed, 8 to 14 B)",
       .layers = 40,
       .hidden = 4096,
       .heads = 64,
       .kv_heads = 8,
       .head_dim = 64,
       .ffn = 14336,
       .vocab = 128256,
       .context = 128000,
       .tied_embeddings = false,
       .rope_theta = 500000.0f,
       .norm_eps = 1e-5f,
       .runnable = false,
       .published_params_b = {.value = 0,
                              .label = Label::kAssumed,
                              .source = "our assumption: a dense Llama-style decoder that "
                                        "would fit Nova Micro's price and speed",
                              .date = kRead,
                              .note = "Amazon has published no size, layer count or head "
                                      "layout for Nova Micro; only the 128k context is "
                                      "Amazon's figure. This is a shape of ours, not Nova."},
       .range_low_b = 8,
       .range_high_b = 14});
  rows.push_back(Llama("llama-3.2-1b", "Llama 3.2 1B", 16, 2048, 32, 64, 8192, true, 1.24,
                       "The model card says 1.23 B, the Hugging Face page 1.24 B. RoPE frequency "
                       "scaling is left out: it changes numbers, not sizes or time."));
  rows.push_back(
      Llama("llama-3.1-8b", "Llama 3.1 8B", 32, 4096, 32, 128, 14336, false, 8.03, kScaledRope));
  rows.push_back(
      Llama("llama-3.1-70b", "Llama 3.1 70B", 80, 8192, 64, 128, 28672, false, 70.55, kScaledRope));
  rows.push_back(Llama("llama-3.1-405b", "Llama 3.1 405B", 126, 16384, 128, 128, 53248, false,
                       405.85, kScaledRope));
  return rows;
}

// The bounds that keep every product of two sizes and a layer count inside 64 bits.
struct SizeBound {
  const char* field;
  int ModelSpec::*member;
  int max;
};
constexpr SizeBound kBounds[] = {
    {"layers", &ModelSpec::layers, 1024},        {"hidden", &ModelSpec::hidden, 1 << 20},
    {"heads", &ModelSpec::heads, 1 << 14},       {"kv_heads", &ModelSpec::kv_heads, 1 << 14},
    {"head_dim", &ModelSpec::head_dim, 1 << 12}, {"ffn", &ModelSpec::ffn, 1 << 22},
    {"vocab", &ModelSpec::vocab, 1 << 22},       {"context", &ModelSpec::context, 1 << 24},
};

Error BadSpec(std::string field, std::string value, std::string message, std::string fix) {
  return {ErrorCode::kInput, std::move(field), std::move(value), std::move(message),
          std::move(fix)};
}

// ---- config.json -----------------------------------------------------------------------------

Error BadConfig(std::string_view key, std::string value, std::string message, std::string fix) {
  return {ErrorCode::kBadFile, "config.json: " + std::string(key), std::move(value),
          std::move(message), std::move(fix)};
}

// Null where the key is absent or null, which Hugging Face writes for "default".
const Json* Get(const Json& config, const char* key) {
  const auto it = config.find(key);
  return it == config.end() || it->is_null() ? nullptr : &*it;
}

struct IntKey {
  const char* key;
  int ModelSpec::*member;
  bool required;
};
constexpr IntKey kIntKeys[] = {
    {"num_hidden_layers", &ModelSpec::layers, true},
    {"hidden_size", &ModelSpec::hidden, true},
    {"num_attention_heads", &ModelSpec::heads, true},
    {"num_key_value_heads", &ModelSpec::kv_heads, false},
    {"head_dim", &ModelSpec::head_dim, false},
    {"intermediate_size", &ModelSpec::ffn, true},
    {"vocab_size", &ModelSpec::vocab, true},
    {"max_position_embeddings", &ModelSpec::context, true},
};

Status ReadSizes(const Json& config, ModelSpec* spec) {
  for (const IntKey& row : kIntKeys) {
    const Json* value = Get(config, row.key);
    if (value == nullptr) {
      if (!row.required) continue;
      return BadConfig(row.key, "", "This size is missing.", "Add it, as a positive whole number.");
    }
    const auto* number = value->get_ptr<const Json::number_unsigned_t*>();
    if (number == nullptr || *number < 1 || *number > (1u << 24)) {
      return BadConfig(row.key, Shown(*value),
                       "This size is not a positive whole number we can use.",
                       "Write a number from 1 to 16777216.");
    }
    spec->*row.member = static_cast<int>(*number);
  }
  if (spec->kv_heads == 0) spec->kv_heads = spec->heads;
  if (spec->head_dim == 0) {
    if (spec->hidden % spec->heads != 0) {
      return BadConfig("hidden_size", std::to_string(spec->hidden),
                       "It is not a multiple of num_attention_heads, and there is no head_dim.",
                       "Add head_dim.");
    }
    spec->head_dim = spec->hidden / spec->heads;
  }
  return Ok{};
}

Status ReadNumber(const Json& object, const char* key, float* out) {
  const Json* value = Get(object, key);
  if (value == nullptr) return Ok{};
  if (!value->is_number()) {
    return BadConfig(key, Shown(*value), "This is not a number.", "Write a positive number.");
  }
  *out = static_cast<float>(value->get<double>());
  return Ok{};
}

// What the Llama family leaves open and this engine does not: each must have the one value we
// compute.
struct Expected {
  const char* key;
  const char* value;  // as Shown; null or absent always passes
  const char* why;
};
constexpr Expected kExpected[] = {
    {"model_type", "llama", "Only decoders of the Llama family can be loaded."},
    {"hidden_act", "silu", "The feed-forward part must be SwiGLU."},
    {"attention_bias", "false", "Attention with biases is not computed here."},
    {"mlp_bias", "false", "Feed-forward layers with biases are not computed here."},
};

Status CheckFamily(const Json& config) {
  if (Get(config, "model_type") == nullptr) {
    return BadConfig("model_type", "", "The model's family is missing.", "Write \"llama\".");
  }
  for (const Expected& row : kExpected) {
    const Json* value = Get(config, row.key);
    if (value != nullptr && Shown(*value) != row.value) {
      return BadConfig(row.key, Shown(*value), row.why,
                       std::string("Use a model with ") + row.key + " " + row.value + ".");
    }
  }
  return Ok{};
}

// Two generations of the format: rope_theta beside rope_scaling, or both inside rope_parameters.
Status ReadRope(const Json& config, ModelSpec* spec) {
  if (Status status = ReadNumber(config, "rope_theta", &spec->rope_theta); !status.ok())
    return status;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const Json* rope = Get(config, key);
    if (rope == nullptr) continue;
    if (!rope->is_object()) {
      return BadConfig(key, Shown(*rope), "This is not an object.", "Remove it.");
    }
    for (const char* type_key : {"rope_type", "type"}) {
      const Json* type = Get(*rope, type_key);
      if (type != nullptr && Shown(*type) != "default") {
        return BadConfig(key, Shown(*type), "RoPE frequency scaling is not computed here.",
                         "Use a model whose RoPE type is \"default\".");
      }
    }
    if (Status status = ReadNumber(*rope, "rope_theta", &spec->rope_theta); !status.ok()) {
      return status;
    }
  }
  return Ok{};
}

}  // namespace

std::span<const ModelSpec> Models() {
  static const std::vector<ModelSpec> kModels = BuildModels();
  return kModels;
}

Result<ModelSpec> FindModel(std::string_view id, std::string_view field) {
  std::string known;
  for (const ModelSpec& model : Models()) {
    if (model.id == id) return model;
    known += (known.empty() ? "" : ", ") + model.id;
  }
  return Error{ErrorCode::kUnknownId, std::string(field), Excerpt(id),
               "There is no model of this name.", "Use one of " + known + "."};
}

ParamCount CountParams(const ModelSpec& spec) {
  const int64_t hidden = spec.hidden, layers = spec.layers;
  const int64_t table = int64_t{spec.vocab} * hidden;
  return {.embedding = table,
          .attention = layers * hidden * 2 * (int64_t{spec.q_width()} + spec.kv_width()),
          .ffn = layers * hidden * 3 * spec.ffn,
          .norms = (2 * layers + 1) * hidden,
          .head = spec.tied_embeddings ? 0 : table};
}

Status ValidateSpec(const ModelSpec& spec) {
  for (const SizeBound& bound : kBounds) {
    const int value = spec.*bound.member;
    if (value < 1 || value > bound.max) {
      return BadSpec(bound.field, std::to_string(value), "This size is out of range.",
                     "Use a number from 1 to " + std::to_string(bound.max) + ".");
    }
  }
  if (spec.heads % spec.kv_heads != 0) {
    return BadSpec("kv_heads", std::to_string(spec.kv_heads),
                   "The " + std::to_string(spec.heads) + " query heads cannot share it evenly.",
                   "Use a divisor of " + std::to_string(spec.heads) + ".");
  }
  if (spec.head_dim % 2 != 0) {
    return BadSpec("head_dim", std::to_string(spec.head_dim),
                   "RoPE turns pairs, so it must be even.", "Use an even number.");
  }
  if (!std::isfinite(spec.rope_theta) || spec.rope_theta <= 1.0f) {
    return BadSpec("rope_theta", std::to_string(spec.rope_theta), "The RoPE base is out of range.",
                   "Use a number above 1, such as 10000.");
  }
  if (!std::isfinite(spec.norm_eps) || spec.norm_eps <= 0.0f || spec.norm_eps >= 1.0f) {
    return BadSpec("norm_eps", std::to_string(spec.norm_eps), "RMSNorm's epsilon is out of range.",
                   "Use a number between 0 and 1, such as 1e-5.");
  }
  return Ok{};
}

Result<ModelSpec> SpecFromConfig(std::string_view config_json, std::string_view id) {
  Result<Json> parsed = ParseJson(config_json, "config.json");
  if (!parsed.ok()) return parsed.error();
  const Json& config = parsed.value();
  if (!config.is_object()) {
    return Error{ErrorCode::kBadFile, "config.json", Shown(config), "This is not a JSON object.",
                 "Give the model's own config.json."};
  }
  ModelSpec spec;
  spec.id = std::string(id);
  spec.label = spec.id;
  spec.runnable = true;
  spec.rope_theta = 10000.0f;  // the family's default where the file has none
  spec.norm_eps = 1e-6f;       // likewise
  if (Status status = CheckFamily(config); !status.ok()) return status.error();
  if (Status status = ReadSizes(config, &spec); !status.ok()) return status.error();
  if (Status status = ReadRope(config, &spec); !status.ok()) return status.error();
  if (Status status = ReadNumber(config, "rms_norm_eps", &spec.norm_eps); !status.ok()) {
    return status.error();
  }
  if (const Json* tied = Get(config, "tie_word_embeddings")) {
    const auto* flag = tied->get_ptr<const Json::boolean_t*>();
    if (flag == nullptr) {
      return BadConfig("tie_word_embeddings", Shown(*tied), "This is not true or false.",
                       "Write true or false.");
    }
    spec.tied_embeddings = *flag;
  }
  Status valid = ValidateSpec(spec);
  if (!valid.ok()) {
    Error error = valid.error();
    error.code = ErrorCode::kBadFile;
    error.field = "config.json: " + error.field;
    return error;
  }
  const double billions = static_cast<double>(CountParams(spec).total()) * 1e-9;
  spec.published_params_b = {.value = billions,
                             .label = Label::kDerived,
                             .source = "count of the shape in the file's own config.json",
                             .date = "",
                             .note = ""};
  spec.range_low_b = spec.range_high_b = billions;
  return spec;
}

}  // namespace novascope::model
