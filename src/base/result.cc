#include "base/result.h"

namespace novascope {

const char* ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInput:
      return "input";
    case ErrorCode::kUnknownId:
      return "unknown_id";
    case ErrorCode::kInfeasible:
      return "infeasible";
    case ErrorCode::kTooLong:
      return "too_long";
    case ErrorCode::kBadFile:
      return "bad_file";
    case ErrorCode::kOutOfMemory:
      return "out_of_memory";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

std::string Describe(const Error& error) {
  std::string text = error.field;
  if (!error.value.empty()) text += " = " + error.value;
  if (!text.empty()) text += ": ";
  text += error.message;
  if (!error.fix.empty()) text += " " + error.fix;
  return text;
}

}  // namespace novascope
