// Whole runs through the door: order of events, slicing, pausing, sharing, and what must add up.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "driver.h"
#include "hw/machine.h"

namespace novascope::session {
namespace {

Json With(Json scenario, const Json& changes) {
  scenario.update(changes);
  return scenario;
}
Json Timed(Json changes = Json::object()) {
  Json timing = {{"shape", "nova-micro-like"}, {"tp", 64}, {"dp", 4}, {"batch", 32}};
  timing.update(changes);
  return With(SmallScenario(), {{"timing", timing}});
}

Json RunError(const Json& scenario) {
  Driver driver;
  driver.Run(scenario);
  CHECK(driver.All("plan").empty());
  CHECK(driver.Last("state")["state"] == "ready");
  const Json error = driver.Refusal();
  REQUIRE(error.is_object());
  CHECK_FALSE(error["message"].get<std::string>().empty());
  CHECK_FALSE(error["fix"].get<std::string>().empty());
  return error;
}

int64_t SplitSum(const Json& split) {
  int64_t sum = 0;
  for (const Json& part : split) sum += part.get<int64_t>();
  return sum;
}

TEST_CASE("a run tells its plan, its templates before their steps, and its result", "[session]") {
  Driver driver;
  driver.Run(SmallScenario());
  std::string order;
  for (const Json& event : driver.events) {
    const std::string kind = event["ev"].get<std::string>();
    order += kind == "state" ? event["state"].get<std::string>() + " " : kind + " ";
    if (kind != "step") continue;
    CHECK(event["template"].get<size_t>() < driver.All("template").size());
  }
  INFO(order);
  CHECK(order.starts_with("loaded ready plan running template step "));
  CHECK(order.ends_with("step done done money "));
  const auto steps = driver.All("step");
  const int prompt = driver.Last("plan")["prompt_tokens"].get<int>();
  const int chunks = (prompt + 7) / 8;
  REQUIRE(steps.size() ==
          static_cast<size_t>(chunks) + driver.Outcome()["output_tokens"].get<size_t>() - 1);
  int64_t end = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Json& step = steps[i];
    INFO(step.dump());
    CHECK(step["index"] == i);
    CHECK(step["start_ps"] == end);
    end = step["end_ps"].get<int64_t>();
    CHECK(end > step["start_ps"].get<int64_t>());
    CHECK(step["kind"] == (i < static_cast<size_t>(chunks) ? "prefill" : "decode"));
    CHECK(step["token"].is_null() == (i + 1 < static_cast<size_t>(chunks)));
    CHECK(SplitSum(step["split_ps"]) == end - step["start_ps"].get<int64_t>());
  }
  CHECK(driver.Last("plan")["prompt"].size() == static_cast<size_t>(prompt));
}

TEST_CASE("events do not depend on how the work is sliced", "[session]") {
  Driver one, seven, thousand;
  one.Run(Timed(), 1);
  seven.Run(Timed(), 7);
  thousand.Run(Timed(), 1000);
  REQUIRE(one.raw.size() > 8);
  CHECK(one.raw == seven.raw);
  CHECK(one.raw == thousand.raw);
}

TEST_CASE("pause, step, resume and cancel", "[session]") {
  Driver whole;
  whole.Run(SmallScenario());
  Driver driver;
  driver.Load();
  driver.Send({{"cmd", "run"}, {"scenario", SmallScenario()}, {"paused", true}});
  CHECK(driver.Last("state")["state"] == "paused");
  CHECK_FALSE(driver.session.Step(1000));
  driver.Drain();
  CHECK(driver.All("step").empty());
  for (size_t i = 1; i <= 3; ++i) {
    driver.Send({{"cmd", "step"}});
    CHECK(driver.Last("state")["state"] == "running");
    driver.Finish(3);
    CHECK(driver.All("step").size() == i);
    CHECK(driver.Last("state")["state"] == "paused");
  }
  driver.Send({{"cmd", "resume"}});
  driver.session.Step(5);
  driver.Send({{"cmd", "pause"}});
  CHECK(driver.Last("state")["state"] == "paused");
  CHECK_FALSE(driver.session.Step(1000));
  driver.Send({{"cmd", "resume"}});
  driver.Finish();
  CHECK(driver.All("step") == whole.All("step"));
  CHECK(driver.Last("done") == whole.Last("done"));
  CHECK(driver.Last("money") == whole.Last("money"));

  driver.Send({{"cmd", "run"}, {"scenario", SmallScenario()}});
  driver.session.Step(200);
  driver.Send({{"cmd", "cancel"}});
  CHECK(driver.Last("state")["state"] == "ready");
  CHECK_FALSE(driver.session.Step(1000));
  driver.Send({{"cmd", "step"}});
  CHECK(driver.Refusal()["field"] == "cmd");
  // A run after all that is like the first.
  driver.Send({{"cmd", "run"}, {"scenario", SmallScenario()}});
  driver.Finish();
  CHECK(driver.Last("done") == whole.Last("done"));
}

TEST_CASE("a refused command changes nothing", "[session]") {
  Driver driver;
  driver.Load();
  driver.Send({{"cmd", "run"}, {"scenario", SmallScenario()}});
  driver.session.Step(100);
  driver.Send({{"cmd", "run"}, {"scenario", {{"prompt", ""}}}});
  CHECK(driver.Refusal()["field"] == "prompt");
  driver.Send({{"cmd", "validate"}, {"scenario", {{"prompt", "a"}, {"plan", {{"tp", 48}}}}}});
  CHECK(driver.Refusal()["field"] == "tp");
  driver.Send({{"cmd", "validate"}, {"scenario", SmallScenario()}});
  CHECK(driver.events.back()["ev"] == "valid");
  driver.Finish();
  Driver whole;
  whole.Run(SmallScenario());
  CHECK(driver.Last("done") == whole.Last("done"));
}

TEST_CASE("two sessions side by side do not meet", "[session]") {
  const Json second =
      With(Timed(), {{"prompt", "Explain an all-reduce."}, {"temperature", 0.8}, {"seed", 5}});
  Driver alone_a, alone_b, a, b;
  alone_a.Run(SmallScenario());
  alone_b.Run(second);
  a.Load();
  b.Load();
  a.Send({{"cmd", "run"}, {"scenario", SmallScenario()}});
  b.Send({{"cmd", "run"}, {"scenario", second}});
  for (bool more = true; more;) {
    const bool more_a = a.session.Step(3);
    const bool more_b = b.session.Step(5);
    more = more_a || more_b;
    a.Drain();
    b.Drain();
  }
  CHECK(a.raw == alone_a.raw);
  CHECK(b.raw == alone_b.raw);
}

TEST_CASE("the parts of a result add up", "[session]") {
  for (const Json& scenario : {SmallScenario(), Timed()}) {
    Driver driver;
    driver.Run(scenario);
    const Json r = driver.Outcome();
    const auto steps = driver.All("step");
    const auto templates = driver.Templates();

    int64_t at = 0;
    std::string text;
    for (const Json& step : steps) {
      if (!step["token"].is_null()) text += step["token"]["text"].get<std::string>();
    }
    CHECK(r["text"] == text);
    CHECK(r["tokens"].size() == r["output_tokens"].get<size_t>());
    for (const Json& token : r["tokens"]) {
      CHECK(token["start_ps"] == at);
      at = token["end_ps"].get<int64_t>();
      CHECK(SplitSum(token["split_ps"]) == at - token["start_ps"].get<int64_t>());
    }
    CHECK(steps.back()["end_ps"] == at);
    const double ttft = r["tokens"][0]["end_ps"].get<double>() / 1e9;
    CHECK(r["ttft_ms"].get<double>() == ttft);
    CHECK(r["tpot_ms"].get<double>() ==
          (static_cast<double>(at) - ttft * 1e9) / 1e9 / (r["output_tokens"].get<double>() - 1));
    CHECK(std::abs(r["tokens_per_s"].get<double>() * r["tpot_ms"].get<double>() - 1000) < 1e-9);

    std::map<std::string, uint64_t> links;
    for (const Json& step : steps) {
      const trace::StepTemplate& t = templates.at(step["template"].get<size_t>());
      CHECK(t.duration_ps == step["end_ps"].get<int64_t>() - step["start_ps"].get<int64_t>());
      for (size_t kind = 0; kind < 4; ++kind) {
        links[hw::LinkKindName(static_cast<hw::LinkKind>(kind))] += t.link_bytes[kind];
      }
    }
    for (const auto& [kind, bytes] : links) CHECK(r["links"][kind] == bytes);
    CHECK(r["links"]["in_chip"].get<uint64_t>() > 0);

    const Json plan = driver.Last("plan");
    for (size_t c = 0; c < plan["hbm"]["categories"].size(); ++c) {
      uint64_t total = 0, most = 0;
      for (const Json& stack : plan["hbm"]["bytes"]) {
        total += stack[c].get<uint64_t>();
        most = std::max(most, stack[c].get<uint64_t>());
      }
      const Json& row = r["hbm"][plan["hbm"]["categories"][c].get<std::string>()];
      CHECK(row["total_bytes"] == total);
      CHECK(row["max_stack_bytes"] == most);
      CHECK(most <= plan["machine"]["stack_bytes"].get<uint64_t>());
    }
    CHECK(steps.back()["usd"]["rented_total"] == r["usd"]["rented"]);
    const double rented = std::stod(r["usd"]["rented"].get<std::string>());
    CHECK(std::abs(r["usd_per_mtok"].get<double>() /
                       (rented * 1e6 / r["output_tokens"].get<double>()) -
                   1) < 1e-4);
  }
}

TEST_CASE("a timing shape changes the time and nothing of the words", "[session]") {
  Driver own, timed;
  own.Run(SmallScenario());
  timed.Run(Timed());
  const Json a = own.Outcome(), b = timed.Outcome();
  for (const char* key :
       {"text", "stop_reason", "prompt_tokens", "output_tokens", "plan", "formats"}) {
    CHECK(a[key] == b[key]);
  }
  for (size_t i = 0; i < a["tokens"].size(); ++i) {
    CHECK(a["tokens"][i]["id"] == b["tokens"][i]["id"]);
    CHECK(a["tokens"][i]["logprob"] == b["tokens"][i]["logprob"]);
  }
  CHECK(a["timing"].is_null());
  CHECK(b["timing"]["model"] == "nova-micro-like");
  CHECK(b["timing"]["chips"] == 64);
  CHECK(b["timing"]["params_label"] == "assumed");
  CHECK(b["ttft_ms"].get<double>() > a["ttft_ms"].get<double>());
  CHECK(b["hbm"]["weights"]["total_bytes"].get<uint64_t>() >
        100 * a["hbm"]["weights"]["total_bytes"].get<uint64_t>());
  CHECK(b["throughput_tokens_per_s"].get<double>() / b["tokens_per_s"].get<double>() == 128);
  // Nova's list price never stands beside the toy's own rent.
  CHECK(own.All("step").back()["usd"]["list_total"].is_null());
  CHECK(own.Last("money")["usd_per_mtok"]["list_output"].is_null());
  CHECK(own.Last("money")["break_even_batch"].is_null());
  CHECK(timed.All("step").back()["usd"]["list_total"] == b["usd"]["list"]);
  CHECK(timed.Last("money")["usd_per_mtok"]["list_output"] == 0.14);
  // One step's template serves every token of its bucket.
  CHECK(timed.All("template").size() < timed.All("step").size());
}

TEST_CASE("a larger batch costs less per token and takes longer", "[session]") {
  Driver driver;
  driver.Run(Timed());
  const Json money = driver.Last("money");
  const Json& rows = money["by_batch"];
  REQUIRE(rows.size() >= 9);
  for (size_t i = 1; i < rows.size(); ++i) {
    CHECK(rows[i]["batch"].get<int>() > rows[i - 1]["batch"].get<int>());
    // Not quite monotone: the all-reduce changes its algorithm at 1 MB.
    CHECK(rows[i]["tpot_ms"].get<double>() >= 0.95 * rows[i - 1]["tpot_ms"].get<double>());
    CHECK(rows[i]["usd_per_mtok"].get<double>() < rows[i - 1]["usd_per_mtok"].get<double>());
  }
  for (const Json& row : rows) {
    if (row["batch"] != 32) continue;
    const double of_run = driver.Outcome()["tpot_ms"].get<double>();
    CHECK(std::fabs(row["tpot_ms"].get<double>() - of_run) < 1e-9);
  }
  CHECK(money["why"]["batch"] == 32);
  CHECK(money["why"]["share"].get<double>() > 0);
  CHECK(money["why"]["share"].get<double>() <= 1);
  CHECK_FALSE(money["sentence"].get<std::string>().empty());
}

TEST_CASE("the break-even batch is the smallest that meets the list price", "[session]") {
  // A small shape at a high price meets it early.
  Driver driver;
  driver.Run(With(Timed({{"shape", "llama-3.2-1b"}, {"tp", 4}, {"dp", 1}, {"batch", 1}}),
                  {{"list", "nova-pro"}}));
  const Json money = driver.Last("money");
  REQUIRE(money["break_even_batch"].is_number());
  const int batch = money["break_even_batch"].get<int>();
  const double list = money["usd_per_mtok"]["list_output"].get<double>();
  bool listed = false;
  for (const Json& row : money["by_batch"]) {
    const bool meets = row["usd_per_mtok"].get<double>() <= list;
    INFO(row.dump());
    CHECK(meets == (row["batch"].get<int>() >= batch));
    listed = listed || row["batch"] == batch;
  }
  CHECK(listed);
  if (batch > 1) {
    // One sequence less does not.
    Driver less;
    less.Run(With(Timed({{"shape", "llama-3.2-1b"}, {"tp", 4}, {"dp", 1}, {"batch", batch - 1}}),
                  {{"list", "nova-pro"}}));
    const Json cheaper = less.Last("money");
    for (const Json& row : cheaper["by_batch"]) {
      if (row["batch"] == batch - 1) CHECK(row["usd_per_mtok"].get<double>() > list);
    }
  }
}

TEST_CASE("every reason to stop", "[session]") {
  const auto result = [](const Json& changes) {
    Driver driver;
    driver.Run(With(SmallScenario(), changes));
    return driver.Outcome();
  };
  const Json most = result({{"max_tokens", 6}});
  CHECK(most["stop_reason"] == "max_tokens");
  CHECK(most["output_tokens"] == 6);
  // Stop at something the model is known to write.
  const std::string text = most["text"].get<std::string>();
  REQUIRE(text.size() > 6);
  const std::string stop = text.substr(text.size() / 2, 2);
  const Json stopped = result({{"max_tokens", 6}, {"stop", {stop}}});
  CHECK(stopped["stop_reason"] == "stop");
  CHECK(stopped["text"] == text.substr(0, text.find(stop)));
  const Json one = result({{"max_tokens", 1}});
  CHECK(one["output_tokens"] == 1);
  CHECK(one["tpot_ms"].is_null());
  CHECK(one["tokens_per_s"].is_null());
  const Json chat = result({{"chat", true}, {"max_tokens", 200}, {"plan", {{"tp", 1}}}});
  CHECK(chat["stop_reason"] == "end");
  CHECK(chat["tokens"].back()["bytes"] == "");
}

TEST_CASE("the context ends the text, and a prompt must leave room", "[session]") {
  Driver probe;
  probe.Run(With(SmallScenario(), {{"max_tokens", 1}}));
  const int context = probe.Last("plan")["context"].get<int>();
  // " the" repeated: find a prompt that nearly fills the context.
  std::string prompt;
  for (int i = 0; i < context - 4; ++i) prompt += " the";
  Driver driver;
  driver.Run(
      {{"prompt", prompt}, {"max_tokens", 64}, {"plan", {{"tp", 1}}}, {"prefill_chunk", 512}});
  const int tokens = driver.Last("plan")["prompt_tokens"].get<int>();
  REQUIRE(tokens < context);
  const Json r = driver.Outcome();
  if (r["stop_reason"] != "end") {
    CHECK(r["stop_reason"] == "context");
    CHECK(r["output_tokens"] == context - tokens);
  }
  for (int i = 0; i < 8; ++i) prompt += " the";
  const Json error = RunError({{"prompt", prompt}, {"plan", {{"tp", 1}}}});
  CHECK(error["code"] == "too_long");
  CHECK(error["field"] == "prompt");
  CHECK(RunError({{"prompt", std::string(1 << 20, 'a')}})["code"] == "too_long");
}

TEST_CASE("what cannot be run is refused before it starts", "[session]") {
  CHECK(RunError(With(SmallScenario(), {{"plan", {{"tp", 48}}}}))["code"] == "infeasible");
  CHECK(RunError(With(SmallScenario(), {{"plan", {{"tp", 64}, {"pp", 3}}}}))["field"] == "pp");
  CHECK(RunError(With(SmallScenario(), {{"plan", {{"dp", 2}}}}))["code"] == "infeasible");
  CHECK(RunError(Timed({{"tp", 24}}))["field"] == "timing.tp");
  const Json memory = RunError(Timed({{"shape", "llama-3.1-405b"}, {"tp", 4}, {"dp", 1}}));
  CHECK(memory["code"] == "out_of_memory");
  CHECK(memory["fix"].get<std::string>().find("TP") != std::string::npos);
  Driver empty;
  empty.Send({{"cmd", "run"}, {"scenario", SmallScenario()}});
  CHECK(empty.Refusal()["field"] == "model");
  empty.Send({{"cmd", "validate"}, {"scenario", Timed()}});
  CHECK(empty.events.back()["ev"] == "valid");
}

TEST_CASE("weights that are not numbers end the run with a sentence", "[session]") {
  ModelFiles files = ScopeMicro();
  // The last norm's first weight becomes NaN; its tensor is found through the file's own header.
  uint64_t header = 0;
  for (int i = 0; i < 8; ++i) {
    header |= uint64_t{static_cast<unsigned char>(files.weights[static_cast<size_t>(i)])}
              << (8 * i);
  }
  const Json index = ParseJson(files.weights.substr(8, header), "header").value();
  const auto offset = index["model.norm.weight"]["data_offsets"][0].get<size_t>() + 8 + header;
  files.weights.replace(offset, 4, std::string("\x00\x00\xc0\x7f", 4));
  Driver driver;
  driver.Send({{"cmd", "load"},
               {"config", files.config.size()},
               {"tokenizer", files.tokenizer.size()},
               {"weights", files.weights.size()}},
              files.config + files.tokenizer + files.weights);
  if (driver.All("loaded").empty()) {
    CHECK(driver.Refusal()["code"] == "bad_file");
    return;
  }
  driver.Send({{"cmd", "run"}, {"scenario", SmallScenario()}});
  driver.Finish();
  CHECK(driver.Refusal()["code"] == "bad_file");
  CHECK(driver.All("done").empty());
  CHECK(driver.Last("state")["state"] == "ready");
}

TEST_CASE("the words are the same on one core, one chip and 64 chips", "[session]") {
  std::string first;
  for (const Json& plan :
       {Json{{"tp", 1}}, Json{{"tp", 4}}, Json{{"tp", 64}, {"pp", 4}}, Json(nullptr)}) {
    for (const int chunk : {3, 128}) {
      Driver driver;
      driver.Run(With(SmallScenario(), {{"plan", plan}, {"prefill_chunk", chunk}}));
      Json words = Json::array();
      const Json outcome = driver.Outcome();  // the range must outlive the loop
      for (const Json& token : outcome["tokens"])
        words.push_back({token["id"], token["logprob"]});
      if (first.empty()) first = words.dump();
      CHECK(words.dump() == first);
    }
  }
}

TEST_CASE("the result's keys and their order are stable", "[session]") {
  Driver driver;
  driver.Run(Timed());
  const Json r = driver.Outcome();
  const auto keys = [](const Json& json) {
    std::string list;
    for (const auto& [key, value] : json.items()) list += (list.empty() ? "" : " ") + key;
    return list;
  };
  CHECK(keys(r) ==
        "schema model plan timing format formats seed text stop_reason prompt_tokens output_tokens "
        "ttft_ms "
        "tpot_ms tokens_per_s throughput_tokens_per_s tokens links hbm_moved_bytes "
        "chip_seconds hbm usd usd_note usd_per_mtok "
        "provenance "
        "notes");
  CHECK(r["schema"] == "novascope.generate/1");
  CHECK(r["model"] == "scope-micro");
  CHECK(r["format"] == "e4m3");
  CHECK(keys(r["tokens"][0]) == "id bytes logprob start_ps end_ps split_ps");
  CHECK(keys(r["tokens"][0]["split_ps"]) == "compute hbm network wait");
  CHECK(keys(r["links"]) == "in_chip xy z efa");
  CHECK(keys(r["hbm"]) == "weights kv scratch io collectives code");
  CHECK(keys(r["hbm"]["kv"]) == "total_bytes max_stack_bytes");
  CHECK(keys(r["usd"]) == "list rented");
  CHECK(keys(r["provenance"]) == "words time memory shape prices");
  CHECK(r["usd"]["list"].is_string());
  CHECK(r["usd"]["rented"].is_string());
  // 0.035 and 0.14 dollars per million, exactly.
  const int64_t e9 =
      r["prompt_tokens"].get<int64_t>() * 35 + r["output_tokens"].get<int64_t>() * 140;
  CHECK(std::abs(std::stod(r["usd"]["list"].get<std::string>()) - static_cast<double>(e9) * 1e-9) <
        1e-15);
}

}  // namespace
}  // namespace novascope::session
