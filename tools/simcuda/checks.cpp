// SPDX-License-Identifier: Apache-2.0
#include "checks.hpp"

#include <string>

namespace quantjit::sim {

namespace {

std::uint64_t load_tag(const std::uint64_t* at) {
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}

void store_tag(std::uint64_t* at, std::uint64_t tag) {
  __atomic_store_n(at, tag, __ATOMIC_RELAXED);
}

std::uint8_t load_byte(const std::uint8_t* at) {
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}

std::string count_text(std::uint64_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

bool from_this_launch(const Launch& launch, std::uint64_t tag) {
  return (tag >> kTagSerialShift) - launch.first_serial < launch.ctas;
}

/// Whether a store tagged `now` may run at the same time as the one tagged `before`.
bool unordered(const Cta& cta, std::uint64_t before, std::uint64_t now) {
  if (before == 0 || !from_this_launch(*cta.launch, before)) {
    return false;
  }
  if ((before >> kTagSerialShift) != (now >> kTagSerialShift)) {
    return !cta.used_atomics;
  }
  const std::uint64_t difference = before ^ now;
  const bool same_thread = ((difference >> kTagThreadShift) & 0x3FF) == 0;
  const bool same_epoch = ((difference >> kTagEpochShift) & kTagEpochMask) == 0;
  const bool same_warp = ((difference >> (kTagThreadShift + 5)) & 0x1F) == 0;
  const bool warp_synced = same_warp && (difference & kTagSyncMask) != 0;
  return !same_thread && same_epoch && !warp_synced;
}

std::string writer_text(const Cta& cta, std::uint64_t tag) {
  const std::uint64_t linear = (tag >> kTagSerialShift) - cta.launch->first_serial;
  const Dim3 grid = cta.launch->grid;
  const Dim3 thread =
      cta.thread_index(static_cast<std::uint32_t>((tag >> kTagThreadShift) & 0x3FF));
  const Dim3 block{static_cast<std::uint32_t>(linear % grid.x),
                   static_cast<std::uint32_t>(linear / grid.x % grid.y),
                   static_cast<std::uint32_t>(linear / grid.x / grid.y)};
  return "thread " + to_string(thread) + " of block " + to_string(block);
}

void check_byte(const Warp& warp, const Op& op, unsigned lane, const Allocation& at,
                std::uint64_t offset, std::uint64_t before, std::uint64_t now, std::uint8_t value) {
  if (!unordered(*warp.cta, before, now) || load_byte(at.data + offset) == value) {
    return;
  }
  raise(warp, op, lane, FaultKind::kRace,
        "stores a byte other than the one that " + writer_text(*warp.cta, before) +
            " stored there, and nothing orders the two",
        at.address + offset, warp.cta->launch->memory->describe(at.address + offset));
}

/// Turns one tag for 8 bytes into a tag for each.
void split(const Allocation& at, std::uint64_t granule, std::uint64_t tag) {
  for (std::uint64_t b = 0; b < 8; ++b) {
    store_tag(at.fine + granule * 8 + b, tag);
  }
  store_tag(at.writers + granule, kTagSplit);
}

}  // namespace

const Allocation* lookup(Cta& cta, std::uint64_t address, std::uint64_t bytes) {
  for (const Allocation* known : cta.cached) {
    if (known != nullptr && known->contains(address, bytes)) {
      return known;
    }
  }
  const Allocation* found = cta.launch->memory->find(address);
  if (found == nullptr || !found->contains(address, bytes)) {
    return nullptr;
  }
  cta.cached[cta.next_cached++ % 4] = found;
  return found;
}

void raise_unmapped(const Warp& warp, const Op& op, unsigned lane, std::uint64_t address,
                    std::uint64_t bytes, bool write) {
  const Memory& memory = *warp.cta->launch->memory;
  const std::string what = std::string(write ? "writes " : "reads ") + count_text(bytes);
  if (memory.was_freed(address)) {
    raise(warp, op, lane, FaultKind::kFreedMemory, what + " of freed memory", address,
          memory.describe(address));
  }
  raise(warp, op, lane, FaultKind::kOutOfBounds, what + " out of bounds", address,
        memory.describe(address));
}

void raise_misaligned(const Warp& warp, const Op& op, unsigned lane, std::uint64_t address,
                      std::uint64_t bytes) {
  raise(warp, op, lane, FaultKind::kMisaligned,
        "accesses " + count_text(bytes) + " at an address that is not a multiple of that", address,
        warp.cta->launch->memory->describe(address));
}

void raise_uninitialized(const Warp& warp, const Op& op, unsigned lane, std::uint64_t address,
                         std::uint64_t bytes) {
  raise(warp, op, lane, FaultKind::kUninitializedRead,
        "reads " + count_text(bytes) + " of which some were never written", address,
        warp.cta->launch->memory->describe(address));
}

void raise_read_only(const Warp& warp, const Op& op, unsigned lane, std::uint64_t address) {
  raise(warp, op, lane, FaultKind::kReadOnly, "stores to read-only memory", address,
        warp.cta->launch->memory->describe(address));
}

void note_global_store(const Warp& warp, const Op& op, unsigned lane, const Allocation& at,
                       std::uint64_t offset, unsigned bytes, const std::uint8_t* values) {
  const std::uint64_t now = writer_tag(warp, lane);
  for (unsigned done = 0; done < bytes;) {
    const std::uint64_t granule = (offset + done) / 8;
    const unsigned piece = bytes - done < 8 ? bytes - done : 8;
    const std::uint64_t coarse = load_tag(at.writers + granule);
    if (coarse != kTagSplit && piece < 8) {
      const bool keep = coarse != 0 && from_this_launch(*warp.cta->launch, coarse);
      split(at, granule, keep ? coarse : 0);
    }
    for (unsigned b = 0; b < piece; ++b) {
      const std::uint64_t byte = offset + done + b;
      const bool fine = coarse == kTagSplit || piece < 8;
      const std::uint64_t before = fine ? load_tag(at.fine + byte) : coarse;
      check_byte(warp, op, lane, at, byte, before, now, values[done + b]);
      if (piece < 8) {
        store_tag(at.fine + byte, now);
      }
    }
    if (piece == 8) {
      store_tag(at.writers + granule, now);
    }
    done += piece;
  }
}

void forget_writers(const Allocation& at, std::uint64_t offset, unsigned bytes) {
  const std::uint64_t granule = offset / 8;
  const std::uint64_t coarse = load_tag(at.writers + granule);
  if (bytes >= 8) {
    for (unsigned b = 0; b < bytes; b += 8) {
      store_tag(at.writers + granule + b / 8, 0);
    }
    return;
  }
  if (coarse == 0) {
    return;
  }
  if (coarse != kTagSplit) {
    split(at, granule, coarse);
  }
  for (unsigned b = 0; b < bytes; ++b) {
    store_tag(at.fine + offset + b, 0);
  }
}

void note_early(const Warp& warp, const Op& op, const std::uint64_t* addresses, std::uint32_t lanes,
                unsigned bytes, bool write) {
  Launch& launch = *warp.cta->launch;
  const std::lock_guard lock(launch.mutex);
  EarlyAccess* last = nullptr;
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    if (last != nullptr && last->address + last->bytes == addresses[lane]) {
      last->bytes += bytes;
      continue;
    }
    if (launch.early.size() >= Grid::kMaxEarlyAccesses) {
      return;
    }
    launch.early.push_back({addresses[lane], bytes, write, warp.cta->index,
                            warp.cta->thread_index(warp.first_thread + lane),
                            launch.program->sources[op.source].line});
    last = &launch.early.back();
  }
}

// Shared memory --------------------------------------------------------------------------------

namespace {

/// Whether the marked access of another thread is not separated from this one by a barrier.
bool concurrent(const Warp& warp, std::uint32_t thread, const SharedMark& mark) {
  if (mark.epoch != warp.cta->epoch || mark.thread == thread || mark.thread == kStrongThread) {
    return false;
  }
  if (mark.thread == kSeveralWarps) {
    return true;
  }
  const std::uint32_t other_warp =
      (mark.thread & kSeveralInWarp) != 0 ? (mark.thread & 0x7FFFU) : mark.thread / kLanes;
  const bool same_warp = other_warp == thread / kLanes;
  return !same_warp || mark.sync_epoch == static_cast<std::uint16_t>(warp.sync_epoch);
}

std::string shared_text(std::uint64_t offset) {
  return "shared memory, offset " + std::to_string(offset);
}

std::string other_thread_text(const Warp& warp, const SharedMark& mark) {
  if (mark.thread == kSeveralWarps) {
    return "several threads";
  }
  if ((mark.thread & kSeveralInWarp) != 0) {
    return "several threads of warp " + std::to_string(mark.thread & 0x7FFF);
  }
  return "thread " + to_string(warp.cta->thread_index(mark.thread));
}

[[noreturn]] void raise_shared_race(const Warp& warp, const Op& op, unsigned lane,
                                    std::uint64_t offset, const SharedMark& mark, const char* mine,
                                    const char* theirs) {
  raise(warp, op, lane, FaultKind::kRace,
        std::string(mine) + " shared memory that " + other_thread_text(warp, mark) + theirs +
            " since the last barrier",
        kSharedWindow | offset, shared_text(offset));
}

void note_read(const Warp& warp, std::uint32_t thread, SharedMark& mark) {
  const std::uint32_t own_warp = thread / kLanes;
  std::uint16_t reader = static_cast<std::uint16_t>(thread);
  if (mark.epoch == warp.cta->epoch && mark.thread != thread) {
    const std::uint32_t other = mark.thread == kSeveralWarps          ? kNone
                                : (mark.thread & kSeveralInWarp) != 0 ? (mark.thread & 0x7FFFU)
                                                                      : mark.thread / kLanes;
    reader =
        other == own_warp ? static_cast<std::uint16_t>(kSeveralInWarp | own_warp) : kSeveralWarps;
  }
  mark = {warp.cta->epoch, reader, static_cast<std::uint16_t>(warp.sync_epoch)};
}

}  // namespace

void check_shared_load(Warp& warp, const Op& op, unsigned lane, std::uint64_t offset,
                       unsigned bytes) {
  Cta& cta = *warp.cta;
  const std::uint32_t thread = warp.first_thread + lane;
  for (std::uint64_t b = offset; b < offset + bytes; ++b) {
    const SharedMark& written = cta.shared_writes[b];
    if (written.epoch < cta.first_epoch && cta.launch->options.check_initialized) {
      raise(warp, op, lane, FaultKind::kUninitializedRead,
            "reads shared memory that was never written", kSharedWindow | b, shared_text(b));
    }
    if (op.strong || !cta.launch->options.check_races) {
      continue;
    }
    if (concurrent(warp, thread, written)) {
      raise_shared_race(warp, op, lane, b, written, "reads", " wrote");
    }
    note_read(warp, thread, cta.shared_reads[b]);
  }
}

void note_shared_store(Warp& warp, const Op& op, unsigned lane, std::uint64_t offset,
                       unsigned bytes, const std::uint8_t* values) {
  Cta& cta = *warp.cta;
  const std::uint32_t thread = warp.first_thread + lane;
  for (unsigned i = 0; i < bytes; ++i) {
    const std::uint64_t b = offset + i;
    SharedMark& written = cta.shared_writes[b];
    const bool changes = written.epoch < cta.first_epoch || cta.shared[b] != values[i];
    if (changes && !op.strong && cta.launch->options.check_races) {
      if (concurrent(warp, thread, written)) {
        raise_shared_race(warp, op, lane, b, written, "writes", " wrote with another value");
      }
      if (concurrent(warp, thread, cta.shared_reads[b])) {
        raise_shared_race(warp, op, lane, b, cta.shared_reads[b], "writes", " read");
      }
    }
    written = {cta.epoch, op.strong ? kStrongThread : static_cast<std::uint16_t>(thread),
               static_cast<std::uint16_t>(warp.sync_epoch)};
  }
}

}  // namespace quantjit::sim
