// exec against a plain FP64 evaluation of the same quantised weights, written here on its own.

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "support/random_model.h"
#include "support/run_model.h"

namespace novascope {
namespace {

using Vec = std::vector<double>;

class Reference {
 public:
  Reference(const model::ModelSpec& spec, const model::Weights& weights) : m_(spec), w_(weights) {}

  // Logits after the last token.
  Vec Run(const std::vector<int32_t>& tokens) {
    std::vector<Vec> x;
    for (const int32_t token : tokens) x.push_back(Row("model.embed_tokens.weight", token));
    for (int layer = 0; layer < m_.layers; ++layer) Layer(layer, &x);
    const Vec last = Norm(x.back(), "model.norm.weight");
    return Mul(m_.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight", last);
  }

 private:
  Vec Row(const std::string& name, int64_t row) {
    const model::Tensor& t = *w_.Find(name);
    std::vector<float> out(static_cast<size_t>(t.shape[1]));
    model::Weights::DequantizeRow(t, row, out.data());
    return Vec(out.begin(), out.end());
  }
  Vec Mul(const std::string& name, const Vec& x) {
    Vec y;
    for (int64_t r = 0; r < w_.Find(name)->shape[0]; ++r) {
      const Vec row = Row(name, r);
      double sum = 0;
      for (size_t i = 0; i < x.size(); ++i) sum += row[i] * x[i];
      y.push_back(sum);
    }
    return y;
  }
  Vec Norm(const Vec& x, const std::string& name) {
    const auto* gamma = reinterpret_cast<const float*>(w_.Find(name)->bytes.data());
    double square = 0;
    for (const double v : x) square += v * v;
    const double scale = 1.0 / std::sqrt(square / static_cast<double>(x.size()) + m_.norm_eps);
    Vec y;
    for (size_t i = 0; i < x.size(); ++i) y.push_back(x[i] * scale * gamma[i]);
    return y;
  }
  void Rotate(Vec* v, size_t position) {
    const int half = m_.head_dim / 2;
    for (size_t head = 0; head < v->size(); head += static_cast<size_t>(m_.head_dim)) {
      for (int i = 0; i < half; ++i) {
        const double angle =
            static_cast<double>(position) * std::pow(m_.rope_theta, -2.0 * i / m_.head_dim);
        double& a = (*v)[head + static_cast<size_t>(i)];
        double& b = (*v)[head + static_cast<size_t>(i + half)];
        const double low = a * std::cos(angle) - b * std::sin(angle);
        b = b * std::cos(angle) + a * std::sin(angle);
        a = low;
      }
    }
  }
  void Layer(int layer, std::vector<Vec>* x) {
    const std::string p = "model.layers." + std::to_string(layer) + ".";
    std::vector<Vec> keys, values;
    const auto d = static_cast<size_t>(m_.head_dim);
    for (size_t t = 0; t < x->size(); ++t) {
      const Vec n = Norm((*x)[t], p + "input_layernorm.weight");
      Vec q = Mul(p + "self_attn.q_proj.weight", n), k = Mul(p + "self_attn.k_proj.weight", n);
      Rotate(&q, t);
      Rotate(&k, t);
      keys.push_back(k);
      values.push_back(Mul(p + "self_attn.v_proj.weight", n));
      Vec o(q.size(), 0.0);
      for (size_t head = 0; head < static_cast<size_t>(m_.heads); ++head) {
        const size_t kv = head / static_cast<size_t>(m_.heads / m_.kv_heads);
        Vec s;
        double max = -1e300, sum = 0;
        for (const Vec& key : keys) {
          double dot = 0;
          for (size_t i = 0; i < d; ++i) dot += q[head * d + i] * key[kv * d + i];
          s.push_back(dot / std::sqrt(static_cast<double>(d)));
          max = std::max(max, s.back());
        }
        for (double& v : s) sum += v = std::exp(v - max);
        for (size_t j = 0; j < s.size(); ++j) {
          for (size_t i = 0; i < d; ++i) o[head * d + i] += s[j] / sum * values[j][kv * d + i];
        }
      }
      Add(&(*x)[t], Mul(p + "self_attn.o_proj.weight", o));
    }
    for (Vec& row : *x) {
      const Vec n = Norm(row, p + "post_attention_layernorm.weight");
      Vec g = Mul(p + "mlp.gate_proj.weight", n);
      const Vec u = Mul(p + "mlp.up_proj.weight", n);
      for (size_t i = 0; i < g.size(); ++i) g[i] = g[i] / (1.0 + std::exp(-g[i])) * u[i];
      Add(&row, Mul(p + "mlp.down_proj.weight", g));
    }
  }
  static void Add(Vec* x, const Vec& y) {
    for (size_t i = 0; i < y.size(); ++i) (*x)[i] += y[i];
  }

  const model::ModelSpec& m_;
  const model::Weights& w_;
};

// Root mean square of the difference over that of the reference.
double RelativeError(const Vec& want, const std::vector<float>& got) {
  double error = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    error += (want[i] - got[i]) * (want[i] - got[i]);
    size += want[i] * want[i];
  }
  return std::sqrt(error / size);
}

TEST_CASE("distance from an FP64 evaluation of the same weights", "[exec]") {
  const model::ModelSpec spec = testing::SmallSpec();
  const model::Weights weights = testing::RandomWeights(spec, 9);
  const std::vector<int32_t> tokens = testing::RandomTokens(40, spec.vocab, 2);
  const Vec want = Reference(spec, weights).Run(tokens);
  struct Case {
    plan::FormatId activations, kv;
    double tolerance;
  };
  // Stated tolerances (relative RMS over the logits): the residual stream is BF16 in every case.
  for (const Case& c : {Case{plan::FormatId::kFP32, plan::FormatId::kFP32, 0.015},
                        Case{plan::FormatId::kBF16, plan::FormatId::kBF16, 0.02},
                        Case{plan::FormatId::kE4M3, plan::FormatId::kBF16, 0.12},
                        Case{plan::FormatId::kE4M3, plan::FormatId::kE4M3, 0.15}}) {
    plan::PlanOptions o;
    o.tp = 16;
    o.formats.activations = c.activations;
    o.formats.kv = c.kv;
    testing::Machine machine(spec, weights, o);
    const double error = RelativeError(want, machine.Run(tokens, 128));
    CAPTURE(static_cast<int>(c.activations), static_cast<int>(c.kv), error);
    CHECK(error < c.tolerance);
    CHECK(error > 1e-6);
  }
}

}  // namespace
}  // namespace novascope
