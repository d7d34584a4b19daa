// The one JSON type of the project: insertion-ordered, so that output is stable byte for byte.
// Parse with ParseJson (no exceptions); dump with .dump().
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"

namespace novascope {

using Json = nlohmann::ordered_json;

// Parses UTF-8 text. On failure the Error names `field` and the fix.
Result<Json> ParseJson(std::string_view text, std::string_view field);

}  // namespace novascope
