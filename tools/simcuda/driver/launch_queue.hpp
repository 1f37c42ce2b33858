// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands.hpp"
#include "control.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <random>

namespace quantjit::simdriver {

/// The kernels that a stream has accepted and not executed yet, and the order in which their CTAs
/// run.
///
/// Kernels wait here until something needs their results, because a kernel launched with
/// programmatic serialization may have started before its predecessor ended. What hardware may do,
/// this does, by seeded choice: a random subset of the dependent kernel's CTAs runs up to
/// griddepcontrol.wait before the predecessor starts; and where all CTAs of that dependent kernel
/// did so and allowed dependents of their own before their wait, the next kernel starts as early
/// too, past a wait that it is not held by.
///
/// Reported as faults: an access before the wait that conflicts with a kernel that was not waited
/// for, and a CTA of a programmatic launch that exits before its wait.
///
/// Not thread-safe; its stream's lock guards it.
class LaunchQueue {
 public:
  LaunchQueue(Device& device, std::uint64_t stream_number);
  ~LaunchQueue();
  LaunchQueue(const LaunchQueue&) = delete;
  LaunchQueue& operator=(const LaunchQueue&) = delete;

  /// Accepts a kernel. `early` says that it may overlap the kernel accepted before it, if that one
  /// is still queued; otherwise everything queued is executed first. A fault of a kernel that this
  /// call executed is returned, and the launch is then not accepted. Throws sim::FaultError when
  /// the launch does not fit the kernel.
  std::optional<sim::Fault> push(const KernelLaunch& launch, bool early);

  /// Executes everything queued; stops behind the first kernel with a fault.
  std::optional<sim::Fault> drain();

  /// Forgets what is queued.
  void clear();

  [[nodiscard]] bool empty() const { return queue_.empty(); }

 private:
  struct Entry;

  std::uint64_t next_seed();
  void start_early(Entry& entry);
  void give_head_starts();
  std::optional<sim::Fault> run_front();
  std::optional<sim::Fault> run_watching_early_writes(Entry& front);
  std::optional<sim::Fault> find_conflict(const Entry& dependent, const Entry& predecessor) const;

  Device& device_;
  const std::uint64_t stream_number_;
  std::uint64_t generation_ = 0;
  std::uint64_t count_ = 0;
  std::mt19937_64 random_;
  std::deque<std::unique_ptr<Entry>> queue_;
  std::unique_ptr<Entry> last_;  ///< executed, and the front's predecessor
};

}  // namespace quantjit::simdriver
