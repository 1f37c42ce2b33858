// SPDX-License-Identifier: Apache-2.0
// The CPU reference of every descriptor and the generator of recorded inputs: the oracle of
// `--check` and `golden`. Host memory only; scalar and slow on purpose.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/export.hpp>
#include <quantjit/tensor.hpp>
#include <quantjit/traits.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace quantjit::reference {

/// What fills an input tensor. All kinds are pure functions of (seed, element index).
enum class InputKind : std::uint8_t {
  kUniform = 0,   ///< [-1, 1) times a power of two that changes every 128 elements
  kBits = 1,      ///< random bit patterns, all of them finite
  kMidpoint = 2,  ///< ties of E4M3 once the scale is 1
  kSpecial = 3,   ///< uniform with zero, NaN, infinity, denormal and largest-finite runs of 128
  kRows = 4,      ///< the same, a whole row at a time
  kNormal = 5,    ///< standard normal (Box-Muller on the same hash), rounded to the dtype
};

/// "uniform", "bits", "midpoint", "special", "rows" or "normal".
QUANTJIT_API std::string_view to_string(InputKind kind);
/// Throws: InvalidArgument.
QUANTJIT_API InputKind parse_input_kind(std::string_view text);

/// Fills `data` (row-major [.., row_length], bf16, f16 or f32) with `count` elements of `kind`.
/// @param row_length elements a row; only `rows` reads it
/// Thread safe. Throws: InvalidArgument for another dtype.
QUANTJIT_API void generate(InputKind kind, DType dtype, std::uint64_t seed, std::size_t count,
                           std::size_t row_length, void* data);

/// What the bits depend on beside the traits.
struct Target {
  Arch arch;                        ///< selects the SiLU form and the math default
  MathMode math = MathMode::kAuto;  ///< a preference, resolved as by resolve_math
  int sm_count = 132;               ///< `zero_rows=legacy` switches at num_tokens >= 16 * sm_count
};

/// True if the reference's bytes are those of the hardware for every input. False where the device
/// uses an approximate function whose bits are not tabulated (SiLU outside numerics=exact on
/// anything but fast sm_90, and fast division on sm_100 and later).
QUANTJIT_API bool is_bit_exact(const Traits& traits, const Target& target);

/// Operands of per_token_group_quant in host memory. Shapes, dtypes and strides as in
/// quantjit/ops.hpp.
struct GroupQuantOperands {
  TensorView
      input;  ///< [num_tokens, hidden * (silu ? 2 : 1)] or [num_experts, num_tokens_padded, ...]
  TensorView output_q;  ///< [rows >= num_tokens, hidden] or [num_experts, rows, hidden]
  TensorView output_s;  ///< by the traits, as in quantjit/ops.hpp
  TensorView masked_m;  ///< [num_experts] int32 or int64; ndim 0 with schedule=flat
};

/// Writes exactly the bytes that the kernel writes and no others (padding keeps its contents unless
/// the contract says otherwise). Throws: InvalidArgument. Thread safe.
QUANTJIT_API void per_token_group_quant(const PerTokenGroupQuant& traits, const Target& target,
                                        const GroupQuantOperands& operands);

/// input [num_tokens, hidden], output_q [rows >= num_tokens, hidden], output_s [rows] or [rows, 1]
/// f32.
QUANTJIT_API void per_token_quant(const PerTokenQuant& traits, const Target& target,
                                  const TensorView& input, const TensorView& output_q,
                                  const TensorView& output_s);

}  // namespace quantjit::reference
