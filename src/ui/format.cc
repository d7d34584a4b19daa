#include "ui/format.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <iterator>

namespace novascope::ui {

namespace {

struct Scale {
  double factor;
  const char* unit;
};

template <size_t N>
Quantity Scaled(double value, const Scale (&scales)[N]) {
  const double size = std::fabs(value);
  const Scale* chosen = &scales[N - 1];
  for (const Scale& scale : scales) {
    // 999.5 would print as 1,000 of the smaller unit.
    if (size >= scale.factor * 0.9995) {
      chosen = &scale;
      break;
    }
  }
  return {Significant(value / chosen->factor), chosen->unit};
}

}  // namespace

std::string Format(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char buffer[512];
  const int length = std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  if (length < 0) return "";
  return std::string(buffer, std::min<size_t>(static_cast<size_t>(length), sizeof buffer - 1));
}

std::string WithCommas(int64_t value) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return value < 0 ? "-" + digits : digits;
}

std::string Significant(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size >= 999.5) {
    // Whole numbers keep their digits up to five, then round to three.
    double step = 1;
    while (size / step >= 99999.5) step *= 10;
    return WithCommas(static_cast<int64_t>(std::llround(value / step) * static_cast<int64_t>(step)));
  }
  const int exponent = static_cast<int>(std::floor(std::log10(size * (1 + 1e-12))));
  const int decimals = std::max(0, 2 - exponent);
  std::string text = Format("%.*f", std::min(decimals, 12), value);
  return text;
}

Quantity Duration(int64_t ps) {
  static constexpr Scale kScales[] = {{1e12, "s"}, {1e9, "ms"}, {1e6, "\u00b5s"}, {1e3, "ns"}, {1, "ps"}};
  return Scaled(static_cast<double>(ps), kScales);
}

Quantity Bytes(double bytes) {
  static constexpr Scale kScales[] = {
      {1024.0 * 1024 * 1024 * 1024, "TiB"}, {1024.0 * 1024 * 1024, "GiB"}, {1024.0 * 1024, "MiB"},
      {1024, "KiB"}, {1, "B"}};
  return Scaled(bytes, kScales);
}

std::string Dollars(double usd) {
  if (usd == 0) return "$0";
  if (std::fabs(usd) >= 0.995) return "$" + (std::fabs(usd) < 999.5 ? Format("%.2f", usd) : Significant(usd));
  std::string text = Significant(usd);
  // "$0.14", not "$0.140": cents are what a price has at least.
  const size_t point = text.find('.');
  while (point != std::string::npos && text.size() > point + 3 && text.back() == '0') text.pop_back();
  return "$" + text;
}

std::string Percent(double share) { return Format("%.0f %%", share * 100); }

std::string Shorten(std::string_view text, size_t count) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (characters++ == count) return std::string(text.substr(0, i)) + "\u2026";
  }
  return std::string(text);
}

std::string Visible(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += Format("\\x%02x", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace novascope::ui
