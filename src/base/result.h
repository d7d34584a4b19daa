// Result<T>: a value or an Error that tells the user what to change. The core never throws, prints or
// exits; every function that can be given bad input returns one of these. Broken invariants assert.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace novascope {

// Why a call was refused. `kInput` is the user's to mend (exit status 2), `kInternal` is ours (1).
enum class ErrorCode {
  kInput,        // a value that is out of range or does not parse
  kUnknownId,    // an id that names no row of a table
  kInfeasible,   // a plan that cannot be placed
  kTooLong,      // prompt or output beyond the context
  kBadFile,      // truncated, corrupt or foreign file
  kOutOfMemory,  // does not fit in an HBM stack
  kInternal,     // a fault of ours
};

// Stable spelling used in JSON: "input", "unknown_id", "infeasible", ...
const char* ErrorCodeName(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string field;    // what was wrong, in the user's words: "tp", "prompt", "model.safetensors"
  std::string value;    // the value given, shortened to at most 80 bytes, always valid UTF-8
  std::string message;  // one sentence: what is wrong
  std::string fix;      // one sentence: what to change
};

// "field 'tp' = 48: 48 does not divide ... Use one of 1, 2, 4." One line, for stderr.
std::string Describe(const Error& error);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::move(error)) {}  // NOLINT

  bool ok() const { return std::holds_alternative<T>(state_); }
  T& value() {
    assert(ok());
    return *std::get_if<T>(&state_);
  }
  const T& value() const {
    assert(ok());
    return *std::get_if<T>(&state_);
  }
  const Error& error() const {
    assert(!ok());
    return *std::get_if<Error>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

// A Result without a value.
struct Ok {};
using Status = Result<Ok>;

}  // namespace novascope
