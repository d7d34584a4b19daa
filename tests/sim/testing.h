// What the simulator's tests share: plans, and Programs of a few hand-made ops.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "sim/sim.h"

namespace novascope::sim::testing {

inline const hw::System& SystemOf(const char* id) { return *hw::FindSystem(id, "system").value(); }

inline plan::PlanOptions Degrees(
    int tp = 1, int pp = 1, int dp = 1, int lnc = 2,
    plan::CollectiveChoice collective = plan::CollectiveChoice::kAuto) {
  plan::PlanOptions options;
  options.tp = tp;
  options.pp = pp;
  options.dp = dp;
  options.lnc = lnc;
  options.collective = collective;
  return options;
}

inline plan::Plan MakePlan(const char* model, const char* system,
                           const plan::PlanOptions& options) {
  Result<plan::Plan> plan =
      plan::MakePlan(model::FindModel(model, "model").value(), SystemOf(system), options);
  if (!plan.ok()) FAIL(Describe(plan.error()));
  return std::move(plan.value());
}

// A plan on an UltraServer with stages that are empty until ops are added.
struct Bench {
  plan::Plan plan;
  hw::Topology topology;
  plan::Program program;

  explicit Bench(plan::PlanOptions options, const char* model = "scope-micro")
      : plan(MakePlan(model, "trn2-ultraserver", options)),
        topology(hw::BuildTopology(SystemOf("trn2-ultraserver"))) {
    for (int stage = 0; stage < options.pp; ++stage) {
      program.roles.emplace_back();
      program.roles.back().stage = stage;
    }
  }

  plan::Role& role(int stage = 0) { return program.roles[static_cast<size_t>(stage)]; }

  int16_t Tensor(plan::DType dtype, int stage = 0) {
    plan::TensorDecl decl;
    decl.name = "t";
    decl.dtype = dtype;
    role(stage).tensors.push_back(decl);
    return static_cast<int16_t>(role(stage).tensors.size() - 1);
  }

  // Appends an op as a section of its own.
  plan::Op& Add(plan::Op op, int stage = 0, int repeat = 1) {
    plan::Role& r = role(stage);
    r.sections.push_back({static_cast<int32_t>(r.ops.size()), 1, repeat});
    r.ops.push_back(op);
    return r.ops.back();
  }

  plan::Op Matmul(plan::DType codes, plan::DType weights, int m, int n, int k, int16_t kernel = 0) {
    plan::Op op{.kind = plan::OpKind::kMatmul, .name = "matmul", .kernel = kernel};
    op.in[0].tensor = Tensor(codes);
    op.in[2].tensor = Tensor(weights);
    op.m = m;
    op.n = n;
    op.k = k;
    return op;
  }

  // A collective over groups of `shape` with a buffer of `elements` (all-reduce) or parts of it
  // (gather).
  plan::Op Collective(plan::OpKind kind, plan::GroupShape shape, plan::DType dtype, int elements) {
    plan::Op op{.kind = kind, .name = "collective"};
    op.in[0].tensor = Tensor(dtype);
    op.m = 1;
    op.n = elements;
    program.groups.push_back({shape, "test"});
    op.group = static_cast<int16_t>(program.groups.size() - 1);
    return op;
  }

  void PlaceRanks(const std::vector<int>& chips) {
    for (size_t i = 0; i < chips.size(); ++i) {
      plan.ranks[i].chip = static_cast<int16_t>(chips[i]);
      plan.ranks[i].core = 0;
    }
  }

  trace::StepTemplate Run(const SimOptions& options = {}, int replicas = 1) const {
    Result<trace::StepTemplate> result = SimulateStep(plan, topology, program, replicas, options);
    if (!result.ok()) FAIL(Describe(result.error()));
    return std::move(result.value());
  }
};

inline int64_t Us(int64_t tenths) { return tenths * 100'000; }

inline int64_t Part(const trace::Split& split, trace::Owner owner) {
  return split.ps[static_cast<size_t>(owner)];
}

}  // namespace novascope::sim::testing
