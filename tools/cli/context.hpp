// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cli/console.hpp"
#include "tools/cli/options.hpp"

#include <quantjit/error.hpp>
#include <quantjit/service.hpp>

#include <chrono>
#include <string>

namespace quantjit::cli {

/// What every command gets beside its own options.
struct Context {
  Console& console;
  const GlobalOptions& global;

  /// The service options of the environment and the command line. Throws: InvalidArgument that
  /// names the option or the variable.
  [[nodiscard]] ServiceOptions service_options() const;
};

/// Puts the settings that options gave into this process's environment, where the library reads
/// them: one parser and one set of rules for both. Call before any thread is started.
void export_settings(const GlobalOptions& global);

/// A failure of the command itself, such as a file that cannot be read: exit 1.
class CommandFailure : public Error {
 public:
  using Error::Error;
};

/// Milliseconds on a steady clock.
class Stopwatch {
 public:
  [[nodiscard]] double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace quantjit::cli
