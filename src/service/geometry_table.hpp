// SPDX-License-Identifier: Apache-2.0
// The geometry tables that ship, and the search in one.
#pragma once

#include <quantjit/geometry.hpp>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace quantjit::service {

inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// Rules of one kernel for a target, in the order in which they are searched; the last has no
/// limit.
[[nodiscard]] std::span<const GeometryRule> default_rules(GeometryKernel kernel, const Arch& arch);

/// The first rule that holds for `size` on `multiprocessors` of them. REQUIRES: the last rule has
/// no limit.
[[nodiscard]] inline const GeometryRule& find_rule(std::span<const GeometryRule> rules,
                                                   std::int64_t size,
                                                   std::int64_t multiprocessors) {
  std::size_t at = 0;
  while (rules[at].at_most != kNoLimit && size > rules[at].at_most * multiprocessors) {
    ++at;
  }
  return rules[at];
}

/// The rules of one kernel in a table, in their order.
[[nodiscard]] std::vector<GeometryRule> rules_of(std::span<const GeometryRule> table,
                                                 GeometryKernel kernel);

}  // namespace quantjit::service
