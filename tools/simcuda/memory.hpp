// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

namespace quantjit::sim {

/// Anonymous, lazily backed pages: touching a byte costs a page, reserving it costs nothing.
class Pages {
 public:
  Pages() = default;
  /// Reserves `bytes` zero bytes. Throws std::bad_alloc when address space is exhausted.
  explicit Pages(std::uint64_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;

  [[nodiscard]] std::uint8_t* data() const { return data_; }

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Gives the backing back; every byte reads as zero again.
  void clear();

 private:
  std::uint8_t* data_ = nullptr;
  std::uint64_t size_ = 0;
};

/// One live allocation. The host pointers stay valid until it is freed.
struct Allocation {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::string label;
  bool read_only = false;  ///< .const variables: kernels must not store here
  std::uint8_t* data = nullptr;
  std::uint8_t* init = nullptr;      ///< one bit a byte: somebody wrote it
  std::uint64_t* writers = nullptr;  ///< one tag per 8 bytes, see writer_tag.hpp
  std::uint64_t* fine = nullptr;     ///< one tag per byte, where threads share 8 bytes

  [[nodiscard]] bool contains(std::uint64_t at, std::uint64_t count) const {
    return at >= address && count <= bytes && at - address <= bytes - count;
  }
};

/// One simulated device's global memory.
///
/// Addresses are 256-byte aligned, with unmapped guard gaps between allocations, and are not given
/// out again, so that an access through a stale pointer is always recognised. Backing is lazy:
/// allocations of many GiB cost what is touched of them.
///
/// Thread safety: all members may be called concurrently. Freeing memory that a kernel is using,
/// and host copies that overlap a running kernel's accesses, are the caller's to order.
class Memory {
 public:
  /// `capacity` bytes can be allocated in total (the simulated device's memory size).
  explicit Memory(std::uint64_t capacity);
  ~Memory();

  /// Where addresses begin, a multiple of 256: several devices in one process need disjoint ranges.
  /// REQUIRES: nothing was allocated yet, and no other thread uses the memory.
  void set_first_address(std::uint64_t address) { next_address_ = address; }

  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// A new allocation of `bytes` (0 counts as 1); 0 when the capacity is exhausted.
  /// `label` names it in fault reports.
  [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes, std::string label = {},
                                       bool read_only = false);
  /// False when `address` is not the start of a live allocation.
  bool free(std::uint64_t address);

  /// Lets kernels reach host memory at its own address, as contents that somebody has written. It
  /// is reached for good: ranges that overlap grow together, since a kernel that is still queued
  /// may use either, and nobody tells when host memory is released. False for no bytes, and where
  /// there is an allocation already or no memory to keep track with.
  bool share(void* data, std::uint64_t bytes);

  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }

  [[nodiscard]] std::uint64_t used() const;

  /// The live allocation that holds `address`, or null. Valid until it is freed.
  [[nodiscard]] const Allocation* find(std::uint64_t address) const;
  /// How a report names `address`: the allocation it lies in, the freed one it lay in, or the
  /// nearest.
  [[nodiscard]] std::string describe(std::uint64_t address) const;
  /// Whether `address` lies in an allocation that was freed.
  [[nodiscard]] bool was_freed(std::uint64_t address) const;

  // Host copies. Each is false, and does nothing, when a range is not inside one live allocation.
  bool write(std::uint64_t to, const void* from, std::uint64_t bytes);
  bool read(void* to, std::uint64_t from, std::uint64_t bytes) const;
  /// Copies contents and initializedness. The ranges may overlap.
  bool copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
  /// `count` elements of `width` 1, 2 or 4 bytes.
  bool fill(std::uint64_t to, std::uint32_t value, unsigned width, std::uint64_t count);
  /// Whether every byte was written by a copy, a fill or a kernel.
  [[nodiscard]] bool initialized(std::uint64_t address, std::uint64_t bytes) const;
  void mark_initialized(std::uint64_t address, std::uint64_t bytes);

  /// Reserves `count` consecutive CTA serial numbers, unique over this memory's lifetime.
  [[nodiscard]] std::uint64_t reserve_serials(std::uint64_t count);
  /// Whether a CTA with a serial in [first, first + count) was the last to write any of the bytes.
  [[nodiscard]] bool written_by(std::uint64_t address, std::uint64_t bytes, std::uint64_t first,
                                std::uint64_t count) const;

 private:
  struct Block;

  struct Freed {
    std::uint64_t bytes = 0;
    std::string label;
  };

  [[nodiscard]] const Allocation* find_locked(std::uint64_t address) const;

  std::uint64_t capacity_;
  std::uint64_t used_ = 0;
  std::uint64_t next_address_;
  std::atomic<std::uint64_t> next_serial_{1};
  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Block>> live_;
  std::vector<std::unique_ptr<Block>> outgrown_;  // shared ranges; a running kernel may hold one
  std::map<std::uint64_t, Freed> freed_;
};

}  // namespace quantjit::sim
