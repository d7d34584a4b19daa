// Numbers as text: three significant digits, the unit beside each. One unit word per kind: GiB for
// capacity, GB never.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace novascope::ui {

// printf into a string; for short text.
[[gnu::format(printf, 1, 2)]] std::string Format(const char* format, ...);

// Three significant digits, thousands separated from 10,000 up: "0.0123", "6.80", "182", "18,820".
std::string Significant(double value);
std::string WithCommas(int64_t value);

struct Quantity {
  std::string number, unit;
  std::string text() const { return unit.empty() ? number : number + " " + unit; }
};
Quantity Duration(int64_t ps);                   // "6.80 ms"
Quantity Bytes(double bytes);                    // "15.9 GiB"
std::string Dollars(double usd);                 // "$0.21", "$0.0000123"
std::string Percent(double share);               // "64 %"

// At most `count` characters of UTF-8, with an ellipsis where cut.
std::string Shorten(std::string_view text, size_t count);
// Control characters as visible marks, so that a token fits on a line.
std::string Visible(std::string_view text);

}  // namespace novascope::ui
