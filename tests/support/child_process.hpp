// SPDX-License-Identifier: Apache-2.0
// Running the store's worker program (cache_worker.cpp) as real other processes.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace quantjit::cache {

/// A child with pipes to its input and from its output. The destructor kills and reaps it.
class ChildProcess {
 public:
  /// Starts the program `cache_worker` that stands beside this test program.
  /// @param environment added to the present one, as NAME=value
  explicit ChildProcess(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment = {});
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Blocks for one line of output, without the end of line; empty at the end of output.
  [[nodiscard]] std::string read_line();
  /// Ends the child's input: what blocks on it goes on.
  void release();
  void signal(int number) const;
  /// Waits for the end. Exit status, or 128 + signal.
  int wait();

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
};

}  // namespace quantjit::cache
