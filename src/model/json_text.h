// How a JSON value that was refused is shown in an Error: scalars and flat lists as they stand,
// anything nested by its kind only. Never dump() a foreign value: it recurses, and a file may nest
// a million deep.
#pragma once

#include <string>

#include "base/json.h"
#include "base/utf8.h"

namespace novascope::model {

template <typename AnyJson>
std::string ShownScalar(const AnyJson& json) {
  if (const auto* text = json.template get_ptr<const std::string*>()) return Excerpt(*text);
  if (json.is_object()) return "{...}";
  if (json.is_array()) return "[...]";
  return json.dump();
}

template <typename AnyJson>
std::string Shown(const AnyJson& json) {
  if (!json.is_array()) return ShownScalar(json);
  std::string text = "[";
  for (const AnyJson& item : json) {
    text += (text.size() == 1 ? "" : ", ") + ShownScalar(item);
    if (text.size() > 60) return Excerpt(text);
  }
  return text + "]";
}

}  // namespace novascope::model
