// SPDX-License-Identifier: Apache-2.0
// What prewarm says when it is done.
#pragma once

#include "tools/cli/console.hpp"
#include "tools/cli/prewarm_source.hpp"

#include <quantjit/prewarm.hpp>

#include <string>
#include <vector>

namespace quantjit::cli {

/// Tells what was derived from a model: sites, what is not covered, warnings, refusals.
void print_models(Console& console, const std::vector<DerivedModel>& models);

void print_report(Console& console, const PrewarmReport& report);

/// The document of JSON form.
[[nodiscard]] Value describe_prewarm(const PrewarmReport& report,
                                     const std::vector<DerivedModel>& models);

/// Refusals of all targets in one line; empty if there is none.
[[nodiscard]] std::string refusal_text(const std::vector<DerivedModel>& models);

}  // namespace quantjit::cli
