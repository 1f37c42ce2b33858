// SPDX-License-Identifier: Apache-2.0
// What is compiled ahead: lists of (descriptor, arch), where they come from, and what became of
// them. `KernelService::prewarm` does the work.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/export.hpp>
#include <quantjit/traits.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quantjit {

/// One kernel for one target.
struct PrewarmItem {
  Descriptor descriptor;  ///< what
  Arch arch;              ///< for which target

  friend bool operator==(const PrewarmItem&, const PrewarmItem&) = default;
};

/// How far a prewarm is.
struct PrewarmProgress {
  std::size_t requested = 0;  ///< distinct pairs in all
  std::size_t hits = 0;       ///< that were there
  std::size_t compiled = 0;   ///< that were compiled
  std::size_t failed = 0;     ///< that could not be had
  double seconds = 0.0;       ///< since it began

  /// Pairs that are finished.
  [[nodiscard]] std::size_t done() const { return hits + compiled + failed; }
};

/// How a prewarm works.
struct PrewarmOptions {
  /// Compiles at once, at most; 0 = as many as this process has cores. Memory may allow fewer.
  int jobs = 0;
  /// Bytes that the compiles may take together; 0 = what the control groups of this process and the
  /// machine have left. One compile runs whatever the limit is.
  std::uint64_t memory_limit = 0;
  /// CUDA ordinals to load on as well. If there are any, the items' archs are not looked at: every
  /// descriptor is prepared for these devices.
  std::vector<int> devices = {};
  /// Called after each pair and once before the first, by one thread at a time, not always the
  /// caller's. What it throws ends the prewarm and is thrown by it.
  std::function<void(const PrewarmProgress&)> progress = {};
  /// When it becomes true no further compile is begun; those under way are finished and kept. May
  /// be set by a signal handler. Must outlive the call.
  const std::atomic<bool>* cancel = nullptr;
};

/// What became of a list.
struct PrewarmReport {
  /// One pair that could not be had.
  struct Failure {
    std::string traits;  ///< canonical descriptor text, with `math` if the item names a mode
    Arch arch;           ///< target
    std::string error;   ///< one sentence
    std::string log;     ///< NVRTC's; empty if there is none
  };

  /// Distinct (canonical descriptor, arch) pairs of the list. Unless cancelled it is hits +
  /// compiled + failures.size().
  std::size_t requested = 0;
  std::size_t hits = 0;           ///< pairs that were there
  std::size_t compiled = 0;       ///< pairs that were compiled
  std::vector<Failure> failures;  ///< in the order of the list
  std::size_t loaded = 0;         ///< kernels loaded on devices
  int jobs = 0;                   ///< compiles at once that were allowed
  bool cancelled = false;         ///< pairs that were not begun are in no other count
  double seconds = 0.0;           ///< it took

  /// Whether every pair could be had.
  [[nodiscard]] bool complete() const { return !cancelled && failures.empty(); }
};

/// The pairs of a manifest (format: README). An item that names no arch stands for each of `archs`.
/// Throws: InvalidArgument naming the file and the item, also for an item without an arch if
/// `archs` is empty.
[[nodiscard]] QUANTJIT_API std::vector<PrewarmItem> read_manifest(
    const std::string& path, const std::vector<Arch>& archs = {});

/// The pairs of a trace that a recorder wrote (`KernelService::record`), each once, in order of
/// appearance. Records that a crash cut off are skipped. With `archs` each descriptor stands for
/// all of these in place of the recorded ones. Throws: InvalidArgument naming the file and the
/// line.
[[nodiscard]] QUANTJIT_API std::vector<PrewarmItem> read_trace(const std::string& path,
                                                               const std::vector<Arch>& archs = {});

}  // namespace quantjit
