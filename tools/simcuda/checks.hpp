// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "warp.hpp"

// The slower side of memory checking: what is called when the fast test fails, or not often.
namespace quantjit::sim {

/// The allocation that holds [address, address + bytes), from the CTA's cache or the memory's
/// table; null when there is none.
[[nodiscard]] const Allocation* lookup(Cta& cta, std::uint64_t address, std::uint64_t bytes);

/// Reports an address that lookup() does not find.
[[noreturn]] void raise_unmapped(const Warp& warp, const Op& op, unsigned lane,
                                 std::uint64_t address, std::uint64_t bytes, bool write);
[[noreturn]] void raise_misaligned(const Warp& warp, const Op& op, unsigned lane,
                                   std::uint64_t address, std::uint64_t bytes);
[[noreturn]] void raise_uninitialized(const Warp& warp, const Op& op, unsigned lane,
                                      std::uint64_t address, std::uint64_t bytes);
[[noreturn]] void raise_read_only(const Warp& warp, const Op& op, unsigned lane,
                                  std::uint64_t address);

/// The tag of a store by `lane` now.
[[nodiscard]] inline std::uint64_t writer_tag(const Warp& warp, unsigned lane) {
  return (warp.cta->serial << kTagSerialShift) |
         (std::uint64_t{warp.first_thread + lane} << kTagThreadShift) |
         ((warp.cta->epoch & kTagEpochMask) << kTagEpochShift) | (warp.sync_epoch & kTagSyncMask);
}

/// Notes a store of `bytes` new bytes at `offset` in the allocation, before it is done; reports a
/// race with an unordered store of other bytes.
void note_global_store(const Warp& warp, const Op& op, unsigned lane, const Allocation& at,
                       std::uint64_t offset, unsigned bytes, const std::uint8_t* values);
/// Forgets who wrote: the bytes are changed by an access that orders by itself.
void forget_writers(const Allocation& at, std::uint64_t offset, unsigned bytes);

void check_shared_load(Warp& warp, const Op& op, unsigned lane, std::uint64_t offset,
                       unsigned bytes);
void note_shared_store(Warp& warp, const Op& op, unsigned lane, std::uint64_t offset,
                       unsigned bytes, const std::uint8_t* values);

/// Records accesses of lanes that have not passed griddepcontrol.wait.
void note_early(const Warp& warp, const Op& op, const std::uint64_t* addresses, std::uint32_t lanes,
                unsigned bytes, bool write);

}  // namespace quantjit::sim
