#include <algorithm>
#include <cassert>

#include "cost/cost.h"

namespace novascope::cost {
namespace {

using Wide = __int128;
using UnsignedWide = unsigned __int128;

constexpr Wide kLargest = static_cast<Wide>(~UnsignedWide{0} >> 1);

UnsignedWide Magnitude(Wide value) {
  return value < 0 ? UnsignedWide{0} - static_cast<UnsignedWide>(value)
                   : static_cast<UnsignedWide>(value);
}

UnsignedWide Gcd(UnsignedWide a, UnsignedWide b) {
  while (b != 0) {
    const UnsignedWide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

Money Saturated(bool negative) { return {negative ? -kLargest : kLargest, 1}; }

Money Reduced(Wide numerator, Wide denominator) {
  if (numerator == 0) return {};
  const auto common = static_cast<Wide>(Gcd(Magnitude(numerator), Magnitude(denominator)));
  return {numerator / common, denominator / common};
}

std::string Digits(UnsignedWide value) {
  std::string text;
  do {
    text.push_back(static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  return {text.rbegin(), text.rend()};
}

// Adds one to a run of decimal digits; returns the carry out.
bool Increment(std::string* digits) {
  for (size_t i = digits->size(); i-- > 0;) {
    if ((*digits)[i] != '9') {
      ++(*digits)[i];
      return false;
    }
    (*digits)[i] = '0';
  }
  return true;
}

// The next decimal digit of rest / denominator, long division without overflow: rest < denominator.
int NextDigit(UnsignedWide* rest, UnsignedWide denominator) {
  int digit = 0;
  UnsignedWide sum = 0;  // 10 * rest mod denominator, added up in ten steps
  for (int i = 0; i < 10; ++i) {
    if (sum >= denominator - *rest) {
      sum -= denominator - *rest;
      ++digit;
    } else {
      sum += *rest;
    }
  }
  *rest = sum;
  return digit;
}

}  // namespace

Money operator+(const Money& a, const Money& b) {
  const auto common = static_cast<Wide>(Gcd(Magnitude(a.denominator), Magnitude(b.denominator)));
  Wide left = 0, right = 0, sum = 0, denominator = 0;
  const bool overflow = __builtin_mul_overflow(a.numerator, b.denominator / common, &left) ||
                        __builtin_mul_overflow(b.numerator, a.denominator / common, &right) ||
                        __builtin_add_overflow(left, right, &sum) ||
                        __builtin_mul_overflow(a.denominator, b.denominator / common, &denominator);
  if (overflow) return Saturated(a.numerator < 0);
  return Reduced(sum, denominator);
}

Money operator*(const Money& a, int64_t n) {
  if (n == 0 || a.numerator == 0) return {};
  const auto common = static_cast<Wide>(Gcd(Magnitude(n), Magnitude(a.denominator)));
  Wide numerator = 0;
  if (__builtin_mul_overflow(a.numerator, static_cast<Wide>(n) / common, &numerator)) {
    return Saturated((a.numerator < 0) != (n < 0));
  }
  return {numerator, a.denominator / common};
}

Money Money::DividedBy(int64_t n) const {
  assert(n > 0);
  if (numerator == 0) return {};
  const auto common = static_cast<Wide>(Gcd(Magnitude(numerator), Magnitude(n)));
  Wide result = 0;
  if (__builtin_mul_overflow(denominator, static_cast<Wide>(n) / common, &result)) return {};
  return {numerator / common, result};
}

bool operator==(const Money& a, const Money& b) {
  return a.numerator == b.numerator && a.denominator == b.denominator;
}

// By continued fractions: integer parts first, then the reciprocals of the rests, so that no
// product can overflow.
bool operator<(const Money& a, const Money& b) {
  if ((a.numerator < 0) != (b.numerator < 0)) return a.numerator < 0;
  const bool negative = a.numerator < 0;
  UnsignedWide p = Magnitude(negative ? b.numerator : a.numerator);
  UnsignedWide q = static_cast<UnsignedWide>(negative ? b.denominator : a.denominator);
  UnsignedWide r = Magnitude(negative ? a.numerator : b.numerator);
  UnsignedWide s = static_cast<UnsignedWide>(negative ? a.denominator : b.denominator);
  for (;;) {  // p / q < r / s ?
    const UnsignedWide left = p / q, right = r / s;
    if (left != right) return left < right;
    p %= q;
    r %= s;
    if (r == 0) return false;
    if (p == 0) return true;
    // p / q < r / s where both are below one: s / r < q / p.
    std::swap(p, s);
    std::swap(q, r);
  }
}

std::string ToDecimal(const Money& money, int places) {
  const auto denominator = static_cast<UnsignedWide>(money.denominator);
  const UnsignedWide magnitude = Magnitude(money.numerator);
  std::string whole = Digits(magnitude / denominator);
  UnsignedWide rest = magnitude % denominator;
  // `places` decimals if that is all there is; else `places` significant digits, and never fewer
  // than the integer part has.
  std::string decimals;
  int significant = whole == "0" ? 0 : static_cast<int>(whole.size());
  const auto wanted = [&] {
    return static_cast<int>(decimals.size()) < places || significant < places;
  };
  bool exact_within = false;
  std::string kept;  // digits up to the rounding point by the rule of significant digits
  bool have_kept = significant >= places;
  UnsignedWide kept_rest = rest;
  while (rest != 0 && wanted()) {
    const int digit = NextDigit(&rest, denominator);
    decimals.push_back(static_cast<char>('0' + digit));
    if (significant > 0 || digit != 0) ++significant;
    if (!have_kept && significant >= places) {
      have_kept = true;
      kept = decimals;
      kept_rest = rest;
    }
  }
  exact_within = rest == 0;
  if (!exact_within) {
    decimals = kept;
    const UnsignedWide half = denominator - kept_rest;  // compare 2 * rest with denominator
    const std::string& last = decimals.empty() ? whole : decimals;
    const bool odd = (last.back() - '0') % 2 != 0;
    if (kept_rest > half || (kept_rest == half && odd)) {
      if (Increment(&decimals) && Increment(&whole)) whole.insert(0, 1, '1');
    }
  }
  while (!decimals.empty() && decimals.back() == '0') decimals.pop_back();
  std::string text = decimals.empty() ? whole : whole + "." + decimals;
  if (money.numerator < 0 && text != "0") text.insert(0, 1, '-');
  return text;
}

double ToDouble(const Money& money) {
  return static_cast<double>(money.numerator) / static_cast<double>(money.denominator);
}

Money ListCost(const TokenPrice& price, int64_t input_tokens, int64_t output_tokens) {
  assert(input_tokens >= 0 && output_tokens >= 0);
  // 10^-6 dollars per 10^6 tokens.
  const Money unit{1, 1'000'000'000'000};
  return unit * price.input_micro_usd_per_mtok.value * input_tokens +
         unit * price.output_micro_usd_per_mtok.value * output_tokens;
}

Money RentedCost(const HourPrice& price, int64_t chips, int64_t duration_ps) {
  assert(chips >= 0 && duration_ps >= 0);
  constexpr int64_t kPicosecondsPerHour = 3'600'000'000'000'000;
  return Money{1, 10'000}.DividedBy(kPicosecondsPerHour).DividedBy(price.chips_per_instance) *
         price.e4_usd_per_instance_hour.value * chips * duration_ps;
}

}  // namespace novascope::cost
