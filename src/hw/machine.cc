// The rows. Document titles as in the project's list of sources; "read" is the day the figure was
// read.
#include "hw/machine.h"

#include <string>

#include "base/units.h"
#include "base/utf8.h"

namespace novascope::hw {
namespace {

constexpr const char* kRead = "2026-12-01";
constexpr const char* kChipPage = "Trainium2 Architecture — AWS Neuron documentation";
constexpr const char* kNkiGuide =
    "Trainium2 Architecture Guide for NKI (Dec 2025) — AWS Neuron documentation";
constexpr const char* kNkiGuideV2 =
    "Trainium/Inferentia2 Architecture Guide for NKI — AWS Neuron documentation";
constexpr const char* kIsa = "nki.isa API reference, SDK 2.26.1 — AWS Neuron documentation";
constexpr const char* kDmaGuide =
    "Guideline to Avoid Under-Utilizing DMA Bandwidth (Apr 2026) — AWS Neuron documentation";
constexpr const char* kMemoryPage = "Neuron Device Memory — AWS Neuron documentation";
constexpr const char* kCollectivePage =
    "What is Neuron Collective Communication? — AWS Neuron documentation";
constexpr const char* kIntraNode =
    "Intra-node Collective Communications with AWS Neuron — AWS Neuron documentation";
constexpr const char* kSemiAnalysis =
    "Amazon's AI Self Sufficiency: Trainium2 Architecture & Networking (3 Dec 2024) — SemiAnalysis";
constexpr const char* kLedger = "GLM-5.3-Flash on Trainium2 kernel ledger (Oct 2026) — GitHub";
constexpr const char* kQwenRecipe = "Qwen3.8-27B vllm-neuron recipe (Oct 2026) — GitHub/AWS Neuron";
constexpr const char* kKernelFit =
    "least-squares fit of the decode kernel times in the test references of aws-neuron/nki-library "
    "— "
    "GitHub";
constexpr const char* kHostGap =
    "vLLM-Neuron async execution design note (Jul 2026) — AWS Neuron "
    "documentation";

template <typename T>
constexpr Sourced<T> Published(T value, const char* source, const char* note = "") {
  return {value, Label::kPublished, source, kRead, note};
}
template <typename T>
constexpr Sourced<T> Measured(T value, const char* source, const char* note = "") {
  return {value, Label::kMeasured, source, kRead, note};
}
template <typename T>
constexpr Sourced<T> Derived(T value, const char* source, const char* note = "") {
  return {value, Label::kDerived, source, kRead, note};
}
template <typename T>
constexpr Sourced<T> Assumed(T value, const char* source, const char* note = "") {
  return {value, Label::kAssumed, source, kRead, note};
}

constexpr uint64_t kGB = 1'000'000'000;
constexpr int64_t Us(int64_t tenths) { return tenths * 100'000; }  // tenths of a microsecond

constexpr Chip kChips[] = {{
    .id = "trainium2",
    .label = "Trainium2",
    .physical_cores = Published(8, kChipPage),
    .hbm_stacks = Published(4, "Logical NeuronCore configuration — AWS Neuron documentation",
                            "Two neighbouring physical cores share a stack."),
    .hbm_stack_bytes = Published<uint64_t>(
        24 * kGiB, kChipPage,
        "96 GiB per chip in four banks; AWS also writes GB for the same banks."),
    .hbm_stack_bytes_per_second = Derived<uint64_t>(
        725 * kGB,
        "2.9 TB/s per chip (Trainium2 Architecture — AWS Neuron documentation) / 4 stacks",
        "The newer NKI guide says 3 TB/s; 46.4 TB/s per instance / 16 agrees with 2.9. A device "
        "profile "
        "reports 716 GB/s per logical core."),
    .hbm_kernel_bytes_per_second =
        Derived<uint64_t>(666 * kGB, kKernelFit,
                          "39 us + bytes / 666 GB/s over 43 BF16 rows, 49 us + bytes / 665 GB/s "
                          "over 62 FP8 rows, median "
                          "error 8 to 9 %; that the column is picoseconds is inferred. A "
                          "Qwen3.8-27B recipe sees 600 GB/s."),
    .dma_core_bytes_per_second = Derived<uint64_t>(
        368 * kGB,
        "16 DMA engines x 23 GB/s practical (Guideline to Avoid Under-Utilizing DMA Bandwidth "
        "— AWS Neuron documentation)",
        "Theoretical 27.2 GB/s per engine. A fit of LNC=1 kernels gives 385 GB/s."),
    .tensor_hz = Published<uint64_t>(2'400'000'000, kNkiGuide),
    .vector_hz = Published<uint64_t>(960'000'000, kNkiGuide),
    .scalar_hz = Published<uint64_t>(1'200'000'000, kNkiGuide),
    .pe_rows = Published(128, kNkiGuide),
    .pe_columns = Published(128, kNkiGuide),
    .matmul_max_n = Published(512, kNkiGuide, "One PSUM bank row of 512 FP32."),
    .matmul_min_cycles = Published(
        64, kIsa,
        "max(min(64, M), N) per load and multiply; later pages of the reference drop costs."),
    .fp8_rows_per_cycle = Published(
        2, kNkiGuide, "Double-FP8: K = 256 per instruction; both operands FP8, E3M4 excepted."),
    .sbuf_bytes = Published<uint64_t>(28 * kMiB, kNkiGuide, "128 partitions x 224 KiB."),
    .psum_bytes = Published<uint64_t>(2 * kMiB, kNkiGuideV2, "128 partitions x 8 banks x 2 KiB."),
    .code_bytes_per_core = Published<uint64_t>(96 * kMiB, kMemoryPage,
                                               "About 96 MB of model code per physical core even "
                                               "for tiny programs; the report's MB is taken as "
                                               "MiB."),
    .kernel_bf16_ps =
        Derived<int64_t>(Us(390), kKernelFit,
                         "At LNC=2. A four-row rule gives 34 us; it misses the 43 rows by 24 %."),
    .kernel_fp8_ps = Derived<int64_t>(Us(490), kKernelFit, "At LNC=2, 62 FP8 rows."),
    .kernel_lnc1_ps = Derived<int64_t>(
        Us(120), kKernelFit,
        "Few rows: about 12 us + bytes / 385 GB/s at LNC=1, used for both formats."),
    .dma_start_ps =
        Published<int64_t>(Us(13), kDmaGuide,
                           "About 1,300 ns from semaphore to start; 600 ns more where a hardware "
                           "descriptor is made on the way."),
}};

constexpr System MakeSystem(const char* id, const char* label, int instances, int torus) {
  return {
      .id = id,
      .label = label,
      .chip = "trainium2",
      .instances = instances,
      .torus_x = torus,
      .torus_y = torus,
      .in_chip_bytes_per_second = Assumed<uint64_t>(
          1450 * kGB,
          "half of the chip's 2.9 TB/s: a DMA copy between cores reads and writes HBM once",
          "No figure is published for one core reading another's stack. Two cores alone would see "
          "at "
          "most one stack's 725 GB/s; the copies of all cores together see this."),
      .xy_bytes_per_second = Measured<uint64_t>(128 * kGB, kSemiAnalysis,
                                                "32 lanes of PCIe 5 per neighbour; 4 links x both "
                                                "directions = the 1,024 GB/s per chip that "
                                                "AWS publishes."),
      .z_bytes_per_second = Measured<uint64_t>(64 * kGB, kSemiAnalysis,
                                               "16 lanes of PCIe 5; 2 links x both directions = "
                                               "the 256 GB/s per chip that AWS publishes."),
      .efa_bytes_per_second = Published<uint64_t>(
          25 * kGB, kCollectivePage,
          "200 Gb/s per chip. SemiAnalysis says the plain SKU could be wired at up to 800 Gb/s; "
          "the Trn2 "
          "page repeats 3,200 Gb/s for the UltraServer where four instances make 12,800."),
      .in_chip_hop_ps = Assumed<int64_t>(
          Us(13),
          "one DMA start (1.3 us, Guideline to Avoid Under-Utilizing DMA Bandwidth — AWS Neuron "
          "documentation) per dependent transfer between cores of a chip",
          "1.9 us where descriptors are made on the critical path."),
      .xy_hop_ps = Published<int64_t>(
          Us(15), kIntraNode, "1 to 2 us depending on the load of HBM; the middle is used."),
      .z_hop_ps =
          Assumed<int64_t>(Us(15), "as an X/Y hop",
                           "AWS publishes 1 to 2 us inside an instance; nothing for the Z cables."),
      .efa_hop_ps = Published<int64_t>(
          Us(150), kCollectivePage,
          "15 us HBM to HBM at least. SemiAnalysis gives 6.5 us for the packet alone."),
      .mesh_base_ps = Measured<int64_t>(
          Us(175), kLedger,
          "Fastest of 630 traced all-reduces of about 8 KB over 64 ranks of one instance. Beyond "
          "one "
          "instance two Z crossings of the group's Z distance are added (assumed)."),
      .mesh_in_chip_base_ps = Measured<int64_t>(
          Us(129), kQwenRecipe, "132 all-reduces at TP4 on one chip cost 1.7 ms per token."),
      .mesh_bytes_per_second = Derived<uint64_t>(
          100 * kGB,
          "bus bandwidth of large all-reduces (103.9 GB/s at 512 MB over 16 ranks, NCCOM-TEST "
          "User Guide — AWS Neuron documentation), rounded",
          "The page's examples are illustrative."),
      .straggler_ps = Measured<int64_t>(Us(230), kLedger,
                                        "Mean extra wait for the slowest of 64 ranks in one "
                                        "untuned port: the high case only. AWS "
                                        "speaks of about 80 us of jitter over 64 processes."),
      .host_gap_ps = Measured<int64_t>(437'000'000, kHostGap,
                                       "Synchronous step gap on a 5.18 ms graph; hidden by async "
                                       "execution with sampling on device."),
  };
}

constexpr System kSystems[] = {
    MakeSystem("trn2.3xlarge", "trn2.3xlarge (1 chip)", 1, 1),
    MakeSystem("trn2.48xlarge", "trn2.48xlarge (16 chips)", 1, 4),
    MakeSystem("trn2-ultraserver", "Trn2 UltraServer (64 chips)", 4, 4),
};

template <typename Row>
Result<const Row*> Find(std::span<const Row> rows, std::string_view id, std::string_view field,
                        const char* what) {
  std::string list;
  for (const Row& row : rows) {
    if (id == row.id) return &row;
    list += (list.empty() ? "" : ", ") + std::string(row.id);
  }
  return Error{ErrorCode::kUnknownId, std::string(field), Excerpt(id),
               std::string("There is no such ") + what + ".", "Use one of " + list + "."};
}

}  // namespace

std::span<const Chip> Chips() { return kChips; }
std::span<const System> Systems() { return kSystems; }

Result<const Chip*> FindChip(std::string_view id, std::string_view field) {
  return Find(Chips(), id, field, "chip");
}
Result<const System*> FindSystem(std::string_view id, std::string_view field) {
  return Find(Systems(), id, field, "system");
}

std::vector<SourceRow> AllSources() {
  std::vector<SourceRow> rows;
  const auto add = [&rows](std::string_view row, std::string_view name, const auto& number) {
    rows.push_back({row, name, static_cast<double>(number.value), number.label, number.source,
                    number.date, number.note});
  };
#define NOVASCOPE_ADD(field) add(row.id, #field, row.field)
  for (const Chip& row : kChips) {
    NOVASCOPE_ADD(physical_cores);
    NOVASCOPE_ADD(hbm_stacks);
    NOVASCOPE_ADD(hbm_stack_bytes);
    NOVASCOPE_ADD(hbm_stack_bytes_per_second);
    NOVASCOPE_ADD(hbm_kernel_bytes_per_second);
    NOVASCOPE_ADD(dma_core_bytes_per_second);
    NOVASCOPE_ADD(tensor_hz);
    NOVASCOPE_ADD(vector_hz);
    NOVASCOPE_ADD(scalar_hz);
    NOVASCOPE_ADD(pe_rows);
    NOVASCOPE_ADD(pe_columns);
    NOVASCOPE_ADD(matmul_max_n);
    NOVASCOPE_ADD(matmul_min_cycles);
    NOVASCOPE_ADD(fp8_rows_per_cycle);
    NOVASCOPE_ADD(sbuf_bytes);
    NOVASCOPE_ADD(psum_bytes);
    NOVASCOPE_ADD(code_bytes_per_core);
    NOVASCOPE_ADD(kernel_bf16_ps);
    NOVASCOPE_ADD(kernel_fp8_ps);
    NOVASCOPE_ADD(kernel_lnc1_ps);
    NOVASCOPE_ADD(dma_start_ps);
  }
  for (const System& row : kSystems) {
    NOVASCOPE_ADD(in_chip_bytes_per_second);
    NOVASCOPE_ADD(xy_bytes_per_second);
    NOVASCOPE_ADD(z_bytes_per_second);
    NOVASCOPE_ADD(efa_bytes_per_second);
    NOVASCOPE_ADD(in_chip_hop_ps);
    NOVASCOPE_ADD(xy_hop_ps);
    NOVASCOPE_ADD(z_hop_ps);
    NOVASCOPE_ADD(efa_hop_ps);
    NOVASCOPE_ADD(mesh_base_ps);
    NOVASCOPE_ADD(mesh_in_chip_base_ps);
    NOVASCOPE_ADD(mesh_bytes_per_second);
    NOVASCOPE_ADD(straggler_ps);
    NOVASCOPE_ADD(host_gap_ps);
  }
#undef NOVASCOPE_ADD
  return rows;
}

}  // namespace novascope::hw
