// Any bytes as a tokenizer.json, and any bytes as text for one: refused, or every text round-trips.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/tokenizer.h"

namespace {

using novascope::Result;
using novascope::model::Tokenizer;

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckRoundTrip(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<int32_t> ids = tokenizer.Encode(text);
  for (int32_t id : ids) Require(id >= 0 && id < tokenizer.vocab_size());
  Require(tokenizer.Decode(ids) == text);
}

// All bytes, and merges of letters, marks and bytes that are not ASCII.
std::string TinyJson() {
  std::string names[256];
  int extra = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    const int point = printable ? byte : extra++;
    if (point == '"' || point == '\\') names[byte] = "\\";
    if (point < 0x80) {
      names[byte] += static_cast<char>(point);
    } else {
      names[byte] += static_cast<char>(0xc0 | point >> 6);
      names[byte] += static_cast<char>(0x80 | (point & 0x3f));
    }
  }
  std::string vocab, merges;
  int id = 0;
  const auto add = [&](const std::string& name) {
    vocab += (id == 0 ? "\"" : ",\"") + name + "\":" + std::to_string(id);
    ++id;
  };
  for (const std::string& name : names) add(name);
  const auto merge = [&](const std::string& left, const std::string& right) {
    merges += (merges.empty() ? "\"" : ",\"") + left + " " + right + "\"";
    add(left + right);
    return left + right;
  };
  const std::string aa = merge("a", "a"), ab = merge("a", "b"), space_a = merge(names[0x20], "a");
  merge(aa, aa);
  merge(ab, aa);
  merge(space_a, ab);
  merge("-", "-");
  merge(names[0xc3], names[0xa9]);
  return R"({"added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Sequence","pretokenizers":[)"
         R"({"type":"Split","pattern":{"Regex":)"
         R"(" ?[^\\x00-@\\[-`{-\\x7f]+|[0-9]| ?[\\x00-\\x08\\x0e-\\x1f!-/:-@\\[-`{-\\x7f]+|[\\t-\\r ]"},)"
         R"("behavior":"Isolated","invert":false},)"
         R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]},)"
         R"("model":{"type":"BPE","vocab":{)" +
         vocab + R"(},"merges":[)" + merges + "]}}";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Result<Tokenizer> kTiny = Tokenizer::FromJson(TinyJson(), "tiny");
  Require(kTiny.ok());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckRoundTrip(kTiny.value(), text);
  const Result<Tokenizer> result = Tokenizer::FromJson(text, "f");
  if (result.ok()) {
    CheckRoundTrip(result.value(), text);
  } else {
    const novascope::Error& error = result.error();
    Require(!error.field.empty() && !error.message.empty() && !error.fix.empty());
  }
  return 0;
}
