// A case that fails on purpose, run by name only: the script `test` requires that a failing case makes
// this binary exit with an error, natively and under node.
#include <catch2/catch_test_macros.hpp>

TEST_CASE("a failing case is seen", "[.selfcheck]") {
  int sum = 1;
  for (int i = 0; i < 3; ++i) sum += i;
  REQUIRE(sum == 5);
}
