// Chips, systems and how they are wired: rows with a source for every number, and the topology
// built from a system row. No time passes here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sourced.h"

namespace novascope::hw {

// Figures of one chip. Rates are exact integers: bytes/s, Hz.
struct Chip {
  const char* id;
  const char* label;
  Sourced<int> physical_cores;
  Sourced<int> hbm_stacks;
  Sourced<uint64_t> hbm_stack_bytes;
  Sourced<uint64_t> hbm_stack_bytes_per_second;  // peak
  Sourced<uint64_t>
      hbm_kernel_bytes_per_second;              // what a fused decode kernel streams from one stack
  Sourced<uint64_t> dma_core_bytes_per_second;  // practical, the DMA engines of one physical core
  Sourced<uint64_t> tensor_hz, vector_hz, scalar_hz;  // engine clocks
  Sourced<int> pe_rows, pe_columns;                   // systolic array
  Sourced<int> matmul_max_n, matmul_min_cycles;       // 512; 64
  Sourced<int> fp8_rows_per_cycle;                    // 2: double-FP8 contracts 256
  Sourced<uint64_t> sbuf_bytes, psum_bytes;           // per physical core
  Sourced<uint64_t> code_bytes_per_core;              // the runtime's own 96 MB per physical core
  Sourced<int64_t> kernel_bf16_ps, kernel_fp8_ps;     // fixed cost of a fused kernel at LNC=2
  Sourced<int64_t> kernel_lnc1_ps;                    // the same at LNC=1
  Sourced<int64_t> dma_start_ps;
};

enum class LinkKind : uint8_t { kInChip, kXY, kZ, kEfa };
constexpr const char* LinkKindName(LinkKind kind) {
  constexpr const char* kNames[] = {"in_chip", "xy", "z", "efa"};
  return kNames[static_cast<int>(kind)];
}

struct System {
  const char* id;  // "trn2.48xlarge", "trn2-ultraserver"
  const char* label;
  const char* chip;   // Chip id
  int instances = 1;  // joined by Z rings
  int torus_x = 4, torus_y = 4;
  Sourced<uint64_t> in_chip_bytes_per_second;  // what the cores of one chip exchange, all together
  Sourced<uint64_t> xy_bytes_per_second, z_bytes_per_second, efa_bytes_per_second;  // per direction
  Sourced<int64_t> in_chip_hop_ps, xy_hop_ps, z_hop_ps, efa_hop_ps;
  Sourced<int64_t> mesh_base_ps;            // small all-reduce in one instance: 17.5 us
  Sourced<int64_t> mesh_in_chip_base_ps;    // the same among the cores of one chip: 12.9 us
  Sourced<uint64_t> mesh_bytes_per_second;  // 100 GB/s
  Sourced<int64_t> straggler_ps;            // mean extra wait, high case only
  Sourced<int64_t> host_gap_ps;             // synchronous step gap
  int chips() const { return instances * torus_x * torus_y; }
  int instance_of(int chip_index) const { return chip_index / (torus_x * torus_y); }
};

std::span<const Chip> Chips();
std::span<const System> Systems();
Result<const Chip*> FindChip(std::string_view id, std::string_view field);
Result<const System*> FindSystem(std::string_view id, std::string_view field);

// Walks every Sourced number of every row: name, value, label, source, date, note.
struct SourceRow {
  std::string_view row, name;
  double value;
  Label label;
  const char *source, *date, *note;
};
std::vector<SourceRow> AllSources();

// Directed links of a system. Chip index = instance * 16 + y * 4 + x (row-major). Links of a chip:
// +x, -x, +y, -y, then +z, -z where there are instances to join; one in-chip "link" per chip
// carries what its cores exchange.
struct Link {
  LinkKind kind;
  int16_t from_chip, to_chip;  // equal for in-chip
};
struct Topology {
  const System* system = nullptr;
  std::vector<Link>
      links;  // index = link id, stable: in-chip links first, then by (from, direction)
  // Dimension-ordered route (x, then y, then z; ties go to the positive direction), as link ids.
  // from == to gives the chip's in-chip link.
  std::span<const uint16_t> Route(int from_chip, int to_chip) const;
  // Rate and hop latency of a link, from the system row.
  uint64_t bytes_per_second(LinkKind kind) const;
  int64_t hop_ps(LinkKind kind) const;

  std::vector<uint16_t> route_links;  // all routes, back to back
  std::vector<uint32_t> route_begin;  // [chips * chips + 1]
};
Topology BuildTopology(const System& system);

}  // namespace novascope::hw
