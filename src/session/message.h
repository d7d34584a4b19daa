// One message of the session protocol as plain bytes: uint32 little-endian length of the JSON, the JSON
// (UTF-8), then an optional binary payload. Apart from session.h so that the page's front end, which is a
// module of its own, packs and reads messages without linking the core.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace novascope::session {

inline constexpr int kProtocolVersion = 1;

std::vector<uint8_t> PackMessage(const Json& json, std::span<const uint8_t> payload = {});

struct Message {
  Json json;
  std::span<const uint8_t> payload;  // into the bytes given
};
// Refuses a length beyond the bytes, text that is not JSON, and JSON that is not an object.
Result<Message> UnpackMessage(std::span<const uint8_t> bytes);

}  // namespace novascope::session
