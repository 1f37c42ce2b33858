// SPDX-License-Identifier: Apache-2.0
#include "src/base/file.hpp"

#include <fstream>
#include <iterator>
#include <system_error>

namespace quantjit::base {

std::optional<std::string> read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return std::nullopt;
  }
  std::ifstream stream(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream.good() && !stream.eof()) {
    return std::nullopt;
  }
  return content;
}

}  // namespace quantjit::base
