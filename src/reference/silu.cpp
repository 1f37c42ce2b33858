// SPDX-License-Identifier: Apache-2.0
#include "src/reference/silu.hpp"

#include "kernels/exact_silu.h"
#include "src/reference/sm90_tables.hpp"

#include <cmath>

namespace quantjit::reference {

namespace {

/// The operations of exact_silu on the host. This module is compiled without contraction.
struct HostOps {
  static float fma(float a, float b, float c) { return std::fma(a, b, c); }

  static float add(float a, float b) { return a + b; }

  static float mul(float a, float b) { return a * b; }

  static float div(float a, float b) { return a / b; }

  static unsigned to_bits(float value) { return bits_of(value); }

  static float from_bits(unsigned bits) { return float_from_bits(bits); }
};

float value_of(DType dtype, std::uint32_t bits) {
  switch (dtype) {
    case DType::kBF16: return bf16_to_float(static_cast<std::uint16_t>(bits));
    case DType::kF16: return f16_to_float(static_cast<std::uint16_t>(bits));
    default: return float_from_bits(bits);
  }
}

/// `value` rounded to a 16-bit type once. A product of two 16-bit values is exact in double.
float round_to_type(DType dtype, double value) {
  return dtype == DType::kBF16 ? bf16_to_float(to_bf16(value)) : f16_to_float(to_f16(value));
}

}  // namespace

SiluAndMul::SiluAndMul(Numerics numerics, DType dtype, const Arch& arch, MathMode math)
    : dtype_(dtype), arithmetic_(math) {
  if (numerics == Numerics::kExact) {
    return;
  }
  if (arch.is_blackwell_or_later()) {
    form_ = Form::kTanh;
  } else if (math == MathMode::kFast) {
    form_ = Form::kTable;
  } else {
    form_ = numerics == Numerics::kSglang ? Form::kReciprocal : Form::kDivision;
  }
}

float SiluAndMul::approximate(float gate) const {
  if (form_ == Form::kTanh) {
    const float half = arithmetic_.mul(gate, 0.5F);
    const auto tanh = arithmetic_.flush(static_cast<float>(std::tanh(static_cast<double>(half))));
    return arithmetic_.mul(half, arithmetic_.add(1.0F, tanh));
  }
  constexpr float kLog2E = 0x1.715476p+0F;
  const float exponent = -gate * kLog2E;
  const auto power = static_cast<float>(std::exp2(static_cast<double>(exponent)));
  const float denominator = 1.0F + power;
  return form_ == Form::kReciprocal ? gate * (1.0F / denominator) : gate / denominator;
}

float SiluAndMul::operator()(std::uint32_t gate, std::uint32_t up) const {
  const float factor = value_of(dtype_, up);
  if (form_ == Form::kTable) {
    const auto index = static_cast<std::uint16_t>(gate);
    const std::uint16_t entry = dtype_ == DType::kBF16 ? silu_bf16(index) : silu_f16(index);
    return round_to_type(dtype_, static_cast<double>(value_of(dtype_, entry)) * factor);
  }
  const float value = value_of(dtype_, gate);
  const float silu = form_ == Form::kExact ? exact::exact_silu<HostOps>(value) : approximate(value);
  if (dtype_ == DType::kF32) {
    return silu * factor;
  }
  return round_to_type(dtype_, static_cast<double>(round_to_type(dtype_, silu)) * factor);
}

bool silu_is_bit_exact(Numerics numerics, const Arch& arch, MathMode math) {
  return numerics == Numerics::kExact || (!arch.is_blackwell_or_later() && math == MathMode::kFast);
}

}  // namespace quantjit::reference
