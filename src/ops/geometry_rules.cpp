// SPDX-License-Identifier: Apache-2.0
#include "src/ops/geometry_rules.hpp"

#include <array>
#include <limits>

namespace quantjit::ops {

namespace {

constexpr std::int64_t kKi = 1024;
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// Flat and rows. Little work: small blocks reach more multiprocessors. More: large blocks cost
// fewer launches. Prefetching pays until the input of two kernels no longer fits the L2 cache.
// Masked grids are capped at what is resident, so that no warp comes late to its share.
// sm_90: measured on an H200 (tests/gpu/reports); sm_100 and later: the same, with the wide entry
// point once there is work enough for half as many threads.
constexpr std::array kRules{
    GeometryRule{"flat", false, 2560, 128, 0, 16, 0, true},
    GeometryRule{"flat", false, 12 * kKi, 256, 0, 16, 0, true},
    GeometryRule{"flat", false, 160 * kKi, 512, 0, 16, 0, true},
    GeometryRule{"flat", false, kNoLimit, 512, 0, 16, 0, false},
    GeometryRule{"masked", false, 8, 128, 2, 0, 0, false},
    GeometryRule{"masked", false, kNoLimit, 128, 8, 0, 0, false},
    GeometryRule{"rows", false, 4, 512, 0, 0, 1, true},
    GeometryRule{"rows", false, 16, 512, 0, 0, 2, true},
    GeometryRule{"rows", false, kNoLimit, 512, 0, 0, 4, false},
    GeometryRule{"flat", true, 2560, 128, 0, 16, 0, true},
    GeometryRule{"flat", true, 12 * kKi, 256, 0, 16, 0, true},
    GeometryRule{"flat", true, 160 * kKi, 512, 0, 32, 0, true},
    GeometryRule{"flat", true, kNoLimit, 512, 0, 32, 0, false},
    GeometryRule{"masked", true, 8, 128, 2, 0, 0, false},
    GeometryRule{"masked", true, kNoLimit, 128, 8, 0, 0, false},
    GeometryRule{"rows", true, 4, 512, 0, 0, 1, true},
    GeometryRule{"rows", true, 16, 512, 0, 0, 2, true},
    GeometryRule{"rows", true, kNoLimit, 512, 0, 0, 4, false},
};

constexpr std::string_view name_of(RuleKernel kernel) {
  switch (kernel) {
    case RuleKernel::kFlat: return "flat";
    case RuleKernel::kMasked: return "masked";
    case RuleKernel::kRows: return "rows";
  }
  return {};
}

constexpr std::size_t first_rule(RuleKernel kernel, bool blackwell) {
  std::size_t at = 0;
  while (kRules[at].kernel != name_of(kernel) || kRules[at].blackwell != blackwell) {
    ++at;
  }
  return at;
}

/// Where the rules of a kernel begin, on sm_90 and on sm_100 and later.
constexpr std::array<std::array<std::size_t, 2>, 3> kFirst = [] {
  std::array<std::array<std::size_t, 2>, 3> first{};
  for (const RuleKernel kernel : {RuleKernel::kFlat, RuleKernel::kMasked, RuleKernel::kRows}) {
    first[static_cast<std::size_t>(kernel)] = {first_rule(kernel, false), first_rule(kernel, true)};
  }
  return first;
}();

}  // namespace

std::span<const GeometryRule> geometry_rules() {
  return kRules;
}

const GeometryRule& find_rule(RuleKernel kernel, const Arch& arch, std::int64_t size,
                              std::int64_t multiprocessors) {
  std::size_t at = kFirst[static_cast<std::size_t>(kernel)][arch.is_blackwell_or_later() ? 1 : 0];
  while (kRules[at].at_most != kNoLimit && size > kRules[at].at_most * multiprocessors) {
    ++at;
  }
  return kRules[at];
}

}  // namespace quantjit::ops
