#include "session/text.h"

#include <catch2/catch_test_macros.hpp>

#include "base/utf8.h"

namespace novascope::session {
namespace {

std::string Utf8(uint32_t code) {
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  if (code < 0x80) return {byte(code)};
  if (code < 0x800) return {byte(0xc0 | code >> 6), byte(0x80 | (code & 63))};
  if (code < 0x10000) {
    return {byte(0xe0 | code >> 12), byte(0x80 | (code >> 6 & 63)), byte(0x80 | (code & 63))};
  }
  return {byte(0xf0 | code >> 18), byte(0x80 | (code >> 12 & 63)), byte(0x80 | (code >> 6 & 63)),
          byte(0x80 | (code & 63))};
}

TEST_CASE("every character comes out whole, byte by byte", "[session][text]") {
  int wrong = 0, early = 0;
  for (uint32_t code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 7) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const std::string bytes = Utf8(code);
    TextStream stream({});
    std::string text;
    for (size_t i = 0; i < bytes.size(); ++i) {
      text += stream.Add(bytes.substr(i, 1));
      early += i + 1 < bytes.size() && !text.empty();
    }
    wrong += text != bytes || !stream.Finish().empty();
  }
  CHECK(wrong == 0);
  CHECK(early == 0);
}

TEST_CASE("bytes that belong to no character are left out at once", "[session][text]") {
  TextStream stream({});
  CHECK(stream.Add("a\xff"
                   "b\x80"
                   "c") == "abc");
  CHECK(stream.Add("\xe2\x82") == "");
  CHECK(stream.Add("x\xac") == "x");
  CHECK(stream.Add("\xed\xa0\x80"
                   "y") == "y");  // a surrogate
  CHECK(stream.Add("\xc0\xaf"
                   "z") == "z");  // overlong
  CHECK(stream.Add("\xf0\x9f\x98") == "");
  CHECK(stream.Finish() == "");
  // Whatever comes, what goes out is UTF-8.
  TextStream noise({});
  std::string all;
  for (int i = 0; i < 70000; ++i) {
    all += noise.Add(std::string{static_cast<char>(i * 37 >> 3), static_cast<char>(i * 59 >> 5)});
  }
  CHECK(FirstInvalidUtf8(all) == std::string::npos);
}

TEST_CASE("text ends before a stop sequence wherever the tokens cut it", "[session][text]") {
  const std::string whole = "one two\n\nUser: three";
  for (size_t step = 1; step <= whole.size(); ++step) {
    TextStream stream({"\n\nUser:", "\n\nX"});
    std::string text;
    for (size_t i = 0; i < whole.size() && !stream.stopped(); i += step) {
      text += stream.Add(whole.substr(i, step));
    }
    CHECK(stream.stopped());
    CHECK(text == "one two");
    CHECK(stream.Add("more").empty());
    CHECK(stream.Finish().empty());
  }
}

TEST_CASE("what may begin a stop sequence is held back and given at the end", "[session][text]") {
  TextStream stream({"abc"});
  CHECK(stream.Add("xab") == "x");
  CHECK(stream.Add("ab") == "ab");
  CHECK(stream.Finish() == "ab");
  CHECK_FALSE(stream.stopped());
  TextStream accents({"\u00e9\u00e9"});
  CHECK(accents.Add("\u00e9") == "");
  CHECK(accents.Add("\u00e8") == "\u00e9\u00e8");
}

TEST_CASE("hexadecimal of bytes", "[session][text]") {
  CHECK(Hex("") == "");
  CHECK(Hex(std::string_view("\x00\x7f\xff", 3)) == "007fff");
}

}  // namespace
}  // namespace novascope::session
