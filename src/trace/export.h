// Trace exports. Chrome trace-event JSON opens in Perfetto and chrome://tracing: one process per
// rank class with a thread per engine, one process for the links, counters of HBM and link bytes.
// Timestamps are microseconds with six decimals, so no picosecond is lost.
#pragma once

#include <cstdint>
#include <string>

#include "trace/trace.h"

namespace novascope::trace {

struct ExportOptions {
  int first_step = 0;   // index into Trace::steps()
  int step_count = 64;  // later steps are left out, and "otherData" says how many
  bool links = true;
};

std::string ToChromeTrace(const Trace& trace, const ExportOptions& options = {});

}  // namespace novascope::trace
