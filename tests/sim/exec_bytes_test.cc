// exec counts bytes in its copy routine, sim from messages on links; they agree link by link.
#include "sim/sim.h"
#include "sim/testing.h"
#include "support/random_model.h"
#include "support/run_model.h"

namespace novascope::sim {
namespace {

using novascope::testing::Machine;
using sim::testing::Degrees;

TEST_CASE("exec and sim move the same bytes over every link", "[sim][exec]") {
  const model::ModelSpec spec = novascope::testing::SmallSpec();
  const model::Weights weights = novascope::testing::RandomWeights(spec, 1);
  const auto ring = plan::CollectiveChoice::kRing;
  for (const plan::PlanOptions& options :
       {Degrees(64, 4), Degrees(64, 4, 1, 2, ring), Degrees(16, 4), Degrees(4, 2), Degrees(2, 1),
        Degrees(32, 1, 1, 2, ring), Degrees(64, 4, 1, 1), Degrees(1, 4)}) {
    CAPTURE(options.tp, options.pp, options.lnc, static_cast<int>(options.collective));
    Machine machine(spec, weights, options);
    std::vector<uint64_t> before(machine.topology.links.size());
    for (const int rows : {19, 1}) {  // a prefill chunk, then a token
      const plan::Program program =
          machine.Build(rows == 1 ? plan::StepKind::kDecode : plan::StepKind::kPrefill, rows);
      const std::vector<int32_t> tokens = novascope::testing::RandomTokens(rows, spec.vocab, 5);
      REQUIRE(machine.engine->BeginStep(program, tokens).ok());
      while (machine.engine->Advance(1000)) {
      }
      REQUIRE(machine.engine->status().ok());
      const auto now = machine.engine->link_bytes();
      const auto timed = SimulateStep(machine.plan, machine.topology, program, 1, {});
      REQUIRE(timed.ok());
      uint64_t sum = 0;
      for (size_t link = 0; link < before.size(); ++link) {
        REQUIRE(timed.value().bytes_by_link[link] == now[link] - before[link]);
        sum += now[link] - before[link];
        before[link] = now[link];
      }
      CHECK((sum > 0) == (options.tp * options.pp > 1));
    }
  }
}

}  // namespace
}  // namespace novascope::sim
