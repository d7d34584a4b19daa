#include "session/run.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "model/sampler.h"
#include "session/message.h"
#include "sim/sim.h"

namespace novascope::session {
namespace {

constexpr int kTopTokens = 5;

void AddSplit(const trace::Split& part, trace::Split* sum) {
  for (size_t i = 0; i < sum->ps.size(); ++i) sum->ps[i] += part.ps[i];
}

}  // namespace

const char* StopReasonName(StopReason reason) {
  constexpr const char* kNames[] = {"none", "end", "stop", "max_tokens", "context"};
  return kNames[static_cast<int>(reason)];
}

Json SplitToJson(const trace::Split& split) {
  const auto of = [&](trace::Owner owner) { return split.ps[static_cast<size_t>(owner)]; };
  return {{"compute", of(trace::Owner::kCompute)},
          {"hbm", of(trace::Owner::kHbm)},
          {"network", of(trace::Owner::kNetwork)},
          {"wait", of(trace::Owner::kWait)}};
}

uint64_t TemplateKey(const plan::Plan& plan, const plan::StepShape& shape) {
  const plan::PlanOptions& o = plan.options;
  const int64_t parts[] = {static_cast<int64_t>(shape.kind),
                           shape.rows,
                           shape.sequences,
                           shape.kv_positions,
                           shape.logits,
                           o.tp,
                           o.pp,
                           o.dp,
                           o.lnc,
                           o.batch,
                           o.max_positions,
                           static_cast<int64_t>(o.formats.weights),
                           static_cast<int64_t>(o.formats.activations),
                           static_cast<int64_t>(o.formats.kv),
                           static_cast<int64_t>(o.reduce),
                           static_cast<int64_t>(o.collective)};
  uint64_t key = HashBytes(plan.model.id.data(), plan.model.id.size());
  for (const int64_t part : parts) {
    for (int shift = 0; shift < 64; shift += 8) {
      const auto byte = static_cast<unsigned char>(static_cast<uint64_t>(part) >> shift);
      key = HashBytes(&byte, 1, key);
    }
  }
  return key;
}

Run::Run(Setup setup, std::shared_ptr<const LoadedModel> loaded)
    : setup_(std::move(setup)), loaded_(std::move(loaded)), stream_(setup_.scenario.stop) {}

Result<Run::Progress> Run::Advance(EventList* events) {
  switch (phase_) {
    case Phase::kPlace:
      if (Status status = Place(); !status.ok()) return status.error();
      phase_ = Phase::kPlan;
      break;
    case Phase::kPlan:
      PlanStep();
      phase_ = Phase::kTime;
      break;
    case Phase::kTime:
      if (Status status = TimeStep(events); !status.ok()) return status.error();
      phase_ = Phase::kBegin;
      break;
    case Phase::kBegin:
      if (Status status = BeginStep(); !status.ok()) return status.error();
      phase_ = Phase::kCompute;
      break;
    case Phase::kCompute:
      if (engine_->Advance(1)) break;
      if (Status status = engine_->status(); !status.ok()) return status.error();
      phase_ = Phase::kSettle;
      break;
    case Phase::kSettle: {
      const Result<Progress> progress = SettleStep(events);
      if (!progress.ok()) return progress;
      phase_ = progress.value() == Progress::kFinished ? Phase::kFinished : Phase::kPlan;
      return progress;
    }
    case Phase::kFinished:
      return Progress::kFinished;
  }
  return Progress::kWorking;
}

Status Run::Place() {
  Result<exec::Engine> engine =
      exec::Engine::Create(setup_.exec_plan, loaded_->weights, setup_.topology, setup_.kernels);
  if (!engine.ok()) return engine.error();
  engine_.emplace(std::move(engine.value()));
  return Ok{};
}

void Run::PlanStep() {
  const int prompt = static_cast<int>(setup_.prompt.size());
  if (prefilled_ < prompt) {
    const int rows = std::min(setup_.scenario.prefill_chunk, prompt - prefilled_);
    step_ = {plan::StepKind::kPrefill, prefilled_, rows, prefilled_ + rows == prompt};
  } else {
    step_ = {plan::StepKind::kDecode, static_cast<int>(tokens_.size()), 1, true};
  }
}

// What the clock runs: a prefill step takes one sequence per replica, a decode step the whole
// batch.
plan::StepShape Run::TimedShape() const {
  const bool prefill = step_.kind == plan::StepKind::kPrefill;
  const int positions =
      prefill ? prefilled_ + step_.rows : static_cast<int>(setup_.prompt.size() + tokens_.size());
  return {.kind = step_.kind,
          .rows = step_.rows,
          .sequences = prefill ? 1 : setup_.timed_plan.options.batch,
          .kv_positions = KvBucket(positions, setup_.timed_plan.model.context),
          .logits = step_.logits};
}

Status Run::TimeStep(EventList* events) {
  const plan::StepShape shape = TimedShape();
  last_bucket_ = shape.kv_positions;
  const uint64_t key = TemplateKey(setup_.timed_plan, shape);
  step_template_ = trace_.FindTemplate(key);
  if (step_template_ >= 0) return Ok{};
  Result<trace::StepTemplate> timed = sim::SimulateStep(
      setup_.timed_plan, setup_.topology, plan::BuildProgram(setup_.timed_plan, shape),
      setup_.timed_plan.options.dp, {});
  if (!timed.ok()) return timed.error();
  timed.value().key = key;
  step_template_ = trace_.AddTemplate(std::move(timed.value()));
  const trace::StepTemplate& added = trace_.templates()[static_cast<size_t>(step_template_)];
  const Json json = {{"ev", "template"},
                     {"index", step_template_},
                     {"label", added.label},
                     {"duration_ps", added.duration_ps}};
  events->push_back(PackMessage(json, trace::EncodeTemplate(added)));
  return Ok{};
}

Status Run::BeginStep() {
  const bool prefill = step_.kind == plan::StepKind::kPrefill;
  const plan::StepShape shape = {.kind = step_.kind,
                                 .rows = step_.rows,
                                 .sequences = 1,
                                 .kv_positions = setup_.exec_plan.max_positions(),
                                 .logits = step_.logits};
  const auto key = std::make_tuple(step_.kind, step_.rows, step_.logits);
  auto program = programs_.find(key);
  if (program == programs_.end()) {
    program = programs_.emplace(key, plan::BuildProgram(setup_.exec_plan, shape)).first;
  }
  if (prefill) {
    const auto first = setup_.prompt.begin() + step_.first;
    fed_.assign(first, first + step_.rows);
  } else {
    fed_.assign(1, tokens_.back().id);
  }
  return engine_->BeginStep(program->second, fed_);
}

// Samples, and decides whether this is the end. Returns the token as the step event shows it.
Result<Json> Run::TakeToken(int64_t end_ps) {
  const std::span<const float> logits = engine_->logits();
  const auto index = static_cast<uint64_t>(tokens_.size());
  const model::TokenChance chosen = model::Sample(logits, setup_.scenario.sampler, index);
  if (chosen.id < 0) {
    return Error{ErrorCode::kBadFile, "model.safetensors", "output token " + std::to_string(index),
                 "The logits are not finite numbers, so no token can be chosen.",
                 "Check the weights for NaN and infinity, or choose wider formats."};
  }
  OutputToken token{.id = chosen.id, .logprob = chosen.logprob, .end_ps = end_ps};
  token.start_ps = tokens_.empty() ? 0 : tokens_.back().end_ps;
  const trace::StepTemplate& timed = trace_.templates()[static_cast<size_t>(step_template_)];
  token.split = tokens_.empty() ? prefill_split_ : timed.critical_split;
  tokens_.push_back(token);

  const model::Tokenizer& words = loaded_->tokenizer;
  const bool end = chosen.id == words.Special("<|end|>");
  std::string text = stream_.Add(words.Piece(chosen.id));
  const int count = static_cast<int>(tokens_.size());
  if (end) {
    stop_ = StopReason::kEnd;
  } else if (stream_.stopped()) {
    stop_ = StopReason::kStop;
  } else if (count == setup_.scenario.max_tokens) {
    stop_ = StopReason::kMaxTokens;
  } else if (count == setup_.output_limit) {
    stop_ = StopReason::kContext;
  }
  if (stop_ != StopReason::kNone) text += stream_.Finish();
  text_ += text;

  Json top = Json::array();
  for (const model::TokenChance& chance : model::TopTokens(logits, kTopTokens)) {
    top.push_back(
        {{"id", chance.id}, {"text", TokenText(words, chance.id)}, {"logprob", chance.logprob}});
  }
  return Json{{"id", chosen.id},
              {"bytes", Hex(words.Piece(chosen.id))},
              {"text", std::move(text)},
              {"logprob", chosen.logprob},
              {"top", std::move(top)}};
}

Result<Run::Progress> Run::SettleStep(EventList* events) {
  const bool prefill = step_.kind == plan::StepKind::kPrefill;
  const trace::StepTemplate& timed = trace_.templates()[static_cast<size_t>(step_template_)];
  const int64_t start_ps = prefill_ps_ + decode_ps_;
  const int index = static_cast<int>(trace_.steps().size() + trace_.dropped_steps());
  trace_.AddStep({.start_ps = start_ps,
                  .step_template = step_template_,
                  .kind = prefill ? trace::StepKind::kPrefill : trace::StepKind::kDecode,
                  .request = 0,
                  .first_token = step_.first,
                  .token_count = step_.rows});
  (prefill ? prefill_ps_ : decode_ps_) += timed.duration_ps;
  for (size_t kind = 0; kind < link_bytes_.size(); ++kind)
    link_bytes_[kind] += timed.link_bytes[kind];
  if (prefill) {
    prefilled_ += step_.rows;
    AddSplit(timed.critical_split, &prefill_split_);
  }
  const int positions = static_cast<int>(prefilled_ + tokens_.size());
  const int64_t end_ps = prefill_ps_ + decode_ps_;
  Json token = nullptr;
  if (step_.logits) {
    Result<Json> taken = TakeToken(end_ps);
    if (!taken.ok()) return taken.error();
    token = std::move(taken.value());
  }
  Json usd = {{"rented", cost::ToDecimal(prefill ? setup_.Rented(timed.duration_ps, 0)
                                                 : setup_.Rented(0, timed.duration_ps))},
              {"rented_total", cost::ToDecimal(setup_.Rented(prefill_ps_, decode_ps_))},
              {"list_total", nullptr}};
  // A list price for another, far larger model says nothing beside the toy's own rent.
  if (setup_.timing_shape) {
    usd["list_total"] = cost::ToDecimal(
        cost::ListCost(*setup_.list, prefilled_, static_cast<int64_t>(tokens_.size())));
  }
  events->push_back(PackMessage({{"ev", "step"},
                                 {"kind", prefill ? "prefill" : "decode"},
                                 {"index", index},
                                 {"template", step_template_},
                                 {"start_ps", start_ps},
                                 {"end_ps", end_ps},
                                 {"first", step_.first},
                                 {"rows", step_.rows},
                                 {"positions", positions},
                                 {"token", std::move(token)},
                                 {"split_ps", SplitToJson(timed.critical_split)},
                                 {"usd", std::move(usd)}}));
  return stop_ == StopReason::kNone ? Progress::kStepDone : Progress::kFinished;
}

}  // namespace novascope::session
