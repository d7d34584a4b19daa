// The flags of `generate`: a table of scenario keys, and what else may be asked. Values stay text
// until the scenario is made, so that every complaint names its field.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace novascope::cli {

// What generate was asked beside the scenario.
struct Options {
  std::vector<std::optional<std::string>> values;  // of the flag table, in its order
  std::string format, scenario_file, model_dir, trace_file, query;
  std::vector<std::string> stops;
  bool json = false, wall = false, money = false;
};

void AddFlags(CLI::App* generate, Options* options);

// The scenario of --scenario, with what the flags set on top.
Result<Json> ScenarioOf(const Options& options);
// The times of --query-at.
Result<std::vector<int64_t>> ParseTimes(const std::string& query);

// The arguments as given, program first.
std::vector<std::string> RawArguments(int argc, char** argv);
// Refuses bytes that are not UTF-8.
Status CheckArguments(const std::vector<std::string>& arguments);

Error BadInput(std::string field, std::string value, std::string message, std::string fix);

}  // namespace novascope::cli
