// SPDX-License-Identifier: Apache-2.0
// Which kernels a service was asked for, and the file that tells others.
#pragma once

#include "src/traits/kernel_identity.hpp"

#include <quantjit/arch.hpp>
#include <quantjit/traits.hpp>

#include <mutex>
#include <set>
#include <string>

namespace quantjit::service {

/// Thread safe. Nothing it does fails a request: what goes wrong is one warning a file.
class Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  /// Appends to `path` from now on, beginning with what was noted so far; empty = to nothing.
  /// False if the file cannot be written.
  bool start(const std::string& path);

  /// Notes a request; the first of its kind is written.
  /// @param math resolved
  void note(const Traits& traits, MathMode math, const Arch& arch) noexcept;

 private:
  void append(const std::string& line);
  void close_file();
  void give_up(const char* what, int error);

  std::mutex mutex_;  // guards everything below; held while a record is written
  std::set<traits::KernelIdentity> noted_;
  std::string noted_lines_;  // what a file that is named later begins with
  std::string path_;
  int file_ = -1;
};

}  // namespace quantjit::service
