// Files of the source tree, for tests.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <iterator>
#include <string>

namespace novascope::model {

inline std::string ReadSourceFile(const std::string& path) {
  std::ifstream stream(std::string(NOVASCOPE_SOURCE_DIR) + "/" + path, std::ios::binary);
  INFO(path);
  REQUIRE(stream.good());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace novascope::model
