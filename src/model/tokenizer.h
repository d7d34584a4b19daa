// Byte-level BPE from a Hugging Face tokenizer.json: any bytes round-trip.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
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

  // <|begin|> [<|system|> text] <|user|> text <|assistant|>: how scope-micro is asked.
  std::vector<int32_t> EncodeChat(std::string_view system, std::string_view user) const;

 private:
  Tokenizer() = default;
  void MergeWord(std::string_view word, std::vector<int32_t>* ids) const;

  std::vector<std::string> pieces_;  // bytes by id
  std::vector<std::string> names_;   // readable form by id
  std::map<std::string, int32_t, std::less<>> ids_;
  std::map<std::pair<int32_t, int32_t>, std::pair<int32_t, int32_t>> merges_;  // pair -> (rank, id)
  std::map<std::string, int32_t, std::less<>> specials_;
  std::vector<int32_t> byte_ids_;  // the 256 single-byte tokens
};

}  // namespace novascope::model
