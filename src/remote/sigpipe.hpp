// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <ctime>

namespace quantjit::remote {

/// Keeps SIGPIPE from ending the process while it lives, for libraries that write to sockets
/// without a flag against it. Changes the calling thread alone, and only until its end.
class SigpipeBlock {
 public:
  SigpipeBlock() {
    sigset_t pending;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }

  SigpipeBlock(const SigpipeBlock&) = delete;
  SigpipeBlock& operator=(const SigpipeBlock&) = delete;

  ~SigpipeBlock() {
    const timespec now{};
    // One that came meanwhile is ours: it is sent to the thread that wrote.
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &now) >= 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_;
};

}  // namespace quantjit::remote
