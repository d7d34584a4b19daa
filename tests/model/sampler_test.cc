#include "model/sampler.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "base/rng.h"

namespace novascope::model {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> RandomLogits(uint64_t seed, size_t size) {
  std::vector<float> logits(size);
  for (size_t i = 0; i < size; ++i) {
    logits[i] = static_cast<float>(RandomUnit(seed, 0, i) * 12 - 6);
  }
  return logits;
}

// Which ids come out over `steps` steps, and how often.
std::vector<int> Histogram(const std::vector<float>& logits, const SamplerOptions& options,
                           int steps) {
  std::vector<int> counts(logits.size());
  for (int step = 0; step < steps; ++step) {
    const TokenChance chance = Sample(logits, options, static_cast<uint64_t>(step));
    REQUIRE(chance.id >= 0);
    ++counts[static_cast<size_t>(chance.id)];
  }
  return counts;
}

TEST_CASE("sampler: greedy takes the greatest, the lower id of equals", "[model][sampler]") {
  CHECK(Sample(std::vector<float>{1, 5, 3}, {}, 0).id == 1);
  CHECK(Sample(std::vector<float>{5, 1, 5, 5}, {}, 9).id == 0);
  CHECK(Sample(std::vector<float>{-0.0f, 0.0f}, {}, 0).id == 0);
  CHECK(Sample(std::vector<float>{-kInf, -7}, {}, 0).id == 1);
}

TEST_CASE("sampler: logits that are no distribution give -1", "[model][sampler]") {
  const float nan = std::nanf("");
  for (float temperature : {0.0f, 1.0f}) {
    const SamplerOptions options{.temperature = temperature};
    CHECK(Sample(std::vector<float>{}, options, 0).id == -1);
    CHECK(Sample(std::vector<float>{nan, 1, 2}, options, 0).id == -1);
    CHECK(Sample(std::vector<float>{1, 2, nan}, options, 0).id == -1);
    CHECK(Sample(std::vector<float>{1, kInf}, options, 0).id == -1);
    CHECK(Sample(std::vector<float>{-kInf, -kInf}, options, 0).id == -1);
  }
  CHECK(TopTokens(std::vector<float>{1, nan}, 2).empty());
}

TEST_CASE("sampler: logprob is of the untempered distribution", "[model][sampler]") {
  const std::vector<float> logits = RandomLogits(3, 1024);
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit));
  const SamplerOptions hot{.temperature = 1.7f, .top_p = 0.9f, .top_k = 50, .seed = 5};
  for (const SamplerOptions& options : {SamplerOptions{}, hot}) {
    for (uint64_t step = 0; step < 20; ++step) {
      const TokenChance chance = Sample(logits, options, step);
      const double exact = logits[static_cast<size_t>(chance.id)] - std::log(sum);
      CHECK(std::fabs(chance.logprob - exact) < 1e-5);
    }
  }
  double total = 0;
  const std::vector<TokenChance> all = TopTokens(logits, 1024);
  REQUIRE(all.size() == 1024);
  for (const TokenChance& chance : all) total += std::exp(static_cast<double>(chance.logprob));
  CHECK(std::fabs(total - 1) < 1e-5);
}

TEST_CASE("sampler: temperature shapes the frequencies", "[model][sampler]") {
  const std::vector<float> logits = {0, 1, -1, 2, -kInf};
  constexpr int kSteps = 20000;
  for (float temperature : {0.5f, 1.0f, 2.0f}) {
    const std::vector<int> counts =
        Histogram(logits, {.temperature = temperature, .seed = 11}, kSteps);
    double sum = 0;
    for (float logit : logits) sum += std::exp(static_cast<double>(logit) / temperature);
    for (size_t i = 0; i < logits.size(); ++i) {
      const double p = std::exp(static_cast<double>(logits[i]) / temperature) / sum;
      const double sigma = std::sqrt(kSteps * p * (1 - p));
      CHECK(std::fabs(counts[i] - kSteps * p) <= 4 * sigma);
    }
  }
  // So cold that it is greedy.
  CHECK(Histogram(logits, {.temperature = 0.00001f}, 100)[3] == 100);
}

TEST_CASE("sampler: a token depends on seed and step only", "[model][sampler]") {
  const std::vector<float> logits = RandomLogits(1, 256);
  const SamplerOptions options{.temperature = 1.0f, .seed = 42};
  std::set<int32_t> seen;
  int differs = 0;
  for (uint64_t step = 0; step < 64; ++step) {
    const int32_t id = Sample(logits, options, step).id;
    CHECK(id == Sample(logits, options, step).id);
    differs += id != Sample(logits, {.temperature = 1.0f, .seed = 43}, step).id;
    seen.insert(id);
  }
  CHECK(seen.size() > 10);
  CHECK(differs > 10);
}

TEST_CASE("sampler: top-k keeps k, top-k 1 is greedy", "[model][sampler]") {
  const std::vector<float> logits = RandomLogits(8, 100);
  const std::vector<TokenChance> best = TopTokens(logits, 5);
  const std::vector<int> counts =
      Histogram(logits, {.temperature = 2.0f, .top_k = 5, .seed = 1}, 3000);
  for (size_t i = 0; i < counts.size(); ++i) {
    const bool kept = std::any_of(best.begin(), best.end(), [&](const TokenChance& chance) {
      return chance.id == static_cast<int32_t>(i);
    });
    CHECK((counts[i] > 0) == kept);
  }
  // Equal logits: the lower ids are kept. Nearly equal: the greater one, though exp cannot tell
  // them.
  const std::vector<float> equal(10, 1.0f);
  const std::vector<int> equal_counts = Histogram(equal, {.temperature = 1.0f, .top_k = 3}, 1000);
  for (size_t i = 0; i < 10; ++i) CHECK((equal_counts[i] > 0) == (i < 3));
  const std::vector<float> near = {std::nextafter(1.0f, 0.0f), 1.0f};
  CHECK(Histogram(near, {.temperature = 2.0f, .top_k = 1}, 50)[1] == 50);
  // More than there are is all of them.
  CHECK(Histogram(equal, {.temperature = 1.0f, .top_k = 1000}, 1000)[9] > 0);
}

TEST_CASE("sampler: top-p keeps the shortest likeliest run, after temperature and top-k",
          "[model][sampler]") {
  // 0.5, 0.25, 0.125, 0.125
  const float ln2 = 0.69314718f;
  const std::vector<float> logits = {-ln2, 0, -2 * ln2, -2 * ln2};
  const auto kept = [&](const SamplerOptions& options) {
    std::string ids;
    const std::vector<int> counts = Histogram(logits, options, 2000);
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 0) ids += std::to_string(i);
    }
    return ids;
  };
  CHECK(kept({.temperature = 1, .top_p = 1.0f}) == "0123");
  CHECK(kept({.temperature = 1, .top_p = 0.9f}) == "0123");
  CHECK(kept({.temperature = 1, .top_p = 0.8f}) == "012");  // the lower id of the two last
  CHECK(kept({.temperature = 1, .top_p = 0.7f}) == "01");
  CHECK(kept({.temperature = 1, .top_p = 0.4f}) == "1");
  CHECK(kept({.temperature = 1, .top_p = 1e-9f}) == "1");
  // Cold, 0.5 becomes 8/11 (weights 1, 1/4, 1/16, 1/16): 0.7 needs one token only.
  CHECK(kept({.temperature = 0.5f, .top_p = 0.7f}) == "1");
  // After top-k 2 the shares are 2/3 and 1/3: 0.6 needs one token only.
  CHECK(kept({.temperature = 1, .top_p = 0.6f}) == "01");
  CHECK(kept({.temperature = 1, .top_p = 0.6f, .top_k = 2}) == "1");
}

TEST_CASE("sampler: the likeliest tokens, best first", "[model][sampler]") {
  const std::vector<TokenChance> top = TopTokens(std::vector<float>{1, 3, 3, 2, -kInf}, 4);
  REQUIRE(top.size() == 4);
  CHECK(top[0].id == 1);
  CHECK(top[1].id == 2);
  CHECK(top[2].id == 3);
  CHECK(top[3].id == 0);
  CHECK(top[0].logprob == top[1].logprob);
  CHECK(TopTokens(std::vector<float>{1, 3}, 9).size() == 2);
  CHECK(TopTokens(std::vector<float>{1, 3}, 0).empty());
  CHECK(TopTokens(std::vector<float>{1, 3}, -1).empty());
  CHECK(TopTokens(std::vector<float>{}, 3).empty());
}

TEST_CASE("sampler: options out of range are refused by name", "[model][sampler]") {
  const auto field = [](const SamplerOptions& options) {
    const Status status = ValidateSampler(options);
    if (status.ok()) return std::string("ok");
    CHECK(status.error().code == ErrorCode::kInput);
    CHECK(!status.error().value.empty());
    CHECK(!status.error().fix.empty());
    return status.error().field;
  };
  const float nan = std::nanf("");
  CHECK(field({}) == "ok");
  CHECK(field({.temperature = 2.0f, .top_p = 0.01f, .top_k = 1}) == "ok");
  CHECK(field({.temperature = 0.00001f}) == "ok");
  for (float bad : {-1.0f, 0.000001f, 2.1f, kInf, nan}) {
    CHECK(field({.temperature = bad}) == "temperature");
  }
  for (float bad : {-1.0f, 0.0f, 1.1f, kInf, nan}) CHECK(field({.top_p = bad}) == "top_p");
  CHECK(field({.top_k = -1}) == "top_k");
}

}  // namespace
}  // namespace novascope::model
