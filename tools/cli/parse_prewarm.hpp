// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cli/options.hpp"

namespace CLI {
class App;
}

namespace quantjit::cli {

/// Adds `prewarm`, and the hidden command of its worker processes. The structs live as long as
/// `app`; the chosen one ends in `command`.
void add_prewarm_commands(CLI::App& app, CommandOptions& command, PrewarmOptions& prewarm,
                          PrewarmWorkerOptions& worker);

}  // namespace quantjit::cli
