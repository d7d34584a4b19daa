// Model shapes as rows, each with its source. A ModelSpec is a blueprint: no weights, no state.
// Shapes of models too big to run are rows like any other; only `runnable` ones come with weights.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sourced.h"

namespace novascope::model {

// How a layer mixes positions.
enum class Mixer : uint8_t {
  kAttention,  // grouped-query attention (MHA and MQA are its ends)
  kLatent,     // multi-head latent attention: one compressed row per position for all heads
  kDelta,      // gated DeltaNet and its kin (KDA): a matrix state per value head, no cache
  kMamba2,     // state-space layer, a state per head, no cache
  kNone,       // the block has no mixer (single-block hybrids)
};
enum class FeedForward : uint8_t { kDense, kMoe, kNone };

// What one layer is made of; zeros stand for the model's own figure.
struct LayerKind {
  Mixer mixer = Mixer::kAttention;
  FeedForward feed_forward = FeedForward::kDense;
  int window = 0;  // positions that attention sees and the cache keeps; 0: all
  int heads = 0, kv_heads = 0, head_dim = 0;
  int v_head_dim = 0;            // 0: head_dim
  bool shared_kv = false;        // reads an earlier layer's cache, stores and projects none
  bool keys_are_values = false;  // one projection and one cache row serve as both
  int ffn = 0;                   // dense width
};

struct MoeShape {
  int experts = 0;     // routed, per layer; 0: no MoE layers
  int top_k = 0;
  int ffn = 0;         // width of one routed expert
  int shared_ffn = 0;  // width of all shared experts together; 0: none
  bool gated = true;   // three matrices per expert, else two
};
struct LatentShape {
  int q_lora = 0;   // 0: queries are projected directly
  int kv_lora = 0;  // compressed row per position; rope more elements are cached beside it
  int nope = 0, rope = 0;  // parts of a query and key head
  int v = 0;               // value head
  int indexer = 0;         // elements cached per position by a sparse-attention indexer; 0: none
  int selected = 0;        // positions that attention reads at most, chosen by the indexer; 0: all
};
struct DeltaShape {
  int k_heads = 0, v_heads = 0, k_dim = 0, v_dim = 0;
  int conv = 4;
};
struct MambaShape {
  int heads = 0, head_dim = 0, state = 0, groups = 1;
  int conv = 4;
};

// A decoder: RMSNorm, RoPE (half-split pairs i, i + head_dim/2), attention and SwiGLU as the layer
// kinds say. Runnable models have one kind of layer: grouped-query attention over all positions and
// a dense feed-forward part, without biases.
struct ModelSpec {
  std::string id;     // stable, in URLs: "scope-micro", "nova-micro-like", "llama-3.1-405b"
  std::string label;  // for people
  std::string hf_id = {};  // organisation/name on Hugging Face; empty: none
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int ffn = 0;  // of dense layers; 0 where there are none
  int vocab = 0;
  int context = 0;  // positions
  bool tied_embeddings = false;
  float rope_theta = 10000.0f;
  float norm_eps = 1e-5f;
  bool runnable = false;  // weights ship with the project or were loaded by the user

  // Layers of more than one kind: kinds[pattern[layer]]. Both empty: every layer is a LayerKind{}
  // (kMoe where moe.experts > 0, kLatent where latent.kv_lora > 0).
  std::vector<LayerKind> kinds = {};
  std::vector<uint8_t> pattern = {};
  MoeShape moe = {};
  LatentShape latent = {};
  DeltaShape delta = {};
  MambaShape mamba = {};
  bool gated_ffn = true;   // three matrices, else two (GPT-3 style)
  bool qkv_bias = false, qk_norm = false;
  bool attention_gate = false;   // a gate as wide as the attention output, per layer
  int64_t other_params = 0;      // tables that no rule here counts (per-layer embeddings ...)

  // Where the shape comes from; value is billions of parameters as published (0: none published).
  Sourced<double> published_params_b;
  double active_params_b = 0;  // published, per token; 0: none published
  // For assumed shapes: the range of sizes it stands for, in billions; equal ends otherwise.
  double range_low_b = 0;
  double range_high_b = 0;

  int q_width() const { return heads * head_dim; }
  int kv_width() const { return kv_heads * head_dim; }
  // The kind of a layer, with every zero that stands for the model's figure filled in.
  LayerKind kind(int layer) const;
  // Every layer is grouped-query attention over all positions with a dense gated FFN, no biases.
  bool plain() const;
};

// All rows: scope-micro first.
std::span<const ModelSpec> Models();
// By our id, or by the Hugging Face id in any case, with or without the organisation.
Result<ModelSpec> FindModel(std::string_view id, std::string_view field);

// Parameters by part, exact. Tied embeddings are counted once.
struct ParamCount {
  int64_t embedding = 0, attention = 0, ffn = 0, norms = 0, head = 0, other = 0;
  int64_t total() const { return embedding + attention + ffn + norms + head + other; }
};
ParamCount CountParams(const ModelSpec& spec);
// Parameters that one token uses: all but the experts it is not routed to (and the input table, of
// which it reads one row).
int64_t CountActiveParams(const ModelSpec& spec);

// One layer's parameters. `mixer` holds everything of the mixer (projections, convolutions, gates),
// `expert` one routed expert, `shared` the shared experts, `router` the gate over experts.
struct LayerParams {
  int64_t mixer = 0, dense = 0, expert = 0, shared = 0, router = 0, norms = 0;
};
LayerParams CountLayer(const ModelSpec& spec, const LayerKind& kind);

// Elements that the KV cache of one layer keeps per position, over all heads stored once (0 for
// linear attention and shared caches), and the elements of its fixed per-sequence state.
int64_t KvElements(const ModelSpec& spec, const LayerKind& kind);
int64_t StateElements(const ModelSpec& spec, const LayerKind& kind);
// KV bytes of one sequence at `positions`, each head stored once: windowed layers stop growing.
int64_t KvBytes(const ModelSpec& spec, int64_t positions, int element_bytes);

// Checks a shape for use at all (positive sizes, heads a multiple of kv_heads, even head_dim, ...).
Status ValidateSpec(const ModelSpec& spec);

// Reads a Hugging Face config.json of the Llama family, as a shape that exec can run.
Result<ModelSpec> SpecFromConfig(std::string_view config_json, std::string_view id);
// Reads any Hugging Face config.json as a shape to be timed (nested text_config included). Notes
// say what was assumed or left out; a family whose layers cannot be told is refused by name.
struct ImportedShape {
  ModelSpec spec;
  std::vector<std::string> notes;
};
Result<ImportedShape> ShapeFromConfig(std::string_view config_json, std::string_view id);

}  // namespace novascope::model
