// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stdlib.h>  // mkdtemp
#include <string>

namespace quantjit::test {

/// A directory of mode 0700 beneath the system's temporary one, removed with all it holds.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "quantjit-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }

  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace quantjit::test
