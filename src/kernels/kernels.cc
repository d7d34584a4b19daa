#include "kernels/kernels.h"

#include <cstring>
#include <string>

#include "base/utf8.h"
#include "kernels/kernel_rows.h"

namespace novascope::kernels {

uint64_t PackedBytes(FormatId format, int n, int k) {
  const uint64_t panels = (static_cast<uint64_t>(n) + kPanel - 1) / kPanel;
  return panels * kPanel * static_cast<uint64_t>(k) * numerics::Get(format).bytes();
}

void PackWeights(FormatId format, const uint8_t* rows, int n, int k, int64_t stride, uint8_t* out) {
  const int bytes = numerics::Get(format).bytes();
  for (int panel = 0; panel < n; panel += kPanel) {
    for (int i = 0; i < k; ++i) {
      for (int row = panel; row < panel + kPanel; ++row, out += bytes) {
        if (row < n) {
          std::memcpy(out, rows + (row * stride + i) * bytes, bytes);
        } else {
          std::memset(out, 0, bytes);
        }
      }
    }
  }
}

double RoundToGrid(double x) {
  // In [2^22, 2^23) the distance between doubles is 2^-30, so the addition rounds to the grid.
  constexpr double kShift = 0x1.8p52 * kGrid;
  return (x + kShift) - kShift;
}

std::span<const KernelSet> KernelSets() {
#if NOVASCOPE_HAS_RELAXED_ROW
  static const KernelSet kRows[] = {ReferenceRow(), Simd128Row(), RelaxedRow()};
  return std::span(kRows).first(RelaxedRowRuns() ? 3 : 2);
#else
  static const KernelSet kRows[] = {ReferenceRow(), Simd128Row()};
  return kRows;
#endif
}

Result<const KernelSet*> FindKernelSet(std::string_view id, std::string_view field) {
  const std::span<const KernelSet> sets = KernelSets();
  if (id.empty()) return &sets.back();
  std::string ids;
  for (const KernelSet& set : sets) {
    if (id == set.id) return &set;
    ids += ids.empty() ? "" : ", ";
    ids += set.id;
  }
  return Error{ErrorCode::kUnknownId, std::string(field), Excerpt(id),
               "This build has no such kernel row.", "Use one of " + ids + "."};
}

}  // namespace novascope::kernels
