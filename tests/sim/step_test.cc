// Whole steps of real Programs: what must hold whatever the numbers are.
#include <algorithm>
#include <set>

#include "sim/exchange.h"
#include "sim/sim.h"
#include "sim/testing.h"

namespace novascope::sim {
namespace {

using testing::Degrees;
using trace::Owner;

struct StepCase {
  const char* name;
  const char* model;
  const char* system;
  plan::PlanOptions options;
  plan::StepShape shape;
  int replicas;
};

std::vector<StepCase> Cases() {
  const plan::StepShape decode{.kv_positions = 128};
  const plan::StepShape prefill{.kind = plan::StepKind::kPrefill, .rows = 64, .kv_positions = 64};
  const plan::StepShape silent{
      .kind = plan::StepKind::kPrefill, .rows = 64, .kv_positions = 64, .logits = false};
  plan::PlanOptions ring = Degrees(16, 4, 1);
  ring.collective = plan::CollectiveChoice::kRing;
  plan::PlanOptions batch = Degrees(64, 1, 2);
  batch.batch = 4;
  batch.reduce = plan::ReduceMode::kBf16;
  plan::StepShape four = decode;
  four.sequences = 4;
  return {
      {"one core", "scope-micro", "trn2.3xlarge", Degrees(1, 1, 1), decode, 1},
      {"tp64 pp4", "scope-micro", "trn2-ultraserver", Degrees(64, 4, 1), decode, 1},
      {"tp64 pp4 prefill", "scope-micro", "trn2-ultraserver", Degrees(64, 4, 1), prefill, 1},
      {"tp64 pp4 prefill, no logits", "scope-micro", "trn2-ultraserver", Degrees(64, 4, 1), silent,
       1},
      {"tp16 pp4 ring", "scope-micro", "trn2-ultraserver", ring, decode, 1},
      {"two replicas", "scope-micro", "trn2-ultraserver", batch, four, 2},
      {"one of two replicas", "scope-micro", "trn2-ultraserver", Degrees(16, 2, 2), decode, 1},
      {"replicas in one chip", "scope-micro", "trn2-ultraserver", Degrees(2, 1, 4, 1), decode, 4},
      {"lnc 1", "scope-micro", "trn2.48xlarge", Degrees(8, 4, 1, 1), decode, 1},
      {"three replicas, two on a stack", "scope-micro", "trn2.3xlarge", Degrees(1, 1, 3, 1), decode,
       3},
  };
}

struct Built {
  plan::Plan plan;
  hw::Topology topology;
  plan::Program program;
};

Built Build(const StepCase& c) {
  Built built{testing::MakePlan(c.model, c.system, c.options),
              hw::BuildTopology(testing::SystemOf(c.system)),
              {}};
  built.program = plan::BuildProgram(built.plan, c.shape);
  return built;
}

std::vector<uint8_t> Simulated(const Built& built, const StepCase& c, const SimOptions& options) {
  const auto result = SimulateStep(built.plan, built.topology, built.program, c.replicas, options);
  if (!result.ok()) FAIL(Describe(result.error()));
  return trace::EncodeTemplate(result.value());
}

TEST_CASE("folded equals per rank, and repeated equals simulated anew, byte for byte",
          "[sim][fold]") {
  for (const StepCase& c : Cases()) {
    CAPTURE(c.name);
    const Built built = Build(c);
    const std::vector<uint8_t> folded = Simulated(built, c, {});
    CHECK(Simulated(built, c, {.fold = false}) == folded);
    CHECK(Simulated(built, c, {.reuse = false}) == folded);
    CHECK(Simulated(built, c, {.fold = false, .reuse = false}) == folded);
  }
}

TEST_CASE("the result does not depend on how the simulation is sliced", "[sim][fold]") {
  for (const StepCase& c : Cases()) {
    CAPTURE(c.name);
    const Built built = Build(c);
    const std::vector<uint8_t> whole = Simulated(built, c, {});
    for (const int slice : {1, 7, 1000}) {
      auto simulator =
          StepSimulator::Create(built.plan, built.topology, built.program, c.replicas, {});
      REQUIRE(simulator.ok());
      while (simulator.value().Advance(slice)) {
      }
      const auto result = simulator.value().Finish();
      REQUIRE(result.ok());
      REQUIRE(trace::EncodeTemplate(result.value()) == whole);
    }
  }
}

TEST_CASE("every core has one class, every picosecond one owner", "[sim]") {
  for (const StepCase& c : Cases()) {
    CAPTURE(c.name);
    const Built built = Build(c);
    const auto result = SimulateStep(built.plan, built.topology, built.program, c.replicas, {});
    REQUIRE(result.ok());
    const trace::StepTemplate& t = result.value();
    std::set<int32_t> cores;
    size_t idle = 0;
    for (const trace::RankClass& rank_class : t.classes) {
      CHECK(rank_class.split.total() == t.duration_ps);
      for (const int64_t ps : rank_class.split.ps) CHECK(ps >= 0);
      for (const int32_t core : rank_class.cores) CHECK(cores.insert(core).second);
      const bool is_idle = rank_class.stage < 0;
      CHECK(rank_class.split.ps[4] == (is_idle ? t.duration_ps : 0));
      if (is_idle) idle += rank_class.cores.size();
    }
    const auto all = static_cast<size_t>(built.plan.system->chips() * built.plan.cores_per_chip);
    CHECK(cores.size() == all);
    CHECK(all - idle == static_cast<size_t>(c.options.tp * c.options.pp * c.replicas));
    CHECK(t.critical_split.total() == t.duration_ps);
    CHECK(t.classes[static_cast<size_t>(t.critical_class)].stage >= 0);
  }
}

TEST_CASE("slices lie inside the step, engines and links are never busy twice", "[sim]") {
  for (const StepCase& c : Cases()) {
    CAPTURE(c.name);
    const Built built = Build(c);
    const auto result = SimulateStep(built.plan, built.topology, built.program, c.replicas, {});
    REQUIRE(result.ok());
    const trace::StepTemplate& t = result.value();
    std::vector<int64_t> track_free(t.tracks.size()), link_free(t.bytes_by_link.size());
    uint64_t hbm = 0;
    for (const trace::Slice& slice : t.slices) {
      const auto track = static_cast<size_t>(slice.track);
      REQUIRE(slice.start_ps >= track_free[track]);
      track_free[track] = slice.start_ps + slice.duration_ps;
      REQUIRE(track_free[track] <= t.duration_ps);
      if (t.tracks[track].kind == trace::TrackKind::kDma) {
        hbm +=
            slice.bytes * t.classes[static_cast<size_t>(t.tracks[track].rank_class)].cores.size();
      }
    }
    CHECK(hbm == t.hbm_bytes);
    std::vector<uint64_t> by_link(t.bytes_by_link.size());
    for (const trace::LinkSlice& slice : t.link_slices) {
      REQUIRE(slice.start_ps >= link_free[slice.link]);
      link_free[slice.link] = slice.start_ps + slice.duration_ps;
      REQUIRE(link_free[slice.link] <= t.duration_ps);
      by_link[slice.link] += slice.bytes;
    }
    CHECK(by_link == t.bytes_by_link);
  }
}

// Counts every schedule's messages link by link, apart from the simulator.
std::vector<uint64_t> CountLinkBytes(const Built& built, const StepCase& c) {
  std::vector<uint64_t> bytes(built.topology.links.size());
  const auto move = [&](int from, int to, uint64_t count) {
    if (from == to) return;
    for (const uint16_t link :
         built.topology.Route(built.plan.ranks[static_cast<size_t>(from)].chip,
                              built.plan.ranks[static_cast<size_t>(to)].chip)) {
      bytes[link] += count;
    }
  };
  for (int dp = 0; dp < c.replicas; ++dp) {
    for (const plan::Role& role : built.program.roles) {
      plan::ForEachOp(role, [&](const plan::Op& op, int) {
        if (op.kind == plan::OpKind::kSend) {
          for (int tp = 0; tp < c.options.tp; ++tp) {
            move(built.plan.rank(tp, role.stage, dp), built.plan.rank(tp, role.stage + 1, dp),
                 static_cast<uint64_t>(op.m) * static_cast<uint64_t>(op.n) * 2);
          }
        }
        if (!plan::IsCollective(op.kind)) return;
        const auto size = static_cast<uint64_t>(
            plan::DTypeBytes(role.tensors[static_cast<size_t>(op.in[0].tensor)].dtype));
        const plan::Schedule schedule = plan::BuildSchedule(built.plan, built.program, op, role);
        const int ranks = built.program.groups[static_cast<size_t>(op.group)].shape.ranks();
        for (int first = 0; first < c.options.tp; first += ranks) {
          for (const plan::Message& message : schedule.messages) {
            move(built.plan.rank(first + message.src, role.stage, dp),
                 built.plan.rank(first + message.dst, role.stage, dp),
                 uint64_t{message.count} * message.repeat * size);
          }
        }
      });
    }
  }
  return bytes;
}

TEST_CASE("links carry what the schedules send, link by link", "[sim]") {
  for (const StepCase& c : Cases()) {
    CAPTURE(c.name);
    const Built built = Build(c);
    const auto result = SimulateStep(built.plan, built.topology, built.program, c.replicas, {});
    REQUIRE(result.ok());
    CHECK(result.value().bytes_by_link == CountLinkBytes(built, c));
  }
}

TEST_CASE("a pipeline's critical path runs through all stages", "[sim]") {
  const StepCase c = Cases()[1];
  const Built built = Build(c);
  const auto result = SimulateStep(built.plan, built.topology, built.program, 1, {});
  REQUIRE(result.ok());
  const trace::StepTemplate& t = result.value();
  // Four stages and the sampling rank.
  REQUIRE(t.classes.size() == 5);
  int64_t compute = 0;
  for (const trace::RankClass& rank_class : t.classes) {
    if (rank_class.cores.size() == 1) continue;  // the sampling rank shares its stage's work
    compute += rank_class.split.ps[0];
  }
  for (const trace::Slice& slice : t.slices) {
    if (t.names[static_cast<size_t>(slice.name)] == "sample") compute += slice.duration_ps;
  }
  CHECK(t.critical_split.ps[static_cast<size_t>(Owner::kCompute)] == compute);
  // Kernels of all stages start one after another: 4 x 3, embedding and head.
  CHECK(t.critical_split.ps[static_cast<size_t>(Owner::kWait)] >= 14 * testing::Us(490));
}

TEST_CASE("components that differ make the simulator look at every rank", "[sim][fold]") {
  // Two groups of two ranks: neighbours, and chips two hops apart.
  testing::Bench bench(Degrees(4));
  bench.PlaceRanks({0, 1, 16, 26});
  bench.Add(bench.Collective(plan::OpKind::kGather, {2, 1}, plan::DType::kBF16, 4096));
  const trace::StepTemplate t = bench.Run();
  CHECK(trace::EncodeTemplate(t) == trace::EncodeTemplate(bench.Run({.fold = false})));
  REQUIRE(t.classes.size() == 3);
  const int64_t wire = TransferTime(8192, 128'000'000'000).ps;
  CHECK(t.duration_ps == wire + 4 * testing::Us(15));
  CHECK(t.classes[0].split.ps[static_cast<size_t>(Owner::kNetwork)] == wire + testing::Us(15));
  CHECK(t.classes[1].split.ps[static_cast<size_t>(Owner::kNetwork)] == wire + 4 * testing::Us(15));
}

TEST_CASE("scrubbing to the end of a step finds all its bytes", "[sim]") {
  const StepCase c = Cases()[1];
  const Built built = Build(c);
  const auto result = SimulateStep(built.plan, built.topology, built.program, 1, {});
  REQUIRE(result.ok());
  trace::Trace trace;
  const int id = trace.AddTemplate(result.value());
  trace.AddStep({.start_ps = 0, .step_template = id});
  const trace::StepTemplate& t = trace.templates()[0];
  const trace::Snapshot end = trace.At(t.duration_ps, built.plan.cores_per_chip);
  uint64_t links = 0;
  for (uint64_t bytes : t.link_bytes) links += bytes;
  CHECK(end.link_bytes == links);
  CHECK(end.hbm_bytes == t.hbm_bytes);
  for (const trace::LinkSlice& slice : t.link_slices) {
    const trace::Snapshot now = trace.At(slice.start_ps, built.plan.cores_per_chip);
    REQUIRE(std::binary_search(now.busy_links.begin(), now.busy_links.end(), slice.link));
    if (slice.start_ps > t.duration_ps / 20) break;
  }
}

TEST_CASE("keys tell programs, plans, replicas and options apart", "[sim]") {
  const plan::Plan plan = testing::MakePlan("scope-micro", "trn2-ultraserver", Degrees(16, 1, 4));
  const plan::Plan other = testing::MakePlan("scope-micro", "trn2-ultraserver", Degrees(16, 4, 1));
  const plan::StepShape shape{.kv_positions = 128};
  const plan::StepShape longer{.kv_positions = 256};
  std::set<uint64_t> keys = {StepKey(plan, shape, 1, {}), StepKey(plan, shape, 2, {}),
                             StepKey(plan, longer, 1, {}), StepKey(other, shape, 1, {}),
                             StepKey(plan, shape, 1, {.straggler = true})};
  CHECK(keys.size() == 5);
  CHECK(StepKey(plan, shape, 1, {}) == StepKey(plan, shape, 1, {.fold = false, .reuse = false}));
}

TEST_CASE("large shapes fold: Llama-3.1-405B at TP64, Nova-Micro-like at TP64 x DP4", "[sim]") {
  plan::PlanOptions options = Degrees(64, 1, 1);
  options.reduce = plan::ReduceMode::kBf16;
  options.max_positions = 2048;
  const StepCase llama{"405b",  "llama-3.1-405b",       "trn2.48xlarge",
                       options, {.kv_positions = 1024}, 1};
  Built built = Build(llama);
  CHECK(built.program.record_count() < 2000);
  const auto big = SimulateStep(built.plan, built.topology, built.program, 1, {});
  REQUIRE(big.ok());
  // 405 GB of FP8 weights over 64 stacks' cores at 666 GB/s is the floor; fixed costs are on top.
  const int64_t floor = TransferTime(405'000'000'000 / 64, 666'000'000'000).ps;
  CHECK(big.value().duration_ps > floor);
  CHECK(big.value().duration_ps < 5 * floor);
  CHECK(big.value().hbm_bytes > 405'000'000'000u);
  CHECK(big.value().hbm_bytes < 480'000'000'000u);

  options.dp = 4;
  options.batch = 32;
  const StepCase nova{"nova",
                      "nova-micro-like",
                      "trn2-ultraserver",
                      options,
                      {.sequences = 32, .kv_positions = 512},
                      4};
  built = Build(nova);
  const auto t = SimulateStep(built.plan, built.topology, built.program, 4, {});
  REQUIRE(t.ok());
  CHECK(t.value().classes.size() == 2);  // the sampling ranks, and all others
  CHECK(t.value().classes[0].cores.size() + t.value().classes[1].cores.size() == 256);
  CHECK(t.value().bytes_by_link == CountLinkBytes(built, nova));
  CHECK(trace::EncodeTemplate(t.value()).size() < 1'000'000);
}

}  // namespace
}  // namespace novascope::sim
