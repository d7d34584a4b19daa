#include "model/tokenizer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "model/json_text.h"

namespace novascope::model {
namespace {

// A vocabulary has many keys, and the project's ordered Json finds each one by one.
using SortedJson = nlohmann::json;

// ---- pre-tokenizer rules -----------------------------------------------------------------------

enum class ByteClass : uint8_t { kLetter, kDigit, kSpace, kMark };

constexpr ByteClass ClassOf(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80 || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z')) {
    return ByteClass::kLetter;
  }
  if (byte >= '0' && byte <= '9') return ByteClass::kDigit;
  if (byte == ' ' || (byte >= '\t' && byte <= '\r')) return ByteClass::kSpace;
  return ByteClass::kMark;
}

constexpr bool MakesRuns(ByteClass c) { return c == ByteClass::kLetter || c == ByteClass::kMark; }

// scope-micro's rule, on bytes, so that it needs no Unicode tables and takes text that is not
// UTF-8: a run of letters or of marks, with the one space before it if there is one; else one digit
// or one space.
size_t NextByteRun(std::string_view text, size_t at) {
  if (text[at] == ' ' && at + 1 < text.size() && MakesRuns(ClassOf(text[at + 1]))) ++at;
  const ByteClass kind = ClassOf(text[at++]);
  if (MakesRuns(kind)) {
    while (at < text.size() && ClassOf(text[at]) == kind) ++at;
  }
  return at;
}

// One row per pre-tokenizer we implement exactly, known by its Split pattern.
struct SplitRule {
  const char* name;
  std::string_view pattern;
  size_t (*next_piece)(std::string_view text, size_t at);
};
constexpr SplitRule kSplitRules[] = {
    {"scope-micro byte runs",
     R"( ?[^\x00-@\[-`{-\x7f]+|[0-9]| ?[\x00-\x08\x0e-\x1f!-/:-@\[-`{-\x7f]+|[\t-\r ])",
     &NextByteRun},
};

// ---- the byte alphabet -------------------------------------------------------------------------

constexpr int kAlphabetEnd = 0x144;  // one past the last code point

// ByteLevel's alphabet: printable Latin-1 as itself, the other 68 bytes from U+0100 on. -1: not in
// it.
constexpr std::array<int, kAlphabetEnd> MakeAlphabet() {
  std::array<int, kAlphabetEnd> byte_of{};
  for (int& byte : byte_of) byte = -1;
  int extra = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    byte_of[static_cast<size_t>(printable ? byte : extra++)] = byte;
  }
  return byte_of;
}
constexpr std::array<int, kAlphabetEnd> kByteOf = MakeAlphabet();

// The bytes that a name in ByteLevel's alphabet stands for; false where it has another character.
bool FromAlphabet(std::string_view name, std::string* bytes) {
  bytes->clear();
  for (size_t i = 0; i < name.size(); ++i) {
    unsigned point = static_cast<unsigned char>(name[i]);
    if (point >= 0x80) {  // the alphabet has code points of at most two bytes
      if (point < 0xc2 || point > 0xdf || i + 1 == name.size()) return false;
      point = (point & 0x1fu) << 6 | (static_cast<unsigned char>(name[++i]) & 0x3fu);
    }
    if (point >= kAlphabetEnd || kByteOf[point] < 0) return false;
    *bytes += static_cast<char>(kByteOf[point]);
  }
  return !bytes->empty();
}

// The member `key`, or a null JSON where the value is no object or has none.
const SortedJson& Member(const SortedJson& json, const char* key) {
  static const SortedJson kNull;
  if (!json.is_object()) return kNull;
  const auto it = json.find(key);
  return it == json.end() ? kNull : *it;
}

bool IsText(const SortedJson& json, std::string_view text) {
  const auto* value = json.get_ptr<const std::string*>();
  return value != nullptr && *value == text;
}

bool IsOff(const SortedJson& json) {  // how files spell "not used"
  return json.is_null() || json == false || json == 0 || json == "";
}

}  // namespace

// ---- reading tokenizer.json
// ----------------------------------------------------------------------

// Fills a Tokenizer. Every id, merge and setting is checked; what would change the tokens and is
// not implemented is refused.
class TokenizerReader {
 public:
  TokenizerReader(Tokenizer* tokenizer, std::string_view file) : out_(*tokenizer), file_(file) {}

  Status Read(const SortedJson& json) {
    for (auto step : {&TokenizerReader::CheckModel, &TokenizerReader::ReadPreTokenizer,
                      &TokenizerReader::ReadAddedTokens, &TokenizerReader::ReadVocab,
                      &TokenizerReader::ReadMerges}) {
      if (Status status = (this->*step)(json); !status.ok()) return status;
    }
    return Ok{};
  }

 private:
  Error Bad(std::string_view where, std::string value, std::string message, std::string fix) const {
    return {ErrorCode::kBadFile, file_ + ": " + std::string(where), std::move(value),
            std::move(message), std::move(fix)};
  }

  Status CheckModel(const SortedJson& json) {
    const SortedJson& model = Member(json, "model");
    if (!IsText(Member(model, "type"), "BPE")) {
      return Bad("model.type", Shown(Member(model, "type")), "Only byte-level BPE is supported.",
                 "Use a model whose tokenizer.json has model.type \"BPE\".");
    }
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix",
                            "byte_fallback", "ignore_merges"}) {
      if (!IsOff(Member(model, key))) {
        return Bad(std::string("model.") + key, Shown(Member(model, key)),
                   "This setting changes the tokens and is not supported.",
                   "Use a tokenizer without it.");
      }
    }
    if (!Member(json, "normalizer").is_null()) {
      return Bad("normalizer", Shown(Member(Member(json, "normalizer"), "type")),
                 "Text normalisers are not supported.",
                 "Use a tokenizer whose normalizer is null.");
    }
    return Ok{};
  }

  Status ReadPreTokenizer(const SortedJson& json) {
    const SortedJson& whole = Member(json, "pre_tokenizer");
    const SortedJson& steps = Member(whole, "pretokenizers");
    const bool pair = IsText(Member(whole, "type"), "Sequence") && steps.is_array() &&
                      steps.size() == 2 && IsText(Member(steps[0], "type"), "Split") &&
                      IsText(Member(steps[1], "type"), "ByteLevel");
    std::string known;
    for (const SplitRule& rule : kSplitRules) {
      known += (known.empty() ? "" : ", ") + std::string(rule.name);
    }
    const std::string fix = "Use a tokenizer with one of these rules: " + known + ".";
    if (!pair) {
      return Bad("pre_tokenizer", Shown(whole),
                 "It is not a Sequence of one Split and one ByteLevel.", fix);
    }
    const SortedJson& pattern = Member(Member(steps[0], "pattern"), "Regex");
    for (const SplitRule& rule : kSplitRules) {
      if (IsText(pattern, rule.pattern)) out_.next_piece_ = rule.next_piece;
    }
    if (out_.next_piece_ == nullptr) {
      return Bad("pre_tokenizer", Shown(pattern), "No rule for this pattern is implemented.", fix);
    }
    if (!IsText(Member(steps[0], "behavior"), "Isolated") || !IsOff(Member(steps[0], "invert"))) {
      return Bad("pre_tokenizer", Shown(steps[0]), "The Split must isolate its matches.",
                 "Write behavior \"Isolated\" and invert false.");
    }
    if (Member(steps[1], "add_prefix_space") != false || Member(steps[1], "use_regex") != false) {
      return Bad("pre_tokenizer", Shown(steps[1]),
                 "ByteLevel must neither add a space nor split again.",
                 "Write add_prefix_space false and use_regex false.");
    }
    return Ok{};
  }

  // Makes room for every id: the vocabulary's and those of added tokens outside it.
  Status ReadAddedTokens(const SortedJson& json) {
    const SortedJson& vocab = Member(Member(json, "model"), "vocab");
    if (!vocab.is_object()) {
      return Bad("model.vocab", Shown(vocab), "The vocabulary is not an object of token: id.",
                 "Give the model's own tokenizer.json.");
    }
    const SortedJson& added = Member(json, "added_tokens");
    if (!added.is_array() && !added.is_null()) {
      return Bad("added_tokens", Shown(added), "This is not a list.",
                 "Give the model's own tokenizer.json.");
    }
    size_t size = vocab.size();
    for (const SortedJson& token : added) {
      const auto* content = Member(token, "content").get_ptr<const std::string*>();
      if (content == nullptr || content->empty() || Member(token, "special") != true) {
        return Bad("added_tokens", Shown(token), "It is not a special token with a content.",
                   "Only special tokens can be added; put others into the vocabulary.");
      }
      size += !vocab.contains(*content);
    }
    if (size > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      return Bad("model.vocab", std::to_string(size), "The vocabulary is too large.",
                 "Use a smaller one.");
    }
    out_.pieces_.resize(size);
    out_.names_.resize(size);
    for (const SortedJson& token : added) {
      const std::string& content = Member(token, "content").get_ref<const std::string&>();
      int32_t id = -1;
      if (Status status = TakeId("added_tokens", content, Member(token, "id"), &id); !status.ok()) {
        return status;
      }
      out_.names_[static_cast<size_t>(id)] = content;
      out_.specials_[content] = id;
    }
    return Ok{};
  }

  // Reads an id that no token has yet. names_ of ids not taken are empty.
  Status TakeId(std::string_view where, std::string_view name, const SortedJson& json,
                int32_t* id) {
    const auto* number = json.get_ptr<const SortedJson::number_unsigned_t*>();
    if (number == nullptr || *number >= out_.names_.size()) {
      return Bad(where, Excerpt(name) + ": " + Shown(json),
                 "The id is not a whole number below the " + std::to_string(out_.names_.size()) +
                     " tokens there are.",
                 "Ids must run from 0 without a gap.");
    }
    *id = static_cast<int32_t>(*number);
    if (!out_.names_[static_cast<size_t>(*id)].empty()) {
      return Bad(where, Excerpt(name) + ": " + Shown(json), "Two tokens have this id.",
                 "Give every token an id of its own.");
    }
    return Ok{};
  }

  Status ReadVocab(const SortedJson& json) {
    const SortedJson& vocab = Member(Member(json, "model"), "vocab");
    for (const auto& [name, value] : vocab.get_ref<const SortedJson::object_t&>()) {
      if (const auto special = out_.specials_.find(name); special != out_.specials_.end()) {
        if (value != special->second) {
          return Bad("model.vocab", Excerpt(name) + ": " + Shown(value),
                     "added_tokens gives this token another id.", "Make the two ids equal.");
        }
        continue;
      }
      std::string bytes;
      if (!FromAlphabet(name, &bytes)) {
        return Bad("model.vocab", Excerpt(name),
                   "This token has a character outside the byte-level alphabet.",
                   "Use a byte-level vocabulary; special tokens must be listed in added_tokens.");
      }
      int32_t id = -1;
      if (Status status = TakeId("model.vocab", name, value, &id); !status.ok()) return status;
      out_.names_[static_cast<size_t>(id)] = Excerpt(bytes, std::numeric_limits<size_t>::max());
      out_.pieces_[static_cast<size_t>(id)] = bytes;
      ids_[std::move(bytes)] = id;
    }
    for (int byte = 0; byte < 256; ++byte) {
      const auto it = ids_.find(std::string(1, static_cast<char>(byte)));
      if (it == ids_.end()) {
        return Bad("model.vocab", "byte " + std::to_string(byte), "No token stands for this byte.",
                   "A byte-level vocabulary needs all 256 single bytes.");
      }
      out_.byte_ids_.push_back(it->second);
    }
    return Ok{};
  }

  Status ReadMerges(const SortedJson& json) {
    const SortedJson& merges = Member(Member(json, "model"), "merges");
    if (!merges.is_array()) {
      return Bad("model.merges", Shown(merges), "The merges are not a list.",
                 "Give the model's own tokenizer.json.");
    }
    int32_t rank = 0;
    for (const SortedJson& merge : merges) {
      std::string_view left, right;
      if (const auto* text = merge.get_ptr<const std::string*>()) {
        const size_t space = std::min(text->find(' '), text->size());
        left = std::string_view(*text).substr(0, space);
        right = std::string_view(*text).substr(std::min(space + 1, text->size()));
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                 merge[1].is_string()) {
        left = merge[0].get_ref<const std::string&>();
        right = merge[1].get_ref<const std::string&>();
      }
      std::string left_bytes, right_bytes;
      const bool parsed = FromAlphabet(left, &left_bytes) && FromAlphabet(right, &right_bytes);
      const auto a = ids_.find(left_bytes), b = ids_.find(right_bytes);
      const auto joined = ids_.find(left_bytes + right_bytes);
      if (!parsed || a == ids_.end() || b == ids_.end() || joined == ids_.end()) {
        return Bad("model.merges", std::to_string(rank) + ": " + Shown(merge),
                   "This is not a pair of tokens whose joined form is a token too.",
                   "Write \"left right\" or [\"left\", \"right\"] with tokens of the vocabulary.");
      }
      // Of two equal pairs the first has the lower rank and wins.
      out_.merges_.emplace(Tokenizer::PairKey(a->second, b->second),
                           Tokenizer::Merge{rank, joined->second});
      ++rank;
    }
    return Ok{};
  }

  Tokenizer& out_;
  std::string file_;
  std::map<std::string, int32_t> ids_;  // by bytes, special tokens left out
};

Result<Tokenizer> Tokenizer::FromJson(std::string_view json, std::string_view file) {
  const SortedJson parsed =
      SortedJson::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded() || !parsed.is_object()) {
    return Error{ErrorCode::kBadFile, std::string(file), Excerpt(json),
                 "This is not a JSON object.",
                 "Give the model's own tokenizer.json, complete and in UTF-8."};
  }
  Tokenizer tokenizer;
  Status status = TokenizerReader(&tokenizer, file).Read(parsed);
  if (!status.ok()) return status.error();
  return tokenizer;
}

// ---- encoding
// ------------------------------------------------------------------------------------

void Tokenizer::MergePiece(std::string_view piece, std::vector<int32_t>* ids) const {
  // The piece's tokens as a linked list, and the joins that are possible in a heap, lowest rank and
  // then leftmost first. A join that an earlier one overtook is recognised by the ids it was made
  // for.
  struct Node {
    int32_t id, previous, next;  // id -1: joined to the left
  };
  struct Join {
    int32_t rank, at, left, right, id;
    bool operator<(const Join& other) const {  // std heaps put the greatest on top
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };
  const auto size = static_cast<int32_t>(piece.size());
  std::vector<Node> nodes(piece.size());
  std::vector<Join> joins;
  const auto node = [&](int32_t at) -> Node& { return nodes[static_cast<size_t>(at)]; };
  const auto push = [&](int32_t at) {
    if (at < 0 || node(at).next >= size) return;
    const int32_t left = node(at).id, right = node(node(at).next).id;
    const auto it = merges_.find(PairKey(left, right));
    if (it == merges_.end()) return;
    joins.push_back({it->second.rank, at, left, right, it->second.id});
    std::push_heap(joins.begin(), joins.end());
  };
  for (int32_t i = 0; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(piece[static_cast<size_t>(i)]);
    node(i) = {byte_ids_[byte], i - 1, i + 1};
  }
  for (int32_t i = 0; i < size; ++i) push(i);
  while (!joins.empty()) {
    std::pop_heap(joins.begin(), joins.end());
    const Join join = joins.back();
    joins.pop_back();
    Node& left = node(join.at);
    if (left.id != join.left || left.next >= size || node(left.next).id != join.right) continue;
    Node& right = node(left.next);
    left.id = join.id;
    left.next = right.next;
    right.id = -1;
    if (left.next < size) node(left.next).previous = join.at;
    push(left.previous);
    push(join.at);
  }
  for (int32_t i = 0; i < size; i = node(i).next) ids->push_back(node(i).id);
}

std::vector<int32_t> Tokenizer::Encode(std::string_view text) const {
  std::vector<int32_t> ids;
  for (size_t at = 0; at < text.size();) {
    const size_t end = next_piece_(text, at);
    MergePiece(text.substr(at, end - at), &ids);
    at = end;
  }
  return ids;
}

std::vector<int32_t> Tokenizer::EncodeChat(std::string_view system, std::string_view user) const {
  std::vector<int32_t> ids;
  const auto special = [&](std::string_view name) {
    if (const int32_t id = Special(name); id >= 0) ids.push_back(id);
  };
  const auto plain = [&](std::string_view text) {
    const std::vector<int32_t> more = Encode(text);
    ids.insert(ids.end(), more.begin(), more.end());
  };
  special("<|begin|>");
  if (!system.empty()) {
    special("<|system|>");
    plain(system);
  }
  special("<|user|>");
  plain(user);
  special("<|assistant|>");
  return ids;
}

// ---- decoding
// ------------------------------------------------------------------------------------

std::string_view Tokenizer::Piece(int32_t id) const {
  return id < 0 || id >= vocab_size() ? std::string_view() : pieces_[static_cast<size_t>(id)];
}

std::string_view Tokenizer::Name(int32_t id) const {
  return id < 0 || id >= vocab_size() ? std::string_view() : names_[static_cast<size_t>(id)];
}

std::string Tokenizer::Decode(std::span<const int32_t> ids) const {
  std::string text;
  for (int32_t id : ids) text += Piece(id);
  return text;
}

int32_t Tokenizer::Special(std::string_view name) const {
  const auto it = specials_.find(name);
  return it == specials_.end() ? -1 : it->second;
}

}  // namespace novascope::model
