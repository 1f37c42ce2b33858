// SPDX-License-Identifier: Apache-2.0
#include "src/nvrtc/find_nvrtc.hpp"

#include "src/base/dynamic_library.hpp"
#include "src/base/file.hpp"
#include "src/nvrtc/loader_cache.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace quantjit::nvrtc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFilePrefix = "libnvrtc.so";
constexpr int kOldestMajor = 12;  // older file names cannot be a version that is accepted

#if defined(__aarch64__)
constexpr const char* kMultiarch = "aarch64-linux-gnu";
constexpr const char* kToolkitTargets[] = {"targets/sbsa-linux/lib", "targets/aarch64-linux/lib"};
#else
constexpr const char* kMultiarch = "x86_64-linux-gnu";
constexpr const char* kToolkitTargets[] = {"targets/x86_64-linux/lib"};
#endif

/// A directory to look into, or one file.
struct Place {
  Origin origin;
  fs::path path;
  bool is_file = false;
};

/// The numbers in a text such as "13", "12.8" or "cuda-12.10"; what is no number separates.
std::vector<int> numbers_in(std::string_view text) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error == std::errc{} && number >= 0) {
      numbers.push_back(number);
      at = next;
    } else {
      ++at;
    }
  }
  return numbers;
}

/// "13" of "libnvrtc.so.13"; nothing if the name is not that of an NVRTC library.
std::optional<std::string> version_in_name(const std::string& file_name) {
  if (!std::string_view(file_name).starts_with(kFilePrefix)) {
    return std::nullopt;
  }
  const std::string rest = file_name.substr(kFilePrefix.size());
  const bool is_version =
      rest.empty() || (rest[0] == '.' && rest.size() > 1 &&
                       rest.find_first_not_of("0123456789.") == std::string::npos);
  return is_version ? std::optional(rest.empty() ? rest : rest.substr(1)) : std::nullopt;
}

bool may_be_new_enough(const std::string& version) {
  const auto numbers = numbers_in(version);
  return numbers.empty() || numbers.front() >= kOldestMajor;
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// Entries of a directory whose name begins with `prefix`, the highest numbers first.
std::vector<fs::path> entries(const fs::path& directory, std::string_view prefix) {
  std::vector<fs::path> result;
  std::error_code error;
  fs::directory_iterator at(directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    if (at->path().filename().string().starts_with(prefix)) {
      result.push_back(at->path());
    }
  }
  const auto rank = [](const fs::path& path) { return numbers_in(path.filename().string()); };
  std::sort(result.begin(), result.end(), [&rank](const fs::path& left, const fs::path& right) {
    const auto left_rank = rank(left);
    const auto right_rank = rank(right);
    return left_rank != right_rank ? left_rank > right_rank : left < right;
  });
  return result;
}

std::optional<FoundLibrary> in_file(const fs::path& path, Origin origin) {
  const auto version = version_in_name(path.filename().string());
  if (!version || !may_be_new_enough(*version) || !is_file(path)) {
    return std::nullopt;
  }
  return FoundLibrary{path, origin, *version};
}

std::optional<FoundLibrary> in_directory(const fs::path& directory, Origin origin) {
  for (const fs::path& candidate : entries(directory, kFilePrefix)) {
    if (auto found = in_file(candidate, origin)) {
      return found;
    }
  }
  return std::nullopt;
}

/// Collects places in order, each once.
class PlaceList {
 public:
  void add(Origin origin, const fs::path& path, bool is_file = false) {
    const auto same = [&path](const Place& place) { return place.path == path; };
    if (!path.empty() && std::none_of(places_.begin(), places_.end(), same)) {
      places_.push_back({origin, path, is_file});
    }
  }

  void add_toolkit(const fs::path& root) {
    if (root.empty()) {
      return;
    }
    add(Origin::kToolkit, root / "lib64");
    add(Origin::kToolkit, root / "lib");
    for (const char* const target : kToolkitTargets) {
      add(Origin::kToolkit, root / target);
    }
  }

  /// Folders of NVIDIA's wheels below a site-packages folder.
  void add_site_packages(const fs::path& site) {
    for (const fs::path& wheel : entries(site / "nvidia", "cu")) {
      const std::string name = wheel.filename().string();
      if (name == "cuda_nvrtc" || name.find_first_not_of("0123456789", 2) == std::string::npos) {
        add(Origin::kPythonWheel, wheel / "lib");
      }
    }
  }

  /// A Python installation or virtual environment: <root>/lib/python3.x/{site,dist}-packages.
  void add_python(const fs::path& root) {
    for (const char* const lib : {"lib", "lib64"}) {
      for (const fs::path& python : entries(root / lib, "python3")) {
        add_site_packages(python / "site-packages");
        add_site_packages(python / "dist-packages");
      }
    }
  }

  [[nodiscard]] std::vector<Place> take() && { return std::move(places_); }

 private:
  std::vector<Place> places_;
};

void add_loader_path(PlaceList& list, const SearchOptions& options) {
  for (const fs::path& directory : options.loader_directories) {
    list.add(Origin::kLoaderPath, directory);
  }
  if (const auto cache = base::read_file(options.system_root / "etc/ld.so.cache")) {
    const auto bytes = std::as_bytes(std::span(cache->data(), cache->size()));
    for (const fs::path& library : libraries_in_loader_cache(bytes, kFilePrefix)) {
      list.add(Origin::kLoaderPath, options.system_root / library.relative_path(), true);
    }
  }
  for (const char* const directory : {"lib64", "usr/lib64", "lib", "usr/lib"}) {
    list.add(Origin::kLoaderPath, options.system_root / directory);
  }
}

/// Everything behind the option and the loaded copy, in search order.
std::vector<Place> places(const SearchOptions& options) {
  PlaceList list;
  const fs::path& root = options.system_root;
  for (const fs::path& directory : options.beside) {
    list.add(Origin::kBeside, directory);
  }
  for (const fs::path& toolkit : options.toolkit_roots) {
    list.add_toolkit(toolkit);
  }
  list.add_toolkit(root / "usr/local/cuda");
  for (const fs::path& toolkit : entries(root / "usr/local", "cuda-")) {
    list.add_toolkit(toolkit);
  }
  list.add(Origin::kToolkit, root / "usr/lib" / kMultiarch);
  list.add_toolkit(root / "opt/cuda");
  for (const fs::path& python : options.python_roots) {
    list.add_python(python);
  }
  for (const char* const prefix : {"usr/local", "usr", "opt/venv", "opt/conda"}) {
    list.add_python(root / prefix);
  }
  add_loader_path(list, options);
  return std::move(list).take();
}

}  // namespace

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::kOption: return "option";
    case Origin::kLoaded: return "loaded";
    case Origin::kBeside: return "beside";
    case Origin::kToolkit: return "toolkit";
    case Origin::kPythonWheel: return "python wheel";
    default: return "loader path";
  }
}

std::vector<fs::path> own_directories() {
  std::vector<fs::path> result;
  for (fs::path directory : {base::executable_directory(), base::own_library_directory()}) {
    if (!directory.empty() && std::find(result.begin(), result.end(), directory) == result.end()) {
      result.push_back(std::move(directory));
    }
  }
  return result;
}

std::optional<FoundLibrary> find_nvrtc(const SearchOptions& options) {
  if (options.library) {
    // Whoever names a library gets that one, whatever its name or version says.
    if (!is_file(*options.library)) {
      return std::nullopt;
    }
    const auto version = version_in_name(options.library->filename().string());
    return FoundLibrary{*options.library, Origin::kOption, version.value_or("")};
  }
  if (options.loaded == LoadedCopy::kPrefer) {
    if (const auto loaded = base::find_loaded_library(kFilePrefix)) {
      if (auto found = in_file(*loaded, Origin::kLoaded)) {
        return found;
      }
    }
  }
  for (const Place& place : places(options)) {
    auto found =
        place.is_file ? in_file(place.path, place.origin) : in_directory(place.path, place.origin);
    if (found) {
      return found;
    }
  }
  return std::nullopt;
}

std::vector<std::string> searched_places(const SearchOptions& options) {
  if (options.library) {
    return {options.library->string()};
  }
  std::vector<std::string> result;
  for (const Place& place : places(options)) {
    result.push_back(place.path.string());
  }
  return result;
}

}  // namespace quantjit::nvrtc
