#include "session/session.h"

#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "session/catalog.h"
#include "session/error_json.h"
#include "session/money.h"
#include "session/report.h"
#include "session/run.h"
#include "session/setup.h"

namespace novascope::session {
namespace {

enum class Stage : uint8_t { kEmpty, kReady, kRunning, kPaused, kDone };
constexpr const char* kStageNames[] = {"empty", "ready", "running", "paused", "done"};

Error BadCommand(std::string field, std::string value, std::string message, std::string fix) {
  return {ErrorCode::kInput, std::move(field), std::move(value), std::move(message),
          std::move(fix)};
}

// A member of a command that must be a byte count.
Result<uint64_t> ByteCount(const Json& json, const char* key) {
  const auto it = json.find(key);
  const auto* count = it == json.end() ? nullptr : it->get_ptr<const Json::number_unsigned_t*>();
  if (count != nullptr) return static_cast<uint64_t>(*count);
  return BadCommand(key, it == json.end() ? "" : Shown(*it),
                    "The command must say how many bytes of its payload this file takes.",
                    "Give a whole number of bytes.");
}

}  // namespace

struct Session::State {
  Stage stage = Stage::kEmpty;
  bool one_step = false;  // pause after the step that runs
  std::shared_ptr<const LoadedModel> loaded;
  std::unique_ptr<Run> run;
  std::optional<MoneySweep> money;  // refers to run's setup
  std::deque<std::vector<uint8_t>> events;

  void Emit(const Json& json) { events.push_back(PackMessage(json)); }
  void EmitStage() { Emit({{"ev", "state"}, {"state", kStageNames[static_cast<int>(stage)]}}); }
  void Enter(Stage next) {
    stage = next;
    EmitStage();
  }
  void EmitError(std::string_view command, const Error& error) {
    Emit({{"ev", "error"}, {"cmd", command}, {"error", ErrorToJson(error)}});
  }
  void DropRun() {
    money.reset();
    run.reset();
    one_step = false;
  }
  bool HasWork() const { return stage == Stage::kRunning || (stage == Stage::kDone && money); }

  Status Handle(std::string_view command, const Message& message);
  Status Load(const Message& message);
  Status StartRun(const Json& json);
  Status Check(const Json& json);
  Status Resume(std::string_view command, bool single);
  void Work();
  void Finish();
};

namespace {

Result<Scenario> ScenarioOf(const Json& json) {
  const auto it = json.find("scenario");
  if (it == json.end()) {
    return BadCommand("scenario", "", "The command has no scenario.",
                      "Add one; {} stands for the defaults.");
  }
  return ScenarioFromJson(*it);
}

}  // namespace

Status Session::State::Load(const Message& message) {
  constexpr const char* kFiles[] = {"config", "tokenizer", "weights"};
  std::span<const uint8_t> parts[3];
  std::span<const uint8_t> rest = message.payload;
  for (int i = 0; i < 3; ++i) {
    const Result<uint64_t> count = ByteCount(message.json, kFiles[i]);
    if (!count.ok()) return count.error();
    if (count.value() > rest.size()) {
      return BadCommand(
          kFiles[i], std::to_string(count.value()),
          "Only " + std::to_string(rest.size()) + " bytes of the payload are left for it.",
          "Append the three files back to back, whole.");
    }
    parts[i] = rest.first(static_cast<size_t>(count.value()));
    rest = rest.subspan(static_cast<size_t>(count.value()));
  }
  if (!rest.empty()) {
    return BadCommand("weights", std::to_string(rest.size()) + " bytes",
                      "The payload goes on after the three files.", "Append nothing else.");
  }
  std::string id = "scope-micro";
  if (const auto it = message.json.find("id"); it != message.json.end()) {
    const auto* text = it->get_ptr<const std::string*>();
    if (text == nullptr)
      return BadCommand("id", Shown(*it), "A model's name is text.", "Write it in quotes.");
    id = *text;
  }
  const auto text = [](std::span<const uint8_t> bytes) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  Result<std::shared_ptr<const LoadedModel>> model =
      LoadModel(id, text(parts[0]), text(parts[1]), parts[2]);
  if (!model.ok()) return model.error();
  DropRun();
  loaded = std::move(model.value());
  const model::ModelSpec& spec = loaded->spec;
  Emit({{"ev", "loaded"},
        {"model",
         {{"id", spec.id},
          {"label", spec.label},
          {"params", model::CountParams(spec).total()},
          {"bytes", loaded->weights.file_bytes()},
          {"context", spec.context}}},
        {"notes", loaded->weights.notes()}});
  Enter(Stage::kReady);
  return Ok{};
}

Status Session::State::StartRun(const Json& json) {
  bool paused = false;
  if (const auto it = json.find("paused"); it != json.end()) {
    const auto* flag = it->get_ptr<const Json::boolean_t*>();
    if (flag == nullptr)
      return BadCommand("paused", Shown(*it), "This is true or false.", "Write true or false.");
    paused = *flag;
  }
  Result<Scenario> scenario = ScenarioOf(json);
  if (!scenario.ok()) return scenario.error();
  if (loaded == nullptr) {
    if (Status status = CheckPlans(scenario.value()); !status.ok()) return status;
    return BadCommand("model", Excerpt(scenario.value().model), "No model is in memory yet.",
                      "Load its three files first.");
  }
  Result<Setup> setup = Prepare(scenario.value(), *loaded);
  if (!setup.ok()) return setup.error();
  DropRun();
  run = std::make_unique<Run>(std::move(setup.value()), loaded);
  Emit(PlanEvent(run->setup(), *loaded));
  Enter(paused ? Stage::kPaused : Stage::kRunning);
  return Ok{};
}

Status Session::State::Check(const Json& json) {
  Result<Scenario> scenario = ScenarioOf(json);
  if (!scenario.ok()) return scenario.error();
  if (loaded == nullptr) {
    if (Status status = CheckPlans(scenario.value()); !status.ok()) return status;
  } else if (Result<Setup> setup = Prepare(scenario.value(), *loaded); !setup.ok()) {
    return setup.error();
  }
  Emit({{"ev", "valid"}});
  return Ok{};
}

Status Session::State::Resume(std::string_view command, bool single) {
  if (run == nullptr) {
    return BadCommand("cmd", std::string(command), "There is no run.",
                      "Send run with a scenario first.");
  }
  if (stage == Stage::kDone) {
    EmitStage();
    return Ok{};
  }
  one_step = single;
  Enter(Stage::kRunning);
  return Ok{};
}

Status Session::State::Handle(std::string_view command, const Message& message) {
  if (command == "hello") {
    Emit(Catalog());
  } else if (command == "load") {
    return Load(message);
  } else if (command == "run") {
    return StartRun(message.json);
  } else if (command == "validate") {
    return Check(message.json);
  } else if (command == "resume" || command == "step") {
    return Resume(command, command == "step");
  } else if (command == "pause") {
    if (stage == Stage::kRunning) stage = Stage::kPaused;
    one_step = false;
    EmitStage();
  } else if (command == "cancel") {
    DropRun();
    Enter(loaded == nullptr ? Stage::kEmpty : Stage::kReady);
  } else {
    return BadCommand("cmd", Excerpt(command), "There is no such command.",
                      "Use one of hello, load, run, pause, resume, step, cancel, validate.");
  }
  return Ok{};
}

void Session::State::Finish() {
  const Json result = ResultJson(*run);
  money.emplace(run->setup(), run->last_bucket(), result["usd_per_mtok"].get<double>());
  Emit({{"ev", "done"}, {"result", result}});
  Enter(Stage::kDone);
}

void Session::State::Work() {
  if (stage == Stage::kDone) {
    const Result<bool> more = money->Advance();
    if (more.ok() && more.value()) return;
    if (more.ok()) {
      Emit(money->Event());
    } else {
      EmitError("run", more.error());
    }
    money.reset();
    return;
  }
  EventList caused;
  const Result<Run::Progress> progress = run->Advance(&caused);
  for (std::vector<uint8_t>& event : caused) events.push_back(std::move(event));
  if (!progress.ok()) {
    EmitError("run", progress.error());
    DropRun();
    Enter(Stage::kReady);
  } else if (progress.value() == Run::Progress::kFinished) {
    Finish();
  } else if (progress.value() == Run::Progress::kStepDone && one_step) {
    one_step = false;
    Enter(Stage::kPaused);
  }
}

Session::Session() : state_(std::make_unique<State>()) {}
Session::~Session() = default;

void Session::Command(std::span<const uint8_t> bytes) {
  const Result<Message> message = UnpackMessage(bytes);
  if (!message.ok()) {
    state_->EmitError("", message.error());
    return;
  }
  const Json& json = message.value().json;
  const auto version = json.find("v");
  if (version == json.end() || *version != kProtocolVersion) {
    state_->EmitError("", BadCommand("v", version == json.end() ? "" : Shown(*version),
                                     "This version of the protocol is not spoken here.",
                                     "Send \"v\": " + std::to_string(kProtocolVersion) + "."));
    return;
  }
  const auto cmd = json.find("cmd");
  const auto* name = cmd == json.end() ? nullptr : cmd->get_ptr<const std::string*>();
  if (name == nullptr) {
    state_->EmitError("", BadCommand("cmd", "", "The message names no command.",
                                     "Add \"cmd\" with a command's name."));
    return;
  }
  const Status status = state_->Handle(*name, message.value());
  if (!status.ok()) state_->EmitError(*name, status.error());
}

bool Session::Step(int units) {
  for (; units > 0 && state_->HasWork(); --units) state_->Work();
  return state_->HasWork();
}

bool Session::Poll(std::vector<uint8_t>* message) {
  if (state_->events.empty()) return false;
  *message = std::move(state_->events.front());
  state_->events.pop_front();
  return true;
}

}  // namespace novascope::session
