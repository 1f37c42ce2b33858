// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/reference/arithmetic.hpp"

#include <quantjit/reference.hpp>

#include <cstdint>

namespace quantjit::reference {

/// silu(gate) * up as a family computes it. Bit patterns in, the rounded product out.
class SiluAndMul {
 public:
  /// @param math the resolved mode
  SiluAndMul(Numerics numerics, DType dtype, const Arch& arch, MathMode math);

  /// @param gate, up bit patterns of the input type (the low 16 bits for bf16 and f16)
  /// @return the product, a value of the input type
  [[nodiscard]] float operator()(std::uint32_t gate, std::uint32_t up) const;

 private:
  enum class Form : std::uint8_t {
    kExact,       ///< exact_silu
    kTable,       ///< sm_90 under fast math, as recorded
    kReciprocal,  ///< x * RN(1 / (1 + e^-x))
    kDivision,    ///< x / (1 + e^-x)
    kTanh,        ///< h + h*tanh(h), h = x/2, written h * (1 + tanh h): sm_100 and later
  };

  [[nodiscard]] float approximate(float gate) const;

  Form form_ = Form::kExact;
  DType dtype_;
  Arithmetic arithmetic_;
};

/// True if `SiluAndMul` gives the bits of the hardware.
[[nodiscard]] bool silu_is_bit_exact(Numerics numerics, const Arch& arch, MathMode math);

}  // namespace quantjit::reference
