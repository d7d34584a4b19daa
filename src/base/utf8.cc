#include "base/utf8.h"

namespace novascope {
namespace {

// Length of the well-formed sequence at `i`, or 0.
size_t SequenceLength(std::string_view text, size_t i) {
  const auto byte = [&](size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
  };
  const auto continuation = [&](size_t at) { return (byte(at) & 0xc0u) == 0x80u; };
  const unsigned lead = byte(i);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continuation(i + 1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (lead == 0xe0 && byte(i + 1) < 0xa0) return 0;
    if (lead == 0xed && byte(i + 1) > 0x9f) return 0;
    return continuation(i + 1) && continuation(i + 2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (lead == 0xf0 && byte(i + 1) < 0x90) return 0;
    if (lead == 0xf4 && byte(i + 1) > 0x8f) return 0;
    return continuation(i + 1) && continuation(i + 2) && continuation(i + 3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

size_t FirstInvalidUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text, i);
    if (length == 0) return i;
    i += length;
  }
  return std::string_view::npos;
}

std::string Excerpt(std::string_view text, size_t max_bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text, i);
    if (out.size() + (length == 0 ? 4 : length) > max_bytes) return out + "...";
    if (length == 0) {
      const auto byte = static_cast<unsigned char>(text[i++]);
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out.append(text.substr(i, length));
      i += length;
    }
  }
  return out;
}

}  // namespace novascope
