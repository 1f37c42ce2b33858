// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <csignal>

namespace quantjit::cli {

/// While it lives, the first SIGINT or SIGTERM only raises a flag, so that work can be ended in
/// order; the next one ends the process at once. A signal that was ignored stays ignored. One at a
/// time.
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
  struct sigaction interrupt_ {};

  struct sigaction terminate_ {};
};

}  // namespace quantjit::cli
