// Reads members of a JSON object without exceptions: a member that is missing or of another type gives the
// default, because an event of a newer core must not break an older page.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json.h"

namespace novascope::ui {

inline const Json kNothing;

// The member `key` of an object, or null.
inline const Json& Get(const Json& json, std::string_view key) {
  if (!json.is_object()) return kNothing;
  const auto found = json.find(key);
  return found == json.end() ? kNothing : *found;
}

inline std::string GetText(const Json& json, std::string_view key, std::string_view otherwise = "") {
  const Json& member = Get(json, key);
  if (member.is_string()) return member.get_ref<const std::string&>();
  return std::string(otherwise);
}

// Numbers, and numbers in text: money crosses the door as exact decimals.
inline double ToNumber(const Json& json, double otherwise = 0) {
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return std::strtod(json.get_ref<const std::string&>().c_str(), nullptr);
  return otherwise;
}
inline double GetNumber(const Json& json, std::string_view key, double otherwise = 0) {
  return ToNumber(Get(json, key), otherwise);
}

inline int64_t ToInt(const Json& json, int64_t otherwise = 0) {
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return static_cast<int64_t>(json.get<double>());
  return otherwise;
}
inline int64_t GetInt(const Json& json, std::string_view key, int64_t otherwise = 0) {
  return ToInt(Get(json, key), otherwise);
}

inline bool GetBool(const Json& json, std::string_view key, bool otherwise = false) {
  const Json& member = Get(json, key);
  return member.is_boolean() ? member.get<bool>() : otherwise;
}

}  // namespace novascope::ui
