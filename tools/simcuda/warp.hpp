// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "grid.hpp"
#include "memory.hpp"
#include "program.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace quantjit::sim {

struct Cta;

// A writer tag names who stored to a piece of global memory last: 38 bits of the CTA's serial,
// 10 of the thread, 10 of the CTA's barrier epoch, 6 of the warp's. 0: nobody, or ordered by
// itself.
inline constexpr unsigned kTagSerialShift = 26;
inline constexpr unsigned kTagThreadShift = 16;
inline constexpr unsigned kTagEpochShift = 6;
inline constexpr std::uint64_t kTagEpochMask = 0x3FF;
inline constexpr std::uint64_t kTagSyncMask = 0x3F;
/// In Allocation::writers: threads share these 8 bytes, Allocation::fine has one tag a byte.
inline constexpr std::uint64_t kTagSplit = ~std::uint64_t{0};

/// Everything the CTAs of one launch share.
struct Launch {
  const Kernel* kernel = nullptr;
  const Program* program = nullptr;
  Memory* memory = nullptr;
  std::vector<std::uint8_t> constants;   ///< with the relocations applied
  std::vector<std::uint8_t> parameters;  ///< padded by 32 bytes
  std::uint32_t parameter_bytes = 0;
  Dim3 grid;
  Dim3 block;
  std::uint32_t threads = 0;
  std::uint32_t shared_bytes = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint64_t ctas = 0;
  std::uint64_t first_serial = 0;
  GridOptions options;

  std::atomic<bool> stop{false};
  std::atomic<bool> launched_dependents{false};
  std::atomic<std::uint64_t> lane_instructions{0};
  std::atomic<std::uint64_t> warp_instructions{0};
  std::atomic<std::uint64_t> finished_ctas{0};
  std::atomic<std::uint64_t> ctas_without_wait{0};
  std::mutex mutex;  ///< guards what follows
  std::vector<EarlyAccess> early;
  Dim3 block_without_wait{0, 0, 0};
};

enum class WarpState : std::uint8_t { kReady, kAtBarrier, kAtDependencyWait, kDone };

/// A path that lanes take after the current one.
struct Pending {
  std::uint32_t pc = 0;
  std::uint32_t lanes = 0;
  std::uint32_t reconverge = kNone;
};

struct Warp {
  std::uint8_t* bases[2] = {nullptr, nullptr};  ///< registers, constants
  Cta* cta = nullptr;
  std::uint32_t active = 0;
  std::uint32_t pc = 0;
  std::uint32_t reconverge = kNone;
  std::uint32_t live = 0;      ///< lanes that exist and have not exited
  std::uint32_t resolved = 0;  ///< lanes that are past griddepcontrol.wait
  std::uint32_t first_thread = 0;
  std::uint32_t sync_epoch = 0;  ///< bar.warp.sync executed
  std::uint32_t carry = 0;       ///< condition code of add.cc and relatives, one bit a lane
  WarpState state = WarpState::kReady;
  std::uint32_t barrier = 0;          ///< id the warp waits at
  std::uint32_t barrier_threads = 0;  ///< 0: all
  std::uint32_t barrier_op = 0;
  std::uint32_t barrier_result = kNone;  ///< register of barrier.red
  std::vector<Pending> stack;
  std::vector<std::uint8_t> registers;
  std::vector<std::uint8_t> local;
  std::uint64_t lane_instructions = 0;
  std::uint64_t warp_instructions = 0;

  template <class T>
  [[nodiscard]] T* lanes(std::uint32_t slot) const {
    return reinterpret_cast<T*>(bases[slot >> 31] + (slot & 0x7FFFFFFF));
  }

  [[nodiscard]] std::uint32_t& predicate(std::uint32_t slot) const {
    return *lanes<std::uint32_t>(slot);
  }
};

/// SharedMark::thread of bytes written by atomics and other strong accesses.
inline constexpr std::uint16_t kStrongThread = 0xFFFE;
/// SharedMark::thread of bytes read by several threads: of one warp (its number is added), of more.
inline constexpr std::uint16_t kSeveralInWarp = 0x8000;
inline constexpr std::uint16_t kSeveralWarps = 0xFFFF;

/// Who touched one byte of shared memory last, and when.
struct SharedMark {
  std::uint32_t epoch = 0;  ///< Cta::epoch; smaller than Cta::first_epoch: never in this CTA
  std::uint16_t thread = 0;
  std::uint16_t sync_epoch = 0;
};

/// One CTA being executed, with its shared memory and warps. Reused for CTA after CTA.
struct Cta {
  Launch* launch = nullptr;
  Dim3 index;
  std::uint64_t linear = 0;
  std::uint64_t serial = 0;
  std::uint32_t epoch = 1;        ///< grows with every barrier and every CTA
  std::uint32_t first_epoch = 1;  ///< of the running CTA
  bool waited = false;            ///< some thread passed griddepcontrol.wait
  bool used_atomics = false;      ///< a global atomic may have ordered it after other CTAs
  bool prologue = false;          ///< suspend at griddepcontrol.wait
  std::vector<Warp> warps;
  std::vector<std::uint8_t> shared;
  std::vector<SharedMark> shared_writes;
  std::vector<SharedMark> shared_reads;
  const Allocation* cached[4] = {nullptr, nullptr, nullptr, nullptr};
  unsigned next_cached = 0;
  std::uint64_t instructions_left = 0;

  [[nodiscard]] Dim3 thread_index(std::uint32_t linear_thread) const;
  /// Prepares for a new CTA of the launch.
  void start(Launch& owner, std::uint64_t linear_index);
};

/// Ends the launch with a fault found by `lane` at `op`. Never returns.
[[noreturn]] void raise(const Warp& warp, const Op& op, unsigned lane, FaultKind kind,
                        const std::string& what, std::uint64_t address = 0,
                        const std::string& where = {});

/// The lowest lane of a mask that is not empty.
inline unsigned first_lane(std::uint32_t mask) {
  return static_cast<unsigned>(__builtin_ctz(mask));
}

enum class RunResult : std::uint8_t { kBlocked, kYield };

/// Runs a warp until it ends, waits at a barrier or for its dependency, or has used its slice.
RunResult run_warp(Warp& warp, std::uint64_t slice);

}  // namespace quantjit::sim
