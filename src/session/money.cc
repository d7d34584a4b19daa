#include "session/money.h"

#include <algorithm>
#include <utility>

#include "plan/program.h"
#include "session/report.h"
#include "sim/sim.h"

namespace novascope::session {
namespace {

// An owner of time as the subject of "64 % of this decode step is ...", and nothing to be done
// about idle.
const char* OwnerWords(trace::Owner owner) {
  constexpr const char* kWords[] = {"engines computing", "reading HBM", "moving data over links",
                                    "fixed kernel and collective time", "idle"};
  return kWords[static_cast<int>(owner)];
}

std::string Dollars(double usd_per_mtok) { return Short(usd_per_mtok) + " $/M"; }

}  // namespace

MoneySweep::MoneySweep(const Setup& setup, int bucket, double usd_per_mtok)
    : setup_(setup), bucket_(bucket), usd_per_mtok_(usd_per_mtok) {
  const int own = setup.timed_plan.options.batch;
  // More sequences never take less memory, so the largest batch that fits is found by halving.
  largest_ = own;
  for (int step = kMaxBatch; step > 0; step /= 2) {
    if (largest_ + step <= kMaxBatch && Fits(largest_ + step)) largest_ += step;
  }
  for (int batch = 1; batch <= std::min(kMaxSweptBatch, largest_); batch *= 2)
    curve_.push_back(batch);
  curve_.push_back(own);
  std::sort(curve_.begin(), curve_.end());
  curve_.erase(std::unique(curve_.begin(), curve_.end()), curve_.end());
  for (int batch = curve_.back() * 2; batch < largest_; batch *= 2) beyond_.push_back(batch);
  if (largest_ > curve_.back()) beyond_.push_back(largest_);
}

plan::PlanOptions MoneySweep::OptionsAt(int batch) const {
  plan::PlanOptions options = setup_.timed_plan.options;
  options.batch = batch;
  return options;
}

bool MoneySweep::Fits(int batch) const {
  const plan::Plan& timed = setup_.timed_plan;
  const Result<plan::Plan> plan = plan::MakePlan(timed.model, *timed.system, OptionsAt(batch));
  if (!plan.ok()) return false;
  const plan::MemoryMap map = plan::BuildMemory(plan.value());
  const int stacks = static_cast<int>(map.bytes.size()) / plan::kCategories;
  for (int stack = 0; stack < stacks; ++stack) {
    if (map.used(stack) > map.stack_bytes) return false;
  }
  return true;
}

Status MoneySweep::Simulate(int batch) {
  const plan::Plan& timed = setup_.timed_plan;
  const Result<plan::Plan> plan = plan::MakePlan(timed.model, *timed.system, OptionsAt(batch));
  if (!plan.ok()) return plan.error();
  const plan::StepShape shape = {.kind = plan::StepKind::kDecode,
                                 .rows = 1,
                                 .sequences = batch,
                                 .kv_positions = bucket_,
                                 .logits = true};
  const int dp = plan.value().options.dp;
  const Result<trace::StepTemplate> step = sim::SimulateStep(
      plan.value(), setup_.topology, plan::BuildProgram(plan.value(), shape), dp, {});
  if (!step.ok()) return step.error();
  const cost::Money rent = cost::RentedCost(*setup_.rent, setup_.chips(), step.value().duration_ps)
                               .DividedBy(int64_t{batch} * dp);
  points_[batch] = {step.value().duration_ps, step.value().hbm_bytes, step.value().critical_split,
                    rent};
  return Ok{};
}

bool MoneySweep::Meets(int batch) const {
  const cost::Money list = cost::ListCost(*setup_.list, 0, 1);
  return !(list < points_.at(batch).rent);
}

int MoneySweep::Next() {
  for (const int batch : curve_) {
    if (!points_.contains(batch)) return batch;
  }
  if (!setup_.timing_shape) return 0;
  for (const std::vector<int>* batches : {&curve_, &beyond_}) {
    for (const int batch : *batches) {
      if (high_ > 0) break;
      if (!points_.contains(batch)) return batch;
      (Meets(batch) ? high_ : low_) = batch;
    }
  }
  while (high_ - low_ > 1) {
    const int middle = low_ + (high_ - low_) / 2;
    if (!points_.contains(middle)) return middle;
    (Meets(middle) ? high_ : low_) = middle;
  }
  return 0;
}

Result<bool> MoneySweep::Advance() {
  const int batch = Next();
  if (batch == 0) return false;
  if (Status status = Simulate(batch); !status.ok()) return status.error();
  return true;
}

// Why batch 1 is dear, with the numbers put in.
std::string MoneySweep::BatchSentence() const {
  const int batch = curve_.back();
  const auto one = points_.find(1), most = points_.find(batch);
  if (one == points_.end() || most == points_.end() || batch == 1) {
    return "No larger batch fits the memory of this plan.";
  }
  const auto wait =
      static_cast<double>(one->second.split.ps[static_cast<size_t>(trace::Owner::kWait)]);
  const double read_gb =
      static_cast<double>(one->second.hbm_bytes) / 1e9 / setup_.timed_plan.options.dp;
  const double ratio =
      static_cast<double>(most->second.duration_ps) / static_cast<double>(one->second.duration_ps);
  return "Batch 1 is dear because a replica's decode step moves " + Short(read_gb) +
         " GB of HBM, mostly weights, and spends " + Short(wait / 1e6) +
         " us in fixed kernel and collective time for a single token (" +
         Dollars(UsdPerMtok(one->second)) + "); at batch " + std::to_string(batch) +
         " the step takes " + Short(ratio) + " times as long and yields " + std::to_string(batch) +
         " tokens (" + Dollars(UsdPerMtok(most->second)) + ").";
}

std::string MoneySweep::BreakEvenSentence() const {
  if (!setup_.timing_shape) {
    return "A list price for a far larger model says nothing about this one; time a "
           "Nova-Micro-like shape to compare.";
  }
  const std::string list = std::string(setup_.list->label) + "'s output price";
  if (high_ > 0) {
    return "From batch " + std::to_string(high_) +
           " per replica the rent of a decoded token is at or below " + list + ".";
  }
  const auto most = points_.find(largest_);
  if (most == points_.end()) return "No batch fits the memory of this plan.";
  return "Even at batch " + std::to_string(largest_) + " per replica, the largest " +
         (largest_ >= kMaxBatch ? "looked at" : "that fits") + ", a decoded token's rent (" +
         Dollars(UsdPerMtok(most->second)) + ") is above " + list + ".";
}

Json MoneySweep::Why() const {
  const int own = setup_.timed_plan.options.batch;
  const auto here = points_.find(own);
  if (here == points_.end() || here->second.duration_ps <= 0) return nullptr;
  const Point& point = here->second;
  size_t largest = 0;
  for (size_t owner = 1; owner < point.split.ps.size(); ++owner) {
    if (point.split.ps[owner] > point.split.ps[largest]) largest = owner;
  }
  const double share =
      static_cast<double>(point.split.ps[largest]) / static_cast<double>(point.duration_ps);
  const auto owner = static_cast<trace::Owner>(largest);
  std::string sentence = Short(share * 100) + " % of this decode step is " + OwnerWords(owner);
  int next = 0;
  for (const int batch : curve_) {
    if (batch > own && batch <= own * 8) next = batch;
  }
  if (next > 0) {
    const double latency =
        static_cast<double>(points_.at(next).duration_ps) / static_cast<double>(point.duration_ps);
    sentence += "; batch " + std::to_string(next) + " gives " +
                Short(static_cast<double>(next) / own / latency) + " times the tokens for " +
                Short(latency) + " times the latency.";
  } else {
    sentence += "; no larger batch of this plan was looked at or fits.";
  }
  constexpr const char* kNames[] = {"compute", "hbm", "network", "wait", "idle"};
  return {{"sentence", std::move(sentence)},
          {"largest", kNames[largest]},
          {"share", share},
          {"batch", own},
          {"try_batch", next > 0 ? Json(next) : Json(nullptr)}};
}

Json MoneySweep::Event() const {
  Json by_batch = Json::array();
  for (const auto& [batch, point] : points_) {
    const bool curve = std::find(curve_.begin(), curve_.end(), batch) != curve_.end();
    if (!curve && batch != high_) continue;
    by_batch.push_back({{"batch", batch},
                        {"usd_per_mtok", UsdPerMtok(point)},
                        {"tpot_ms", static_cast<double>(point.duration_ps) / 1e9}});
  }
  const double list = static_cast<double>(setup_.list->output_micro_usd_per_mtok.value) / 1e6;
  return {{"ev", "money"},
          {"usd_per_mtok",
           {{"rented", usd_per_mtok_},
            {"list_output", setup_.timing_shape ? Json(list) : Json(nullptr)}}},
          {"kv_bucket", bucket_},
          {"by_batch", std::move(by_batch)},
          {"break_even_batch", high_ > 0 ? Json(high_) : Json(nullptr)},
          {"break_even_sentence", BreakEvenSentence()},
          {"sentence", BatchSentence()},
          {"why", Why()}};
}

}  // namespace novascope::session
