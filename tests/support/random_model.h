// A small model with random weights, as the safetensors file a loader would read.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/rng.h"
#include "model/spec.h"
#include "model/weights.h"
#include "numerics/format.h"

namespace novascope::testing {

inline model::ModelSpec SmallSpec() {
  return {.id = "random", .label = "random", .layers = 4, .hidden = 64, .heads = 16, .kv_heads = 4,
          .head_dim = 8, .ffn = 128, .vocab = 128, .context = 192, .tied_embeddings = true,
          .runnable = true, .published_params_b = {}};
}

inline std::vector<uint8_t> RandomSafetensors(const model::ModelSpec& m, uint64_t seed) {
  Json header;
  std::vector<uint8_t> data;
  uint64_t stream = 0;
  const auto add = [&](const std::string& name, const char* dtype, Json shape, size_t bytes) {
    header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes}}};
    data.resize(data.size() + bytes);
    return data.data() + data.size() - bytes;
  };
  const auto vector = [&](const std::string& name, int n) {
    uint8_t* out = add(name, "F32", Json::array({n}), static_cast<size_t>(n) * 4);
    ++stream;
    for (int i = 0; i < n; ++i) {
      const auto x = static_cast<float>(0.5 + RandomUnit(seed, stream, static_cast<uint64_t>(i)));
      std::memcpy(out + i * 4, &x, 4);
    }
  };
  const auto matrix = [&](const std::string& name, int n, int k) {
    const size_t size = static_cast<size_t>(n) * static_cast<size_t>(k);
    uint8_t* codes = add(name, "F8_E4M3", Json::array({n, k}), size);
    ++stream;
    for (size_t i = 0; i < size; ++i) {
      const double x = 480.0 * (RandomUnit(seed, stream, i) - 0.5);
      codes[i] = static_cast<uint8_t>(
          numerics::Encode(numerics::FormatId::kE4M3, x, numerics::Overflow::kSaturate));
    }
    uint8_t* scale = add(name + "_scale", "F32", Json::array({n}), static_cast<size_t>(n) * 4);
    ++stream;
    for (int i = 0; i < n; ++i) {
      const double unit = 1.5 / 240.0 / std::sqrt(static_cast<double>(k));
      const auto x = static_cast<float>(
          unit * (0.5 + RandomUnit(seed, stream, static_cast<uint64_t>(i))));
      std::memcpy(scale + i * 4, &x, 4);
    }
  };
  matrix("model.embed_tokens.weight", m.vocab, m.hidden);
  for (int layer = 0; layer < m.layers; ++layer) {
    const std::string p = "model.layers." + std::to_string(layer) + ".";
    vector(p + "input_layernorm.weight", m.hidden);
    matrix(p + "self_attn.q_proj.weight", m.q_width(), m.hidden);
    matrix(p + "self_attn.k_proj.weight", m.kv_width(), m.hidden);
    matrix(p + "self_attn.v_proj.weight", m.kv_width(), m.hidden);
    matrix(p + "self_attn.o_proj.weight", m.hidden, m.q_width());
    vector(p + "post_attention_layernorm.weight", m.hidden);
    matrix(p + "mlp.gate_proj.weight", m.ffn, m.hidden);
    matrix(p + "mlp.up_proj.weight", m.ffn, m.hidden);
    matrix(p + "mlp.down_proj.weight", m.hidden, m.ffn);
  }
  vector("model.norm.weight", m.hidden);
  if (!m.tied_embeddings) matrix("lm_head.weight", m.vocab, m.hidden);
  std::string text = header.dump();
  while (text.size() % 8 != 0) text += ' ';
  std::vector<uint8_t> file(8 + text.size());
  const uint64_t length = text.size();
  std::memcpy(file.data(), &length, 8);
  std::memcpy(file.data() + 8, text.data(), text.size());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

inline model::Weights RandomWeights(const model::ModelSpec& spec, uint64_t seed) {
  return std::move(model::Weights::FromSafetensors(RandomSafetensors(spec, seed), "random").value());
}

}  // namespace novascope::testing
