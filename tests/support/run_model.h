// Runs a prompt through the execution engine, as the tests of exec and session want it.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "base/rng.h"
#include "exec/engine.h"
#include "plan/program.h"

namespace novascope::testing {

// One machine with a model on it.
struct Machine {
  plan::Plan plan;
  hw::Topology topology;
  std::unique_ptr<exec::Engine> engine;

  Machine(const model::ModelSpec& spec, const model::Weights& weights, plan::PlanOptions options,
          std::string_view kernels = "", std::string_view system = "trn2-ultraserver") {
    const hw::System& machine = *hw::FindSystem(system, "system").value();
    topology = hw::BuildTopology(machine);
    Result<plan::Plan> made = plan::MakePlan(spec, machine, options);
    if (!made.ok()) FAIL(Describe(made.error()));
    plan = made.value();
    Result<exec::Engine> created = exec::Engine::Create(
        plan, weights, topology, kernels::FindKernelSet(kernels, "kernels").value());
    if (!created.ok()) FAIL(Describe(created.error()));
    engine = std::make_unique<exec::Engine>(std::move(created.value()));
  }

  plan::Program Build(plan::StepKind kind, int rows, bool logits = true) const {
    return plan::BuildProgram(plan, {.kind = kind, .rows = rows, .sequences = 1,
                                     .kv_positions = plan.max_positions(), .logits = logits});
  }

  // Runs the tokens in chunks of `chunk` (the last one with logits) and returns the logits.
  std::vector<float> Run(const std::vector<int32_t>& tokens, int chunk, int units = 1000) {
    engine->Reset();
    for (size_t at = 0; at < tokens.size();) {
      const size_t count = std::min(static_cast<size_t>(chunk), tokens.size() - at);
      const bool last = at + count == tokens.size();
      const plan::Program program =
          Build(count == 1 && chunk == 1 ? plan::StepKind::kDecode : plan::StepKind::kPrefill,
                static_cast<int>(count), last);
      const Status begun = engine->BeginStep(program, std::span(tokens).subspan(at, count));
      if (!begun.ok()) FAIL(Describe(begun.error()));
      while (engine->Advance(units)) {
      }
      at += count;
      if (!engine->status().ok()) return {};
    }
    const auto logits = engine->logits();
    return {logits.begin(), logits.end()};
  }
};

inline std::vector<int32_t> RandomTokens(int count, int vocab, uint64_t seed) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<int32_t>(RandomBits(seed, 77, i) % static_cast<uint64_t>(vocab));
  }
  return tokens;
}

}  // namespace novascope::testing
