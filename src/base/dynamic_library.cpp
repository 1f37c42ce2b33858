// SPDX-License-Identifier: Apache-2.0
#include "src/base/dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <system_error>

namespace quantjit::base {

DynamicLibrary DynamicLibrary::open(const std::string& name, OpenFailure* failure) {
  DynamicLibrary library;
  library.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ == nullptr && failure != nullptr) {
    const char* const reason =
        dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it per thread
    failure->reason = reason != nullptr ? reason : "unknown reason";
  }
  return library;
}

void* DynamicLibrary::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

std::string DynamicLibrary::path() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) {
    return {};
  }
  return map->l_name;
}

std::optional<std::string> find_loaded_library(std::string_view prefix) {
  struct Search {
    std::string_view prefix;
    std::optional<std::string> found;
  } search{prefix, std::nullopt};

  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        const std::string_view path = info->dlpi_name != nullptr ? info->dlpi_name : "";
        const std::string_view file = path.substr(path.rfind('/') + 1);  // npos + 1 == 0
        if (!file.starts_with(wanted.prefix)) {
          return 0;
        }
        wanted.found = std::string(path);
        return 1;
      },
      &search);
  return search.found;
}

std::filesystem::path executable_directory() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path{} : path.parent_path();
}

std::filesystem::path own_library_directory() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_library_directory), &info) == 0 ||
      info.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  const auto path = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path{} : path.parent_path();
}

}  // namespace quantjit::base
