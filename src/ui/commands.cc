#include "ui/commands.h"

#include <algorithm>

#include "session/message.h"
#include "ui/json_read.h"
#include "ui/playback.h"

namespace novascope::ui {

namespace {

void Send(AppState& app, Json json) {
  app.outbox.push_back(session::PackMessage(json));
  app.view.frames_wanted = 3;
}

Json Command(const char* name) {
  Json json;
  json["v"] = session::kProtocolVersion;
  json["cmd"] = name;
  return json;
}

void TakeText(const Json& json, const char* key, std::string* value) {
  const Json& member = Get(json, key);
  if (member.is_string()) *value = member.get<std::string>();
}

void TakeInt(const Json& json, const char* key, int* value) {
  const Json& member = Get(json, key);
  if (member.is_number()) *value = static_cast<int>(ToInt(member));
}

void TakeDegrees(const Json& json, Degrees* degrees) {
  TakeInt(json, "tp", &degrees->tp);
  TakeInt(json, "pp", &degrees->pp);
  TakeInt(json, "dp", &degrees->dp);
  TakeInt(json, "lnc", &degrees->lnc);
}

}  // namespace

std::string DegreesLabel(const Degrees& degrees) {
  std::string label = "TP" + std::to_string(degrees.tp);
  if (degrees.pp > 1) label += " x PP" + std::to_string(degrees.pp);
  if (degrees.dp > 1) label += " x DP" + std::to_string(degrees.dp);
  return label;
}

Json ScenarioJson(const Form& form) {
  Json json;
  json["v"] = 1;
  json["model"] = form.model;
  json["system"] = form.system;
  if (!form.own_plan) {
    json["plan"] = {{"tp", form.plan.tp}, {"pp", form.plan.pp}, {"dp", form.plan.dp}, {"lnc", form.plan.lnc}};
  }
  json["formats"] = {{"weights", form.weights}, {"activations", form.activations}, {"kv", form.kv}};
  if (form.timed) {
    json["timing"] = {{"shape", form.shape},      {"tp", form.timing.tp},   {"pp", form.timing.pp},
                      {"dp", form.timing.dp},     {"lnc", form.timing.lnc}, {"batch", form.batch}};
  }
  json["collective"] = form.collective;
  json["reduce"] = form.reduce;
  json["prompt"] = form.prompt;
  json["chat"] = form.chat;
  json["system_prompt"] = form.system_prompt;
  json["max_tokens"] = form.max_tokens;
  json["temperature"] = form.temperature;
  json["top_p"] = form.top_p;
  json["top_k"] = form.top_k;
  json["seed"] = form.seed;
  json["prefill_chunk"] = form.prefill_chunk;
  json["rent"] = form.rent;
  json["list"] = form.list;
  json["kernels"] = form.kernels;
  return json;
}

void ReadScenario(const Json& json, Form* form) {
  TakeText(json, "model", &form->model);
  TakeText(json, "system", &form->system);
  const Json& plan = Get(json, "plan");
  if (plan.is_object()) {
    form->own_plan = false;
    TakeDegrees(plan, &form->plan);
  } else if (json.contains("v")) {
    form->own_plan = true;
  }
  const Json& formats = Get(json, "formats");
  TakeText(formats, "weights", &form->weights);
  TakeText(formats, "activations", &form->activations);
  TakeText(formats, "kv", &form->kv);
  const Json& timing = Get(json, "timing");
  if (timing.is_object()) {
    form->timed = true;
    TakeText(timing, "shape", &form->shape);
    TakeDegrees(timing, &form->timing);
    TakeInt(timing, "batch", &form->batch);
  } else if (json.contains("v") || timing.is_boolean()) {
    form->timed = timing.is_boolean() && timing.get<bool>();
  }
  TakeText(json, "collective", &form->collective);
  TakeText(json, "reduce", &form->reduce);
  TakeText(json, "prompt", &form->prompt);
  TakeText(json, "system_prompt", &form->system_prompt);
  form->chat = GetBool(json, "chat", form->chat);
  TakeInt(json, "max_tokens", &form->max_tokens);
  form->temperature = GetNumber(json, "temperature", form->temperature);
  form->top_p = GetNumber(json, "top_p", form->top_p);
  TakeInt(json, "top_k", &form->top_k);
  form->seed = static_cast<uint64_t>(GetInt(json, "seed", static_cast<int64_t>(form->seed)));
  TakeInt(json, "prefill_chunk", &form->prefill_chunk);
  TakeText(json, "rent", &form->rent);
  TakeText(json, "list", &form->list);
  TakeText(json, "kernels", &form->kernels);
}

void SendRun(AppState& app, bool paused) {
  Json json = Command("run");
  json["scenario"] = ScenarioJson(app.form);
  json["paused"] = paused;
  app.error.reset();
  app.sent = app.form;
  if (app.run.state != CoreState::kLoading && app.run.state != CoreState::kEmpty) {
    app.run.state = paused ? CoreState::kPaused : CoreState::kRunning;
  }
  Send(app, std::move(json));
}

void SendSimple(AppState& app, const char* command) { Send(app, Command(command)); }

void SendValidate(AppState& app) {
  Json json = Command("validate");
  json["scenario"] = ScenarioJson(app.form);
  Send(app, std::move(json));
}

void RunOrPause(AppState& app) {
  switch (app.run.state) {
    case CoreState::kLoading:
    case CoreState::kEmpty:
      return;
    case CoreState::kRunning:
      SendSimple(app, "pause");
      app.run.state = CoreState::kPaused;
      return;
    case CoreState::kPaused:
      app.playback.live = true;
      app.playback.playing = false;
      SendSimple(app, "resume");
      app.run.state = CoreState::kRunning;
      return;
    case CoreState::kReady:
    case CoreState::kDone:
      SendRun(app, false);
      return;
  }
}

void StepOnce(AppState& app) {
  if (app.run.state == CoreState::kLoading || app.run.state == CoreState::kEmpty) return;
  if (app.run.state == CoreState::kRunning) {
    SendSimple(app, "pause");
    app.run.state = CoreState::kPaused;
    return;
  }
  app.playback.live = true;
  app.playback.playing = false;
  if (app.run.state != CoreState::kPaused) SendRun(app, true);
  SendSimple(app, "step");
}

bool ShellCommand(AppState& app, const Json& command) {
  const std::string name = GetText(command, "cmd");
  app.view.frames_wanted = 3;
  if (name == "scenario") {
    ReadScenario(Get(command, "scenario"), &app.form);
  } else if (name == "prompt") {
    TakeText(command, "text", &app.form.prompt);
  } else if (name == "set") {
    ReadScenario(command, &app.form);
  } else if (name == "run") {
    SendRun(app, GetBool(command, "paused"));
  } else if (name == "pause" || name == "resume" || name == "cancel") {
    SendSimple(app, name.c_str());
  } else if (name == "step") {
    StepOnce(app);
  } else if (name == "seek" || name == "playhead") {
    Seek(app, GetInt(command, "ps", GetInt(command, "at_ps")));
  } else if (name == "select") {
    const int chip = static_cast<int>(GetInt(command, "chip", app.selection.chip));
    if (chip >= 0 && chip < std::max(1, app.run.machine.chips)) app.selection.chip = chip;
    if (Get(command, "token").is_number()) SelectToken(app, static_cast<int>(GetInt(command, "token")));
    app.selection.link = static_cast<int>(GetInt(command, "link", -1));
  } else if (name == "play") {
    app.playback.speed = std::clamp(static_cast<int>(GetInt(command, "speed", app.playback.speed)), 0,
                                    static_cast<int>(std::size(kSpeeds)) - 1);
    SetPlaying(app, GetBool(command, "on", true));
  } else if (name == "view") {
    app.view.reduced_motion = GetBool(command, "reduced_motion", app.view.reduced_motion);
    app.view.scroll_y = static_cast<float>(GetNumber(command, "scroll", app.view.scroll_y));
    const std::string scale = GetText(command, "hbm_scale");
    if (scale == "used") app.hbm.scale = HbmScale::kUsed;
    if (scale == "full") app.hbm.scale = HbmScale::kFull;
    if (scale == "log") app.hbm.scale = HbmScale::kLog;
  } else {
    return false;
  }
  return true;
}

}  // namespace novascope::ui
