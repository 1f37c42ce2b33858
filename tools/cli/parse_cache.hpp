// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cli/options.hpp"

namespace CLI {
class App;
}

namespace quantjit::cli {

/// Adds `cache` and its commands; the one that is chosen ends in `command`.
void add_cache_command(CLI::App& app, CommandOptions& command, CacheOptions& cache);

}  // namespace quantjit::cli
