// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../fault.hpp"
#include "device.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace quantjit::simdriver {

class Stream;

/// One CUDA context.
///
/// Thread safety: all members may be called concurrently.
class Context : public std::enable_shared_from_this<Context> {
 public:
  /// Creates the context and its default stream, and registers both.
  [[nodiscard]] static std::shared_ptr<Context> create(Device& device, unsigned flags,
                                                       bool is_primary);

  Context(Device& owner, unsigned flags, bool is_primary);

  /// Fails with the error a kernel left behind, or when the context was destroyed.
  void require_usable() const;
  /// Only the first half of that.
  void require_no_fault() const;

  [[nodiscard]] bool is_usable() const { return alive_ && sticky_ == CUDA_SUCCESS; }

  /// Takes a kernel's fault as the fault policy says.
  void fail(const sim::Fault& fault);
  void revive();

  [[nodiscard]] std::shared_ptr<Stream> default_stream() const;
  /// The calling thread's per-thread default stream, created at first use.
  [[nodiscard]] std::shared_ptr<Stream> per_thread_stream();
  /// Every live stream, the default streams included.
  [[nodiscard]] std::vector<std::shared_ptr<Stream>> streams() const;

  /// Executes everything that was submitted to any stream.
  void synchronize();

  /// Ends the context: executes what is pending (a fault there is reported and no more), frees its
  /// memory, streams and events.
  void close();
  /// Makes a closed primary context usable again.
  void open();

  Device& device;
  const unsigned flags;
  const bool primary;
  const unsigned long long id;
  CUcontext handle = nullptr;

 private:
  std::atomic<CUresult> sticky_{CUDA_SUCCESS};
  std::atomic<bool> alive_{true};
  mutable std::mutex mutex_;  // guards the default streams
  std::shared_ptr<Stream> default_stream_;
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread_streams_;
};

/// The calling thread's current context. Fails when there is none, when it was destroyed, or with
/// the error that a kernel left in it.
Context& current_context();

/// The same without the check for a kernel's error.
Context& current_context_even_failed();

/// The calling thread's stack of contexts, the current one last.
[[nodiscard]] std::vector<std::shared_ptr<Context>>& context_stack();

/// Clears every context's error and pending work.
void revive_contexts();

}  // namespace quantjit::simdriver
