#include "session/setup.h"

#include <algorithm>

#include "base/utf8.h"

namespace novascope::session {
namespace {

constexpr int kSmallestBucket = 128;

Error BadModelFile(std::string_view file, std::string value, std::string message, std::string fix) {
  return {ErrorCode::kBadFile, std::string(file), std::move(value), std::move(message),
          std::move(fix)};
}

bool SameShape(const model::ModelSpec& a, const model::ModelSpec& b) {
  return a.layers == b.layers && a.hidden == b.hidden && a.heads == b.heads &&
         a.kv_heads == b.kv_heads && a.head_dim == b.head_dim && a.ffn == b.ffn &&
         a.vocab == b.vocab && a.context == b.context && a.tied_embeddings == b.tied_embeddings;
}

// The spec of a config.json: the table's row where the id names one.
Result<model::ModelSpec> ReadSpec(std::string_view id, std::string_view config) {
  if (id.empty() || id.size() > 64 || FirstInvalidUtf8(id) != std::string_view::npos) {
    return Error{ErrorCode::kInput, "model", Excerpt(id),
                 "A model's name has 1 to 64 bytes of UTF-8.", "Give it a short name."};
  }
  Result<model::ModelSpec> spec = model::SpecFromConfig(config, id);
  if (!spec.ok()) return spec.error();
  const Result<model::ModelSpec> row = model::FindModel(id, "model");
  if (!row.ok()) return spec;
  if (!row.value().runnable || !SameShape(row.value(), spec.value())) {
    return BadModelFile("config.json", Excerpt(id),
                        "The file's shape is not the one this model's row has.",
                        "Give the model a name of its own, or its own files.");
  }
  return row;
}

plan::PlanOptions ExecOptions(const Scenario& s, const model::ModelSpec& spec,
                              const hw::System& system) {
  plan::PlanOptions options;
  options.tp = s.tp;
  options.pp = s.pp;
  if (s.own_plan) {
    const plan::PlanOptions own = plan::DefaultPlan(spec, system);
    options.tp = own.tp;
    options.pp = own.pp;
  }
  options.dp = s.dp;
  options.lnc = s.lnc;
  options.formats = s.formats;
  options.reduce = s.reduce;
  options.collective = s.collective;
  options.prefill_rows = std::min(s.prefill_chunk, spec.context);
  return options;
}

Result<plan::Plan> PlanThatFits(const model::ModelSpec& spec, const hw::System& system,
                                const plan::PlanOptions& options) {
  Result<plan::Plan> plan = plan::MakePlan(spec, system, options);
  if (!plan.ok()) return plan;
  const Status fits = plan::CheckMemory(plan.value(), plan::BuildMemory(plan.value()));
  if (!fits.ok()) return fits.error();
  return plan;
}

// The timing shape's plan. KV is reserved for the bucket that holds the whole request, as compiled
// serving software would.
Result<plan::Plan> TimedPlan(const Scenario& s, const hw::System& system, int positions) {
  Result<model::ModelSpec> shape = model::FindModel(s.timing->shape, "timing.shape");
  if (!shape.ok()) return shape.error();
  const int context = shape.value().context;
  if (positions > context) {
    return Error{ErrorCode::kTooLong, "timing.shape", s.timing->shape,
                 "The request takes " + std::to_string(positions) +
                     " positions and this shape's context " + "has " + std::to_string(context) +
                     ".",
                 "Shorten the prompt, lower max_tokens, or time another shape."};
  }
  plan::PlanOptions options;
  options.tp = s.timing->tp;
  options.pp = s.timing->pp;
  options.dp = s.timing->dp;
  options.lnc = s.timing->lnc;
  options.batch = s.timing->batch;
  options.formats = s.formats;
  options.reduce = plan::ReduceMode::kBf16;
  options.collective = s.collective;
  options.prefill_rows = std::min(s.prefill_chunk, context);
  options.max_positions = KvBucket(positions, context);
  Result<plan::Plan> plan = PlanThatFits(shape.value(), system, options);
  if (plan.ok()) return plan;
  Error error = plan.error();
  error.field = "timing." + error.field;
  return error;
}

// The prompt as tokens, or why it does not fit.
Result<std::vector<int32_t>> Tokenise(const Scenario& s, const LoadedModel& loaded) {
  const model::Tokenizer& tokenizer = loaded.tokenizer;
  const int context = loaded.spec.context;
  const auto too_long = [&](std::string value) {
    return Error{ErrorCode::kTooLong, "prompt", std::move(value),
                 "The model's context has " + std::to_string(context) +
                     " positions, and at least one is needed for the answer.",
                 "Shorten the prompt to at most " + std::to_string(context - 1) + " tokens."};
  };
  // Text that is too long even if every token were the longest is not worth splitting.
  size_t longest = 1;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    longest = std::max(longest, tokenizer.Piece(id).size());
  }
  const size_t bytes = s.prompt.size() + s.system_prompt.size();
  if (bytes / longest >= static_cast<size_t>(context)) {
    return too_long(std::to_string(bytes) + " bytes");
  }
  std::vector<int32_t> ids;
  if (s.chat) {
    for (const char* name : {"<|begin|>", "<|system|>", "<|user|>", "<|assistant|>"}) {
      if (tokenizer.Special(name) >= 0) continue;
      return Error{ErrorCode::kInput, "chat", "true",
                   std::string("This model's tokenizer has no ") + name + " token.",
                   "Turn chat off; the prompt is then continued as plain text."};
    }
    ids = tokenizer.EncodeChat(s.system_prompt, s.prompt);
  } else {
    if (const int32_t begin = tokenizer.Special("<|begin|>"); begin >= 0) ids.push_back(begin);
    const std::vector<int32_t> text = tokenizer.Encode(s.prompt);
    ids.insert(ids.end(), text.begin(), text.end());
  }
  if (ids.size() >= static_cast<size_t>(context)) {
    return too_long(std::to_string(ids.size()) + " tokens");
  }
  return ids;
}

}  // namespace

Result<std::shared_ptr<const LoadedModel>> LoadModel(std::string_view id, std::string_view config,
                                                     std::string_view tokenizer,
                                                     std::span<const uint8_t> weights) {
  Result<model::ModelSpec> spec = ReadSpec(id, config);
  if (!spec.ok()) return spec.error();
  Result<model::Tokenizer> words = model::Tokenizer::FromJson(tokenizer, "tokenizer.json");
  if (!words.ok()) return words.error();
  if (words.value().vocab_size() > spec.value().vocab) {
    return BadModelFile(
        "tokenizer.json", std::to_string(words.value().vocab_size()) + " tokens",
        "The model's vocabulary has only " + std::to_string(spec.value().vocab) + ".",
        "Give the tokenizer that belongs to the weights.");
  }
  Result<model::Weights> tensors = model::Weights::FromSafetensors(
      std::vector<uint8_t>(weights.begin(), weights.end()), "model.safetensors");
  if (!tensors.ok()) return tensors.error();
  const Status complete = model::CheckWeights(spec.value(), tensors.value(), "model.safetensors");
  if (!complete.ok()) return complete.error();
  return std::shared_ptr<const LoadedModel>(std::make_shared<LoadedModel>(
      LoadedModel{std::move(spec.value()), std::move(words.value()), std::move(tensors.value())}));
}

int KvBucket(int positions, int context) {
  int bucket = kSmallestBucket;
  while (bucket < positions) bucket *= 2;
  return std::min(bucket, context);
}

int Setup::chips() const {
  int count = 0, last = -1;
  for (const plan::RankPlace& place : timed_plan.ranks) {
    count += place.chip != last;  // ranks are laid out chip by chip
    last = place.chip;
  }
  return count;
}

cost::Money Setup::Rented(int64_t prefill_ps, int64_t decode_ps) const {
  const int64_t batch = timed_plan.options.batch;
  return cost::RentedCost(*rent, chips(), prefill_ps * batch + decode_ps).DividedBy(sequences());
}

Result<Setup> Prepare(const Scenario& scenario, const LoadedModel& loaded) {
  if (Status valid = Validate(scenario, &loaded.spec); !valid.ok()) return valid.error();
  Setup setup;
  setup.scenario = scenario;
  const hw::System& system = *hw::FindSystem(scenario.system, "system").value();
  setup.rent = cost::FindHourPrice(scenario.rent, "rent").value();
  setup.list = cost::FindTokenPrice(scenario.list, "list").value();
  setup.kernels = kernels::FindKernelSet(scenario.kernels, "kernels").value();
  Result<plan::Plan> exec_plan =
      PlanThatFits(loaded.spec, system, ExecOptions(scenario, loaded.spec, system));
  if (!exec_plan.ok()) return exec_plan.error();
  setup.exec_plan = std::move(exec_plan.value());
  Result<std::vector<int32_t>> prompt = Tokenise(scenario, loaded);
  if (!prompt.ok()) return prompt.error();
  setup.prompt = std::move(prompt.value());
  const int prompt_tokens = static_cast<int>(setup.prompt.size());
  setup.output_limit = std::min(scenario.max_tokens, loaded.spec.context - prompt_tokens);
  setup.timing_shape = scenario.timing.has_value();
  setup.timed_plan = setup.exec_plan;
  if (setup.timing_shape) {
    Result<plan::Plan> timed = TimedPlan(scenario, system, prompt_tokens + setup.output_limit);
    if (!timed.ok()) return timed.error();
    setup.timed_plan = std::move(timed.value());
  }
  setup.topology = hw::BuildTopology(system);
  setup.memory = plan::BuildMemory(setup.timed_plan);
  return setup;
}

Status CheckPlans(const Scenario& scenario) {
  if (Status valid = Validate(scenario); !valid.ok()) return valid;
  const hw::System& system = *hw::FindSystem(scenario.system, "system").value();
  const Result<model::ModelSpec> spec = model::FindModel(scenario.model, "model");
  if (!spec.ok()) return spec.error();
  const Result<plan::Plan> exec_plan =
      PlanThatFits(spec.value(), system, ExecOptions(scenario, spec.value(), system));
  if (!exec_plan.ok()) return exec_plan.error();
  if (!scenario.timing) return Ok{};
  const Result<plan::Plan> timed = TimedPlan(scenario, system, kSmallestBucket);
  if (!timed.ok()) return timed.error();
  return Ok{};
}

}  // namespace novascope::session
