// SPDX-License-Identifier: Apache-2.0
// The libnvrtc that the tests compile with.
#pragma once

#include "src/base/dynamic_library.hpp"
#include "src/base/settings.hpp"
#include "src/nvrtc/find_nvrtc.hpp"

#include <filesystem>
#include <stdexcept>

namespace quantjit::test {

/// Where the tests look: the settings, then what the build tree holds (`cuda` and `venv` in a
/// folder above the test program), then the usual places.
inline nvrtc::SearchOptions nvrtc_search_of_tests() {
  nvrtc::SearchOptions options;
  if (const auto library = base::environment("QUANTJIT_NVRTC")) {
    options.library = *library;
  }
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto root = base::environment(name)) {
      options.toolkit_roots.emplace_back(*root);
    }
  }
  auto folder = base::executable_directory();
  for (; folder != folder.parent_path(); folder = folder.parent_path()) {
    options.toolkit_roots.push_back(folder / "cuda");
    options.python_roots.push_back(folder / "venv");
  }
  return options;
}

/// Path of the library. Throws std::runtime_error if there is none: these tests need it.
inline std::filesystem::path nvrtc_path_of_tests() {
  const auto found = nvrtc::find_nvrtc(nvrtc_search_of_tests());
  if (!found) {
    throw std::runtime_error("the tests need libnvrtc 12.8 or newer and found none");
  }
  return found->path;
}

}  // namespace quantjit::test
