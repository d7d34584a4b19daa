// The rows that make up KernelSets(), one function per source file that defines a row.
#pragma once

#include "kernels/kernels.h"

namespace novascope::kernels {

const KernelSet& ReferenceRow();

}  // namespace novascope::kernels
