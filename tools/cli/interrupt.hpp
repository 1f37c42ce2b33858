// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <csignal>
#include <thread>

namespace quantjit::cli {

/// While it lives, the first SIGINT or SIGTERM only raises a flag, so that work can be ended in
/// order; the next one ends the process at once. A signal that was ignored stays ignored. One at a
/// time, made before the threads that shall live with it: both signals are blocked in this thread
/// and those that it starts, and a thread waits for them. (A handler would not do: NVRTC puts its
/// own in its place while it compiles, which ends the process with status 4.) No system call is
/// interrupted.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Becomes true at the first signal.
  [[nodiscard]] static const std::atomic<bool>& raised();

  /// The exit status that shells give such an end: 128 plus the signal's number, 0 without one.
  [[nodiscard]] static int status();

 private:
  void watch();

  sigset_t signals_{};
  sigset_t old_mask_{};
  std::atomic<bool> ending_{false};
  std::thread watcher_;
};

}  // namespace quantjit::cli
