// Bytes of tokens to text that can be shown as it grows: whole characters only, never a replacement
// character, and nothing that may yet turn out to be the start of a stop sequence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/tokenizer.h"

namespace novascope::session {

class TextStream {
 public:
  // Stop sequences are UTF-8 and not empty.
  explicit TextStream(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  // Takes the next bytes and returns the text that is settled by them. A byte that cannot belong to
  // a character is left out. After a stop sequence nothing more comes.
  std::string Add(std::string_view bytes);
  // Whether a stop sequence was met; the text ends before it.
  bool stopped() const { return stopped_; }
  // The end: what was held back for a stop sequence that did not come. An incomplete character is
  // left out.
  std::string Finish();

 private:
  std::string Settle();

  std::vector<std::string> stops_;
  std::string bytes_;  // the start of a character that is not whole yet
  std::string text_;   // whole characters that may begin a stop sequence
  bool stopped_ = false;
};

// Lower-case hexadecimal digits of `bytes`.
std::string Hex(std::string_view bytes);

// A token as a person reads it, always UTF-8: its own text, the name of a special token, or bytes
// as \xNN.
std::string TokenText(const model::Tokenizer& tokenizer, int32_t id);

}  // namespace novascope::session
