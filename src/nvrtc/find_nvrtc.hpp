// SPDX-License-Identifier: Apache-2.0
// Where libnvrtc is, found without loading it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::nvrtc {

/// Which place of the search order a library was found in.
enum class Origin : std::uint8_t {
  kOption,       ///< the path that was asked for
  kLoaded,       ///< mapped into this process already
  kBeside,       ///< beside the executable or beside this library
  kToolkit,      ///< a CUDA toolkit
  kPythonWheel,  ///< NVIDIA's Python wheels
  kLoaderPath,   ///< the dynamic loader's directories
};

/// "option", "loaded", "beside", "toolkit", "python wheel" or "loader path".
[[nodiscard]] std::string_view to_string(Origin origin);

/// Whether a copy that is mapped into the process already is taken first.
enum class LoadedCopy : std::uint8_t { kPrefer, kIgnore };

/// Directory of the executable and directory of this library, without doubles.
[[nodiscard]] std::vector<std::filesystem::path> own_directories();

/// Where to look. Nothing here is read from the environment: whoever knows it passes it in.
struct SearchOptions {
  /// The library to use; if it does not exist there is none, and nothing else is searched.
  std::optional<std::filesystem::path> library;
  LoadedCopy loaded = LoadedCopy::kPrefer;
  std::vector<std::filesystem::path> beside = own_directories();
  /// Toolkit roots, best first, such as CUDA_HOME and CUDA_PATH. The usual places follow by
  /// themselves.
  std::vector<std::filesystem::path> toolkit_roots;
  /// Python environments (the folder that holds lib/python3.x), such as VIRTUAL_ENV. The usual
  /// places follow.
  std::vector<std::filesystem::path> python_roots;
  /// Directories of LD_LIBRARY_PATH. The directories of the loader's cache and the standard ones
  /// follow.
  std::vector<std::filesystem::path> loader_directories;
  /// Root of the file system under which the usual places are looked for.
  std::filesystem::path system_root = "/";
};

struct FoundLibrary {
  std::filesystem::path path;
  Origin origin = Origin::kOption;
  /// Version in the file name, e.g. "13" of libnvrtc.so.13; empty where the name has none.
  std::string soname_version;
};

/// The libnvrtc that would be used. Search order: the option, a loaded copy, beside, toolkits,
/// Python wheels, the loader's path. Of several versions in one directory the newest is taken.
/// Loads nothing. Throws: nothing but std::bad_alloc; unreadable directories are passed over.
[[nodiscard]] std::optional<FoundLibrary> find_nvrtc(const SearchOptions& options = {});

/// The directories and paths that find_nvrtc() looks at, in order, for messages.
[[nodiscard]] std::vector<std::string> searched_places(const SearchOptions& options);

}  // namespace quantjit::nvrtc
