// Weights: a safetensors file as read. Tensors are views into the file's bytes (owned here; float
// data that is not aligned for its type is copied); nothing is converted on load, except that
// E4M3FN codes which Trainium2's E4M3 does not have (0x78..0x7E, 256..448) are re-based: an output
// channel with one of them has its codes halved and its scale doubled, so that every magnitude is
// at most 240, and `notes` says so. Halving is exact but for codes with an odd last bit below 2^-5,
// which round to even.
// `<name>_scale` ([out], [out, 1], or one number for all) becomes the scale of tensor `<name>`.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/spec.h"
#include "numerics/format.h"

namespace novascope::model {

struct Tensor {
  numerics::FormatId format = numerics::FormatId::kFP32;  // F8_E4M3 files read as kE4M3
  std::vector<int64_t> shape;                             // [out, in] or [n]
  std::span<const uint8_t> bytes;
  std::span<const float> scale;  // per output channel; empty where the file has none (all 1)
};

class Weights {
 public:
  // Parses a whole file; every offset, shape and size is checked before use. `file` names it in
  // errors.
  static Result<Weights> FromSafetensors(std::vector<uint8_t> bytes, std::string_view file);

  Weights(Weights&&) = default;
  Weights& operator=(Weights&&) = default;

  // Null where absent.
  const Tensor* Find(std::string_view name) const;
  const std::map<std::string, Tensor, std::less<>>& tensors() const { return tensors_; }
  // Sentences for the user: re-basing, ignored tensors.
  const std::vector<std::string>& notes() const { return notes_; }
  uint64_t file_bytes() const { return file_.size(); }

  // Row `row` of an [out, in] tensor as FP32, scale applied: what a matmul sees. `out` is [in]. A
  // vector [n] is one row, with a scale per element.
  static void DequantizeRow(const Tensor& tensor, int64_t row, float* out);

 private:
  friend class SafetensorsReader;  // in weights.cc
  Weights() = default;
  std::vector<uint8_t> file_;
  std::vector<std::vector<uint8_t>> copies_;  // re-based codes, unaligned float data
  std::vector<std::vector<float>> scales_;    // one per tensor with a scale
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::vector<std::string> notes_;
};

// Every tensor the spec needs is there with the right shape and a format we can run, and none that
// would change the result if left out (biases, more layers); the Error names the first. Names are
// Hugging Face's ("model.layers.0.self_attn.q_proj.weight").
Status CheckWeights(const ModelSpec& spec, const Weights& weights, std::string_view file);

}  // namespace novascope::model
