#include "session/scenario.h"

#include <catch2/catch_test_macros.hpp>

#include "cost/cost.h"
#include "hw/machine.h"
#include "kernels/kernels.h"

namespace novascope::session {
namespace {

Scenario Valid() {
  Scenario s;
  s.prompt = "Hello";
  return s;
}

// Through JSON text and back.
void RoundTrip(const Scenario& s) {
  const std::string text = ToJson(s).dump();
  INFO(text);
  const Result<Json> json = ParseJson(text, "scenario");
  REQUIRE(json.ok());
  const Result<Scenario> back = ScenarioFromJson(json.value());
  if (!back.ok()) FAIL(Describe(back.error()));
  CHECK(ToJson(back.value()).dump() == text);
  const Status valid = Validate(back.value());
  if (!valid.ok()) FAIL(Describe(valid.error()));
}

Error Refused(const Json& json) {
  INFO(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  const Result<Scenario> s = ScenarioFromJson(json);
  if (!s.ok()) return s.error();
  const Status status = Validate(s.value());
  REQUIRE(!status.ok());
  return status.error();
}

TEST_CASE("an empty object is the default scenario", "[session][scenario]") {
  const Result<Scenario> s = ScenarioFromJson(Json::object());
  REQUIRE(s.ok());
  CHECK(ToJson(s.value()) == ToJson(Scenario{}));
  CHECK(s.value().own_plan);
  CHECK_FALSE(s.value().timing.has_value());
}

TEST_CASE("every row of every table survives the scenario's JSON", "[session][scenario]") {
  RoundTrip(Valid());
  for (const hw::System& system : hw::Systems()) {
    Scenario s = Valid();
    s.system = system.id;
    for (const cost::HourPrice& price : cost::HourPrices()) {
      if (std::string_view(price.chip) == system.chip) s.rent = price.id;
    }
    RoundTrip(s);
  }
  for (const model::ModelSpec& model : model::Models()) {
    Scenario s = Valid();
    if (model.runnable) {
      s.model = model.id;
    } else {
      s.timing = TimingShape{.shape = model.id, .tp = 32, .pp = 2, .dp = 2, .lnc = 2, .batch = 7};
    }
    RoundTrip(s);
  }
  for (const numerics::Format& format : numerics::Formats()) {
    if (format.bits > 8 && format.id != numerics::FormatId::kBF16) continue;
    Scenario s = Valid();
    s.formats = {format.id, format.id, format.id};
    RoundTrip(s);
  }
  for (const cost::HourPrice& price : cost::HourPrices()) {
    Scenario s = Valid();
    s.rent = price.id;
    for (const hw::System& system : hw::Systems()) {
      if (std::string_view(price.chip) == system.chip) s.system = system.id;
    }
    RoundTrip(s);
  }
  for (const cost::TokenPrice& price : cost::TokenPrices()) {
    Scenario s = Valid();
    s.list = price.id;
    RoundTrip(s);
  }
  for (const kernels::KernelSet& set : kernels::KernelSets()) {
    Scenario s = Valid();
    s.kernels = set.id;
    RoundTrip(s);
  }
  for (const auto choice : {plan::CollectiveChoice::kAuto, plan::CollectiveChoice::kMesh,
                            plan::CollectiveChoice::kRing}) {
    Scenario s = Valid();
    s.collective = choice;
    RoundTrip(s);
  }
  for (const auto mode : {plan::ReduceMode::kOrderFree, plan::ReduceMode::kF32InOrder}) {
    Scenario s = Valid();
    s.reduce = mode;
    RoundTrip(s);
  }
}

TEST_CASE("every other choice survives the scenario's JSON", "[session][scenario]") {
  Scenario s = Valid();
  s.own_plan = false;
  s.tp = 16;
  s.pp = 4;
  s.dp = 2;
  s.prompt = "Gr\u00fc\u00dfe \"\\\n\u20ac \U0001F600";
  s.chat = true;
  s.system_prompt = "Be brief.";
  s.stop = {"\n", "END"};
  s.max_tokens = 3;
  s.sampler = {.temperature = 0.7f, .top_p = 0.9f, .top_k = 40, .seed = ~uint64_t{0}};
  s.prefill_chunk = 17;
  RoundTrip(s);
  CHECK(ToJson(s)["temperature"].dump() == "0.7");
  s.own_plan = true;
  s.lnc = 1;
  RoundTrip(s);
}

TEST_CASE("the plan is the model's own unless tp or pp is given", "[session][scenario]") {
  const auto plan = [](const Json& json) {
    const Result<Scenario> s = ScenarioFromJson({{"plan", json}});
    REQUIRE(s.ok());
    return s.value();
  };
  CHECK(plan(nullptr).own_plan);
  CHECK(plan(Json::object()).own_plan);
  CHECK(plan({{"dp", 2}}).own_plan);
  CHECK(plan({{"dp", 2}}).dp == 2);
  const Scenario tp = plan({{"tp", 16}});
  CHECK_FALSE(tp.own_plan);
  CHECK(tp.tp == 16);
  CHECK(tp.pp == 1);
  const Scenario pp = plan({{"pp", 4}});
  CHECK_FALSE(pp.own_plan);
  CHECK(pp.tp == 1);
}

TEST_CASE("the KV cache follows the activations where it can", "[session][scenario]") {
  const auto kv = [](const Json& formats) {
    const Result<Scenario> s = ScenarioFromJson({{"formats", formats}});
    REQUIRE(s.ok());
    return std::string(numerics::Get(s.value().formats.kv).name);
  };
  CHECK(kv({{"activations", "e4m3"}}) == "e4m3");
  CHECK(kv({{"activations", "e5m2"}}) == "e5m2");
  CHECK(kv({{"activations", "bf16"}}) == "bf16");
  CHECK(kv({{"weights", "fp32"}, {"activations", "fp32"}}) == "bf16");
  CHECK(kv({{"activations", "bf16"}, {"kv", "e4m3"}}) == "e4m3");
}

TEST_CASE("bad scenarios are refused with the field, the value and a fix", "[session][scenario]") {
  struct Case {
    Json json;
    const char* field;
    const char* value;
    ErrorCode code = ErrorCode::kInput;
  };
  const std::string long_text(200, 'x');
  const Case cases[] = {
      {{{"prompt", ""}}, "prompt", ""},
      {{{"prompt", "a\xff"}}, "prompt", "a\\xff"},
      {{{"prompt", 7}}, "prompt", "7"},
      {{{"promt", "a"}}, "promt", "a"},
      {{{"v", 2}}, "v", "2"},
      {{{"v", "1"}}, "v", "1"},
      {{{"plan", {{"tp", 4}, {"ep", 2}}}}, "ep", "2"},
      {{{"plan", 4}}, "plan", "4"},
      {{{"formats", {{"weights", "e4m4"}}}}, "weights", "e4m4", ErrorCode::kUnknownId},
      {{{"prompt", "a"}, {"formats", {{"weights", "fp16"}}}}, "weights", "fp16"},
      {{{"prompt", "a"}, {"formats", {{"kv", "fp32"}}}}, "kv", "fp32"},
      {{{"timing", {{"size", 1}}}}, "timing.size", "1"},
      {{{"prompt", "a"}, {"timing", {{"shape", "gpt"}}}},
       "timing.shape",
       "gpt",
       ErrorCode::kUnknownId},
      {{{"prompt", "a"}, {"timing", {{"batch", 0}}}}, "timing.batch", "0"},
      {{{"prompt", "a"}, {"timing", {{"batch", 1.5}}}}, "timing.batch", "1.5"},
      {{{"prompt", "a"}, {"timing", {{"lnc", 3}}}}, "timing.lnc", "3"},
      {{{"prompt", "a"}, {"plan", {{"tp", 0}}}}, "tp", "0"},
      {{{"plan", {{"tp", 1e30}}}}, "tp", "1e+30"},
      {{{"plan", {{"tp", uint64_t{1} << 63}}}}, "tp", "9223372036854775808"},
      {{{"prompt", "a"}, {"plan", {{"lnc", 4}}}}, "lnc", "4"},
      {{{"prompt", "a"}, {"model", "nova"}}, "model", "nova", ErrorCode::kUnknownId},
      {{{"prompt", "a"}, {"model", "llama-3.1-405b"}}, "model", "llama-3.1-405b"},
      {{{"prompt", "a"}, {"system", "trn9"}}, "system", "trn9", ErrorCode::kUnknownId},
      {{{"collective", "star"}}, "collective", "star", ErrorCode::kUnknownId},
      {{{"reduce", "bf16"}}, "reduce", "bf16", ErrorCode::kUnknownId},
      {{{"prompt", "a"}, {"system_prompt", "b"}}, "system_prompt", "b"},
      {{{"prompt", "a"}, {"stop", {""}}}, "stop", ""},
      {{{"stop", "x"}}, "stop", "x"},
      {{{"stop", {1}}}, "stop", "1"},
      {{{"prompt", "a"}, {"max_tokens", 0}}, "max_tokens", "0"},
      {{{"prompt", "a"}, {"max_tokens", 1 << 21}}, "max_tokens", "2097152"},
      {{{"prompt", "a"}, {"prefill_chunk", 0}}, "prefill_chunk", "0"},
      {{{"seed", -1}}, "seed", "-1"},
      {{{"chat", 1}}, "chat", "1"},
      {{{"prompt", "a"}, {"rent", "p5"}}, "rent", "p5", ErrorCode::kUnknownId},
      {{{"prompt", "a"}, {"list", "p5"}}, "list", "p5", ErrorCode::kUnknownId},
      {{{"prompt", "a"}, {"kernels", "gpu"}}, "kernels", "gpu", ErrorCode::kUnknownId},
  };
  for (const Case& c : cases) {
    const Error error = Refused(c.json);
    INFO(Describe(error));
    CHECK(error.field == c.field);
    CHECK(error.value == c.value);
    CHECK(error.code == c.code);
    CHECK_FALSE(error.message.empty());
    CHECK_FALSE(error.fix.empty());
    CHECK(error.value.size() <= 80);
  }
  for (const float temperature : {-1.0f, 9.0f}) {
    Scenario s = Valid();
    s.sampler.temperature = temperature;
    CHECK_FALSE(Validate(s).ok());
  }
  CHECK(Refused({{"model", long_text}, {"prompt", "a"}}).value.size() <= 80);
  CHECK_FALSE(ScenarioFromJson(Json::array()).ok());
  CHECK_FALSE(ScenarioFromJson("text").ok());
}

TEST_CASE("a loaded model need not be a row", "[session][scenario]") {
  Scenario s = Valid();
  s.model = "mine";
  CHECK_FALSE(Validate(s).ok());
  model::ModelSpec mine;
  mine.id = "mine";
  CHECK(Validate(s, &mine).ok());
  s.model = "scope-micro";
  const Status other = Validate(s, &mine);
  REQUIRE_FALSE(other.ok());
  CHECK(other.error().field == "model");
}

}  // namespace
}  // namespace novascope::session
