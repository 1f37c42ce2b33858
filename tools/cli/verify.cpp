// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/verify.hpp"

namespace quantjit::cli {

std::string Check::text() const {
  if (!passed()) {
    return comparison.text();
  }
  if (comparison.tolerated == 0) {
    return std::string(to_string(Tolerance::kNone));
  }
  return std::to_string(comparison.tolerated) +
         " elements differ within the tolerance: " + std::string(to_string(tolerance));
}

Tolerance tolerance_for(const Traits& traits, const reference::Target& target,
                        const OpenDevice& device) {
  if (!reference::is_bit_exact(traits, target)) {
    return Tolerance::kActivation;
  }
  // A simulated device rounds ex2.approx correctly, hardware does not always.
  const auto* const group = std::get_if<PerTokenGroupQuant>(&traits);
  const bool approximate = group != nullptr && group->silu && group->numerics != Numerics::kExact;
  return device.simulated && approximate ? Tolerance::kActivation : Tolerance::kNone;
}

Check check_against_reference(const io::Problem& problem, const ImageInfo& image,
                              const OpenDevice& device, const io::ProblemBuffers& buffers,
                              const Outputs& found) {
  const reference::Target target{
      .arch = device.arch, .math = image.math, .sm_count = device.sm_count};
  io::run_reference(problem, target, buffers);
  const Tolerance tolerance = tolerance_for(problem.traits, target, device);
  return {compare(problem, buffers, buffers.q, buffers.s, found, tolerance), tolerance};
}

}  // namespace quantjit::cli
