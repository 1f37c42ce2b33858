// SPDX-License-Identifier: Apache-2.0
// Checking a launch against the CPU reference.
#pragma once

#include "src/io/problem.hpp"
#include "tools/cli/compare.hpp"
#include "tools/cli/device_choice.hpp"
#include "tools/cli/launch.hpp"

#include <quantjit/kernel.hpp>
#include <quantjit/traits.hpp>

#include <string>

namespace quantjit::cli {

struct Check {
  Comparison comparison;
  Tolerance tolerance = Tolerance::kNone;

  [[nodiscard]] bool passed() const { return comparison.equal(); }

  /// How equal they were, or what differs.
  [[nodiscard]] std::string text() const;
};

/// How equal the outputs of these traits must be to the reference's: every byte wherever the device
/// computes what the reference knows the bits of.
[[nodiscard]] Tolerance tolerance_for(const Traits& traits, const reference::Target& target,
                                      const OpenDevice& device);

/// Runs the CPU reference over `buffers`, whose outputs must still be poisoned, and compares.
[[nodiscard]] Check check_against_reference(const io::Problem& problem, const ImageInfo& image,
                                            const OpenDevice& device,
                                            const io::ProblemBuffers& buffers,
                                            const Outputs& found);

}  // namespace quantjit::cli
