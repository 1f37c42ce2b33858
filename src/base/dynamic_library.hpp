// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace quantjit::base {

/// A dlopen'd library. Move-only owner; by default it stays loaded for the life of the process,
/// since neither the CUDA driver nor NVRTC survive being unloaded.
class DynamicLibrary {
 public:
  /// What a failed open says: the loader's own text.
  struct OpenFailure {
    std::string reason;
  };

  DynamicLibrary() = default;
  /// Opens `name` (a path or a soname) with RTLD_NOW | RTLD_LOCAL. On failure the result is empty
  /// and `failure`, if given, holds the loader's text.
  static DynamicLibrary open(const std::string& name, OpenFailure* failure = nullptr);

  [[nodiscard]] explicit operator bool() const { return handle_ != nullptr; }

  /// Address of a symbol, or null.
  [[nodiscard]] void* symbol(const char* name) const;
  /// Path of the file the loader mapped (resolved through the link map).
  [[nodiscard]] std::string path() const;

 private:
  void* handle_ = nullptr;
};

/// Path of a library whose file name starts with `prefix` and which is already mapped into this
/// process, found without loading anything.
[[nodiscard]] std::optional<std::string> find_loaded_library(std::string_view prefix);

/// Directory of the running executable; empty if unknown.
[[nodiscard]] std::filesystem::path executable_directory();
/// Directory of the shared object (or executable) that this code was linked into; empty if unknown.
[[nodiscard]] std::filesystem::path own_library_directory();

}  // namespace quantjit::base
