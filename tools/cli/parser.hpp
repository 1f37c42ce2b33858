// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cli/options.hpp"

#include <optional>
#include <string>

namespace quantjit::cli {

/// Outcome of reading a command line.
struct ParseResult {
  std::optional<Invocation> invocation;  ///< set if there is a command to run
  std::string output;                    ///< help or version text that was asked for
  std::string error;                     ///< why the line is not valid, in one line
  bool json = false;                     ///< whether --json stood on it, valid or not
};

[[nodiscard]] ParseResult parse_command_line(int argc, const char* const* argv);

}  // namespace quantjit::cli
