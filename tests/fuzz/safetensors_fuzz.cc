// Any bytes as a safetensors file: refused with a complete Error, or every view lies inside the
// file.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "model/spec.h"
#include "model/weights.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using novascope::model::Weights;
  const novascope::Result<Weights> result = Weights::FromSafetensors({data, data + size}, "f");
  if (!result.ok()) {
    const novascope::Error& error = result.error();
    Require(!error.field.empty() && !error.message.empty() && !error.fix.empty());
    return 0;
  }
  volatile double sum = 0;  // so that the reads stay
  for (const auto& [name, tensor] : result.value().tensors()) {
    const bool vector = tensor.shape.size() < 2;
    const int64_t rows = vector ? 1 : tensor.shape[0];
    std::vector<float> row(tensor.bytes.size());
    for (int64_t i : {int64_t{0}, rows - 1}) {
      Weights::DequantizeRow(tensor, i, row.data());
      for (float value : row) sum = sum + value;
    }
    for (uint8_t byte : tensor.bytes) sum = sum + byte;
  }
  const novascope::Status status =
      novascope::model::CheckWeights(novascope::model::Models()[0], result.value(), "f");
  Require(!status.ok());  // a file this small is never the whole model
  return 0;
}
