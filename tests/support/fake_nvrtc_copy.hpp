// SPDX-License-Identifier: Apache-2.0
// A fake compiler library (fake_nvrtc.cpp) where a test wants it.
#pragma once

#include "src/base/dynamic_library.hpp"
#include "tests/support/temporary_directory.hpp"

#include <filesystem>
#include <string>

namespace quantjit::test {

/// A private copy of one fake compiler.
class FakeNvrtc {
 public:
  explicit FakeNvrtc(const std::string& variant)
      : path_(directory_.path() / ("libnvrtc-" + variant + ".so")) {
    std::filesystem::copy_file(built("fake_nvrtc_" + variant + ".so"), path_);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  void add_builtins() const {
    std::filesystem::copy_file(built("fake_builtins.so"),
                               directory_.path() / "libnvrtc-builtins.so.13.78");
  }

 private:
  static std::filesystem::path built(const std::string& name) {
    return base::executable_directory() / "fake_nvrtc" / name;
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_;
};

}  // namespace quantjit::test
