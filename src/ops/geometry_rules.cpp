// SPDX-License-Identifier: Apache-2.0
#include "src/ops/geometry_rules.hpp"

#include <array>
#include <limits>

namespace quantjit::ops {

namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// Few chunks: small blocks reach more multiprocessors. Many: large blocks cost fewer launches.
// Masked grids are capped at what is resident, so that no warp comes late to its share.
constexpr std::array kRules{
    GeometryRule{"flat", false, 1024, 64, 0, 16, 0},
    GeometryRule{"flat", false, 4096, 128, 0, 16, 0},
    GeometryRule{"flat", false, kNoLimit, 256, 0, 16, 0},
    GeometryRule{"masked", false, 16, 64, 16, 0, 0},
    GeometryRule{"masked", false, 48, 128, 12, 0, 0},
    GeometryRule{"masked", false, kNoLimit, 256, 8, 0, 0},
    GeometryRule{"rows", false, 1, 32, 0, 0, 1},
    GeometryRule{"rows", false, 4, 64, 0, 0, 2},
    GeometryRule{"rows", false, kNoLimit, 128, 0, 0, 4},
    GeometryRule{"flat", true, 1024, 64, 0, 16, 0},
    GeometryRule{"flat", true, 4096, 128, 0, 16, 0},
    GeometryRule{"flat", true, kNoLimit, 256, 0, 32, 0},
    GeometryRule{"masked", true, 16, 64, 16, 0, 0},
    GeometryRule{"masked", true, 48, 128, 12, 0, 0},
    GeometryRule{"masked", true, kNoLimit, 256, 8, 0, 0},
    GeometryRule{"rows", true, 1, 32, 0, 0, 1},
    GeometryRule{"rows", true, 4, 64, 0, 0, 2},
    GeometryRule{"rows", true, kNoLimit, 128, 0, 0, 2},
};

constexpr std::string_view name_of(RuleKernel kernel) {
  switch (kernel) {
    case RuleKernel::kFlat: return "flat";
    case RuleKernel::kMasked: return "masked";
    case RuleKernel::kRows: return "rows";
  }
  return {};
}

}  // namespace

std::span<const GeometryRule> geometry_rules() {
  return kRules;
}

const GeometryRule& find_rule(RuleKernel kernel, const Arch& arch, std::int64_t size) {
  const std::string_view name = name_of(kernel);
  const bool blackwell = arch.is_blackwell_or_later();
  std::size_t last = 0;
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (kRules[i].kernel == name && kRules[i].blackwell == blackwell) {
      last = i;
      if (size <= kRules[i].at_most) {
        break;
      }
    }
  }
  return kRules[last];
}

}  // namespace quantjit::ops
