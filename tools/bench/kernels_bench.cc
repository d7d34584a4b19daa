// Speed of the kernel rows at the shapes of scope-micro on 64 chips and on one core, beside a loop
// of multiply-adds that touches registers only. Weights and activations are random codes of
// Gaussian values, so subnormals occur as often as in a model. The best of several runs, and still
// only comparable within one run on a quiet machine.
//   kernels_bench [milliseconds per case]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/rng.h"
#include "kernels/kernels.h"
#include "kernels/simd_codec.h"

namespace novascope::kernels {
namespace {

using Clock = std::chrono::steady_clock;

struct Case {
  const char* name;
  FormatId format;
  int m;
  int n;
  int k;
  int leaf;  // 0: matmul
};

constexpr Case kCases[] = {
    {"decode qkv, n 12", FormatId::kE4M3, 1, 12, 256, 0},
    {"decode logits, n 16", FormatId::kE4M3, 1, 16, 256, 0},
    {"decode ffn up, n 24", FormatId::kE4M3, 1, 24, 256, 0},
    {"decode out, leaf 4", FormatId::kE4M3, 1, 256, 4, 4},
    {"decode down, leaf 12", FormatId::kE4M3, 1, 256, 12, 12},
    {"prefill qkv, n 12", FormatId::kE4M3, 32, 12, 256, 0},
    {"prefill ffn up, n 24", FormatId::kE4M3, 128, 24, 256, 0},
    {"prefill out, leaf 4", FormatId::kE4M3, 32, 256, 4, 4},
    {"prefill down, leaf 12", FormatId::kE4M3, 128, 256, 12, 12},
    {"one core qkv", FormatId::kE4M3, 1, 384, 256, 0},
    {"one core ffn up", FormatId::kE4M3, 1, 1536, 256, 0},
    {"one core logits", FormatId::kE4M3, 1, 1024, 256, 0},
    {"one core out, leaf 4", FormatId::kE4M3, 1, 256, 256, 4},
    {"one core down, leaf 12", FormatId::kE4M3, 1, 256, 768, 12},
    {"one core prefill up", FormatId::kE4M3, 32, 1536, 256, 0},
    {"one core ffn up, e5m2", FormatId::kE5M2, 1, 1536, 256, 0},
    {"one core ffn up, bf16", FormatId::kBF16, 1, 1536, 256, 0},
};

double Gaussian(uint64_t stream, uint64_t index) {
  const double u = 1 - RandomUnit(1, stream, 2 * index);
  return std::sqrt(-2 * std::log(u)) *
         std::cos(6.283185307179586 * RandomUnit(1, stream, 2 * index + 1));
}

// The best time of a call in seconds.
template <typename Fn>
double TimeCall(double seconds, Fn&& fn) {
  const auto now = [] {
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
  };
  for (const double begin = now(); now() - begin < seconds;) fn();  // engines compile hot code late
  int64_t calls = 1;
  for (double took = 0; took < seconds / 20; calls *= 2) {
    const double begin = now();
    for (int64_t i = 0; i < calls; ++i) fn();
    took = now() - begin;
  }
  double best = 1e9;
  for (int run = 0; run < 15; ++run) {
    const double begin = now();
    for (int64_t i = 0; i < calls; ++i) fn();
    best = std::min(best, (now() - begin) / static_cast<double>(calls));
  }
  return best;
}

// Twelve independent chains of multiply-add, fused where this binary has it; flops per call.
NOVASCOPE_INLINE v128_t PeakStep(v128_t a, v128_t b, v128_t c) {
#if defined(__wasm_relaxed_simd__) || defined(__FMA__)
  return wasm_f32x4_relaxed_madd(a, b, c);
#else
  return wasm_f32x4_add(wasm_f32x4_mul(a, b), c);
#endif
}
constexpr int kPeakTurns = 1000;
__attribute__((noinline)) double Peak(v128_t* state) {
  asm volatile("" : : "r"(state) : "memory");
  v128_t acc[12];
  for (int i = 0; i < 12; ++i) acc[i] = state[i];
  const v128_t a = state[12];
  const v128_t b = state[13];
  for (int turn = 0; turn < kPeakTurns; ++turn) {
    Unroll<12>([&](auto i) { acc[i] = PeakStep(acc[i], a, b); });
  }
  for (int i = 0; i < 12; ++i) state[i] = acc[i];
  asm volatile("" : : "r"(state) : "memory");
  return 2.0 * 4 * 12 * kPeakTurns;
}

void RunCase(const Case& c, double seconds) {
  std::vector<float> w(static_cast<size_t>(c.n) * c.k);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(60 * Gaussian(1, i));
  std::vector<float> a(static_cast<size_t>(c.m) * c.k);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(60 * Gaussian(2, i));
  const KernelSet& reference = KernelSets().front();
  const int bytes = numerics::Get(c.format).bytes();
  std::vector<uint8_t> rows(w.size() * bytes);
  reference.encode(c.format, w.data(), static_cast<int64_t>(w.size()), rows.data());
  std::vector<uint8_t> packed(PackedBytes(c.format, c.n, c.k));
  PackWeights(c.format, rows.data(), c.n, c.k, c.k, packed.data());
  std::vector<uint8_t> a_codes(a.size());
  reference.encode(FormatId::kE4M3, a.data(), static_cast<int64_t>(a.size()), a_codes.data());
  reference.decode(FormatId::kE4M3, a_codes.data(), static_cast<int64_t>(a.size()), a.data());
  std::vector<float> scale(c.n, 0.01f);
  std::vector<float> a_scale(static_cast<size_t>(c.m) * (c.leaf > 0 ? c.k / c.leaf : 1), 0.5f);
  const PackedWeights weights{
      .format = c.format, .n = c.n, .k = c.k, .codes = packed.data(), .scale = scale.data()};
  std::vector<float> y(static_cast<size_t>(c.m) * c.n);
  std::vector<double> y64(y.size());

  alignas(16) v128_t state[14];
  for (v128_t& v : state) v = wasm_f32x4_splat(0.5f);
  const double flops = 2.0 * c.m * c.n * c.k;
  std::printf("%-24s m %3d n %4d k %3d ", c.name, c.m, c.n, c.k);
  for (const KernelSet& set : KernelSets()) {
    const double peak = Peak(state) / TimeCall(seconds / 4, [&] { Peak(state); });
    const double time = TimeCall(seconds, [&] {
      if (c.leaf > 0) {
        set.matmul_leaf(a.data(), a_scale.data(), c.m, c.leaf, weights, y64.data());
      } else {
        set.matmul(a.data(), a_scale.data(), c.m, weights, y.data());
      }
    });
    std::printf(" | %s %8.3f us %6.2f GFLOP/s (%.2f)", set.id, time * 1e6, flops / time * 1e-9,
                flops / time / peak);
  }
  std::printf("\n");
  std::fflush(stdout);
}

void RunAttention(double seconds) {
  constexpr int kD = 16;
  std::vector<float> q(kD);
  std::vector<float> keys(kD * kKvBlock);
  for (size_t i = 0; i < q.size(); ++i) q[i] = static_cast<float>(i) * 0.125f;
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<float>(30 * Gaussian(3, i));
  std::vector<uint8_t> codes(keys.size());
  KernelSets().front().encode(FormatId::kE4M3, keys.data(), kD * kKvBlock, codes.data());
  float scores[kKvBlock];
  double l = 0;
  double o[kD] = {};
  std::printf("%-24s d %d, 32 positions ", "attention", kD);
  for (const KernelSet& set : KernelSets()) {
    const double time = TimeCall(seconds, [&] {
      const float max = set.attention_scores(FormatId::kE4M3, q.data(), codes.data(), kD, kKvBlock,
                                             0.001f, scores);
      set.attention_values(FormatId::kE4M3, scores, max, codes.data(), kD, kKvBlock, &l, o);
    });
    std::printf(" | %s %8.3f us", set.id, time * 1e6);
  }
  std::printf("\n");
}

}  // namespace
}  // namespace novascope::kernels

int main(int argc, char** argv) {
  const double seconds = (argc > 1 ? std::atof(argv[1]) : 20) * 1e-3;
  for (const auto& c : novascope::kernels::kCases) novascope::kernels::RunCase(c, seconds);
  novascope::kernels::RunAttention(seconds);
  return 0;
}
