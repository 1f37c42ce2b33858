// SPDX-License-Identifier: Apache-2.0
#include "launch_queue.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

namespace quantjit::simdriver {

namespace {

/// Deep enough that a kernel can overtake its predecessor's predecessor; suspended CTAs cost
/// memory.
constexpr std::size_t kMaxQueued = 6;
/// CTAs of one grid, and their threads, that may be suspended at their wait.
constexpr std::size_t kMaxSuspended = 64;
constexpr std::size_t kMaxSuspendedThreads = 32768;
/// The widest access of one lane, in bytes.
constexpr std::uint64_t kWidestAccess = 32;

/// Makes bytes count as never written, without changing them.
void mark_uninitialized(const sim::Memory& memory, std::uint64_t address, std::uint64_t bytes) {
  const sim::Allocation* allocation = memory.find(address);
  if (allocation == nullptr || !allocation->contains(address, bytes)) {
    return;
  }
  const std::uint64_t first = address - allocation->address;
  for (std::uint64_t at = first; at < first + bytes; ++at) {
    const auto keep = static_cast<std::uint8_t>(~(1u << (at % 8)));
    std::atomic_ref<std::uint8_t>(allocation->init[at / 8]).fetch_and(keep);
  }
}

}  // namespace

struct LaunchQueue::Entry {
  std::unique_ptr<sim::Grid> grid;
  std::uint64_t ctas = 0;
  std::size_t startable = 0;  ///< CTAs that may run early
  bool programmatic = false;
  bool overlaps = false;     ///< may start before the entry in front of it ends
  bool considered = false;   ///< its head start was decided
  bool started = false;      ///< some of its CTAs ran early
  bool all_started = false;  ///< each of its CTAs ran early
};

LaunchQueue::LaunchQueue(Device& device, std::uint64_t stream_number)
    : device_(device), stream_number_(stream_number), random_(mix(0, stream_number)) {}

LaunchQueue::~LaunchQueue() = default;

std::uint64_t LaunchQueue::next_seed() {
  const Seed seed = current_seed();
  if (seed.generation != generation_) {
    generation_ = seed.generation;
    count_ = 0;
    random_.seed(mix(seed.value, stream_number_));
  }
  return mix(mix(seed.value, stream_number_), ++count_);
}

std::optional<sim::Fault> LaunchQueue::push(const KernelLaunch& launch, bool early) {
  std::optional<sim::Fault> fault;
  if (!early) {
    fault = drain();
  }
  const std::lock_guard lock(device_.execution);
  while (!fault && queue_.size() >= kMaxQueued) {
    fault = run_front();
  }
  if (fault) {
    return fault;
  }
  sim::GridOptions options;
  options.seed = next_seed();
  options.dependent = launch.programmatic;
  options.lane_instruction_limit = instruction_limit();
  options.sm_count = static_cast<std::uint32_t>(device_.spec.multiprocessors);
  auto entry = std::make_unique<Entry>();
  entry->ctas = launch.grid.count();
  entry->startable = std::min(kMaxSuspended, kMaxSuspendedThreads / launch.block.count());
  entry->programmatic = launch.programmatic;
  entry->overlaps = early && !queue_.empty();
  entry->grid =
      std::make_unique<sim::Grid>(launch.image, *launch.kernel, launch.grid, launch.block,
                                  launch.shared_bytes, launch.parameters, device_.memory, options);
  queue_.push_back(std::move(entry));
  return std::nullopt;
}

std::optional<sim::Fault> LaunchQueue::drain() {
  std::optional<sim::Fault> fault;
  if (queue_.empty()) {
    return fault;
  }
  const std::lock_guard lock(device_.execution);
  while (!fault && !queue_.empty()) {
    fault = run_front();
  }
  if (fault || queue_.empty()) {
    last_.reset();  // what follows does not overlap it
  }
  return fault;
}

void LaunchQueue::clear() {
  queue_.clear();
  last_.reset();
}

void LaunchQueue::start_early(Entry& entry) {
  constexpr double kFractions[] = {0.0, 0.25, 0.5, 1.0};
  const double fraction = kFractions[random_() % 4];
  entry.considered = true;
  if (fraction == 0.0) {
    return;
  }
  entry.grid->run_until_dependency_wait(fraction, entry.startable);
  entry.started = true;
  entry.all_started = fraction == 1.0 && entry.ctas <= entry.startable;
}

// Before the front executes, its successors may have begun: the next one whenever it was launched
// programmatically, one further back only when everything between has allowed it without waiting.
void LaunchQueue::give_head_starts() {
  for (std::size_t i = 1; i < queue_.size() && queue_[i]->overlaps; ++i) {
    Entry& entry = *queue_[i];
    if (!entry.considered) {
      start_early(entry);
    }
    if (!entry.all_started || !entry.grid->launched_dependents()) {
      return;
    }
  }
}

// An access before the wait conflicts when the bytes were last written by a kernel that the wait
// would have waited for: what was read may be stale, what was written was overwritten.
std::optional<sim::Fault> LaunchQueue::find_conflict(const Entry& dependent,
                                                     const Entry& predecessor) const {
  for (const sim::EarlyAccess& access : dependent.grid->early_accesses()) {
    if (predecessor.grid->wrote(access.address, access.bytes)) {
      return dependent.grid->early_access_fault(access, predecessor.grid->kernel().name);
    }
  }
  return std::nullopt;
}

// Successors that started early must not have written what the front still reads: such bytes count
// as uninitialized while the front runs, which makes the interpreter stop at the read.
std::optional<sim::Fault> LaunchQueue::run_watching_early_writes(Entry& front) {
  struct Write {
    const Entry* entry;
    const sim::EarlyAccess* access;
  };

  std::vector<Write> writes;
  for (std::size_t i = 0; i < queue_.size() && queue_[i]->started; ++i) {
    for (const sim::EarlyAccess& access : queue_[i]->grid->early_accesses()) {
      if (access.write) {
        writes.push_back({queue_[i].get(), &access});
        mark_uninitialized(device_.memory, access.address, access.bytes);
      }
    }
  }
  std::optional<sim::Fault> fault = front.grid->run();
  const bool hit = fault && fault->kind == sim::FaultKind::kUninitializedRead;
  for (const Write& write : writes) {
    const sim::EarlyAccess& access = *write.access;
    device_.memory.mark_initialized(access.address, access.bytes);
    if (hit && fault->address < access.address + access.bytes &&
        access.address < fault->address + kWidestAccess) {
      return write.entry->grid->early_access_fault(access, front.grid->kernel().name);
    }
  }
  return fault;
}

std::optional<sim::Fault> LaunchQueue::run_front() {
  give_head_starts();
  std::unique_ptr<Entry> front = std::move(queue_.front());
  queue_.pop_front();
  std::optional<sim::Fault> fault = run_watching_early_writes(*front);
  count_grid(front->grid->stats(), front->started);
  if (!fault && front->overlaps && last_ != nullptr) {
    fault = find_conflict(*front, *last_);
  }
  for (std::size_t i = 0; !fault && i < queue_.size() && queue_[i]->started; ++i) {
    fault = find_conflict(*queue_[i], *front);
  }
  if (!fault && front->programmatic && front->grid->ctas_without_wait() > 0) {
    fault = front->grid->missing_wait_fault();
  }
  last_ = std::move(front);
  return fault;
}

}  // namespace quantjit::simdriver
