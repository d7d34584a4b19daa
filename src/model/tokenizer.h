// Byte-level BPE from a Hugging Face tokenizer.json: any bytes round-trip. Text is cut into pieces
// by one of the rules in tokenizer.cc's table (a file with another pre-tokenizer is refused, not
// approximated); inside a piece the neighbours with the lowest merge rank are joined, the leftmost
// first, in n log n.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace novascope::model {

class Tokenizer {
 public:
  static Result<Tokenizer> FromJson(std::string_view json, std::string_view file);

  int vocab_size() const { return static_cast<int>(pieces_.size()); }
  // Plain text to ids; the text of special tokens is not special here. Any bytes.
  std::vector<int32_t> Encode(std::string_view text) const;
  // The bytes a token stands for (empty for special tokens).
  std::string_view Piece(int32_t id) const;
  // The token's text as a person reads it, special tokens included.
  std::string_view Name(int32_t id) const;
  std::string Decode(std::span<const int32_t> ids) const;
  // -1 where absent.
  int32_t Special(std::string_view name) const;

  // <|begin|> [<|system|> text] <|user|> text <|assistant|>: how scope-micro is asked. The system
  // part is left out where `system` is empty, and so is a special token that the file does not
  // have.
  std::vector<int32_t> EncodeChat(std::string_view system, std::string_view user) const;

 private:
  friend class TokenizerReader;  // in tokenizer.cc

  struct Merge {
    int32_t rank;
    int32_t id;  // of the joined token
  };
  using NextPiece = size_t (*)(std::string_view text, size_t at);  // where the piece at `at` ends

  static constexpr uint64_t PairKey(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }

  Tokenizer() = default;
  void MergePiece(std::string_view piece, std::vector<int32_t>* ids) const;

  std::vector<std::string> pieces_;             // bytes by id
  std::vector<std::string> names_;              // readable form by id
  std::unordered_map<uint64_t, Merge> merges_;  // by PairKey; only ever looked up, never iterated
  std::map<std::string, int32_t, std::less<>> specials_;
  std::vector<int32_t> byte_ids_;  // the 256 single-byte tokens
  NextPiece next_piece_ = nullptr;
};

}  // namespace novascope::model
