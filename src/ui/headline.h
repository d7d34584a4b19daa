// The headline figures of a run, from its steps.
#pragma once

#include "ui/state.h"

namespace novascope::ui {

struct Headline {
  int64_t ttft_ps = 0;           // 0: not known yet
  int64_t tpot_ps = 0;
  int decode_tokens = 0;         // that tpot is a mean of
  int64_t decode_ps = 0;
  double tokens_per_s = 0;       // all sequences, simulated
  double wall_tokens_per_s = 0;  // arithmetic in this browser
  int prefill_steps = 0;
};
Headline MakeHeadline(const Run& run);

}  // namespace novascope::ui
