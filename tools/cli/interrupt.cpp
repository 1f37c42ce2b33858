// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/interrupt.hpp"

#include <cstdlib>
#include <ctime>
#include <unistd.h>

namespace quantjit::cli {
namespace {

constexpr long kLookAgainNs = 50'000'000;

std::atomic<bool> raised_flag{false};
std::atomic<int> raised_signal{0};

/// Ends this process as the signal does by itself.
[[noreturn]] void end_by(int signal) {
  static_cast<void>(std::signal(signal, SIG_DFL));
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  static_cast<void>(::raise(signal));
  ::_exit(128 + signal);  // somebody put a handler in between
}

}  // namespace

Interrupt::Interrupt() {
  raised_signal.store(0, std::memory_order_relaxed);
  raised_flag.store(false, std::memory_order_release);
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction action {};

    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
      sigaddset(&signals_, signal);
    }
  }
  ::pthread_sigmask(SIG_BLOCK, &signals_, &old_mask_);
  watcher_ = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
  ending_.store(true, std::memory_order_relaxed);
  watcher_.join();
  ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
}

void Interrupt::watch() {
  while (!ending_.load(std::memory_order_relaxed)) {
    const timespec pause{0, kLookAgainNs};
    const int signal = ::sigtimedwait(&signals_, nullptr, &pause);
    if (signal <= 0) {
      continue;
    }
    if (raised_flag.load(std::memory_order_relaxed)) {
      end_by(signal);
    }
    raised_signal.store(signal, std::memory_order_relaxed);
    raised_flag.store(true, std::memory_order_release);
  }
}

const std::atomic<bool>& Interrupt::raised() {
  return raised_flag;
}

int Interrupt::status() {
  const int signal = raised_signal.load(std::memory_order_relaxed);
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace quantjit::cli
