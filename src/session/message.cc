#include "session/message.h"

#include <string>
#include <string_view>

namespace novascope::session {

namespace {

constexpr size_t kLengthBytes = 4;

Error BadMessage(std::string value, std::string message) {
  return {.code = ErrorCode::kInput,
          .field = "message",
          .value = std::move(value),
          .message = std::move(message),
          .fix = "Send a little-endian 32-bit length, that many bytes of JSON, then the payload."};
}

}  // namespace

std::vector<uint8_t> PackMessage(const Json& json, std::span<const uint8_t> payload) {
  // Text that is not UTF-8 is replaced, because dump() would otherwise throw.
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::vector<uint8_t> bytes;
  bytes.reserve(kLengthBytes + text.size() + payload.size());
  const uint32_t length = static_cast<uint32_t>(text.size());
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<uint8_t>(length >> shift));
  bytes.insert(bytes.end(), text.begin(), text.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

Result<Message> UnpackMessage(std::span<const uint8_t> bytes) {
  if (bytes.size() < kLengthBytes) {
    return BadMessage(std::to_string(bytes.size()) + " bytes", "A message has at least 4 bytes.");
  }
  uint32_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= static_cast<uint32_t>(bytes[i]) << (8 * i);
  if (length > bytes.size() - kLengthBytes) {
    return BadMessage(std::to_string(length),
                      "The message is shorter than the length of its JSON says.");
  }
  const auto text = bytes.subspan(kLengthBytes, length);
  Result<Json> json = ParseJson(
      std::string_view(reinterpret_cast<const char*>(text.data()), text.size()), "message");
  if (!json.ok()) return json.error();
  if (!json.value().is_object()) {
    return BadMessage(json.value().type_name(), "The JSON of a message is an object.");
  }
  return Message{std::move(json.value()), bytes.subspan(kLengthBytes + length)};
}

}  // namespace novascope::session
