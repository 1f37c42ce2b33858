// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/output_file.hpp"

#include "tools/cli/context.hpp"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

namespace quantjit::cli {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw CommandFailure(path + " cannot be written: " + reason);
}

std::string reason_of(int error) {
  return std::error_code(error, std::generic_category()).message();
}

}  // namespace

void write_output_file(const std::string& path, std::span<const std::byte> bytes) {
  errno = 0;
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    fail(path, reason_of(errno));
  }
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const int write_error = errno;
  if (std::fclose(file) != 0 || !written) {
    fail(path, reason_of(written ? errno : write_error));
  }
}

void make_output_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    fail(path, error.message());
  }
  if (!std::filesystem::is_directory(path, error)) {
    fail(path, "it is no directory");
  }
}

}  // namespace quantjit::cli
