// SPDX-License-Identifier: Apache-2.0
#include "pinned.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

namespace quantjit::simdriver {

namespace {

constexpr std::size_t kPage = 4096;

struct PinnedTable {
  std::mutex mutex;
  std::map<std::uintptr_t, Pinned> live;
};

PinnedTable& table() {
  static auto* state = new PinnedTable;
  return *state;
}

}  // namespace

void* allocate_pinned(std::size_t bytes, CUcontext context, int ordinal) {
  const std::size_t rounded = (bytes + kPage - 1) / kPage * kPage;
  void* pointer = rounded < bytes ? nullptr : std::aligned_alloc(kPage, std::max(rounded, kPage));
  if (pointer == nullptr) {
    throw std::bad_alloc();
  }
  const auto start = reinterpret_cast<std::uintptr_t>(pointer);
  const std::lock_guard lock(table().mutex);
  table().live[start] = {start, bytes, context, ordinal};
  return pointer;
}

bool free_pinned(void* pointer) {
  {
    const std::lock_guard lock(table().mutex);
    if (table().live.erase(reinterpret_cast<std::uintptr_t>(pointer)) == 0) {
      return false;
    }
  }
  std::free(pointer);
  return true;
}

void free_pinned_of(CUcontext context) {
  const std::lock_guard lock(table().mutex);
  auto& live = table().live;
  for (auto entry = live.begin(); entry != live.end();) {
    if (entry->second.context == context) {
      std::free(reinterpret_cast<void*>(entry->first));
      entry = live.erase(entry);
    } else {
      ++entry;
    }
  }
}

std::optional<Pinned> find_pinned(std::uintptr_t address) {
  const std::lock_guard lock(table().mutex);
  auto entry = table().live.upper_bound(address);
  if (entry == table().live.begin()) {
    return std::nullopt;
  }
  --entry;
  if (address - entry->first >= entry->second.bytes) {
    return std::nullopt;
  }
  return entry->second;
}

}  // namespace quantjit::simdriver
