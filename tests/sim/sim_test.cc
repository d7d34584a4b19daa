// Closed forms: what one part of the model takes when nothing else happens.
#include "sim/sim.h"

#include "sim/exchange.h"
#include "sim/testing.h"

namespace novascope::sim {
namespace {

using plan::DType;
using plan::OpKind;
using testing::Bench;
using testing::Degrees;
using testing::Part;
using testing::Us;
using trace::Owner;

constexpr uint64_t kHbmRate = 666'000'000'000;

TEST_CASE("an unloaded HBM read takes bytes over the rate after the kernel's fixed cost",
          "[sim][closed]") {
  Bench bench(Degrees());
  bench.Add(bench.Matmul(DType::kBF16, DType::kBF16, 1, 4096, 4096));
  const trace::StepTemplate t = bench.Run();
  const uint64_t bytes = 4096u * 4096u * 2u;
  const int64_t read = TransferTime(bytes, kHbmRate).ps;
  CHECK(t.duration_ps == Us(390) + read);
  CHECK(t.hbm_bytes == bytes);
  CHECK(Part(t.critical_split, Owner::kWait) == Us(390));
  CHECK(Part(t.critical_split, Owner::kCompute) + Part(t.critical_split, Owner::kHbm) == read);
  CHECK(Part(t.critical_split, Owner::kHbm) > Part(t.critical_split, Owner::kCompute));
}

TEST_CASE("fixed costs go with the operands' formats", "[sim][closed]") {
  const auto wait = [](DType codes, DType weights, int lnc) {
    Bench bench(Degrees(1, 1, 1, lnc));
    bench.Add(bench.Matmul(codes, weights, 1, 128, 128));
    return Part(bench.Run().critical_split, Owner::kWait);
  };
  CHECK(wait(DType::kBF16, DType::kBF16, 2) == Us(390));
  CHECK(wait(DType::kE4M3, DType::kE4M3, 2) == Us(490));
  CHECK(wait(DType::kBF16, DType::kE4M3, 2) == Us(390));
  CHECK(wait(DType::kE4M3, DType::kE4M3, 1) == Us(120));
}

TEST_CASE("a fused kernel pays once, and again for each layer", "[sim][closed]") {
  Bench one(Degrees()), two(Degrees()), twice(Degrees());
  const plan::Op op = one.Matmul(DType::kBF16, DType::kBF16, 1, 128, 128, 0);
  one.Add(op);
  two.Matmul(DType::kBF16, DType::kBF16, 1, 128, 128, 0);
  two.role().ops = {op, op};
  two.role().sections = {{0, 2, 3}};
  CHECK(Part(two.Run().critical_split, Owner::kWait) == 3 * Us(390));
  twice.Matmul(DType::kBF16, DType::kBF16, 1, 128, 128, 0);
  twice.role().ops = {op, op};
  twice.role().ops[1].kernel = 1;
  twice.role().sections = {{0, 2, 3}};
  CHECK(Part(twice.Run().critical_split, Owner::kWait) == 6 * Us(390));
}

TEST_CASE("the DMA queue streams the kernel's later weights while the engines work",
          "[sim][closed]") {
  // A compute-bound matmul, then one whose weights arrive meanwhile: their time is not seen.
  Bench bench(Degrees());
  const plan::Op first = bench.Matmul(DType::kBF16, DType::kBF16, 512, 1024, 1024, 0);
  const plan::Op second = bench.Matmul(DType::kBF16, DType::kBF16, 1, 512, 1024, 0);
  bench.role().ops = {first, second};
  bench.role().sections = {{0, 2, 1}};
  const trace::StepTemplate t = bench.Run();
  const int64_t rate_first =
      TransferTime(2u * 128 * 128 * 2, kHbmRate).ps;  // two cores' first tile
  const int64_t engines =
      CycleTime(4 * 8 * 512, 2'400'000'000).ps + CycleTime(2 * 8 * 64, 2'400'000'000).ps;
  CHECK(t.duration_ps == Us(390) + rate_first + engines);
  CHECK(t.hbm_bytes == 1024u * 1024 * 2 + 512u * 1024 * 2);
}

TEST_CASE("ranks that share a stack share its rate", "[sim][closed]") {
  const auto read = [](int tp, int lnc, int dp) {
    Bench bench(Degrees(tp, 1, dp, lnc));
    bench.Add(bench.Matmul(DType::kBF16, DType::kBF16, 1, 4096, 4096));
    return bench.Run({}, dp).duration_ps - (lnc == 1 ? Us(120) : Us(390));
  };
  const uint64_t bytes = 4096u * 4096u * 2u;
  CHECK(read(1, 1, 1) == TransferTime(bytes, 368'000'000'000).ps);  // its own DMA engines
  CHECK(read(2, 1, 1) == TransferTime(bytes, kHbmRate / 2).ps);     // two cores on a stack
  CHECK(read(1, 1, 2) == TransferTime(bytes, kHbmRate / 2).ps);     // two replicas on a stack
  CHECK(read(2, 2, 1) == TransferTime(bytes, kHbmRate).ps);         // LNC=2: a stack each
}

TEST_CASE("an unloaded message takes the slowest link's time and every hop's latency",
          "[sim][closed]") {
  struct Case {
    int chip;
    uint64_t rate;
    int64_t hops;
  };
  const int bytes = 1 << 20;
  for (const Case& c :
       {Case{1, 128, Us(15)}, Case{2, 128, Us(30)}, Case{10, 128, Us(60)}, Case{16, 64, Us(15)},
        Case{32, 64, Us(30)}, Case{42, 64, Us(90)}, Case{0, 1450, Us(13)}}) {
    CAPTURE(c.chip);
    Bench bench(Degrees(2));
    bench.PlaceRanks({0, c.chip});
    bench.Add(bench.Collective(OpKind::kGather, {2, 1}, DType::kBF16, bytes / 2));
    const trace::StepTemplate t = bench.Run();
    const int64_t wire = TransferTime(bytes, c.rate * 1'000'000'000).ps;
    CHECK(t.duration_ps == wire + c.hops);
    CHECK(Part(t.critical_split, Owner::kNetwork) == t.duration_ps);
    uint64_t moved = 0;
    for (uint64_t kind : t.link_bytes) moved += kind;
    CHECK(moved == static_cast<uint64_t>(bytes) * bench.topology.Route(c.chip, 0).size());
    for (const trace::LinkSlice& slice : t.link_slices) {
      const hw::LinkKind kind = bench.topology.links[slice.link].kind;
      CHECK(slice.duration_ps ==
            TransferTime(slice.bytes, bench.topology.bytes_per_second(kind)).ps);
    }
  }
}

TEST_CASE("messages on one link go one after another", "[sim][closed]") {
  // Chips 0, 3 and 3 send to chip 1. From 3 to 1 is a tie and goes over 0, so all three messages
  // share the link from 0 to 1: the first at once, the others as they come in from 3.
  Bench bench(Degrees(4));
  bench.PlaceRanks({1, 0, 3, 3});
  bench.Add(bench.Collective(OpKind::kGather, {4, 1}, DType::kBF16, 1 << 20));
  const trace::StepTemplate t = bench.Run();
  const int64_t wire = TransferTime(2u << 20, 128'000'000'000).ps;
  CHECK(t.duration_ps == 3 * wire + Us(15));
  uint64_t busiest = 0;
  for (uint64_t bytes : t.bytes_by_link) busiest = std::max(busiest, bytes);
  CHECK(busiest == 3u * (2u << 20));
}

TEST_CASE("an unloaded ring takes 2 (n-1) x (chunk / bandwidth + hop)", "[sim][closed]") {
  struct Case {
    std::vector<int> chips;
    uint64_t rate;
  };
  const std::vector<int> row = {0, 1, 2, 3};
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const std::vector<int> z = {5, 21, 37, 53};
  for (const Case& c : {Case{row, 128}, Case{all, 128}, Case{z, 64}}) {
    const auto n = static_cast<int>(c.chips.size());
    CAPTURE(n, c.rate);
    Bench bench(Degrees(n, 1, 1, 2, plan::CollectiveChoice::kRing));
    bench.PlaceRanks(c.chips);
    const int elements = n * 4096;
    bench.Add(bench.Collective(OpKind::kAllReduceSum, {n, 1}, DType::kFP32, elements));
    const trace::StepTemplate t = bench.Run();
    const int64_t chunk = TransferTime(4096 * 4, c.rate * 1'000'000'000).ps;
    CHECK(t.duration_ps == 2 * (n - 1) * (chunk + Us(15)));
    CHECK(Part(t.critical_split, Owner::kNetwork) == t.duration_ps);
    uint64_t moved = 0;
    for (uint64_t kind : t.link_bytes) moved += kind;
    CHECK(moved == 2u * static_cast<uint64_t>(n - 1) * static_cast<uint64_t>(elements) * 4u);
  }
}

TEST_CASE("the default all-reduce at 64 ranks and 8 KB takes 17.5 us + bytes / 100 GB/s",
          "[sim][closed]") {
  const auto run = [](const SimOptions& options, int elements) {
    Bench bench(Degrees(64));
    bench.Add(bench.Collective(OpKind::kAllReduceSum, {16, 4}, DType::kFP64, elements));
    return bench.Run(options);
  };
  const trace::StepTemplate t = run({}, 1024);
  CHECK(t.duration_ps == 17'500'000 + 81'920);  // 8,192 B / 100 GB/s
  // The straggler's wait is apart: it comes before and is waiting.
  const trace::StepTemplate late = run({.straggler = true}, 1024);
  CHECK(late.duration_ps == t.duration_ps + 23'000'000);
  CHECK(Part(late.critical_split, Owner::kNetwork) == Part(t.critical_split, Owner::kNetwork));
  CHECK(Part(late.critical_split, Owner::kWait) ==
        Part(t.critical_split, Owner::kWait) + 23'000'000);
  // Smaller than that the same law holds; far larger the links are the limit.
  CHECK(run({}, 128).duration_ps == 17'500'000 + 10'240);
  CHECK(run({}, 32768).duration_ps > 17'500'000 + 2'621'440);
}

TEST_CASE("the all-reduce's measured time depends on how far it reaches", "[sim][closed]") {
  const hw::System& system = testing::SystemOf("trn2-ultraserver");
  CHECK(MeshTime(system, false, 0, 8192) == 17'581'920);
  CHECK(MeshTime(system, true, 0, 8192) == 12'981'920);
  CHECK(MeshTime(system, false, 2, 8192) == 17'581'920 + 6'000'000);  // 256 ranks: + 2 x 2 Z hops
  const auto run = [](int tp, plan::GroupShape shape) {
    Bench bench(Degrees(tp), "llama-3.1-70b");
    bench.Add(bench.Collective(OpKind::kAllReduceMax, shape, DType::kFP32, 16));
    return bench.Run().duration_ps;
  };
  CHECK(run(4, {1, 4}) == 12'900'000 + 640);
  // A two-step mesh, as prefill takes it, is no faster than what was measured.
  Bench prefill(Degrees(64));
  prefill.program.shape.kind = plan::StepKind::kPrefill;
  prefill.Add(prefill.Collective(OpKind::kAllReduceSum, {16, 4}, DType::kBF16, 4096));
  CHECK(prefill.Run().duration_ps == 17'581'920);
  CHECK(run(64, {1, 4}) == 12'900'000 + 640);  // sixteen groups side by side
  CHECK(run(64, {16, 4}) == 17'500'000 + 640);
  CHECK(run(256, {64, 4}) == 23'500'000 + 640);
}

TEST_CASE("what the cores of a chip sum themselves runs on the Vector engine", "[sim][closed]") {
  Bench bench(Degrees(64));
  bench.Add(bench.Collective(OpKind::kAllReduceSum, {16, 4}, DType::kBF16, 1 << 16));
  const trace::StepTemplate t = bench.Run();
  // 15 buffers in the inbox, a quarter each: two passes over 15 x 16384 elements on 2 x 128 lanes.
  const int64_t sums = CycleTime(2 * 15 * 16384 / 256, 960'000'000).ps;
  CHECK(Part(t.critical_split, Owner::kCompute) == sums);
}

TEST_CASE("a stage waits for the one before, and its rows cross the wire", "[sim][closed]") {
  Bench bench(Degrees(4, 2));
  bench.Add(bench.Matmul(DType::kBF16, DType::kBF16, 1, 1024, 1024));
  plan::Op send{.kind = OpKind::kSend, .name = "send"};
  send.in[0].tensor = bench.Tensor(DType::kBF16);
  send.m = 2;
  send.n = 4096;
  bench.Add(send);
  plan::Op recv{.kind = OpKind::kRecv, .name = "recv"};
  recv.out[0].tensor = bench.Tensor(DType::kBF16, 1);
  recv.m = 2;
  recv.n = 4096;
  bench.Add(recv, 1);
  plan::Op add{.kind = OpKind::kResidual, .name = "add", .m = 1, .n = 256};
  bench.Add(add, 1);
  const trace::StepTemplate t = bench.Run();
  const int64_t work = Us(390) + TransferTime(1024 * 1024 * 2, kHbmRate).ps;
  const int64_t wire =
      4 * TransferTime(2 * 4096 * 2, 128'000'000'000).ps + Us(15);  // four cores, one link
  const int64_t last = CycleTime(2 * 64, 960'000'000).ps;
  CHECK(t.duration_ps == work + wire + last);
  REQUIRE(t.classes.size() == 3);  // two stages and the idle rest
  CHECK(t.classes[1].stage == 1);
  CHECK(Part(t.classes[1].split, Owner::kWait) == work);
  CHECK(Part(t.classes[1].split, Owner::kNetwork) == wire);
  CHECK(Part(t.classes[1].split, Owner::kCompute) == last);
  CHECK(Part(t.classes[0].split, Owner::kNetwork) == wire);
  CHECK(Part(t.classes[0].split, Owner::kWait) == Us(390) + last);
  // Along the path: stage 0 while it works, then the wire, then stage 1; never stage 1's wait for
  // stage 0.
  CHECK(Part(t.critical_split, Owner::kWait) == Us(390));
  CHECK(Part(t.critical_split, Owner::kNetwork) == wire);
  CHECK(t.critical_split.total() == t.duration_ps);
  CHECK(t.critical_class == 0);
}

TEST_CASE("the host's gap ends a synchronous step", "[sim][closed]") {
  Bench bench(Degrees());
  bench.Add(bench.Matmul(DType::kBF16, DType::kBF16, 1, 128, 128));
  const trace::StepTemplate async = bench.Run();
  const trace::StepTemplate sync = bench.Run({.host_gap = true});
  CHECK(sync.duration_ps == async.duration_ps + 437'000'000);
  CHECK(Part(sync.critical_split, Owner::kWait) ==
        Part(async.critical_split, Owner::kWait) + 437'000'000);
  CHECK(sync.key != async.key);
}

TEST_CASE("wrong replicas, topologies and programs are refused", "[sim]") {
  Bench bench(Degrees(4, 2, 2));
  const auto refused = [&](int replicas) {
    return SimulateStep(bench.plan, bench.topology, bench.program, replicas, {});
  };
  CHECK(refused(1).ok());  // nothing to do is fine
  CHECK(refused(2).ok());
  CHECK(!refused(0).ok());
  const auto three = refused(3);
  REQUIRE(!three.ok());
  CHECK(three.error().code == ErrorCode::kInput);
  CHECK(three.error().field == "replicas");
  const hw::Topology other = hw::BuildTopology(testing::SystemOf("trn2.48xlarge"));
  CHECK(!SimulateStep(bench.plan, other, bench.program, 1, {}).ok());
  plan::Op op{.kind = OpKind::kMatmul, .name = "matmul"};
  bench.Add(op);
  CHECK(!refused(1).ok());
  bench.role().ops[0] = {.kind = OpKind::kAllReduceSum, .name = "sum"};
  CHECK(!refused(1).ok());
  bench.role().ops[0] = {.kind = OpKind::kRecv, .name = "recv"};
  CHECK(!refused(1).ok());
  bench.role().ops[0] = {.kind = OpKind::kResidual, .name = "add", .m = -1};
  CHECK(!refused(1).ok());
  bench.role().ops[0] = {.kind = OpKind::kResidual, .name = "add", .m = 1, .n = 1};
  CHECK(refused(1).ok());
  bench.role().sections[0].op_count = 5;
  CHECK(!refused(1).ok());
  bench.role().sections[0].op_count = 1;
  bench.program.roles.pop_back();
  CHECK(!refused(1).ok());
}

}  // namespace
}  // namespace novascope::sim
