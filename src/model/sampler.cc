#include "model/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string>

#include "base/rng.h"
#include "numerics/math.h"

namespace novascope::model {
namespace {

constexpr uint64_t kSamplerStream = 0x73616d706c65u;  // apart from every other use of the seed

std::string Shown(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// The likeliest id, the lower of equals; -1 where the logits are no distribution.
int32_t ArgMax(std::span<const float> logits) {
  int32_t best = -1;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) return -1;
    if (best < 0 || logits[i] > logits[static_cast<size_t>(best)]) best = static_cast<int32_t>(i);
  }
  return best >= 0 && std::isfinite(logits[static_cast<size_t>(best)]) ? best : -1;
}

// log of the sum of e^(logit - max), the untempered distribution's normaliser.
float LogSum(std::span<const float> logits, float max) {
  double sum = 0;
  for (float logit : logits) sum += numerics::Exp(logit - max);
  return numerics::Log(static_cast<float>(sum));
}

// Ids best first: higher logit, then lower id. Logits and not probabilities, so that two logits
// whose probabilities round to the same float still have their order, and top-k 1 is exactly
// greedy.
std::vector<int32_t> Best(std::span<const float> logits, size_t count) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  count = std::min(count, ids.size());
  const auto better = [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                    better);
  ids.resize(count);
  return ids;
}

// Sets the weights that top-k and then top-p leave out to zero.
void Truncate(std::span<const float> logits, const SamplerOptions& options,
              std::vector<float>* weights) {
  const bool top_k = options.top_k > 0 && static_cast<size_t>(options.top_k) < weights->size();
  const bool top_p = options.top_p < 1.0f;
  if (!top_k && !top_p) return;
  std::vector<int32_t> kept =
      Best(logits, top_k ? static_cast<size_t>(options.top_k) : weights->size());
  std::vector<float> left(weights->size(), 0.0f);
  for (int32_t id : kept) left[static_cast<size_t>(id)] = (*weights)[static_cast<size_t>(id)];
  if (top_p) {
    const double total = std::accumulate(left.begin(), left.end(), 0.0);
    double sum = 0;
    size_t count = 0;
    // The shortest run of the likeliest that holds top_p; always at least one.
    while (count < kept.size() && (count == 0 || sum < options.top_p * total)) {
      sum += left[static_cast<size_t>(kept[count++])];
    }
    for (; count < kept.size(); ++count) left[static_cast<size_t>(kept[count])] = 0.0f;
  }
  *weights = std::move(left);
}

// Where `unit` in [0, 1) falls in the weights, laid end to end in id order.
int32_t Draw(std::span<const float> weights, double unit) {
  const double target = unit * std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  int32_t last = -1;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0.0f) continue;
    sum += weights[i];
    last = static_cast<int32_t>(i);
    if (sum > target) break;
  }
  return last;
}

}  // namespace

Status ValidateSampler(const SamplerOptions& options) {
  const float t = options.temperature;
  if (!(t == 0.0f || (t >= 0.00001f && t <= 2.0f))) {
    return Error{ErrorCode::kInput, "temperature", Shown(t), "The temperature is out of range.",
                 "Use 0 for the likeliest token, or a number from 0.00001 to 2."};
  }
  if (!(options.top_p > 0.0f && options.top_p <= 1.0f)) {
    return Error{ErrorCode::kInput, "top_p", Shown(options.top_p), "The share is out of range.",
                 "Use a number above 0 and up to 1; 1 switches it off."};
  }
  if (options.top_k < 0) {
    return Error{ErrorCode::kInput, "top_k", std::to_string(options.top_k),
                 "The number of tokens is negative.",
                 "Use 0 to switch it off, or a positive number."};
  }
  return Ok{};
}

TokenChance Sample(std::span<const float> logits, const SamplerOptions& options, uint64_t step) {
  TokenChance chance{.id = ArgMax(logits), .logprob = 0};
  if (chance.id < 0) return chance;
  const float max = logits[static_cast<size_t>(chance.id)];
  if (options.temperature > 0.0f) {
    std::vector<float> weights(logits.size());
    for (size_t i = 0; i < logits.size(); ++i) {
      weights[i] = numerics::Exp((logits[i] - max) / options.temperature);
    }
    Truncate(logits, options, &weights);
    chance.id = Draw(weights, RandomUnit(options.seed, kSamplerStream, step));
  }
  chance.logprob = (logits[static_cast<size_t>(chance.id)] - max) - LogSum(logits, max);
  return chance;
}

std::vector<TokenChance> TopTokens(std::span<const float> logits, int count) {
  const int32_t best = ArgMax(logits);
  if (best < 0 || count <= 0) return {};
  const float max = logits[static_cast<size_t>(best)];
  const float log_sum = LogSum(logits, max);
  std::vector<TokenChance> top;
  for (int32_t id : Best(logits, static_cast<size_t>(count))) {
    top.push_back({.id = id, .logprob = (logits[static_cast<size_t>(id)] - max) - log_sum});
  }
  return top;
}

}  // namespace novascope::model
