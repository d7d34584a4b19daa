#include "hw/machine.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <vector>

namespace novascope::hw {
namespace {

const System& Get(const char* id) { return *FindSystem(id, "system").value(); }

TEST_CASE("every hardware number has a source and a date", "[hw]") {
  const std::vector<SourceRow> rows = AllSources();
  // One entry for each Sourced member of each row.
  REQUIRE(rows.size() == Chips().size() * 21 + Systems().size() * 13);
  std::set<std::string> seen;
  for (const SourceRow& row : rows) {
    CAPTURE(row.row, row.name);
    CHECK(std::string_view(row.source).size() > 8);
    CHECK(std::string_view(row.date) >= "2024-01-01");
    CHECK(row.value > 0);
    CHECK(seen.insert(std::string(row.row) + "." + std::string(row.name)).second);
    if (row.label == Label::kAssumed) CHECK(std::string_view(row.note).size() > 8);
    if (row.label == Label::kPublished || row.label == Label::kMeasured) {
      // "Document title — site"
      CHECK(std::string_view(row.source).find(" — ") != std::string_view::npos);
    }
  }
}

TEST_CASE("unknown ids name the field, the value and the rows", "[hw]") {
  const Result<const System*> system = FindSystem("trn9", "system");
  REQUIRE(!system.ok());
  CHECK(system.error().code == ErrorCode::kUnknownId);
  CHECK(system.error().field == "system");
  CHECK(system.error().value == "trn9");
  CHECK(system.error().fix.find("trn2-ultraserver") != std::string::npos);
  CHECK(!FindChip("", "chip").ok());
  for (const System& row : Systems()) {
    CHECK(FindSystem(row.id, "system").value() == &row);
    CHECK(FindChip(row.chip, "chip").ok());
  }
}

TEST_CASE("chip totals agree with the published ones", "[hw]") {
  const Chip& chip = *FindChip("trainium2", "chip").value();
  CHECK(chip.hbm_stack_bytes.value * 4 == uint64_t{96} << 30);
  CHECK(chip.hbm_stack_bytes_per_second.value * 4 == 2'900'000'000'000u);
  CHECK(chip.sbuf_bytes.value == 128u * 224 * 1024);
  // 128 x 128 cells at 2.4 GHz, two flops each, twice that in FP8: 78.6 and 157.3 TFLOPS.
  const uint64_t bf16 = chip.tensor_hz.value * 2 * static_cast<uint64_t>(chip.pe_rows.value) *
                        static_cast<uint64_t>(chip.pe_columns.value);
  CHECK(bf16 / 100'000'000'000u == 786);
  CHECK(bf16 * static_cast<uint64_t>(chip.fp8_rows_per_cycle.value) / 100'000'000'000u == 1572);
  const System& system = Get("trn2-ultraserver");
  CHECK(8 * system.xy_bytes_per_second.value == 1'024'000'000'000u);
  CHECK(4 * system.z_bytes_per_second.value == 256'000'000'000u);
}

TEST_CASE("device 0 neighbours 1, 3, 4 and 12", "[hw][topology]") {
  const Topology topology = BuildTopology(Get("trn2.48xlarge"));
  std::vector<int> neighbours;
  for (const Link& link : topology.links) {
    if (link.kind != LinkKind::kInChip && link.from_chip == 0) neighbours.push_back(link.to_chip);
  }
  CHECK(neighbours == std::vector<int>{1, 3, 4, 12});  // +x, -x, +y, -y
}

TEST_CASE("links are counted and come in pairs", "[hw][topology]") {
  struct Expected {
    const char* id;
    int in_chip, xy, z;
  };
  for (const Expected& want :
       {Expected{"trn2.3xlarge", 1, 0, 0}, Expected{"trn2.48xlarge", 16, 64, 0},
        Expected{"trn2-ultraserver", 64, 256, 128}}) {
    CAPTURE(want.id);
    const Topology topology = BuildTopology(Get(want.id));
    int counts[4] = {};
    std::multiset<std::pair<int, int>> pairs;
    for (const Link& link : topology.links) {
      ++counts[static_cast<int>(link.kind)];
      pairs.insert({link.from_chip, link.to_chip});
      if (link.kind == LinkKind::kZ) CHECK(link.from_chip % 16 == link.to_chip % 16);
      if (link.kind == LinkKind::kXY) CHECK(link.from_chip / 16 == link.to_chip / 16);
    }
    CHECK(counts[0] == want.in_chip);
    CHECK(counts[1] == want.xy);
    CHECK(counts[2] == want.z);
    CHECK(counts[3] == 0);
    for (const auto& [from, to] : pairs) CHECK(pairs.count({from, to}) == pairs.count({to, from}));
    for (int chip = 0; chip < want.in_chip; ++chip) {
      CHECK(topology.links[static_cast<size_t>(chip)].from_chip == chip);
      CHECK(topology.links[static_cast<size_t>(chip)].kind == LinkKind::kInChip);
    }
  }
}

TEST_CASE("routes are connected, shortest and go x, then y, then z", "[hw][topology]") {
  const Topology topology = BuildTopology(Get("trn2-ultraserver"));
  const auto ring = [](int a, int b) { return std::min((a - b + 4) % 4, (b - a + 4) % 4); };
  for (int from = 0; from < 64; ++from) {
    for (int to = 0; to < 64; ++to) {
      const std::span<const uint16_t> route = topology.Route(from, to);
      if (from == to) {
        REQUIRE(route.size() == 1);
        REQUIRE(route[0] == from);
        continue;
      }
      const int want =
          ring(from % 4, to % 4) + ring(from / 4 % 4, to / 4 % 4) + ring(from / 16, to / 16);
      REQUIRE(static_cast<int>(route.size()) == want);
      int at = from;
      int last_axis = 0;
      for (const uint16_t id : route) {
        const Link& link = topology.links[id];
        REQUIRE(link.from_chip == at);
        const int axis = link.kind == LinkKind::kZ                ? 2
                         : link.to_chip / 4 == link.from_chip / 4 ? 0
                                                                  : 1;
        REQUIRE(axis >= last_axis);
        last_axis = axis;
        at = link.to_chip;
      }
      REQUIRE(at == to);
    }
  }
  // A tie goes the positive way: 0 -> 2 over 1, 0 -> 8 over 4, 0 -> 32 over 16.
  CHECK(topology.links[topology.Route(0, 2)[0]].to_chip == 1);
  CHECK(topology.links[topology.Route(2, 0)[0]].to_chip == 3);
  CHECK(topology.links[topology.Route(0, 8)[0]].to_chip == 4);
  CHECK(topology.links[topology.Route(0, 32)[0]].to_chip == 16);
}

TEST_CASE("cutting an instance or the UltraServer in half cuts what AWS's figures imply",
          "[hw][topology]") {
  const Topology topology = BuildTopology(Get("trn2-ultraserver"));
  uint64_t across_x = 0, across_z = 0;
  for (const Link& link : topology.links) {
    if (link.kind == LinkKind::kXY && link.from_chip < 16 && link.from_chip % 4 < 2 &&
        link.to_chip % 4 >= 2) {
      across_x += topology.bytes_per_second(link.kind);
    }
    if (link.kind == LinkKind::kZ && link.from_chip / 16 < 2 && link.to_chip / 16 >= 2) {
      across_z += topology.bytes_per_second(link.kind);
    }
  }
  CHECK(across_x == 1'024'000'000'000u);
  CHECK(across_z == 2'048'000'000'000u);
}

}  // namespace
}  // namespace novascope::hw
