// Money, exact: prices are integers (10^-4 dollars per instance-hour; 10^-6 dollars per million
// tokens), amounts are 128-bit integer ratios, divided only for display. The price book is rows
// with sources.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/sourced.h"
#include "hw/machine.h"

namespace novascope::cost {

// An exact amount of dollars: numerator / denominator, denominator > 0, reduced. Arithmetic keeps
// to 128 bits by cancelling common factors first; what any run here can produce (10^5 chips for
// 10^7 seconds, sums of such, divided by up to 10^9 tokens) fits. Beyond that the result saturates
// at the largest numerator over 1 (a quotient too small for 128 bits becomes 0) instead of wrapping
// round.
struct Money {
  __int128 numerator = 0;
  __int128 denominator = 1;

  friend Money operator+(const Money& a, const Money& b);
  friend Money operator*(const Money& a, int64_t n);
  friend bool operator==(const Money& a, const Money& b);
  friend bool operator<(const Money& a, const Money& b);
  Money DividedBy(int64_t n) const;  // n > 0
};
// Decimal text. Exact where the decimal ends within `places`, else rounded half to even to `places`
// significant digits after leading zeros; never in exponent form. "0.000105", "0", "0.035".
std::string ToDecimal(const Money& money, int places = 6);
double ToDouble(const Money& money);

struct TokenPrice {
  const char* id;  // "nova-micro"
  const char* label;
  Sourced<int64_t> input_micro_usd_per_mtok;  // 0.035 $/M = 35,000
  Sourced<int64_t> output_micro_usd_per_mtok;
  const char* status;  // "active", "retired 2026-09-14"
};
struct HourPrice {
  const char* id;  // "trn2-capacity-block"
  const char* label;
  const char* chip;                           // chip id it rents
  const char* kind;                           // "capacity block", "spot", "reserved"
  Sourced<int64_t> e4_usd_per_instance_hour;  // 10^-4 dollars: 35.7608 = 357,608
  int chips_per_instance = 16;
};
std::span<const TokenPrice> TokenPrices();
std::span<const HourPrice> HourPrices();
Result<const TokenPrice*> FindTokenPrice(std::string_view id, std::string_view field);
Result<const HourPrice*> FindHourPrice(std::string_view id, std::string_view field);

// Every price of every row, for the provenance view and its test.
std::vector<hw::SourceRow> PriceSources();

// List price of a request: tokens x price.
Money ListCost(const TokenPrice& price, int64_t input_tokens, int64_t output_tokens);
// Rent of `chips` chips over a simulated time: a chip's share of its instance, by the picosecond.
Money RentedCost(const HourPrice& price, int64_t chips, int64_t duration_ps);

}  // namespace novascope::cost
