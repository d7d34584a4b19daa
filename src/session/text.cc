#include "session/text.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace novascope::session {
namespace {

// Whether `bytes` could still become a character: it begins one, and only its end is missing.
bool IsIncompleteCharacter(std::string_view bytes) {
  if (bytes.empty() || bytes.size() > 3) return false;
  // Some completion is well-formed exactly where filling up with 0x80 or 0xbf bytes is, because the
  // second byte of every lead has a range that holds one of the two.
  for (const char fill : {'\x80', '\xbf'}) {
    std::string filled(bytes);
    while (filled.size() < 4) {
      filled.push_back(fill);
      if (FirstInvalidUtf8(filled) == std::string_view::npos) return true;
    }
  }
  return false;
}

}  // namespace

std::string TextStream::Settle() {
  size_t stop = std::string::npos;
  for (const std::string& sequence : stops_) stop = std::min(stop, text_.find(sequence));
  if (stop != std::string::npos) {
    stopped_ = true;
    std::string settled = text_.substr(0, stop);
    text_.clear();
    bytes_.clear();
    return settled;
  }
  // Keep the longest end that is the start of a stop sequence.
  size_t held = 0;
  for (const std::string& sequence : stops_) {
    for (size_t n = std::min(sequence.size() - 1, text_.size()); n > held; --n) {
      if (text_.compare(text_.size() - n, n, sequence, 0, n) == 0) held = n;
    }
  }
  std::string settled = text_.substr(0, text_.size() - held);
  text_.erase(0, settled.size());
  return settled;
}

std::string TextStream::Add(std::string_view bytes) {
  if (stopped_) return "";
  bytes_.append(bytes);
  while (!bytes_.empty()) {
    const size_t bad = std::min(FirstInvalidUtf8(bytes_), bytes_.size());
    text_.append(bytes_, 0, bad);
    bytes_.erase(0, bad);
    if (bytes_.empty() || IsIncompleteCharacter(bytes_)) break;
    bytes_.erase(0, 1);
  }
  return Settle();
}

std::string TextStream::Finish() {
  bytes_.clear();
  return std::exchange(text_, {});
}

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

std::string TokenText(const model::Tokenizer& tokenizer, int32_t id) {
  const std::string_view piece = tokenizer.Piece(id);
  if (!piece.empty()) return Excerpt(piece, piece.size() * 4);
  const std::string_view name = tokenizer.Name(id);
  return Excerpt(name, name.size() * 4);
}

}  // namespace novascope::session
