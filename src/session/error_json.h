// Errors and JSON: an Error as JSON, the same in the session's error event and on the command line,
// and a JSON value as it may stand in an Error.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "base/utf8.h"

namespace novascope::session {

inline Json ErrorToJson(const Error& error) {
  return {{"code", ErrorCodeName(error.code)},
          {"field", error.field},
          {"value", error.value},
          {"message", error.message},
          {"fix", error.fix}};
}

inline std::string Shown(const Json& json) {
  if (const auto* text = json.get_ptr<const std::string*>()) return Excerpt(*text);
  return Excerpt(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace novascope::session
