// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cli/options.hpp"

namespace CLI {
class App;
}

namespace quantjit::cli {

/// Adds `coverage`; if it is chosen it ends in `command`.
void add_coverage_command(CLI::App& app, CommandOptions& command, CoverageOptions& coverage);

}  // namespace quantjit::cli
