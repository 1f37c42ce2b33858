// SPDX-License-Identifier: Apache-2.0
// Approximate functions of an sm_90 GPU, from tables recorded on one.
#pragma once

#include <cstdint>

namespace quantjit::reference {

/// `rcp.approx.ftz.f32`, bit for bit.
[[nodiscard]] float rcp_approx_ftz(float value);

/// SiLU of the original kernels under fast math, rounded to the format; argument and result are bit
/// patterns. The forms with a correctly rounded reciprocal and with fast division agree everywhere.
[[nodiscard]] std::uint16_t silu_bf16(std::uint16_t gate);
[[nodiscard]] std::uint16_t silu_f16(std::uint16_t gate);

}  // namespace quantjit::reference
