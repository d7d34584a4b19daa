#include "base/json.h"

namespace novascope {

Result<Json> ParseJson(std::string_view text, std::string_view field) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return Error{ErrorCode::kBadFile, std::string(field), "", "This is not valid JSON.",
                 "Check it with a JSON linter; it must be one UTF-8 document."};
  }
  return json;
}

}  // namespace novascope
