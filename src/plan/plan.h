// A parallel plan: who computes what, where it lies, and whether it fits. Degrees count logical
// NeuronCores as Neuron's do. Ranks are laid out TP innermost, then PP, then DP, over instance, chip
// (row-major), core.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hw/machine.h"
#include "model/spec.h"
#include "numerics/format.h"

namespace novascope::plan {

using numerics::FormatId;

struct NumberFormats {
  FormatId weights = FormatId::kE4M3;
  FormatId activations = FormatId::kE4M3;
  FormatId kv = FormatId::kBF16;
};

enum class ReduceMode : uint8_t {
  kOrderFree,   // 8-byte words on a 2^-30 grid: every plan gives the same bits
  kF32InOrder,  // 4-byte words added in schedule order, as a real ring or mesh does
  kBf16,        // 2-byte words: what Neuron sends; timing shapes only, exec refuses it
};

enum class CollectiveChoice : uint8_t { kAuto, kMesh, kRing };

// Split sums run over fixed leaves, the same for every plan: 64 of them where K divides so, else the
// largest power of two that divides K; a plan wider than that uses one leaf per rank.
int LeafWidth(int64_t k, int tp);

struct PlanOptions {
  int tp = 1, pp = 1, dp = 1, lnc = 2;
  NumberFormats formats;
  ReduceMode reduce = ReduceMode::kOrderFree;
  CollectiveChoice collective = CollectiveChoice::kAuto;
  int batch = 1;            // sequences per replica
  int max_positions = 0;    // KV positions reserved per sequence; 0: the model's context
  int prefill_rows = 128;   // tokens of a prefill chunk: sizes the scratch
};

// Where a rank sits.
struct RankPlace {
  int16_t chip;  // over the whole system
  int8_t core;   // logical core in the chip
  int16_t tp, pp, dp;
};

struct Plan {
  model::ModelSpec model;
  const hw::System* system = nullptr;
  const hw::Chip* chip = nullptr;
  PlanOptions options;
  int cores_per_chip = 4;  // logical
  std::vector<RankPlace> ranks;
  int kv_group = 1;        // ranks that share one query head (TP above heads), neighbours in one chip
  int kv_copies = 1;       // copies of each KV head within a replica's stage
  int kv_heads_per_rank = 1;
  bool neuron_today = false;       // current Neuron serving software offers this
  std::string neuron_note;         // one sentence why or why not

  int rank(int tp, int pp, int dp) const { return (dp * options.pp + pp) * options.tp + tp; }
  int layers_per_stage() const { return model.layers / options.pp; }
  int heads_per_rank() const { return model.heads > options.tp ? model.heads / options.tp : 1; }
  int max_positions() const {
    return options.max_positions > 0 ? options.max_positions : model.context;
  }
  // The KV head that query head `head` reads.
  int kv_head(int head) const { return head / (model.heads / model.kv_heads); }
};

// Checks that the degrees divide the model and the machine and names the feasible ones where not, then
// places the ranks. Does not look at memory (see BuildMemory).
Result<Plan> MakePlan(const model::ModelSpec& model, const hw::System& system, const PlanOptions&);
// The plan we suggest for a model on a system: scope-micro's TP64 x PP4, TP64 x DP4 for timing shapes.
PlanOptions DefaultPlan(const model::ModelSpec& model, const hw::System& system);

// HBM categories, after the Neuron runtime's own.
enum class Category : uint8_t { kWeights, kKv, kScratch, kIo, kCollectives, kCode };
inline constexpr int kCategories = 6;
inline constexpr int kKvPage = 32;  // positions
constexpr const char* CategoryName(Category c) {
  constexpr const char* kNames[] = {"weights", "kv", "scratch", "io", "collectives", "code"};
  return kNames[static_cast<int>(c)];
}

// Bytes by stack and category over the whole system, plus what replication costs.
struct MemoryMap {
  int stacks_per_chip = 4;
  uint64_t stack_bytes = 0;                    // capacity
  std::vector<uint64_t> bytes;                 // [chips * stacks_per_chip][kCategories]
  uint64_t unique_weight_bytes = 0;            // once per model
  uint64_t replicated_weight_bytes = 0;        // copies beyond the first
  uint64_t unique_kv_bytes = 0;                // one copy per KV head
  uint64_t kv_copies_bytes = 0;                // copies beyond the first
  uint64_t at(int stack, Category c) const {
    return bytes[static_cast<size_t>(stack) * kCategories + static_cast<size_t>(c)];
  }
  uint64_t used(int stack) const {
    uint64_t sum = 0;
    for (int c = 0; c < kCategories; ++c) sum += at(stack, static_cast<Category>(c));
    return sum;
  }
};
// CheckMemory's Error of kind kOutOfMemory names the stack, the largest category and by how much, with the
// nearest plan that fits.
MemoryMap BuildMemory(const Plan& plan);
Status CheckMemory(const Plan& plan, const MemoryMap& map);

}  // namespace novascope::plan
