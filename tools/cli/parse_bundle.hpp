// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cli/options.hpp"

namespace CLI {
class App;
}

namespace quantjit::cli {

/// Adds `bundle` and its commands; the one that is chosen ends in `command`.
void add_bundle_command(CLI::App& app, CommandOptions& command, BundleOptions& bundle);

}  // namespace quantjit::cli
