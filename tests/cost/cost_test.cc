#include "cost/cost.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

namespace novascope::cost {
namespace {

const TokenPrice& Micro() { return *FindTokenPrice("nova-micro", "list").value(); }
const HourPrice& Block() { return *FindHourPrice("trn2-capacity-block", "rent").value(); }
constexpr int64_t kHour = 3'600'000'000'000'000;

TEST_CASE("list prices are exact", "[cost]") {
  CHECK(ToDecimal(ListCost(Micro(), 1000, 500)) == "0.000105");
  CHECK(ToDecimal(ListCost(Micro(), 0, 0)) == "0");
  CHECK(ToDecimal(ListCost(Micro(), 1, 0)) == "0.000000035");
  CHECK(ToDecimal(ListCost(Micro(), 1'000'000, 1'000'000)) == "0.175");
  // A million requests of one input token each: 0.035 dollars, not 0.
  Money sum;
  for (int i = 0; i < 1'000'000; ++i) sum = sum + ListCost(Micro(), 1, 0);
  CHECK(ToDecimal(sum) == "0.035");
  CHECK(sum == ListCost(Micro(), 1'000'000, 0));
  const TokenPrice& gpt = *FindTokenPrice("gpt-4o", "list").value();
  CHECK(ToDecimal(ListCost(gpt, 1'000'000, 1'000'000)) == "12.5");
}

TEST_CASE("rent is exact to the picosecond", "[cost]") {
  CHECK(ToDecimal(RentedCost(Block(), 16, kHour)) == "35.7608");
  CHECK(ToDecimal(RentedCost(Block(), 1, kHour)) == "2.23505");
  CHECK(ToDecimal(RentedCost(Block(), 64, kHour)) == "143.0432");
  CHECK(RentedCost(Block(), 0, kHour) == Money{});
  CHECK(RentedCost(Block(), 64, 0) == Money{});
  CHECK(!(RentedCost(Block(), 1, 1) == Money{}));
  // Parts add up to the whole however an hour is cut.
  Money sum;
  int64_t at = 0;
  for (int64_t part = 1; at < kHour; part = part * 7 + 3) {
    const int64_t ps = at + part < kHour ? part : kHour - at;
    sum = sum + RentedCost(Block(), 16, ps);
    at += ps;
  }
  CHECK(sum == RentedCost(Block(), 16, kHour));
  const HourPrice& ultra = *FindHourPrice("trn2-ultraserver-estimate", "rent").value();
  CHECK(RentedCost(ultra, 64, kHour) == RentedCost(Block(), 64, kHour));
}

TEST_CASE("output price break-even agrees with the plain division", "[cost]") {
  // 35.7608 $/h / (0.14 $/M x 3600 s) = 70,954 tokens/s.
  const Money second = RentedCost(Block(), 16, kHour / 3600);
  CHECK(ListCost(Micro(), 0, 70'953) < second);
  CHECK(second < ListCost(Micro(), 0, 70'955));
}

TEST_CASE("money arithmetic", "[cost]") {
  const Money third = Money{1, 1}.DividedBy(3);
  CHECK(third + third + third == Money{1, 1});
  CHECK(third * 3 == Money{1, 1});
  CHECK(third * 6 == Money{2, 1});
  CHECK((Money{1, 2} + Money{-1, 2}) == Money{});
  CHECK(Money{1, 3} < Money{1, 2});
  CHECK(!(Money{1, 2} < Money{1, 3}));
  CHECK(!(third < third));
  CHECK(Money{-1, 2} < Money{1, 3});
  CHECK(Money{-1, 2} < Money{-1, 3});
  CHECK(!(Money{-1, 3} < Money{-1, 2}));
  CHECK(Money{} < third);
  CHECK(!(third < Money{}));
  CHECK(Money{-1, 3} < Money{});
  const Money big = Money{1, 1} * INT64_MAX * INT64_MAX;
  CHECK(big < big * 2);  // saturates above, does not wrap
  CHECK(!(big * INT64_MAX * 4 < big));
  CHECK(Money{1, 3} < Money{333'333'333'333'333'334, 1'000'000'000'000'000'000});
  CHECK(Money{333'333'333'333'333'333, 1'000'000'000'000'000'000} < Money{1, 3});
  CHECK(ToDouble(Money{1, 4}) == 0.25);
}

TEST_CASE("decimals are exact where they end and rounded half to even where not", "[cost]") {
  CHECK(ToDecimal({0, 1}) == "0");
  CHECK(ToDecimal({7, 2000}) == "0.0035");
  CHECK(ToDecimal({1, 3}) == "0.333333");
  CHECK(ToDecimal({2, 3}) == "0.666667");
  CHECK(ToDecimal({-2, 3}) == "-0.666667");
  CHECK(ToDecimal({100, 3}) == "33.3333");
  CHECK(ToDecimal({1, 3000}) == "0.000333333");
  CHECK(ToDecimal({12345678, 7}) == "1763668");
  CHECK(ToDecimal({9'999'999, 10'000'000}) == "1");
  CHECK(ToDecimal({9'999'999, 10'000'001}) == "1");
  CHECK(ToDecimal({29'999'999, 3'000'000}) == "10");
  CHECK(ToDecimal({1, 8}, 2) == "0.12");
  CHECK(ToDecimal({3, 8}, 2) == "0.38");
  CHECK(ToDecimal({1, 8}, 3) == "0.125");
  CHECK(ToDecimal({199, 2}, 2) == "99.5");
  CHECK(ToDecimal({1'234'567'891, 1000}) == "1234567.891");
  CHECK(ToDecimal({1, 1'000'000'000'000}) == "0.000000000001");
}

TEST_CASE("every price has a source, and ids are looked up by name", "[cost]") {
  const auto rows = PriceSources();
  CHECK(rows.size() == TokenPrices().size() * 2 + HourPrices().size());
  for (const auto& row : rows) {
    CAPTURE(row.row, row.name);
    CHECK(std::string_view(row.source).size() > 8);
    CHECK(std::string_view(row.date) >= "2024-01");
    CHECK(row.value > 0);
  }
  for (const HourPrice& row : HourPrices()) {
    CHECK(hw::FindChip(row.chip, "chip").ok());
    CHECK(row.chips_per_instance > 0);
  }
  const auto unknown = FindHourPrice("free", "rent");
  REQUIRE(!unknown.ok());
  CHECK(unknown.error().field == "rent");
  CHECK(unknown.error().fix.find("trn2-capacity-block") != std::string::npos);
  CHECK(!FindTokenPrice("nova-premier", "list").ok());
}

}  // namespace
}  // namespace novascope::cost
