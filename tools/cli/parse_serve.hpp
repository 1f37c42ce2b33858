// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/cli/options.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace quantjit::cli {

/// Adds `serve`. The struct lives as long as `app`; if chosen it ends in `command`.
void add_serve_command(CLI::App& app, CommandOptions& command, ServeOptions& serve);

}  // namespace quantjit::cli
