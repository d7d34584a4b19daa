#include "ui/feed.h"

#include <utility>

#include "session/message.h"
#include "ui/catalog.h"
#include "ui/commands.h"
#include "ui/json_read.h"
#include "ui/playback.h"
#include "ui/timeline_view.h"

namespace novascope::ui {

namespace {

using Payload = std::span<const uint8_t>;

ErrorInfo ReadError(const Json& error) {
  return {GetText(error, "code"), GetText(error, "field"), GetText(error, "value"),
          GetText(error, "message"), GetText(error, "fix")};
}

std::vector<Candidate> ReadCandidates(const Json& rows) {
  std::vector<Candidate> candidates;
  if (!rows.is_array()) return candidates;
  for (const Json& row : rows) {
    candidates.push_back({static_cast<int32_t>(GetInt(row, "id")), GetText(row, "text"),
                          GetNumber(row, "logprob")});
  }
  return candidates;
}

OwnerTimes ReadSplit(const Json& split) {
  return {GetInt(split, "compute"), GetInt(split, "hbm"), GetInt(split, "network"),
          GetInt(split, "wait"), GetInt(split, "idle")};
}

PlanInfo ReadPlan(const Json& plan) {
  PlanInfo info;
  info.model_label = GetText(plan, "label", GetText(plan, "model"));
  info.tp = static_cast<int>(GetInt(plan, "tp", 1));
  info.pp = static_cast<int>(GetInt(plan, "pp", 1));
  info.dp = static_cast<int>(GetInt(plan, "dp", 1));
  info.lnc = static_cast<int>(GetInt(plan, "lnc", 2));
  info.batch = static_cast<int>(GetInt(plan, "batch", 1));
  info.kv_copies = static_cast<int>(GetInt(plan, "kv_copies", 1));
  info.cores = static_cast<int>(GetInt(plan, "ranks", info.tp * info.pp * info.dp));
  info.neuron_today = GetBool(plan, "neuron_today");
  info.note = GetText(plan, "neuron_note");
  info.params = GetNumber(plan, "params");
  info.params_label = GetText(plan, "params_label");
  info.layers = static_cast<int>(GetInt(plan, "layers"));
  info.chips = static_cast<int>(GetInt(plan, "chips"));
  const Json& range = Get(plan, "range_b");
  if (range.is_array() && range.size() == 2) {
    info.range_low_b = ToNumber(range[0]);
    info.range_high_b = ToNumber(range[1]);
  }
  info.label = DegreesLabel({info.tp, info.pp, info.dp, info.lnc});
  return info;
}

void ReadMachine(const Json& json, Machine* machine) {
  *machine = {};
  machine->system = GetText(json, "system");
  const auto count = [&json](const char* key, int64_t otherwise, int64_t least, int64_t most) {
    return static_cast<int>(std::clamp(GetInt(json, key, otherwise), least, most));
  };
  machine->chips = count("chips", 0, 0, 4096);
  machine->cores_per_chip = count("cores_per_chip", 4, 1, 64);
  machine->stacks_per_chip = count("stacks_per_chip", 4, 1, 64);
  machine->stack_bytes = GetNumber(json, "stack_bytes");
  const Json& links = Get(json, "links");
  if (!links.is_array()) return;
  for (const Json& link : links) {
    if (!link.is_array() || link.size() < 3) continue;
    Machine::Link row;
    if (link[0].is_string()) {
      for (uint8_t kind = 0; kind < std::size(kLinkKinds); ++kind) {
        if (link[0].get_ref<const std::string&>() == kLinkKinds[kind]) row.kind = kind;
      }
    } else {
      row.kind = static_cast<uint8_t>(std::clamp<int64_t>(ToInt(link[0]), 0, 3));
    }
    row.from = static_cast<int16_t>(ToInt(link[1]));
    row.to = static_cast<int16_t>(ToInt(link[2]));
    machine->links.push_back(row);
  }
}

void ReadHbm(const Json& json, Hbm* hbm) {
  *hbm = {};
  const Json& categories = Get(json, "categories");
  if (categories.is_array()) {
    for (const Json& name : categories) {
      hbm->categories.push_back(name.is_string() ? name.get<std::string>() : "");
    }
  }
  const Json& bytes = Get(json, "bytes");
  if (bytes.is_array()) {
    for (const Json& stack : bytes) {
      std::vector<double> row(hbm->categories.size(), 0.0);
      for (size_t c = 0; stack.is_array() && c < row.size() && c < stack.size(); ++c) {
        row[c] = ToNumber(stack[c]);
      }
      hbm->bytes.push_back(std::move(row));
    }
  }
  const Json& per_position = Get(json, "kv_bytes_per_position");
  if (per_position.is_array()) {
    for (const Json& value : per_position) hbm->kv_bytes_per_position.push_back(ToNumber(value));
  }
  hbm->kv_positions = static_cast<int>(GetInt(json, "kv_positions"));
  hbm->unique_weights = GetNumber(json, "unique_weight_bytes");
  hbm->replicated_weights = GetNumber(json, "replicated_weight_bytes");
  hbm->unique_kv = GetNumber(json, "unique_kv_bytes");
  hbm->kv_copies = GetNumber(json, "kv_copies_bytes");
}

void TakePlan(AppState& app, const Json& event) {
  // A new run starts: what belongs to the old one goes.
  Run& run = app.run;
  Run fresh;
  fresh.state = run.state == CoreState::kLoading ? CoreState::kRunning : run.state;
  fresh.model_label = run.model_label;
  fresh.model_params = run.model_params;
  fresh.model_bytes = run.model_bytes;
  fresh.kernel_variant = run.kernel_variant;
  fresh.serial = run.serial + 1;
  run = std::move(fresh);
  run.planned = true;
  run.exec = ReadPlan(Get(event, "exec"));
  run.timed = Get(event, "timing").is_object();
  run.timing = run.timed ? ReadPlan(Get(event, "timing")) : run.exec;
  const Json& prompt = Get(event, "prompt");
  run.prompt = ReadCandidates(prompt);
  run.prompt_tokens = static_cast<int>(GetInt(event, "prompt_tokens", static_cast<int64_t>(run.prompt.size())));
  ReadMachine(Get(event, "machine"), &run.machine);
  ReadHbm(Get(event, "hbm"), &run.hbm);
  const Json& provenance = Get(event, "provenance");
  run.words = GetText(provenance, "words");
  run.time = GetText(provenance, "time");
  run.memory = GetText(provenance, "memory");
  run.prices = GetText(provenance, "prices");
  run.shape = GetText(provenance, "shape");
  app.shown = app.sent;
  app.trace = trace::Trace();
  app.error.reset();
  app.selection.token = app.selection.link = -1;
  if (app.selection.chip >= run.machine.chips) app.selection.chip = 0;
  app.timeline = {};
  ResetPlayback(app);
}

void TakeTemplate(AppState& app, const Json& event, Payload payload) {
  Result<trace::StepTemplate> decoded = trace::DecodeTemplate(payload.data(), payload.size());
  if (!decoded.ok()) {
    app.error = ErrorInfo{"internal", "template", "", decoded.error().message, "Reload the page."};
    return;
  }
  const size_t index = static_cast<size_t>(std::max<int64_t>(0, GetInt(event, "index")));
  if (index > 65535) return;
  std::vector<int>& map = app.run.template_index;
  if (map.size() <= index) map.resize(index + 1, -1);
  map[index] = app.trace.AddTemplate(std::move(decoded.value()));
  UpdateTemplateViews(app);
}

void TakeStep(AppState& app, const Json& event) {
  Run& run = app.run;
  StepInfo step;
  step.kind = GetText(event, "kind") == "prefill" ? trace::StepKind::kPrefill : trace::StepKind::kDecode;
  step.start_ps = GetInt(event, "start_ps");
  step.end_ps = GetInt(event, "end_ps");
  step.positions = static_cast<int>(GetInt(event, "positions"));
  const int64_t core_template = GetInt(event, "template", -1);
  if (core_template >= 0 && static_cast<size_t>(core_template) < run.template_index.size()) {
    step.step_template = run.template_index[static_cast<size_t>(core_template)];
  }
  step.split = ReadSplit(Get(event, "split_ps"));
  const Json& usd = Get(event, "usd");
  step.rented_total = GetNumber(usd, "rented_total");
  step.list_total = GetNumber(usd, "list_total");

  const Json& token_json = Get(event, "token");
  if (token_json.is_object()) {
    Token token;
    token.id = static_cast<int32_t>(GetInt(token_json, "id"));
    token.text = GetText(token_json, "text");
    token.logprob = GetNumber(token_json, "logprob");
    token.top = ReadCandidates(Get(token_json, "top"));
    token.step = static_cast<int>(run.steps.size());
    token.start_ps = step.start_ps;
    token.end_ps = step.end_ps;
    token.split = step.split;
    const Json& rented = Get(usd, "rented");
    token.usd_rented = rented.is_string() ? rented.get<std::string>() : "";
    step.token = static_cast<int>(run.tokens.size());
    run.tokens.push_back(std::move(token));
  }
  if (step.step_template >= 0) {
    trace::Step record;
    record.start_ps = step.start_ps;
    record.step_template = step.step_template;
    record.kind = step.kind;
    record.first_token = static_cast<int32_t>(GetInt(event, "first"));
    record.token_count = static_cast<int32_t>(GetInt(event, "rows", 1));
    app.trace.AddStep(record);
  }
  run.steps.push_back(std::move(step));
  FollowRun(app);
}

void TakeMoney(AppState& app, const Json& event) {
  MoneyInfo& money = app.run.money;
  money = {};
  money.ready = true;
  const Json& price = Get(event, "usd_per_mtok");
  money.rented_per_mtok = GetNumber(price, "rented");
  money.list_output_per_mtok = GetNumber(price, "list_output");
  money.rented_low = GetNumber(price, "rented_low");
  money.rented_high = GetNumber(price, "rented_high");
  const Json& rows = Get(event, "by_batch");
  if (rows.is_array()) {
    for (const Json& row : rows) {
      money.by_batch.push_back({static_cast<int>(GetInt(row, "batch")), GetNumber(row, "usd_per_mtok"),
                                GetNumber(row, "tpot_ms")});
    }
  }
  if (Get(event, "break_even_batch").is_number()) {
    money.break_even_batch = static_cast<int>(GetInt(event, "break_even_batch"));
  }
  money.sentence = GetText(event, "sentence");
  money.break_even_sentence = GetText(event, "break_even_sentence");
  const Json& why = Get(event, "why");
  money.why_sentence = GetText(why, "sentence");
  money.why_largest = GetText(why, "largest");
  money.why_share = GetNumber(why, "share");
  money.try_batch = static_cast<int>(GetInt(why, "try_batch"));
}

void TakeState(AppState& app, const Json& event) {
  constexpr std::pair<const char*, CoreState> kStates[] = {{"empty", CoreState::kEmpty},
                                                           {"ready", CoreState::kReady},
                                                           {"running", CoreState::kRunning},
                                                           {"paused", CoreState::kPaused},
                                                           {"done", CoreState::kDone}};
  const std::string name = GetText(event, "state");
  for (const auto& [text, state] : kStates) {
    if (name == text) app.run.state = state;
  }
}

void TakeLoaded(AppState& app, const Json& event) {
  const Json& model = Get(event, "model");
  app.run.model_label = GetText(model, "label", GetText(model, "id"));
  app.run.model_params = GetNumber(model, "params");
  app.run.model_bytes = GetNumber(model, "bytes");
  if (app.run.state == CoreState::kLoading || app.run.state == CoreState::kEmpty) {
    app.run.state = CoreState::kReady;
  }
  app.run.load_what.clear();
}

void TakeWall(AppState& app, const Json& event) {
  app.run.kernel_variant = GetText(event, "variant", app.run.kernel_variant);
  const int64_t index = GetInt(event, "index", -1);
  if (index >= 0 && static_cast<size_t>(index) < app.run.steps.size()) {
    app.run.steps[static_cast<size_t>(index)].wall_ms = GetNumber(event, "wall_ms", -1);
  }
}

void TakeError(AppState& app, const Json& event) {
  app.error = ReadError(Get(event, "error"));
  if (app.run.state == CoreState::kRunning) {
    app.run.state = app.run.planned ? CoreState::kDone : CoreState::kReady;
  }
}

}  // namespace

void TakeEvent(AppState& app, std::span<const uint8_t> bytes) {
  app.view.frames_wanted = 3;
  Result<session::Message> message = session::UnpackMessage(bytes);
  if (!message.ok()) {
    const Error& error = message.error();
    app.error = ErrorInfo{"internal", error.field, error.value, error.message, error.fix};
    return;
  }
  const Json& event = message.value().json;
  const std::string name = GetText(event, "ev");
  if (name == "hello") {
    app.catalog = ReadCatalog(event);
  } else if (name == "loaded") {
    TakeLoaded(app, event);
  } else if (name == "plan") {
    TakePlan(app, event);
  } else if (name == "template") {
    TakeTemplate(app, event, message.value().payload);
  } else if (name == "step") {
    TakeStep(app, event);
  } else if (name == "money") {
    TakeMoney(app, event);
  } else if (name == "done") {
    app.run.result = Get(event, "result");
    app.run.state = CoreState::kDone;
    SettlePlayhead(app);
  } else if (name == "state") {
    TakeState(app, event);
  } else if (name == "wall") {
    TakeWall(app, event);
  } else if (name == "progress") {
    app.run.load_what = GetText(event, "what");
    const double total = GetNumber(event, "total");
    app.run.load_share = total > 0 ? GetNumber(event, "loaded") / total : -1;
  } else if (name == "error") {
    TakeError(app, event);
  }
}

}  // namespace novascope::ui
