// Model shapes as rows, each with its source. A ModelSpec is a blueprint: no weights, no state.
// Shapes of models too big to run are rows like any other; only `runnable` ones come with weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/sourced.h"

namespace novascope::model {

// A Llama-style decoder: RMSNorm, RoPE (half-split pairs i, i + head_dim/2), grouped-query
// attention, SwiGLU, no biases.
struct ModelSpec {
  std::string id;     // stable, in URLs: "scope-micro", "nova-micro-like", "llama-3.1-405b"
  std::string label;  // for people
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int ffn = 0;
  int vocab = 0;
  int context = 0;  // positions
  bool tied_embeddings = false;
  float rope_theta = 10000.0f;
  float norm_eps = 1e-5f;
  bool runnable = false;  // weights ship with the project or were loaded by the user

  // Where the shape comes from; value is billions of parameters as published (0: none published).
  Sourced<double> published_params_b;
  // For assumed shapes: the range of sizes it stands for, in billions; equal ends otherwise.
  double range_low_b = 0;
  double range_high_b = 0;

  int q_width() const { return heads * head_dim; }
  int kv_width() const { return kv_heads * head_dim; }
};

// All rows: scope-micro first.
std::span<const ModelSpec> Models();
Result<ModelSpec> FindModel(std::string_view id, std::string_view field);

// Parameters by part, exact. Tied embeddings are counted once.
struct ParamCount {
  int64_t embedding = 0, attention = 0, ffn = 0, norms = 0, head = 0;
  int64_t total() const { return embedding + attention + ffn + norms + head; }
};
ParamCount CountParams(const ModelSpec& spec);

// Checks a shape for use at all (positive sizes, heads a multiple of kv_heads, even head_dim, ...).
Status ValidateSpec(const ModelSpec& spec);

// Reads a Hugging Face config.json of the Llama family.
Result<ModelSpec> SpecFromConfig(std::string_view config_json, std::string_view id);

}  // namespace novascope::model
