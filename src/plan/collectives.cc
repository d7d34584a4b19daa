#include "plan/collectives.h"

#include <algorithm>
#include <string>

#include "plan/collectives/builders.h"
#include "plan/plan.h"

namespace novascope::plan {
namespace {

constexpr Algorithm kAlgorithms[] = {
    {"mesh", "Single-step mesh", CollectiveOp::kAllReduce,
     "One step on the network: each core sends its share of the chip's sum to every chip.",
     BuildMesh},
    {"mesh2", "Two-step mesh", CollectiveOp::kAllReduce,
     "Reduce-scatter, then all-gather, each in one step: 2 (n-1)/n of the buffer per rank.", BuildMesh2},
    {"ring", "Ring", CollectiveOp::kAllReduce,
     "2 (n-1) steps of 1/n of the buffer to the next rank.", BuildRing},
    {"gather-mesh", "All-gather, mesh", CollectiveOp::kAllGather,
     "Every part once to every chip, then an exchange in the chip.", BuildGatherMesh},
    {"gather-ring", "All-gather, ring", CollectiveOp::kAllGather,
     "n-1 steps, each rank passes on the part it got last.", BuildGatherRing},
    {"collect", "Gather", CollectiveOp::kGather, "Every rank sends its part to rank 0.", BuildCollect},
};

// Where the hardware changes its algorithm. Published: "Intra-node Collective Communications with AWS
// Neuron", AWS Neuron documentation, read 2026-12-01: mesh below 1 MB, recursive doubling and halving to
// 56 MB, rings above. The two-step mesh, as short in steps, stands in for recursive doubling.
constexpr uint64_t kSingleStepLimit = 1'000'000;
constexpr uint64_t kRingFrom = 56'000'000;

const Algorithm& Row(std::string_view id) {
  for (const Algorithm& row : kAlgorithms) {
    if (id == row.id) return row;
  }
  return kAlgorithms[0];
}

}  // namespace

std::span<const Algorithm> Algorithms() { return kAlgorithms; }

Result<const Algorithm*> FindAlgorithm(std::string_view id, std::string_view field) {
  std::string list;
  for (const Algorithm& row : kAlgorithms) {
    if (id == row.id) return &row;
    list += (list.empty() ? "" : ", ") + std::string(row.id);
  }
  return Error{ErrorCode::kUnknownId, std::string(field), std::string(id.substr(0, 80)),
               "There is no such collective algorithm.", "Use one of " + list + "."};
}

const Algorithm& ChooseAlgorithm(CollectiveOp op, CollectiveChoice choice, bool decode,
                                 GroupShape shape, uint64_t bytes) {
  const bool ring = choice == CollectiveChoice::kRing ||
                    (choice == CollectiveChoice::kAuto && bytes >= kRingFrom);
  switch (op) {
    case CollectiveOp::kAllGather:
      return Row(ring && shape.chips > 1 ? "gather-ring" : "gather-mesh");
    case CollectiveOp::kGather:
      return Row("collect");
    default:
      break;
  }
  if (shape.chips == 1 && choice != CollectiveChoice::kRing) return Row("mesh");
  if (ring) return Row("ring");
  return Row(decode && bytes < kSingleStepLimit ? "mesh" : "mesh2");
}

}  // namespace novascope::plan
