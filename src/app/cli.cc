// The command line: a client of the session protocol. Flags become a scenario, the session checks
// it, and its events become text or JSON. Results hold simulated time only; wall time is read here,
// on request. Exit status: 0, 2 for bad input, 1 for anything else.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/utf8.h"
#include "cli_files.h"
#include "cli_flags.h"
#include "session/error_json.h"
#include "session/message.h"
#include "session/session.h"
#include "trace/export.h"
#include "trace/trace.h"

namespace novascope::cli {
namespace {

constexpr int kInputStatus = 2, kFaultStatus = 1;
constexpr int kUnitsPerStep = 64;

// ---- the session's client --------------------------------------------------------------------

// Collects what a session says: the trace it can be asked about, and the last event of each kind.
class Client {
 public:
  void Send(const Json& command, std::string_view payload = {}) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(payload.data());
    session_.Command(session::PackMessage(command, {bytes, payload.size()}));
    Drain();
  }
  // Works until `event` came, nothing is left to do, or something failed.
  void RunUntil(const char* event) {
    while (error_.is_null() && last(event).is_null()) {
      const bool more = session_.Step(kUnitsPerStep);
      Drain();
      if (!more) break;
    }
  }
  const Json& error() const { return error_; }
  // The last event of this kind, or null.
  const Json& last(const char* event) const {
    static const Json kNone = nullptr;
    const auto it = last_.find(event);
    return it == last_.end() ? kNone : *it;
  }
  const trace::Trace& trace() const { return trace_; }
  bool print_text = false;

 private:
  void Drain() {
    std::vector<uint8_t> bytes;
    while (session_.Poll(&bytes)) {
      Result<session::Message> message = session::UnpackMessage(bytes);
      if (message.ok()) Take(message.value());
    }
  }

  void Take(const session::Message& message) {
    const Json& json = message.json;
    const std::string event = json.value("ev", "");
    if (event == "error" && error_.is_null()) error_ = json["error"];
    if (event == "template") {
      Result<trace::StepTemplate> step =
          trace::DecodeTemplate(message.payload.data(), message.payload.size());
      if (step.ok()) {
        trace_.AddTemplate(std::move(step.value()));
      } else if (error_.is_null()) {
        error_ = session::ErrorToJson(step.error());
      }
    }
    if (event == "step") TakeStep(json);
    last_[event] = json;
  }

  void TakeStep(const Json& json) {
    const bool prefill = json["kind"] == "prefill";
    trace_.AddStep({.start_ps = json["start_ps"].get<int64_t>(),
                    .step_template = json["template"].get<int32_t>(),
                    .kind = prefill ? trace::StepKind::kPrefill : trace::StepKind::kDecode,
                    .request = 0,
                    .first_token = json["first"].get<int32_t>(),
                    .token_count = json["rows"].get<int32_t>()});
    if (!print_text || json["token"].is_null()) return;
    const std::string text = json["token"]["text"].get<std::string>();
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  session::Session session_;
  trace::Trace trace_;
  Json error_ = nullptr;
  Json last_ = Json::object();
};

// ---- errors ----------------------------------------------------------------------------------

void Print(const Json& json) {
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int Fail(const Json& error, bool json) {
  const auto part = [&](const char* key) { return error.value(key, ""); };
  std::string line = part("field");
  if (!part("value").empty()) line += " = " + part("value");
  if (!line.empty()) line += ": ";
  line += part("message");
  if (!part("fix").empty()) line += " " + part("fix");
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fflush(stdout);
  std::fprintf(stderr, "novascope: %s\n", line.c_str());
  if (json) Print({{"error", error}});
  return part("code") == "internal" ? kFaultStatus : kInputStatus;
}
int Fail(const Error& error, bool json) { return Fail(session::ErrorToJson(error), json); }

// ---- generate --------------------------------------------------------------------------------

Json QueryJson(const trace::Trace& trace, const std::vector<int64_t>& times, int cores_per_chip) {
  Json rows = Json::array();
  for (const int64_t at : times) {
    const trace::Snapshot s = trace.At(at, cores_per_chip);
    rows.push_back({{"at_ps", s.at_ps},
                    {"step", s.step},
                    {"busy_links", s.busy_links},
                    {"active_chips", s.active_chips},
                    {"link_bytes", s.link_bytes},
                    {"hbm_bytes", s.hbm_bytes}});
  }
  return rows;
}

std::string Fixed(double value, int places) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, value);
  return text;
}

// The summary for people, after the text.
void PrintSummary(const Json& r, const Json& money) {
  const Json& from = r["provenance"];
  const auto number = [&](const char* key) { return r[key].get<double>(); };
  std::string out = "\n\n";
  out += "stop: " + r["stop_reason"].get<std::string>() + "; " + r["prompt_tokens"].dump() +
         " prompt tokens, " + r["output_tokens"].dump() + " output tokens\n";
  out += "simulated: first token after " + Fixed(number("ttft_ms"), 3) + " ms";
  if (!r["tpot_ms"].is_null()) {
    out += ", then " + Fixed(number("tpot_ms"), 4) + " ms per token (" +
           Fixed(number("tokens_per_s"), 1) + " tokens/s, " +
           Fixed(number("throughput_tokens_per_s"), 0) + " tokens/s over all sequences)";
  }
  out += "\nlinks: ";
  for (const auto& [kind, bytes] : r["links"].items()) out += kind + " " + bytes.dump() + " B  ";
  out += "\nfullest HBM stack, by category: ";
  for (const auto& [name, row] : r["hbm"].items()) {
    out += name + " " + Fixed(row["max_stack_bytes"].get<double>() / 1048576.0, 1) + " MiB  ";
  }
  out += "\nrent: $" + r["usd"]["rented"].get<std::string>() + " ($" +
         Fixed(number("usd_per_mtok"), 3) + " per million output tokens)";
  // The list price of a far larger model does not stand beside the toy's own rent.
  if (!r["timing"].is_null()) out += "; list price: $" + r["usd"]["list"].get<std::string>();
  out += "\n\nwords: " + from["words"].get<std::string>();
  out += "\ntime: " + from["time"].get<std::string>();
  out += "\nmemory: " + from["memory"].get<std::string>();
  out += "\nprices: " + from["prices"].get<std::string>() + "\n";
  for (const Json& note : r["notes"]) out += "note: " + note.get<std::string>() + "\n";
  if (!money.is_null()) {
    for (const char* key : {"sentence", "break_even_sentence"})
      out += money[key].get<std::string>() + "\n";
    if (!money["why"].is_null()) out += money["why"]["sentence"].get<std::string>() + "\n";
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
}

Status LoadModel(Client* client, const Options& options, const Json& scenario,
                 const char* program) {
  std::string dir = options.model_dir;
  if (dir.empty()) {
    Result<std::string> found = FindModelDir(program);
    if (!found.ok()) return found.error();
    dir = found.value();
  }
  std::string payload;
  Json command = {{"v", session::kProtocolVersion}, {"cmd", "load"}};
  for (const auto& [key, name] : {std::pair{"config", "config.json"},
                                  {"tokenizer", "tokenizer.json"},
                                  {"weights", "model.safetensors"}}) {
    const std::string path = (std::filesystem::path(dir) / name).string();
    Result<std::string> bytes = ReadFile(path, name);
    if (!bytes.ok()) return bytes.error();
    command[key] = bytes.value().size();
    payload += bytes.value();
  }
  // A folder of one's own holds the model that --model names, scope-micro where it names none.
  const auto id = scenario.find("model");
  if (!options.model_dir.empty() && id != scenario.end() && id->is_string()) command["id"] = *id;
  client->Send(command, payload);
  return Ok{};
}

double MillisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

int Generate(const Options& options, const char* program) {
  Result<Json> scenario = ScenarioOf(options);
  if (!scenario.ok()) return Fail(scenario.error(), options.json);
  const Result<std::vector<int64_t>> times = ParseTimes(options.query);
  if (!times.ok()) return Fail(times.error(), options.json);
  if (!times.value().empty() && !options.json) {
    return Fail(BadInput("query_at", Excerpt(options.query), "Answers about the trace are JSON.",
                         "Add --json."),
                false);
  }
  Client client;
  client.print_text = !options.json;
  const Json validate = {
      {"v", session::kProtocolVersion}, {"cmd", "validate"}, {"scenario", scenario.value()}};
  const auto start = std::chrono::steady_clock::now();
  // What is wrong with the scenario comes before what may be wrong with the files.
  if (options.model_dir.empty()) client.Send(validate);
  if (client.error().is_null()) {
    const Status loaded = LoadModel(&client, options, scenario.value(), program);
    if (!loaded.ok()) return Fail(loaded.error(), options.json);
  }
  const double load_ms = MillisecondsSince(start);
  if (client.error().is_null()) {
    client.Send({{"v", session::kProtocolVersion}, {"cmd", "run"}, {"scenario", scenario.value()}});
  }
  client.RunUntil("done");
  const double total_ms = MillisecondsSince(start);
  if (options.money) client.RunUntil("money");
  if (!client.error().is_null()) return Fail(client.error(), options.json);
  if (!options.trace_file.empty()) {
    const int steps = static_cast<int>(client.trace().steps().size());
    const Status written = WriteFile(
        options.trace_file, trace::ToChromeTrace(client.trace(), {.step_count = steps}), "trace");
    if (!written.ok()) return Fail(written.error(), options.json);
  }
  Json result = client.last("done")["result"];
  Json money = options.money ? client.last("money") : Json(nullptr);
  if (!options.json) {
    PrintSummary(result, money);
    if (options.wall) {
      std::printf("wall: loaded in %.1f ms, done after %.1f ms\n", load_ms, total_ms);
    }
    return 0;
  }
  if (!times.value().empty()) {
    const int cores = client.last("plan")["machine"]["cores_per_chip"].get<int>();
    result["query"] = QueryJson(client.trace(), times.value(), cores);
  }
  if (options.money) {
    money.erase("ev");
    result["money"] = std::move(money);
  }
  if (options.wall) {
    const double generate_ms = total_ms - load_ms;
    result["wall"] = {{"load_ms", load_ms},
                      {"generate_ms", generate_ms},
                      {"tokens_per_s", result["output_tokens"].get<double>() * 1e3 / generate_ms}};
  }
  Print(result);
  return 0;
}

// ---- list ------------------------------------------------------------------------------------

int List(const std::string& what, bool json) {
  constexpr const char* kTables[] = {"models",  "systems", "formats", "collectives",
                                     "kernels", "prices",  "sources"};
  Client client;
  client.Send({{"v", session::kProtocolVersion}, {"cmd", "hello"}});
  const Json& hello = client.last("hello");
  std::string known;
  bool found = false;
  for (const char* table : kTables) {
    known += (known.empty() ? "" : ", ") + std::string(table);
    found = found || what == table;
  }
  if (!found) {
    return Fail(Error{ErrorCode::kUnknownId, "list", Excerpt(what), "There is no such table.",
                      "Use one of " + known + "."},
                json);
  }
  if (json) {
    Print({{what, hello[what]}});
    return 0;
  }
  Json rows = hello[what];
  if (what == "prices") {
    rows = hello["prices"]["tokens"];
    for (const Json& row : hello["prices"]["hours"]) rows.push_back(row);
  }
  for (const Json& row : rows) {
    std::string line =
        what == "sources"
            ? row["row"].get<std::string>() + " " + row["name"].get<std::string>() + " = " +
                  row["value"].dump() + ": " + row["label"].get<std::string>() + ", " +
                  row["source"].get<std::string>() + " (" + row["date"].get<std::string>() + ")"
            : row["id"].get<std::string>() + ": " + row["label"].get<std::string>();
    std::printf("%s\n", line.c_str());
  }
  return 0;
}

// ---- main ------------------------------------------------------------------------------------

// CLI11's complaint as one of ours. Its text begins with the option where there is one.
Error FromParser(const CLI::ParseError& error) {
  const std::string text = error.what();
  std::string field = "arguments";
  if (const size_t dash = text.find("--"); dash != std::string::npos) {
    const size_t end = text.find_first_of(" :,=", dash);
    field = text.substr(dash + 2, end == std::string::npos ? end : end - dash - 2);
    std::replace(field.begin(), field.end(), '-', '_');
  }
  std::string sentence = Excerpt(text, 200);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const bool missing = text.find("missing") != std::string::npos;
    sentence = missing ? "The flag needs a value." : "The flag is given more than once.";
  }
  if (!sentence.empty() && sentence.back() != '.') sentence += ".";
  return BadInput(Excerpt(field), "", std::move(sentence),
                  "See novascope --help and novascope generate --help.");
}

int Main(int argc, char** argv) {
  std::vector<std::string> arguments = RawArguments(argc, argv);
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  if (Status status = CheckArguments(arguments); !status.ok()) return Fail(status.error(), json);

  CLI::App app(
      "Novascope: a small model written by a simulated Trainium2 UltraServer, with its time, "
      "traffic, memory and cost. An independent project.",
      "novascope");
  app.set_version_flag("--version", std::string("novascope ") + NOVASCOPE_VERSION);
  app.require_subcommand(1);
  Options options;
  CLI::App* generate = app.add_subcommand("generate", "write text and report what it took");
  AddFlags(generate, &options);
  CLI::App* list = app.add_subcommand("list",
                                      "print a table: models, systems, formats, collectives, "
                                      "kernels, prices or sources");
  std::string table;
  list->add_option("table", table, "which one")->required();
  list->add_flag("--json", options.json, "print it as JSON");
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend() - 1);
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForVersion& version) {
    std::printf("%s\n", version.what());
    return 0;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    return Fail(FromParser(error), json);
  }
  return list->parsed() ? List(table, options.json) : Generate(options, argv[0]);
}

}  // namespace
}  // namespace novascope::cli

int main(int argc, char** argv) { return novascope::cli::Main(argc, argv); }
