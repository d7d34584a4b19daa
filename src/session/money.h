// After a run: what an output token costs at other batches, from one simulated decode step each,
// and the smallest batch at which the rent per output token meets the list price.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cost/cost.h"
#include "session/setup.h"
#include "trace/trace.h"

namespace novascope::session {

inline constexpr int kMaxSweptBatch = 256;

class MoneySweep {
 public:
  // `setup` must outlive the sweep. `bucket` is the KV bucket of the decode step; `usd_per_mtok`
  // what the request itself cost per million output tokens.
  MoneySweep(const Setup& setup, int bucket, double usd_per_mtok);

  // One simulated step. Returns whether more is to be done.
  Result<bool> Advance();
  // The money event, once Advance has returned false.
  Json Event() const;

 private:
  struct Point {
    int64_t duration_ps = 0;
    uint64_t hbm_bytes = 0;
    trace::Split split;
    cost::Money rent;  // per output token
  };

  plan::PlanOptions OptionsAt(int batch) const;
  bool Fits(int batch) const;
  Status Simulate(int batch);
  bool Meets(int batch) const;
  // The next batch to simulate, or 0.
  int Next();
  double UsdPerMtok(const Point& point) const { return cost::ToDouble(point.rent) * 1e6; }
  std::string BatchSentence() const;
  std::string BreakEvenSentence() const;
  Json Why() const;

  const Setup& setup_;
  int bucket_;
  double usd_per_mtok_;
  int largest_ = 1;         // batch that fits the memory, at most kMaxBatch
  std::vector<int> curve_;  // batches to show: powers of two up to kMaxSweptBatch and the run's own
  std::vector<int>
      beyond_;  // larger ones, looked at only where none of the curve meets the list price
  std::map<int, Point> points_;
  // Bisection: low_ does not meet the list price, high_ does (0: none found). In the end high_ is
  // the break-even batch.
  int low_ = 0, high_ = 0;
};

}  // namespace novascope::session
