#include "session/catalog.h"

#include "cost/cost.h"
#include "hw/machine.h"
#include "kernels/kernels.h"
#include "model/spec.h"
#include "numerics/format.h"
#include "plan/collectives.h"
#include "plan/plan.h"
#include "session/message.h"
#include "session/report.h"
#include "session/scenario.h"

namespace novascope::session {
namespace {

Json KernelRows() {
  Json rows = Json::array();
  for (const kernels::KernelSet& set : kernels::KernelSets()) {
    rows.push_back({{"id", set.id}, {"label", set.label}});
  }
  return rows;
}

Json ModelRows() {
  Json rows = Json::array();
  for (const model::ModelSpec& m : model::Models()) {
    Json row = {{"id", m.id},
                {"label", m.label},
                {"layers", m.layers},
                {"hidden", m.hidden},
                {"heads", m.heads},
                {"kv_heads", m.kv_heads},
                {"head_dim", m.head_dim},
                {"ffn", m.ffn},
                {"vocab", m.vocab},
                {"context", m.context},
                {"tied", m.tied_embeddings},
                {"runnable", m.runnable}};
    row["params"] = model::CountParams(m).total();
    row["published_params_b"] = SourcedToJson(m.published_params_b);
    row["range_b"] = {m.range_low_b, m.range_high_b};
    Json plans = Json::object();
    for (const hw::System& system : hw::Systems()) {
      const plan::PlanOptions own = plan::DefaultPlan(m, system);
      plans[system.id] = {{"tp", own.tp}, {"pp", own.pp}, {"dp", own.dp}, {"lnc", own.lnc}};
    }
    row["default_plans"] = std::move(plans);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json SystemRows() {
  Json rows = Json::array();
  for (const hw::System& s : hw::Systems()) {
    rows.push_back({{"id", s.id},
                    {"label", s.label},
                    {"chip", s.chip},
                    {"chips", s.chips()},
                    {"instances", s.instances},
                    {"torus_x", s.torus_x},
                    {"torus_y", s.torus_y}});
  }
  return rows;
}

Json FormatRows() {
  Json rows = Json::array();
  for (const numerics::Format& f : numerics::Formats()) {
    rows.push_back({{"id", f.name},
                    {"label", f.label},
                    {"bits", f.bits},
                    {"exponent_bits", f.exponent_bits},
                    {"mantissa_bits", f.mantissa_bits},
                    {"has_infinity", f.has_infinity},
                    {"max_finite", f.max_finite},
                    {"source", f.source}});
  }
  return rows;
}

Json CollectiveRows() {
  constexpr const char* kOps[] = {"all-reduce", "all-gather", "gather", "send"};
  Json rows = Json::array();
  for (const plan::Algorithm& a : plan::Algorithms()) {
    rows.push_back({{"id", a.id},
                    {"label", a.label},
                    {"op", kOps[static_cast<int>(a.op)]},
                    {"description", a.description}});
  }
  return rows;
}

Json PriceRows() {
  Json tokens = Json::array(), hours = Json::array();
  for (const cost::TokenPrice& p : cost::TokenPrices()) {
    tokens.push_back({{"id", p.id},
                      {"label", p.label},
                      {"status", p.status},
                      {"input_micro_usd_per_mtok", SourcedToJson(p.input_micro_usd_per_mtok)},
                      {"output_micro_usd_per_mtok", SourcedToJson(p.output_micro_usd_per_mtok)}});
  }
  for (const cost::HourPrice& p : cost::HourPrices()) {
    const Sourced<int64_t>& hour = p.e4_usd_per_instance_hour;
    const double chip = static_cast<double>(hour.value) / p.chips_per_instance;
    hours.push_back(
        {{"id", p.id},
         {"label", p.label},
         {"chip", p.chip},
         {"kind", p.kind},
         {"chips_per_instance", p.chips_per_instance},
         {"e4_usd_per_instance_hour", SourcedToJson(hour)},
         {"e4_usd_per_chip_hour",
          SourcedToJson(Sourced<double>{chip, hour.label, hour.source, hour.date, hour.note})}});
  }
  return {{"tokens", std::move(tokens)}, {"hours", std::move(hours)}};
}

// Every sourced number of every table.
Json SourceRows() {
  std::vector<hw::SourceRow> sources = hw::AllSources();
  const std::vector<hw::SourceRow> prices = cost::PriceSources();
  sources.insert(sources.end(), prices.begin(), prices.end());
  for (const model::ModelSpec& m : model::Models()) {
    const Sourced<double>& params = m.published_params_b;
    sources.push_back({m.id, "published_params_b", params.value, params.label, params.source,
                       params.date, params.note});
  }
  Json rows = Json::array();
  for (const hw::SourceRow& s : sources) {
    rows.push_back({{"row", s.row},
                    {"name", s.name},
                    {"value", s.value},
                    {"label", LabelName(s.label)},
                    {"source", s.source},
                    {"date", s.date},
                    {"note", s.note}});
  }
  return rows;
}

}  // namespace

Json Catalog() {
  Json choices = {{"collective", Json::array()}, {"reduce", Json::array()}};
  for (const auto choice : {plan::CollectiveChoice::kAuto, plan::CollectiveChoice::kMesh,
                            plan::CollectiveChoice::kRing}) {
    choices["collective"].push_back(CollectiveChoiceName(choice));
  }
  for (const auto mode : {plan::ReduceMode::kOrderFree, plan::ReduceMode::kF32InOrder}) {
    choices["reduce"].push_back(ReduceModeName(mode));
  }
  return {{"ev", "hello"},
          {"v", kProtocolVersion},
          {"version", NOVASCOPE_VERSION},
          {"scenario", ToJson(Scenario{})},
          {"kernels", KernelRows()},
          {"models", ModelRows()},
          {"systems", SystemRows()},
          {"formats", FormatRows()},
          {"collectives", CollectiveRows()},
          {"choices", std::move(choices)},
          {"prices", PriceRows()},
          {"sources", SourceRows()}};
}

}  // namespace novascope::session
