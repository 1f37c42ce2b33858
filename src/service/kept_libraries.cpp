// SPDX-License-Identifier: Apache-2.0
#include "src/service/kept_libraries.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace quantjit::service {
namespace {

using Identity = std::pair<const driver::DriverApi*, std::string>;

/// More than one library of a key only if services loaded it at the same moment.
struct Registry {
  std::mutex mutex;  // guards libraries
  std::multimap<Identity, std::shared_ptr<const driver::Library>> libraries;
};

/// Never destroyed: at the end of the process the driver may be gone before any destructor runs.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

}  // namespace

void keep_loaded(const driver::DriverApi& api, const std::string& key,
                 const std::shared_ptr<const driver::Library>& library) {
  const std::lock_guard lock(registry().mutex);
  const auto [first, last] = registry().libraries.equal_range({&api, key});
  if (std::none_of(first, last, [&](const auto& kept) { return kept.second == library; })) {
    registry().libraries.emplace(Identity{&api, key}, library);
  }
}

std::shared_ptr<const driver::Library> find_kept(const driver::DriverApi& api,
                                                 const std::string& key) {
  const std::lock_guard lock(registry().mutex);
  const auto kept = registry().libraries.find({&api, key});
  return kept != registry().libraries.end() ? kept->second : nullptr;
}

}  // namespace quantjit::service
