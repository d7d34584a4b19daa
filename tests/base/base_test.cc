#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <set>
#include <string>

#include "base/hash.h"
#include "base/json.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/sourced.h"
#include "base/units.h"
#include "base/utf8.h"

namespace novascope {
namespace {

TEST_CASE("transfer times round up and stay exact", "[base]") {
  CHECK(TransferTime(0, 1) == Picoseconds{0});
  CHECK(TransferTime(1, 1'000'000'000'000) == Picoseconds{1});
  CHECK(TransferTime(1, 3'000'000'000'000) == Picoseconds{1});
  CHECK(TransferTime(3, 2'000'000'000'000) == Picoseconds{2});
  CHECK(TransferTime(8192, 100'000'000'000) == Picoseconds{81'920});
  // 96 GiB at 2.9 TB/s needs more than 64 bits on the way.
  CHECK(TransferTime(96 * kGiB, 2'900'000'000'000) == Picoseconds{35'544'556'933});
  CHECK(CycleTime(1, 1'400'000'000) == Picoseconds{715});
  CHECK(CycleTime(14, 1'400'000'000) == Picoseconds{10'000});
}

TEST_CASE("simulated time adds, scales and compares", "[base]") {
  Picoseconds t = Microseconds(2) + Nanoseconds(3);
  CHECK(t.ps == 2'003'000);
  t += Picoseconds{7};
  CHECK(t - Microseconds(2) == Picoseconds{3'007});
  CHECK(Nanoseconds(5) * 3 == Picoseconds{15'000});
  CHECK(Nanoseconds(999) < Microseconds(1));
}

TEST_CASE("hash is FNV-1a", "[base]") {
  CHECK(HashBytes("", 0) == 0xcbf29ce484222325u);
  CHECK(HashBytes("a", 1) == 0xaf63dc4c8601ec8cu);
  CHECK(HashBytes("foobar", 6) == 0x85944171f73967e8u);
  CHECK(HashBytes("bar", 3, HashBytes("foo", 3)) == HashBytes("foobar", 6));
}

TEST_CASE("random numbers depend on seed, stream and index only", "[base]") {
  CHECK(RandomBits(1, 2, 3) == RandomBits(1, 2, 3));
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    for (uint64_t stream = 0; stream < 4; ++stream) {
      for (uint64_t i = 0; i < 64; ++i) seen.insert(RandomBits(seed, stream, i));
    }
  }
  CHECK(seen.size() == 1024);
  double sum = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    const double u = RandomUnit(5, 0, i);
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    sum += u;
  }
  CHECK(sum > 4'850);
  CHECK(sum < 5'150);
}

TEST_CASE("UTF-8: well-formed and not", "[base]") {
  constexpr size_t kNone = std::string_view::npos;
  CHECK(FirstInvalidUtf8("") == kNone);
  CHECK(FirstInvalidUtf8("plain") == kNone);
  CHECK(FirstInvalidUtf8("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80") == kNone);
  CHECK(FirstInvalidUtf8("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf") == kNone);
  CHECK(FirstInvalidUtf8("ab\x80") == 2);            // continuation alone
  CHECK(FirstInvalidUtf8("\xc0\xaf") == 0);          // overlong
  CHECK(FirstInvalidUtf8("a\xe0\x80\xaf") == 1);     // overlong
  CHECK(FirstInvalidUtf8("\xed\xa0\x80") == 0);      // surrogate
  CHECK(FirstInvalidUtf8("\xf4\x90\x80\x80") == 0);  // above U+10FFFF
  CHECK(FirstInvalidUtf8("\xf0\x80\x80\x80") == 0);  // overlong
  CHECK(FirstInvalidUtf8("x\xe2\x82") == 1);         // cut off
  CHECK(FirstInvalidUtf8("\xf8\x88\x80\x80\x80") == 0);
  CHECK(FirstInvalidUtf8(std::string_view("a\0b", 3)) == kNone);
}

TEST_CASE("excerpts are short and always valid", "[base]") {
  CHECK(Excerpt("short") == "short");
  CHECK(Excerpt("a\xff"
                "b") == "a\\xffb");
  CHECK(Excerpt("\xe2\x82\xac\xe2\x82\xac", 4) == "\xe2\x82\xac...");
  const std::string cut = Excerpt(std::string(1000, 'x'));
  CHECK(cut == std::string(60, 'x') + "...");
  for (int i = 0; i < 256; ++i) {
    const std::string any = {static_cast<char>(i), static_cast<char>(i ^ 0x5a),
                             static_cast<char>(0xf0)};
    CHECK(FirstInvalidUtf8(Excerpt(any)) == std::string_view::npos);
  }
}

TEST_CASE("results hold a value or a reason", "[base]") {
  Result<int> good = 7;
  REQUIRE(good.ok());
  CHECK(good.value() == 7);
  good.value() = 8;
  CHECK(good.value() == 8);
  const Result<int> bad = Error{.code = ErrorCode::kInfeasible,
                                .field = "tp",
                                .value = "48",
                                .message = "48 does not divide 64.",
                                .fix = "Use 1, 2 or 4."};
  REQUIRE_FALSE(bad.ok());
  CHECK(Describe(bad.error()) == "tp = 48: 48 does not divide 64. Use 1, 2 or 4.");
  CHECK(Describe({.message = "Broken."}) == "Broken.");
  const Status done = Ok{};
  CHECK(done.ok());
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    names.insert(ErrorCodeName(static_cast<ErrorCode>(code)));
  }
  CHECK(names.size() == 7);
}

TEST_CASE("labels have names", "[base]") {
  CHECK(std::string(LabelName(Label::kPublished)) == "published");
  CHECK(std::string(LabelName(Label::kMeasured)) == "measured");
  CHECK(std::string(LabelName(Label::kDerived)) == "derived");
  CHECK(std::string(LabelName(Label::kAssumed)) == "assumed");
}

TEST_CASE("JSON keeps its order and refuses what it is not", "[base]") {
  const Result<Json> parsed = ParseJson(R"({"b": 1, "a": [true, null, "x"]})", "file");
  REQUIRE(parsed.ok());
  CHECK(parsed.value().dump() == R"({"b":1,"a":[true,null,"x"]})");
  for (const char* text : {"", "{", "{\"a\":}", "[1,]", "nul", "\"\xff\""}) {
    const Result<Json> bad = ParseJson(text, "tokenizer.json");
    INFO(text);
    REQUIRE_FALSE(bad.ok());
    CHECK(bad.error().code == ErrorCode::kBadFile);
    CHECK(bad.error().field == "tokenizer.json");
  }
}

}  // namespace
}  // namespace novascope
