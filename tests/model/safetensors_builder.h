// Writes safetensors files for the tests, right ones and wrong ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace novascope::model {

struct FileTensor {
  std::string name;
  std::string dtype;
  std::string shape;  // as JSON: "[2, 3]"
  std::vector<uint8_t> bytes;
};

inline std::vector<uint8_t> FloatBytes(const std::vector<float>& values) {
  std::vector<uint8_t> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Length, header and data as they stand; `length` may lie.
inline std::vector<uint8_t> RawFile(uint64_t length, std::string_view header,
                                    const std::vector<uint8_t>& data) {
  std::vector<uint8_t> file;
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<uint8_t>(length >> (8 * i)));
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

inline std::vector<uint8_t> RawFile(std::string_view header, const std::vector<uint8_t>& data) {
  return RawFile(header.size(), header, data);
}

// A right file. The header is padded with spaces to `align` bytes and `skew` more.
inline std::vector<uint8_t> BuildFile(const std::vector<FileTensor>& tensors, size_t align = 8,
                                      size_t skew = 0) {
  std::string header = R"({"__metadata__":{"format":"pt"})";
  std::vector<uint8_t> data;
  for (const FileTensor& t : tensors) {
    const size_t begin = data.size();
    data.insert(data.end(), t.bytes.begin(), t.bytes.end());
    header += ",\"" + t.name + "\":{\"dtype\":\"" + t.dtype + "\",\"shape\":" + t.shape +
              ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(data.size()) +
              "]}";
  }
  header += "}";
  while (header.size() % align != 0) header += ' ';
  header.append(skew, ' ');
  return RawFile(header, data);
}

}  // namespace novascope::model
