// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace quantjit::fuzz {

/// A file in memory, for readers that want a path: one for the whole run, refilled for each input.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("quantjit-fuzz", MFD_CLOEXEC)) {
    path_ = "/proc/self/fd/" + std::to_string(file_);
  }

  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  ~MemoryFile() { ::close(file_); }

  const std::filesystem::path& fill(const std::uint8_t* data, std::size_t size) {
    if (::ftruncate(file_, 0) != 0 ||
        ::pwrite(file_, data, size, 0) != static_cast<ssize_t>(size)) {
      throw std::runtime_error("a file in memory cannot be written");
    }
    return path_;
  }

 private:
  int file_;
  std::filesystem::path path_;
};

}  // namespace quantjit::fuzz
