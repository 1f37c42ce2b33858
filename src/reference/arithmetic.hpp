// SPDX-License-Identifier: Apache-2.0
// binary32 arithmetic as a kernel build has it.
#pragma once

#include "src/reference/sm90_tables.hpp"
#include "src/reference/soft_float.hpp"

#include <quantjit/arch.hpp>

namespace quantjit::reference {

/// Multiplication and division under a math mode. Precise: IEEE. Fast: subnormal operands and
/// results are zeros of their sign, and a division is a multiplication by rcp.approx.ftz.
class Arithmetic {
 public:
  explicit Arithmetic(MathMode mode) : fast_(mode == MathMode::kFast) {}

  [[nodiscard]] float flush(float value) const { return fast_ ? flush_subnormal(value) : value; }

  [[nodiscard]] float mul(float a, float b) const { return flush(flush(a) * flush(b)); }

  [[nodiscard]] float add(float a, float b) const { return flush(flush(a) + flush(b)); }

  [[nodiscard]] float div(float a, float b) const {
    return fast_ ? mul(a, rcp_approx_ftz(b)) : a / b;
  }

 private:
  bool fast_;
};

}  // namespace quantjit::reference
