#include "session/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "session/text.h"

namespace novascope::session {
namespace {

constexpr double kPsPerMs = 1e9;

Json ProvenanceJson(const Setup& setup, const LoadedModel& loaded) {
  const plan::Plan& timed = setup.timed_plan;
  const plan::NumberFormats& formats = setup.exec_plan.options.formats;
  const std::string layout = timed.model.label + " at " + PlanName(timed);
  const cost::TokenPrice& list = *setup.list;
  const cost::HourPrice& rent = *setup.rent;
  std::string time = "Modelled by an event simulator on published, measured and assumed figures: ";
  if (setup.timing_shape) {
    time += layout + ", batch " + std::to_string(timed.options.batch) +
            " per replica, for the same prompt and output token counts. A prefill step takes one "
            "sequence "
            "per replica, a decode step the whole batch.";
  } else {
    time += layout + ", batch 1. So small a model spends its time on fixed costs.";
  }
  return {
      {"words",
       "Really computed: " + loaded.spec.label + " with " + numerics::Get(formats.weights).name +
           " weights, " + numerics::Get(formats.activations).name + " activations and " +
           numerics::Get(formats.kv).name + " KV cache at " + PlanName(setup.exec_plan) + "."},
      {"time", std::move(time)},
      {"memory", "Derived from the Program of " + layout + ": KV reserved for " +
                     std::to_string(timed.max_positions()) +
                     " positions per sequence; 96 MB of runtime " +
                     "code per physical core is the runtime's own figure."},
      {"shape", std::string(LabelName(timed.model.published_params_b.label)) + ": " +
                    timed.model.published_params_b.source},
      {"prices", std::string(list.label) + ", per million tokens, " +
                     LabelName(list.input_micro_usd_per_mtok.label) + ", " +
                     list.input_micro_usd_per_mtok.date + "; " + rent.label + ", " +
                     LabelName(rent.e4_usd_per_instance_hour.label) + ", " +
                     rent.e4_usd_per_instance_hour.date +
                     ". Rent is what a customer would pay, not what Amazon pays."}};
}

Json MachineJson(const Setup& setup) {
  const plan::Plan& timed = setup.timed_plan;
  Json links = Json::array();
  for (const hw::Link& link : setup.topology.links) {
    links.push_back({hw::LinkKindName(link.kind), link.from_chip, link.to_chip});
  }
  return {{"system", timed.system->id},
          {"label", timed.system->label},
          {"chips", timed.system->chips()},
          {"instances", timed.system->instances},
          {"torus_x", timed.system->torus_x},
          {"torus_y", timed.system->torus_y},
          {"cores_per_chip", timed.cores_per_chip},
          {"stacks_per_chip", setup.memory.stacks_per_chip},
          {"stack_bytes", setup.memory.stack_bytes},
          {"links", std::move(links)}};
}

int StackCount(const plan::MemoryMap& map) {
  return static_cast<int>(map.bytes.size()) / plan::kCategories;
}

Json MemoryJson(const Setup& setup) {
  const plan::MemoryMap& map = setup.memory;
  Json categories = Json::array(), bytes = Json::array(), per_position = Json::array();
  for (int c = 0; c < plan::kCategories; ++c) {
    categories.push_back(plan::CategoryName(static_cast<plan::Category>(c)));
  }
  for (int stack = 0; stack < StackCount(map); ++stack) {
    Json row = Json::array();
    for (int c = 0; c < plan::kCategories; ++c) {
      row.push_back(map.at(stack, static_cast<plan::Category>(c)));
    }
    bytes.push_back(std::move(row));
    per_position.push_back(static_cast<double>(map.at(stack, plan::Category::kKv)) /
                           setup.timed_plan.max_positions());
  }
  return {{"categories", std::move(categories)},
          {"bytes", std::move(bytes)},
          {"kv_positions", setup.timed_plan.max_positions()},
          {"kv_bytes_per_position", std::move(per_position)},
          {"unique_weight_bytes", map.unique_weight_bytes},
          {"replicated_weight_bytes", map.replicated_weight_bytes},
          {"unique_kv_bytes", map.unique_kv_bytes},
          {"kv_copies_bytes", map.kv_copies_bytes}};
}

Json HbmJson(const plan::MemoryMap& map) {
  Json json = Json::object();
  for (int c = 0; c < plan::kCategories; ++c) {
    const auto category = static_cast<plan::Category>(c);
    uint64_t total = 0, most = 0;
    for (int stack = 0; stack < StackCount(map); ++stack) {
      total += map.at(stack, category);
      most = std::max(most, map.at(stack, category));
    }
    json[plan::CategoryName(category)] = {{"total_bytes", total}, {"max_stack_bytes", most}};
  }
  return json;
}

Json TokensJson(const Run& run) {
  Json tokens = Json::array();
  for (const OutputToken& token : run.tokens()) {
    tokens.push_back({{"id", token.id},
                      {"bytes", Hex(run.loaded().tokenizer.Piece(token.id))},
                      {"logprob", token.logprob},
                      {"start_ps", token.start_ps},
                      {"end_ps", token.end_ps},
                      {"split_ps", SplitToJson(token.split)}});
  }
  return tokens;
}

Json LinksJson(const Run& run) {
  Json links = Json::object();
  for (size_t kind = 0; kind < run.link_bytes().size(); ++kind) {
    links[hw::LinkKindName(static_cast<hw::LinkKind>(kind))] = run.link_bytes()[kind];
  }
  return links;
}

// The value --format would have had: one name where weights and activations agree.
std::string FormatName(const plan::NumberFormats& formats) {
  const std::string weights = numerics::Get(formats.weights).name;
  const std::string activations = numerics::Get(formats.activations).name;
  return weights == activations ? weights : weights + "/" + activations;
}

}  // namespace

std::string Short(double value) {
  const double size = std::fabs(value);
  int places = 2;
  if (size >= 100) {
    places = 0;
  } else if (size >= 10) {
    places = 1;
  } else {
    for (double limit = 1; size < limit && places < 12; limit /= 10) ++places;
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, value);
  return text;
}

std::string PlanName(const plan::Plan& plan) {
  const plan::PlanOptions& o = plan.options;
  std::string name = "TP" + std::to_string(o.tp);
  if (o.pp > 1) name += " x PP" + std::to_string(o.pp);
  if (o.dp > 1) name += " x DP" + std::to_string(o.dp);
  return name;
}

Json PlanToJson(const plan::Plan& plan) {
  const plan::PlanOptions& o = plan.options;
  int chips = 0, last = -1;
  for (const plan::RankPlace& place : plan.ranks) {
    chips += place.chip != last;
    last = place.chip;
  }
  return {{"model", plan.model.id},
          {"label", plan.model.label},
          {"params", model::CountParams(plan.model).total()},
          {"params_label", LabelName(plan.model.published_params_b.label)},
          {"range_b", {plan.model.range_low_b, plan.model.range_high_b}},
          {"layers", plan.model.layers},
          {"name", PlanName(plan)},
          {"tp", o.tp},
          {"pp", o.pp},
          {"dp", o.dp},
          {"lnc", o.lnc},
          {"batch", o.batch},
          {"ranks", plan.ranks.size()},
          {"chips", chips},
          {"cores_per_chip", plan.cores_per_chip},
          {"kv_group", plan.kv_group},
          {"kv_copies", plan.kv_copies},
          {"reduce", ReduceModeName(o.reduce)},
          {"collective", CollectiveChoiceName(o.collective)},
          {"neuron_today", plan.neuron_today},
          {"neuron_note", plan.neuron_note}};
}

Json PlanEvent(const Setup& setup, const LoadedModel& loaded) {
  Json prompt = Json::array();
  for (const int32_t id : setup.prompt) {
    prompt.push_back({{"id", id}, {"text", TokenText(loaded.tokenizer, id)}});
  }
  return {{"ev", "plan"},
          {"exec", PlanToJson(setup.exec_plan)},
          {"timing", setup.timing_shape ? PlanToJson(setup.timed_plan) : Json(nullptr)},
          {"prompt_tokens", setup.prompt.size()},
          {"output_limit", setup.output_limit},
          {"context", loaded.spec.context},
          {"prompt", std::move(prompt)},
          {"machine", MachineJson(setup)},
          {"hbm", MemoryJson(setup)},
          {"provenance", ProvenanceJson(setup, loaded)}};
}

std::string UsdNote(const Setup& setup) {
  const plan::Plan& timed = setup.timed_plan;
  std::string note = std::string("list: ") + setup.list->label +
                     " for these token counts; rented: " + setup.rent->label +
                     " for the simulated time of " + std::to_string(setup.chips()) +
                     " chips running " + timed.model.label;
  if (setup.timing_shape) {
    return note + ", shared by " + std::to_string(setup.sequences()) + " sequences.";
  }
  return note + ". The two are not comparable: the list price is for a far larger model; time a " +
         "Nova-Micro-like shape to compare.";
}

namespace {

// Bytes that all cores' DMA queues moved in and out of HBM, over the whole run.
uint64_t HbmMoved(const trace::Trace& trace) {
  uint64_t bytes = 0;
  for (const trace::Step& step : trace.steps()) {
    bytes += trace.templates()[static_cast<size_t>(step.step_template)].hbm_bytes;
  }
  return bytes;
}

}  // namespace

Json ResultJson(const Run& run) {
  const Setup& setup = run.setup();
  const auto& tokens = run.tokens();
  const auto count = static_cast<int64_t>(tokens.size());
  Json tpot = nullptr, rate = nullptr, throughput = nullptr;
  if (count > 1) {
    const double tpot_ms =
        static_cast<double>(run.decode_ps()) / kPsPerMs / static_cast<double>(count - 1);
    tpot = tpot_ms;
    rate = 1e3 / tpot_ms;
    throughput = 1e3 / tpot_ms * setup.sequences();
  }
  const cost::Money rented = setup.Rented(run.prefill_ps(), run.decode_ps());
  const plan::NumberFormats& formats = setup.exec_plan.options.formats;
  const auto prompt_tokens = static_cast<int64_t>(setup.prompt.size());
  return {{"schema", "novascope.generate/1"},
          {"model", run.loaded().spec.id},
          {"plan", PlanToJson(setup.exec_plan)},
          {"timing", setup.timing_shape ? PlanToJson(setup.timed_plan) : Json(nullptr)},
          {"format", FormatName(formats)},
          {"formats",
           {{"weights", numerics::Get(formats.weights).name},
            {"activations", numerics::Get(formats.activations).name},
            {"kv", numerics::Get(formats.kv).name}}},
          {"seed", setup.scenario.sampler.seed},
          {"text", run.text()},
          {"stop_reason", StopReasonName(run.stop_reason())},
          {"prompt_tokens", prompt_tokens},
          {"output_tokens", count},
          {"ttft_ms", static_cast<double>(run.prefill_ps()) / kPsPerMs},
          {"tpot_ms", std::move(tpot)},
          {"tokens_per_s", std::move(rate)},
          {"throughput_tokens_per_s", std::move(throughput)},
          {"tokens", TokensJson(run)},
          {"links", LinksJson(run)},
          {"hbm_moved_bytes", HbmMoved(run.trace())},
          {"chip_seconds", setup.chips() * static_cast<double>(run.prefill_ps() + run.decode_ps()) / 1e12},
          {"hbm", HbmJson(setup.memory)},
          {"usd",
           {{"list", cost::ToDecimal(cost::ListCost(*setup.list, prompt_tokens, count))},
            {"rented", cost::ToDecimal(rented)}}},
          {"usd_note", UsdNote(setup)},
          {"usd_per_mtok", cost::ToDouble(rented) * 1e6 / static_cast<double>(count)},
          {"provenance", ProvenanceJson(setup, run.loaded())},
          {"notes", run.loaded().weights.notes()}};
}

}  // namespace novascope::session
