// SPDX-License-Identifier: Apache-2.0
#include "src/service/kept_libraries.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace quantjit::service {
namespace {

struct Kept {
  const driver::DriverApi* api;
  driver::Image code;
  std::shared_ptr<const driver::Library> library;
};

struct Registry {
  std::mutex mutex;                         // guards by_key
  std::multimap<std::string, Kept> by_key;  // of the entry
};

/// Never destroyed: at the end of the process the driver may be gone before any destructor runs.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

}  // namespace

void keep_loaded(const driver::DriverApi& api, const detail::ImageState& image,
                 const std::shared_ptr<const driver::Library>& library) {
  const std::lock_guard lock(registry().mutex);
  const auto [first, last] = registry().by_key.equal_range(image.info.key);
  if (std::none_of(first, last,
                   [&](const auto& entry) { return entry.second.library == library; })) {
    registry().by_key.emplace(image.info.key, Kept{&api, image.code, library});
  }
}

std::shared_ptr<const driver::Library> find_kept(const driver::DriverApi& api,
                                                 const detail::ImageState& image) {
  const std::lock_guard lock(registry().mutex);
  const auto [first, last] = registry().by_key.equal_range(image.info.key);
  for (auto entry = first; entry != last; ++entry) {
    const Kept& kept = entry->second;
    // Compiling the same key again may give other bytes of the same meaning.
    if (kept.api == &api && (kept.code == image.code || *kept.code == *image.code)) {
      return kept.library;
    }
  }
  return nullptr;
}

}  // namespace quantjit::service
