// An Error as JSON, the same everywhere: in the session's error event and on the command line.
#pragma once

#include "base/json.h"
#include "base/result.h"

namespace novascope::session {

inline Json ErrorToJson(const Error& error) {
  return {{"code", ErrorCodeName(error.code)},
          {"field", error.field},
          {"value", error.value},
          {"message", error.message},
          {"fix", error.fix}};
}

}  // namespace novascope::session
