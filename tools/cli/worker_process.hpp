// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <sys/types.h>

namespace quantjit::cli {

/// This program once more, as a process that answers messages. Its standard input takes them, its
/// standard output answers; SIGINT and SIGTERM are held back from it, so that it finishes what it
/// has begun when a terminal interrupts the whole group. It ends when its input does.
class WorkerProcess {
 public:
  /// Throws: CommandFailure if no process can be started.
  explicit WorkerProcess(const char* command);
  /// Waits for its end.
  ~WorkerProcess();
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  [[nodiscard]] int input() const { return input_; }

  [[nodiscard]] int output() const { return output_; }

  /// Closes its input and waits. E.g. "was ended by signal 6 (SIGABRT)" or "exited with status 3".
  std::string end();

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
};

}  // namespace quantjit::cli
