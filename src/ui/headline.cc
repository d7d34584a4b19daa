#include "ui/headline.h"

namespace novascope::ui {

Headline MakeHeadline(const Run& run) {
  Headline headline;
  double wall_ms = 0;
  int wall_tokens = 0;
  for (const StepInfo& step : run.steps) {
    if (step.kind == trace::StepKind::kPrefill) {
      ++headline.prefill_steps;
      if (step.token >= 0) headline.ttft_ps = step.end_ps;
      continue;
    }
    if (step.token >= 0) {
      ++headline.decode_tokens;
      headline.decode_ps += step.end_ps - step.start_ps;
    }
    if (step.wall_ms >= 0 && step.token >= 0) {
      wall_ms += step.wall_ms;
      ++wall_tokens;
    }
  }
  if (headline.decode_tokens > 0) {
    headline.tpot_ps = headline.decode_ps / headline.decode_tokens;
    const double sequences = static_cast<double>(run.timing.batch) * run.timing.dp;
    if (headline.tpot_ps > 0) headline.tokens_per_s = 1e12 / static_cast<double>(headline.tpot_ps) * sequences;
  }
  if (wall_ms > 0) headline.wall_tokens_per_s = 1e3 * wall_tokens / wall_ms;
  return headline;
}

}  // namespace novascope::ui
