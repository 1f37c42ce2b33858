// SPDX-License-Identifier: Apache-2.0
// The arithmetic of one group: maximum, scale, codes.
#pragma once

#include "src/reference/arithmetic.hpp"

#include <quantjit/traits.hpp>

#include <cstdint>
#include <span>

namespace quantjit::reference {

/// What a group's maximum gives.
struct Scaling {
  float multiplier = 0;       ///< code = round(value * multiplier)
  float stored = 0;           ///< scale=f32, f32_pow2
  std::uint8_t exponent = 0;  ///< scale=ue8m0, e8m0: the biased exponent
};

/// Largest magnitude of a group, at least 1e-10. NaN never counts, infinity counts unless
/// numerics=exact.
[[nodiscard]] float group_maximum(Numerics numerics, std::span<const float> values);

/// Scale and multiplier of a group.
[[nodiscard]] Scaling group_scaling(const PerTokenGroupQuant& traits, const Arithmetic& arithmetic,
                                    float maximum);

/// The code of a scaled value, including what NaN and out-of-range values give.
[[nodiscard]] std::uint8_t quantized_code(Numerics numerics, DType out, float scaled);

}  // namespace quantjit::reference
