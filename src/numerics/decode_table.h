// The FP8 formats' codes as FP32 values (every FP8 value is exact in FP32), for code that decodes
// many.
#pragma once

#include <array>

#include "numerics/format.h"

namespace novascope::numerics {

// 256 values in code order. `id` must be an 8-bit format.
const std::array<float, 256>& DecodeTable(FormatId id);

}  // namespace novascope::numerics
