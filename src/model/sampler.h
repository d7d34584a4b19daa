// From logits to a token, deterministic by (seed, step). Ties go to the lower id everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace novascope::model {

struct SamplerOptions {
  float temperature = 0.0f;  // 0: greedy; otherwise 0.00001 .. 2
  float top_p = 1.0f;        // (0, 1]
  int top_k = 0;             // 0: off
  uint64_t seed = 0;
};
Status ValidateSampler(const SamplerOptions& options);

struct TokenChance {
  int32_t id = 0;
  float logprob = 0;  // natural log, of the untempered distribution over the whole vocabulary
};

// Picks a token for generation step `step`; temperature, then top-k, then top-p. A NaN logit
// anywhere, an infinite greatest one or no logits at all make the result id -1.
TokenChance Sample(std::span<const float> logits, const SamplerOptions& options, uint64_t step);
// The `count` likeliest tokens, best first; none where Sample gives -1.
std::vector<TokenChance> TopTokens(std::span<const float> logits, int count);

}  // namespace novascope::model
