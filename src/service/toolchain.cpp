// SPDX-License-Identifier: Apache-2.0
#include "src/service/toolchain.hpp"

#include "src/base/settings.hpp"

#include <quantjit/error.hpp>

namespace quantjit::service {

const Toolchain::Found* Toolchain::find() {
  const std::lock_guard lock(mutex_);
  if (!searched_) {
    searched_ = true;
    if (auto library = nvrtc::find_nvrtc(search_)) {
      if (auto identity = identities_.identify(library->path)) {
        auto compiler = std::make_unique<nvrtc::Nvrtc>(library->path);
        found_ = std::make_unique<Found>(
            Found{std::move(*library), std::move(*identity), std::move(compiler)});
      }
    }
  }
  return found_.get();
}

const Toolchain::Found& Toolchain::require(const std::string& traits_text,
                                           const std::string& arch) {
  if (const Found* const found = find()) {
    return *found;
  }
  CompileError::Details details{.traits = traits_text,
                                .arch = arch,
                                .options = {},
                                .nvrtc_path = search_.library ? search_.library->string() : "",
                                .nvrtc_version = {},
                                .log = {}};
  std::string message = "cannot compile " + traits_text + " for " + arch + ": ";
  if (search_.library) {
    message +=
        "there is no NVRTC at " + search_.library->string() +
        ", which was given explicitly (QUANTJIT_NVRTC or option); correct the path or remove it";
    throw CompileError(message, std::move(details));
  }
  message +=
      "no libnvrtc was found; install the Python wheel nvidia-cuda-nvrtc or a CUDA toolkit (12.8 "
      "or newer), or "
      "set QUANTJIT_NVRTC. Searched:";
  for (const std::string& place : nvrtc::searched_places(search_)) {
    message += "\n  " + place;
  }
  throw CompileError(message, std::move(details));
}

bool Toolchain::is_loaded() const {
  const std::lock_guard lock(mutex_);
  return found_ != nullptr && found_->compiler->is_loaded();
}

nvrtc::SearchOptions nvrtc_search(const std::optional<std::string>& library) {
  nvrtc::SearchOptions search;
  if (library) {
    search.library = *library;
    return search;
  }
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto root = base::environment(name); root && !root->empty()) {
      search.toolkit_roots.emplace_back(*root);
    }
  }
  for (const char* const name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto root = base::environment(name); root && !root->empty()) {
      search.python_roots.emplace_back(*root);
    }
  }
  if (const auto list = base::environment("LD_LIBRARY_PATH")) {
    for (std::size_t start = 0; start <= list->size();) {
      const std::size_t end = std::min(list->find(':', start), list->size());
      if (end > start) {
        search.loader_directories.emplace_back(list->substr(start, end - start));
      }
      start = end + 1;
    }
  }
  return search;
}

}  // namespace quantjit::service
