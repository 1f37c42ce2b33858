// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/parse_coverage.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace quantjit::cli {

void add_coverage_command(CLI::App& app, CommandOptions& command, CoverageOptions& coverage) {
  CLI::App* const covering = app.add_subcommand(
      "coverage",
      "Say which requests of a trace would miss after a manifest was prewarmed; exit 1 if any");
  covering->callback([&command, &coverage] { command = coverage; });
  covering
      ->add_option("--trace", coverage.traces,
                   "what an engine asked for (QUANTJIT_RECORD); may be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->required();
  covering->add_option("--manifest", coverage.manifest, "what would be prewarmed")
      ->type_name("FILE")
      ->required();
  covering
      ->add_option("--arch", coverage.archs,
                   "targets in place of those that the trace recorded, and of manifest items "
                   "without any")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("ARCH,...");
}

}  // namespace quantjit::cli
