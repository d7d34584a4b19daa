// UTF-8 checks shared by everything that reads text from users and files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace novascope {

// Byte offset of the first byte that is not part of well-formed UTF-8 (RFC 3629), or npos.
size_t FirstInvalidUtf8(std::string_view text);

// At most `max_bytes` of `text`, cut at a character border, invalid bytes as \xNN, for messages.
std::string Excerpt(std::string_view text, size_t max_bytes = 60);

}  // namespace novascope
