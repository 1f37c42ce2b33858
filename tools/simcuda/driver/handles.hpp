// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace quantjit::simdriver {

/// A handle value that no object had before. Values are never given out again, so that every use of
/// a destroyed handle is recognised; a real driver would follow the stale pointer.
inline std::uintptr_t new_handle_value() {
  static std::atomic<std::uintptr_t> next{0x51ac0000};
  return next.fetch_add(64, std::memory_order_relaxed);
}

/// Maps opaque driver handles to objects.
///
/// Thread safety: all members may be called concurrently. An object found stays alive for the
/// caller even when another thread removes its handle meanwhile.
template <class Handle, class Object>
class HandleTable {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const auto handle = reinterpret_cast<Handle>(new_handle_value());
    const std::unique_lock lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }

  /// Null for a handle that is not live.
  [[nodiscard]] std::shared_ptr<Object> find(Handle handle) const {
    const std::shared_lock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

  /// Removes the handle; null when it was not live.
  std::shared_ptr<Object> take(Handle handle) {
    const std::unique_lock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) {
      return nullptr;
    }
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  /// Removes every handle whose object satisfies `condition` and returns those objects.
  template <class Condition>
  std::vector<std::shared_ptr<Object>> take_if(Condition condition) {
    std::vector<std::shared_ptr<Object>> taken;
    const std::unique_lock lock(mutex_);
    for (auto entry = objects_.begin(); entry != objects_.end();) {
      if (condition(*entry->second)) {
        taken.push_back(std::move(entry->second));
        entry = objects_.erase(entry);
      } else {
        ++entry;
      }
    }
    return taken;
  }

  [[nodiscard]] std::vector<std::shared_ptr<Object>> all() const {
    const std::shared_lock lock(mutex_);
    std::vector<std::shared_ptr<Object>> objects;
    objects.reserve(objects_.size());
    for (const auto& entry : objects_) {
      objects.push_back(entry.second);
    }
    return objects;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<Handle, std::shared_ptr<Object>> objects_;
};

}  // namespace quantjit::simdriver
