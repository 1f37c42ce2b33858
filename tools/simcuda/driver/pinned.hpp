// SPDX-License-Identifier: Apache-2.0
// Page-locked host memory: ordinary memory that pointer queries know about.
#pragma once

#include "api.hpp"

#include <cstdint>
#include <optional>

namespace quantjit::simdriver {

struct Pinned {
  std::uintptr_t start = 0;
  std::size_t bytes = 0;
  CUcontext context = nullptr;
  int ordinal = 0;
};

/// Throws std::bad_alloc.
[[nodiscard]] void* allocate_pinned(std::size_t bytes, CUcontext context, int ordinal);

/// False when `pointer` is not the start of a live allocation.
[[nodiscard]] bool free_pinned(void* pointer);

void free_pinned_of(CUcontext context);

/// The live allocation that holds `address`.
[[nodiscard]] std::optional<Pinned> find_pinned(std::uintptr_t address);

}  // namespace quantjit::simdriver
