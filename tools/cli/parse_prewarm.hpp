// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cli/options.hpp"

#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace quantjit::cli {

/// Adds what names kernels: trait texts, --manifest, --from-trace, and --model with how that is
/// served. Returns the options of which one excludes the others.
std::vector<CLI::Option*> add_sources(CLI::App& app, PrewarmOptions& prewarm);

/// Adds `prewarm`, and the hidden command of its worker processes. The structs live as long as
/// `app`; the chosen one ends in `command`.
void add_prewarm_commands(CLI::App& app, CommandOptions& command, PrewarmOptions& prewarm,
                          PrewarmWorkerOptions& worker);

}  // namespace quantjit::cli
