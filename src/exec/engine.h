// Runs a Program's arithmetic. Every simulated chip of the first replica is a buffer of its own (its HBM)
// that holds its ranks' shards of weights and KV pages; ops see views into it; collectives move real data
// between buffers and count bytes per link in the copy routine. Other replicas hold the same weights and
// would do the same, so they are not materialised. One sequence at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "hw/machine.h"
#include "kernels/kernels.h"
#include "model/weights.h"
#include "plan/plan.h"
#include "plan/program.h"

namespace novascope::exec {

// For tests: what to do to one message of a step (index in order of execution since BeginStep).
struct Tamper {
  enum class Kind : uint8_t { kNone, kDrop, kDuplicate, kSwap } kind = Kind::kNone;
  int64_t message = -1;
  bool unchecked = false;  // receivers do not check tags, so the damage goes on into the numbers
};

class Engine {
 public:
  struct State;  // exec/state.h
  // Places the weights. `topology` must outlive the engine. Refuses kBf16 reduction and models whose
  // sizes the kernels do not take, naming the size.
  static Result<Engine> Create(const plan::Plan& plan, const model::Weights& weights,
                               const hw::Topology& topology, const kernels::KernelSet* kernels);
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  // Forgets the sequence: the KV cache is empty again.
  void Reset();
  // Positions in the KV cache.
  int positions() const;

  // Starts a step over tokens.size() new positions (program.shape.rows of them, one sequence). `program`
  // must outlive the step.
  Status BeginStep(const plan::Program& program, std::span<const int32_t> tokens);
  // Does up to `units` ops, each over all its ranks. Returns true while the step is unfinished.
  bool Advance(int units);
  // An Error where a receiver refused a message; the step is then over without logits.
  Status status() const;
  // Messages delivered since BeginStep.
  int64_t messages() const;
  // After a finished step with logits: [vocab] of the last row, as TP rank 0 of the last stage holds them.
  std::span<const float> logits() const;

  // Bytes moved since Create, by link id, as counted by the copy routine.
  std::span<const uint64_t> link_bytes() const;

  // Direct access for tests: the memory of one chip, and one rank's weight tensor in it.
  std::span<uint8_t> chip_memory(int chip);
  std::span<uint8_t> weight_bytes(int rank, std::string_view tensor, int layer);
  // Weight bytes placed over all chips of the replica.
  uint64_t placed_weight_bytes() const;
  void set_tamper(const Tamper& tamper);

 private:
  explicit Engine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace novascope::exec
