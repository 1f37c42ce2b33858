// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "capture.hpp"
#include "commands.hpp"
#include "context.hpp"
#include "launch_queue.hpp"

#include <future>
#include <memory>
#include <mutex>
#include <vector>

namespace quantjit::simdriver {

enum class StreamKind { kLegacy, kPerThread, kCreated };

/// Executes commands in order. Kernels are queued (see LaunchQueue), host functions run on a thread
/// of their own, and any other command first waits for both.
///
/// Thread safety: all members may be called concurrently, except `capturing`, which the capture
/// lock guards.
class Stream {
 public:
  Stream(std::shared_ptr<Context> owner, StreamKind kind, unsigned flags, int priority);

  /// Executes or queues a command; a graph's nodes form one unit.
  void run(const Command& command);

  /// Executes everything queued and waits for host functions.
  void drain();
  /// Like drain, but false instead of waiting for a host function.
  [[nodiscard]] bool try_drain();
  /// Forgets what is queued.
  void discard();

  [[nodiscard]] bool is_legacy() const { return kind == StreamKind::kLegacy; }

  /// Whether work on it is ordered with the legacy default stream.
  [[nodiscard]] bool is_blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }

  const std::shared_ptr<Context> context;
  const StreamKind kind;
  const unsigned flags;
  const int priority;
  const unsigned long long id;
  StreamCapture capturing;

 private:
  void settle();
  void take(const sim::Fault& fault);
  void execute_queue();
  void run_locked(const Command& command, bool early);
  void run_nodes(const std::vector<GraphNode>& nodes);

  std::mutex mutex_;  // guards what follows
  LaunchQueue queue_;
  std::shared_future<void> host_work_;
};

/// Resolves a stream argument for the current context: null and the two special handles too. Fails
/// with CUDA_ERROR_INVALID_HANDLE, and like current_context.
std::shared_ptr<Stream> resolve_stream(CUstream stream);

/// Submits a command: records it where the stream is captured, else orders it with the legacy
/// default stream and runs it.
void submit(const std::shared_ptr<Stream>& stream, const Command& command);

/// Waits as the legacy default stream's implicit ordering asks before work on `stream`.
void order_with_default_stream(const Stream& stream);

/// While one lives, a null stream means the calling thread's own default stream.
class PerThreadDefault {
 public:
  PerThreadDefault();
  ~PerThreadDefault();
  PerThreadDefault(const PerThreadDefault&) = delete;
  PerThreadDefault& operator=(const PerThreadDefault&) = delete;
};

/// Fails with CUDA_ERROR_NOT_PERMITTED inside a host function.
void require_outside_host_function();

}  // namespace quantjit::simdriver
