// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/interrupt.hpp"

namespace quantjit::cli {
namespace {

std::atomic<bool> raised_flag{false};
std::atomic<int> raised_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "signal handlers may touch lock-free atomics only");

void on_signal(int signal) {
  raised_signal.store(signal, std::memory_order_relaxed);
  raised_flag.store(true, std::memory_order_release);
}

void install(int signal, struct sigaction& old) {
  struct sigaction action {};

  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags =
      static_cast<int>(SA_RESETHAND);  // waits are interrupted, and the next one kills
  if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN) {
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

Interrupt::Interrupt() {
  raised_signal.store(0, std::memory_order_relaxed);
  raised_flag.store(false, std::memory_order_release);
  install(SIGINT, interrupt_);
  install(SIGTERM, terminate_);
}

Interrupt::~Interrupt() {
  ::sigaction(SIGINT, &interrupt_, nullptr);
  ::sigaction(SIGTERM, &terminate_, nullptr);
}

const std::atomic<bool>& Interrupt::raised() {
  return raised_flag;
}

int Interrupt::status() {
  const int signal = raised_signal.load(std::memory_order_relaxed);
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace quantjit::cli
