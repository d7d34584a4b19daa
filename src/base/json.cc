#include "base/json.h"

namespace novascope {
namespace {

// Copying and printing a JSON value recurse, so a document may not nest as deep as the stack is
// long.
constexpr int kMaxDepth = 100;

bool NestsTooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view field) {
  if (NestsTooDeep(text)) {
    return Error{ErrorCode::kBadFile, std::string(field), "", "This JSON nests too deep.",
                 "Use at most 100 levels of brackets."};
  }
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return Error{ErrorCode::kBadFile, std::string(field), "", "This is not valid JSON.",
                 "Check it with a JSON linter; it must be one UTF-8 document."};
  }
  return json;
}

}  // namespace novascope
