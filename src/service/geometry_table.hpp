// SPDX-License-Identifier: Apache-2.0
// The geometry tables that ship, and the search in one.
#pragma once

#include <quantjit/geometry.hpp>

#include <cstdint>
#include <span>

namespace quantjit::service {

/// Rules of one kernel for a target, in the order in which they are searched; the last has no
/// limit.
[[nodiscard]] std::span<const GeometryRule> default_rules(GeometryKernel kernel, const Arch& arch);

/// The first rule that holds for `size` on `multiprocessors` of them. REQUIRES: the last rule has
/// no limit.
[[nodiscard]] inline const GeometryRule& find_rule(std::span<const GeometryRule> rules,
                                                   std::int64_t size,
                                                   std::int64_t multiprocessors) {
  std::size_t at = 0;
  while (rules[at].at_most != kNoSizeLimit && size > rules[at].at_most * multiprocessors) {
    ++at;
  }
  return rules[at];
}

/// As quantjit::geometry_kernel, for launches that know their operation.
[[nodiscard]] constexpr GeometryKernel geometry_kernel(const PerTokenGroupQuant& traits) {
  if (traits.schedule == Schedule::kMasked) {
    return traits.silu ? GeometryKernel::kMaskedSilu : GeometryKernel::kMasked;
  }
  return traits.silu ? GeometryKernel::kFlatSilu : GeometryKernel::kFlat;
}

}  // namespace quantjit::service
