#include "cli_flags.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "cli_files.h"
#include "session/error_json.h"

namespace novascope::cli {
namespace {

enum class Kind : uint8_t { kText, kWhole, kNumber, kSwitch };

// A flag that sets one key of the scenario.
struct Flag {
  const char* name;
  const char* group;  // the scenario's object that holds the key; "": the scenario itself
  const char* key;
  Kind kind;
  const char* help;
};
constexpr Flag kFlags[] = {
    {"--prompt", "", "prompt", Kind::kText, "text to continue, or the user's turn with --chat"},
    {"--chat", "", "chat", Kind::kSwitch, "wrap the prompt as a user's turn"},
    {"--system-prompt", "", "system_prompt", Kind::kText, "the system turn, with --chat"},
    {"--max-tokens", "", "max_tokens", Kind::kWhole, "most tokens to write (64)"},
    {"--temperature", "", "temperature", Kind::kNumber, "0 is greedy (0)"},
    {"--top-p", "", "top_p", Kind::kNumber, "smallest set of tokens with this chance (1)"},
    {"--top-k", "", "top_k", Kind::kWhole, "likeliest tokens to choose from, 0 is all (0)"},
    {"--seed", "", "seed", Kind::kWhole, "of the sampler (0)"},
    {"--model", "", "model", Kind::kText, "model that writes the words (scope-micro)"},
    {"--system", "", "system", Kind::kText, "machine (trn2-ultraserver)"},
    {"--tp", "plan", "tp", Kind::kWhole, "tensor-parallel degree, in logical NeuronCores"},
    {"--pp", "plan", "pp", Kind::kWhole, "pipeline-parallel degree"},
    {"--dp", "plan", "dp", Kind::kWhole, "data-parallel replicas (1)"},
    {"--lnc", "plan", "lnc", Kind::kWhole, "physical cores per logical core, 1 or 2 (2)"},
    {"--weights", "formats", "weights", Kind::kText, "number format of the weights (e4m3)"},
    {"--activations", "formats", "activations", Kind::kText, "number format of activations (e4m3)"},
    {"--kv", "formats", "kv", Kind::kText,
     "number format of the KV cache (the activations' if 8-bit, else bf16)"},
    {"--collective", "", "collective", Kind::kText, "auto, mesh or ring (auto)"},
    {"--reduce", "", "reduce", Kind::kText, "order-free or f32-in-order (order-free)"},
    {"--kernels", "", "kernels", Kind::kText, "kernel row (the fastest)"},
    {"--prefill-chunk", "", "prefill_chunk", Kind::kWhole,
     "prompt positions per prefill step (128)"},
    {"--timing-shape", "timing", "shape", Kind::kText, "model whose time is simulated instead"},
    {"--timing-tp", "timing", "tp", Kind::kWhole, "its tensor-parallel degree (64)"},
    {"--timing-pp", "timing", "pp", Kind::kWhole, "its pipeline-parallel degree (1)"},
    {"--timing-dp", "timing", "dp", Kind::kWhole, "its replicas (4)"},
    {"--timing-lnc", "timing", "lnc", Kind::kWhole, "its physical cores per logical core (2)"},
    {"--timing-batch", "timing", "batch", Kind::kWhole, "its sequences per replica (32)"},
    {"--rent", "", "rent", Kind::kText, "hourly price of the chips (trn2-capacity-block)"},
    {"--list", "", "list", Kind::kText, "token price to compare with (nova-micro)"},
};

// As the session names it in errors: "timing.tp", but "tp".
std::string FieldOf(const Flag& flag) {
  return std::string_view(flag.group) == "timing" ? std::string("timing.") + flag.key : flag.key;
}

Result<Json> ValueOf(const Flag& flag, const std::string& text) {
  if (flag.kind == Kind::kText) return Json(text);
  char* end = nullptr;
  errno = 0;
  if (flag.kind == Kind::kNumber) {
    const double number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(number)) {
      return BadInput(FieldOf(flag), Excerpt(text), "This is not a number.",
                      std::string("Give ") + flag.name + " a number, such as 0.7.");
    }
    return Json(number);
  }
  const size_t sign = text.starts_with('-') ? 1 : 0;
  const bool digits =
      text.size() > sign && text.find_first_not_of("0123456789", sign) == std::string::npos;
  Json json;
  if (sign > 0) {
    json = static_cast<int64_t>(std::strtoll(text.c_str(), &end, 10));
  } else {
    json = static_cast<uint64_t>(std::strtoull(text.c_str(), &end, 10));
  }
  if (!digits || errno == ERANGE) {
    return BadInput(FieldOf(flag), Excerpt(text),
                    digits ? "This number is out of range." : "This is not a whole number.",
                    std::string("Give ") + flag.name + " a whole number, such as 4.");
  }
  return json;
}

}  // namespace

Error BadInput(std::string field, std::string value, std::string message, std::string fix) {
  return {ErrorCode::kInput, std::move(field), std::move(value), std::move(message),
          std::move(fix)};
}

Result<Json> ScenarioOf(const Options& options) {
  Json scenario = Json::object();
  if (!options.scenario_file.empty()) {
    Result<std::string> text = ReadFile(options.scenario_file, "scenario");
    if (!text.ok()) return text.error();
    Result<Json> json = ParseJson(text.value(), "scenario");
    if (!json.ok()) return json;
    if (!json.value().is_object()) {
      return BadInput("scenario", Excerpt(options.scenario_file, 76),
                      "This file is not a JSON object.", "Write it as {\"key\": value, ...}.");
    }
    scenario = std::move(json.value());
    for (const char* key : {"plan", "formats", "timing"}) {
      const auto part = scenario.find(key);
      if (part == scenario.end() || part->is_object()) continue;
      if (!part->is_null()) {
        return BadInput(key, session::Shown(*part), "This is not a JSON object.",
                        "Write it as {\"key\": value, ...}.");
      }
      scenario.erase(key);
    }
  }
  if (!options.format.empty()) {
    scenario["formats"]["weights"] = options.format;
    scenario["formats"]["activations"] = options.format;
  }
  for (size_t i = 0; i < std::size(kFlags); ++i) {
    if (i >= options.values.size() || !options.values[i]) continue;
    const Flag& flag = kFlags[i];
    Result<Json> value =
        flag.kind == Kind::kSwitch ? Json(true) : ValueOf(flag, *options.values[i]);
    if (!value.ok()) return value;
    Json& object = *flag.group == '\0' ? scenario : scenario[flag.group];
    object[flag.key] = std::move(value.value());
  }
  if (!options.stops.empty()) scenario["stop"] = options.stops;
  return scenario;
}

Result<std::vector<int64_t>> ParseTimes(const std::string& query) {
  std::vector<int64_t> times;
  for (size_t at = 0; at <= query.size() && !query.empty();) {
    const size_t comma = std::min(query.find(',', at), query.size());
    const std::string part = query.substr(at, comma - at);
    if (part.empty() || part.size() > 18 ||
        part.find_first_not_of("0123456789") != std::string::npos) {
      return BadInput("query_at", Excerpt(part), "This is not a time in whole picoseconds.",
                      "Give times such as 1000000,2500000.");
    }
    times.push_back(std::strtoll(part.c_str(), nullptr, 10));
    at = comma + 1;
  }
  return times;
}

// node decodes them and hides bytes that are not UTF-8 behind U+FFFD, so
// there the operating system's own copy is asked.
std::vector<std::string> RawArguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv, argv + argc);
#ifdef __EMSCRIPTEN__
  const auto hidden = [](const std::string& a) {
    return a.find("\xef\xbf\xbd") != std::string::npos;
  };
  if (std::none_of(arguments.begin(), arguments.end(), hidden)) return arguments;
  const Result<std::string> line = ReadFile("/proc/self/cmdline", "arguments");
  if (!line.ok()) return arguments;
  std::vector<std::string> all;
  for (size_t at = 0; at < line.value().size();) {
    const size_t end = std::min(line.value().find('\0', at), line.value().size());
    all.push_back(line.value().substr(at, end - at));
    at = end + 1;
  }
  const auto own = static_cast<size_t>(argc - 1);
  if (all.size() > own)
    std::copy(all.end() - static_cast<int64_t>(own), all.end(), arguments.begin() + 1);
#endif
  return arguments;
}

Status CheckArguments(const std::vector<std::string>& arguments) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    const size_t bad = FirstInvalidUtf8(arguments[i]);
    if (bad == std::string::npos) continue;
    std::string field = "argument " + std::to_string(i);
    for (const Flag& flag : kFlags) {
      if (arguments[i - 1] == flag.name) field = FieldOf(flag);
    }
    return BadInput(
        field, Excerpt(arguments[i]),
        "The text is not UTF-8: byte " + std::to_string(bad) + " is not part of a character.",
        "Give the text as UTF-8.");
  }
  return Ok{};
}

void AddFlags(CLI::App* generate, Options* o) {
  o->values.resize(std::size(kFlags));
  for (size_t i = 0; i < std::size(kFlags); ++i) {
    const Flag& flag = kFlags[i];
    if (flag.kind == Kind::kSwitch) {
      generate->add_flag_callback(
          flag.name, [o, i] { o->values[i] = ""; }, flag.help);
      continue;
    }
    generate->add_option_function<std::string>(
        flag.name, [o, i](const std::string& text) { o->values[i] = text; }, flag.help);
  }
  generate->add_option("--format", o->format, "number format of weights and activations (e4m3)");
  generate->add_option("--stop", o->stops, "end before this text; may be given again")
      ->allow_extra_args(false);
  generate->add_option("--scenario", o->scenario_file, "JSON file to start from; flags go on top");
  generate->add_option("--model-dir", o->model_dir,
                       "folder with config.json, tokenizer.json and model.safetensors");
  generate->add_option("--trace", o->trace_file, "write a Chrome trace to this file");
  generate->add_option("--query-at", o->query,
                       "picoseconds to describe, separated by commas (JSON)");
  generate->add_flag("--json", o->json, "print the result as JSON");
  generate->add_flag("--money", o->money,
                     "also compare batches, and find where rent meets the list price");
  generate->add_flag("--wall", o->wall, "also report this machine's own time");
}

}  // namespace novascope::cli
