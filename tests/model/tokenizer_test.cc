#include "model/tokenizer.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <set>

#include "base/json.h"
#include "base/rng.h"
#include "model/read_file.h"

namespace novascope::model {
namespace {

std::string ScopeMicroJson() { return ReadSourceFile("assets/models/scope-micro/tokenizer.json"); }

Tokenizer ScopeMicro() {
  Result<Tokenizer> tokenizer = Tokenizer::FromJson(ScopeMicroJson(), "tokenizer.json");
  REQUIRE(tokenizer.ok());
  return std::move(tokenizer.value());
}

// Letters, digits, spaces, marks, UTF-8 and bytes that are not, in runs of random length.
std::string RandomText(uint64_t seed, size_t size) {
  const std::string_view alphabets[] = {"etaoin shrdlu",
                                        "    \n\t",
                                        "0123456789",
                                        "<|.,-_()[]{}`~\x01\x7f",
                                        "\xc3\xa9\xe2\x82\xac\xff\x80",
                                        "memory tokens cache"};
  std::string text;
  for (uint64_t i = 0; text.size() < size; ++i) {
    const std::string_view from = alphabets[RandomBits(seed, 1, i) % std::size(alphabets)];
    const size_t run = RandomBits(seed, 2, i) % 12;
    for (uint64_t j = 0; j < run; ++j) text += from[RandomBits(seed, i + 3, j) % from.size()];
  }
  return text;
}

TEST_CASE("tokenizer: the trainer's golden texts", "[model][tokenizer]") {
  const Tokenizer tokenizer = ScopeMicro();
  const Result<Json> golden =
      ParseJson(ReadSourceFile("tests/golden/tokenizer_scope_micro.json"), "golden");
  REQUIRE(golden.ok());
  const Json& cases = golden.value()["cases"];
  CHECK(cases.size() >= 50);
  for (const Json& c : cases) {
    const std::string text = c["text"].get<std::string>();
    CAPTURE(text);
    CHECK(tokenizer.Encode(text) == c["plain_ids"].get<std::vector<int32_t>>());
    CHECK(tokenizer.Decode(tokenizer.Encode(text)) == text);
  }
}

TEST_CASE("tokenizer: any bytes round-trip", "[model][tokenizer]") {
  const Tokenizer tokenizer = ScopeMicro();
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string one(1, static_cast<char>(byte));
    CHECK(tokenizer.Decode(tokenizer.Encode(one)) == one);
    all += one;
  }
  CHECK(tokenizer.Decode(tokenizer.Encode(all)) == all);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::string text = RandomText(seed, 400);
    CHECK(tokenizer.Decode(tokenizer.Encode(text)) == text);
  }
}

// The definition, quadratic: join the pair of neighbours with the lowest rank, the leftmost first.
std::vector<std::string> NaiveMerge(
    std::vector<std::string> parts,
    const std::map<std::pair<std::string, std::string>, int>& ranks) {
  while (true) {
    int best = 1 << 30;
    size_t at = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto it = ranks.find({parts[i], parts[i + 1]});
      if (it != ranks.end() && it->second < best) {
        best = it->second;
        at = i;
      }
    }
    if (best == 1 << 30) return parts;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST_CASE("tokenizer: the heap joins what the definition joins", "[model][tokenizer]") {
  const Tokenizer tokenizer = ScopeMicro();
  const Json json = ParseJson(ScopeMicroJson(), "tokenizer.json").value();
  std::map<std::pair<std::string, std::string>, int> ranks;
  for (const Json& merge : json["model"]["merges"]) {
    const std::string text = merge.get<std::string>();
    const size_t space = text.find(' ');
    ranks.emplace(std::pair(text.substr(0, space), text.substr(space + 1)),
                  static_cast<int>(ranks.size()));
  }
  // Within one piece: letters only, where the byte alphabet is ASCII itself.
  const std::string_view letters = "etaoinshrdlucmfwypvbgkqjxz";
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<std::string> parts;
    std::string text;
    const size_t size = 1 + RandomBits(seed, 0, 0) % 40;
    const size_t kinds = 2 + RandomBits(seed, 0, 1) % (letters.size() - 2);
    for (uint64_t i = 0; i < size; ++i) {
      text += letters[RandomBits(seed, 1, i) % kinds];
      parts.push_back(text.substr(text.size() - 1));
    }
    std::vector<std::string> got;
    for (int32_t id : tokenizer.Encode(text)) got.emplace_back(tokenizer.Piece(id));
    CAPTURE(text);
    CHECK(got == NaiveMerge(parts, ranks));
  }
}

TEST_CASE("tokenizer: a megabyte without a border is encoded", "[model][tokenizer]") {
  const Tokenizer tokenizer = ScopeMicro();
  // Quadratic merging would need days for the first two.
  for (const std::string& unit : {std::string("a"), std::string("the"), std::string(" ")}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    CHECK(tokenizer.Decode(tokenizer.Encode(text)) == text);
  }
}

TEST_CASE("tokenizer: special tokens are not made from text", "[model][tokenizer]") {
  const Tokenizer tokenizer = ScopeMicro();
  std::set<int32_t> specials;
  for (const char* name : {"<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"}) {
    const int32_t id = tokenizer.Special(name);
    REQUIRE(id >= 0);
    CHECK(specials.insert(id).second);
    CHECK(tokenizer.Piece(id).empty());
    CHECK(tokenizer.Name(id) == name);
    for (int32_t plain : tokenizer.Encode(name)) CHECK(!specials.contains(plain));
    CHECK(tokenizer.Decode(tokenizer.Encode(name)) == name);
  }
  CHECK(tokenizer.Special("<|nothing|>") == -1);
  CHECK(tokenizer.Special("the") == -1);
}

TEST_CASE("tokenizer: a chat prompt", "[model][tokenizer]") {
  const Tokenizer tokenizer = ScopeMicro();
  const auto expected = [&](bool system) {
    std::vector<int32_t> ids = {tokenizer.Special("<|begin|>")};
    const auto text = [&](const char* plain) {
      for (int32_t id : tokenizer.Encode(plain)) ids.push_back(id);
    };
    if (system) {
      ids.push_back(tokenizer.Special("<|system|>"));
      text("Be brief.");
    }
    ids.push_back(tokenizer.Special("<|user|>"));
    text("Why <|end|>?");
    ids.push_back(tokenizer.Special("<|assistant|>"));
    return ids;
  };
  CHECK(tokenizer.EncodeChat("", "Why <|end|>?") == expected(false));
  CHECK(tokenizer.EncodeChat("Be brief.", "Why <|end|>?") == expected(true));
}

TEST_CASE("tokenizer: ids outside the vocabulary have no piece", "[model][tokenizer]") {
  const Tokenizer tokenizer = ScopeMicro();
  CHECK(tokenizer.vocab_size() == 1024);
  for (int32_t id : {-1, 1024, 1 << 30}) {
    CHECK(tokenizer.Piece(id).empty());
    CHECK(tokenizer.Name(id).empty());
  }
  std::set<std::string_view> pieces;
  for (int32_t id = 0; id < 1024; ++id) {
    CHECK(!tokenizer.Name(id).empty());
    if (!tokenizer.Piece(id).empty()) CHECK(pieces.insert(tokenizer.Piece(id)).second);
  }
  CHECK(tokenizer.Name(tokenizer.Encode("\xff")[0]) == "\\xff");
}

TEST_CASE("tokenizer: merges may be pairs", "[model][tokenizer]") {
  Json json = ParseJson(ScopeMicroJson(), "tokenizer.json").value();
  for (Json& merge : json["model"]["merges"]) {
    const std::string text = merge.get<std::string>();
    const size_t space = text.find(' ');
    merge = Json::array({text.substr(0, space), text.substr(space + 1)});
  }
  const Result<Tokenizer> pairs = Tokenizer::FromJson(json.dump(), "tokenizer.json");
  REQUIRE(pairs.ok());
  const std::string text = RandomText(7, 2000);
  CHECK(pairs.value().Encode(text) == ScopeMicro().Encode(text));
}

TEST_CASE("tokenizer: wrong and foreign files are refused by name", "[model][tokenizer]") {
  const Json good = ParseJson(ScopeMicroJson(), "tokenizer.json").value();
  const auto field = [](const std::string& text) {
    const Result<Tokenizer> result = Tokenizer::FromJson(text, "t.json");
    if (result.ok()) return std::string("ok");
    CHECK(result.error().code == ErrorCode::kBadFile);
    CHECK(!result.error().message.empty());
    CHECK(!result.error().fix.empty());
    CHECK(result.error().value.size() <= 160);
    return result.error().field;
  };
  const auto with = [&](const std::function<void(Json&)>& change) {
    Json json = good;
    change(json);
    return field(json.dump());
  };
  CHECK(with([](Json&) {}) == "ok");
  CHECK(field("") == "t.json");
  CHECK(field("[]") == "t.json");
  CHECK(field("\xff") == "t.json");
  CHECK(field("{}") == "t.json: model.type");
  CHECK(with([](Json& j) { j["model"] = 1; }) == "t.json: model.type");
  CHECK(with([](Json& j) { j["model"]["type"] = "Unigram"; }) == "t.json: model.type");
  CHECK(with([](Json& j) { j["model"]["byte_fallback"] = true; }) == "t.json: model.byte_fallback");
  CHECK(with([](Json& j) { j["model"]["dropout"] = 0.1; }) == "t.json: model.dropout");
  CHECK(with([](Json& j) { j["model"]["ignore_merges"] = true; }) == "t.json: model.ignore_merges");
  CHECK(with([](Json& j) { j["normalizer"] = {{"type", "NFC"}}; }) == "t.json: normalizer");

  const auto split = [](Json& j) -> Json& { return j["pre_tokenizer"]["pretokenizers"][0]; };
  CHECK(with([](Json& j) {
          j["pre_tokenizer"] = {{"type", "ByteLevel"}, {"use_regex", true}};
        }) == "t.json: pre_tokenizer");
  CHECK(with([&](Json& j) { split(j)["pattern"]["Regex"] = "\\p{N}{1,3}"; }) ==
        "t.json: pre_tokenizer");
  CHECK(with([&](Json& j) { split(j)["behavior"] = "Removed"; }) == "t.json: pre_tokenizer");
  CHECK(with([&](Json& j) { split(j)["invert"] = true; }) == "t.json: pre_tokenizer");
  for (const char* key : {"add_prefix_space", "use_regex"}) {
    CHECK(with([&](Json& j) { j["pre_tokenizer"]["pretokenizers"][1][key] = true; }) ==
          "t.json: pre_tokenizer");
  }
  Json foreign = good;
  split(foreign)["pattern"]["Regex"] = "\\p{N}{1,3}";
  const Result<Tokenizer> refused = Tokenizer::FromJson(foreign.dump(), "t.json");
  REQUIRE(!refused.ok());
  CHECK(refused.error().value == "\\p{N}{1,3}");

  CHECK(with([](Json& j) { j["added_tokens"] = "x"; }) == "t.json: added_tokens");
  CHECK(with([](Json& j) { j["added_tokens"][0] = 1; }) == "t.json: added_tokens");
  CHECK(with([](Json& j) { j["added_tokens"][0]["special"] = false; }) == "t.json: added_tokens");
  CHECK(with([](Json& j) { j["added_tokens"][0]["content"] = ""; }) == "t.json: added_tokens");
  CHECK(with([](Json& j) { j["added_tokens"][0]["id"] = 1; }) == "t.json: added_tokens");
  CHECK(with([](Json& j) { j["added_tokens"][0]["id"] = -1; }) == "t.json: added_tokens");
  CHECK(with([](Json& j) { j["added_tokens"][0]["id"] = 1024; }) == "t.json: added_tokens");
  CHECK(with([](Json& j) { j["added_tokens"][0]["id"] = 5000000000; }) == "t.json: added_tokens");

  CHECK(with([](Json& j) { j["model"]["vocab"] = Json::array(); }) == "t.json: model.vocab");
  CHECK(with([](Json& j) { j["model"]["vocab"]["the"] = 5; }) == "t.json: model.vocab");
  CHECK(with([](Json& j) { j["model"]["vocab"]["new"] = 5000; }) == "t.json: model.vocab");
  CHECK(with([](Json& j) { j["model"]["vocab"]["\u00e9\u4e2d"] = 1024; }) == "t.json: model.vocab");
  CHECK(with([](Json& j) { j["model"]["vocab"][""] = 1024; }) == "t.json: model.vocab");
  CHECK(with([](Json& j) { j["model"]["vocab"]["a"] = "1"; }) == "t.json: model.vocab");
  CHECK(with([](Json& j) { j["model"]["vocab"]["a"] = -1; }) == "t.json: model.vocab");
  CHECK(with([](Json& j) { j["model"]["vocab"]["a"] = 1.5; }) == "t.json: model.vocab");
  CHECK(with([](Json& j) { j["model"]["vocab"].erase("a"); }) == "t.json: model.vocab");
  CHECK(with([](Json& j) { j["model"]["vocab"]["<|begin|>"] = 7; }) == "t.json: model.vocab");

  for (const Json& merge :
       {Json("nospace"), Json("a zzzzzz"), Json("a b c"), Json(" a"), Json("a "), Json(3),
        Json::array({"a"}), Json::array({"a", 2}), Json("<|user|> a")}) {
    CHECK(with([&](Json& j) { j["model"]["merges"][5] = merge; }) == "t.json: model.merges");
  }
  CHECK(with([](Json& j) { j["model"]["merges"] = 3; }) == "t.json: model.merges");
}

TEST_CASE("tokenizer: every truncation of a file is refused", "[model][tokenizer]") {
  const std::string whole = ScopeMicroJson();
  const size_t end = whole.rfind('}');
  for (size_t size = 0; size <= end; size += 97) {
    CHECK(!Tokenizer::FromJson(whole.substr(0, size), "t.json").ok());
  }
  CHECK(!Tokenizer::FromJson(whole.substr(0, end), "t.json").ok());
}

TEST_CASE("tokenizer: a file that nests a million deep is refused", "[model][tokenizer]") {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK(!Tokenizer::FromJson(deep, "t.json").ok());
  CHECK(!Tokenizer::FromJson("{\"model\":{\"type\":" + deep + "}}", "t.json").ok());
  CHECK(!Tokenizer::FromJson("{\"model\":{\"type\":\"BPE\",\"dropout\":" + deep + "}}", "t.json")
             .ok());
}

}  // namespace
}  // namespace novascope::model
