// SPDX-License-Identifier: Apache-2.0
#include "src/reference/silu.hpp"

#include <quantjit/reference.hpp>

namespace quantjit::reference {

namespace {

/// Fast division is tabulated for sm_90 alone.
bool division_is_bit_exact(const Arch& arch, MathMode math) {
  return math != MathMode::kFast || !arch.is_blackwell_or_later();
}

}  // namespace

bool is_bit_exact(const Traits& traits, const Target& target) {
  const MathMode math = resolve_math({traits, MathMode::kAuto}, target.arch, target.math);
  const auto* group = std::get_if<PerTokenGroupQuant>(&traits);
  if (std::holds_alternative<CustomTraits>(traits)) {
    return false;  // it has no reference here
  }
  if (group == nullptr) {
    return division_is_bit_exact(target.arch, math);
  }
  if (group->silu && !silu_is_bit_exact(group->numerics, target.arch, math)) {
    return false;
  }
  // Scales that are powers of two need no division.
  return group->scale != ScaleFormat::kF32 || division_is_bit_exact(target.arch, math);
}

}  // namespace quantjit::reference
