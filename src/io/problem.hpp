// SPDX-License-Identifier: Apache-2.0
// One call of an operation on generated data, with its host buffers: what recorded cases, the
// command line's `run` and randomized tests have in common.
#pragma once

#include <quantjit/reference.hpp>
#include <quantjit/tensor.hpp>
#include <quantjit/traits.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quantjit::io {

/// Traits, shape and input of one call.
struct Problem {
  Traits traits;
  std::int64_t tokens = 0;             ///< T; with a masked schedule rows an expert
  std::int64_t hidden = 0;             ///< output columns
  std::int64_t experts = 0;            ///< masked schedule only, else 0
  std::vector<std::int64_t> masked_m;  ///< live rows an expert; may hold any number
  DType mask_dtype = DType::kInt32;    ///< int32 or int64
  std::int64_t pad_rows = 0;           ///< rows of output_q (and of a row scale) beyond T
  reference::InputKind kind = reference::InputKind::kUniform;
  std::uint64_t seed = 0;
};

/// Host memory of every operand. Outputs are poisoned: codes and int32 or e8m0 scales with 0xA5
/// bytes, float scales with quiet NaN 0x7FC00000. The views point into the vectors, so a moved
/// object keeps them valid and a copied one would not.
struct ProblemBuffers {
  ProblemBuffers() = default;
  ~ProblemBuffers() = default;
  ProblemBuffers(ProblemBuffers&&) = default;
  ProblemBuffers& operator=(ProblemBuffers&&) = default;
  ProblemBuffers(const ProblemBuffers&) = delete;
  ProblemBuffers& operator=(const ProblemBuffers&) = delete;

  std::vector<std::byte> input;
  std::vector<std::byte> q;
  std::vector<std::byte> s;
  std::vector<std::byte> mask;  ///< empty without a mask
  TensorView input_view;
  TensorView q_view;
  TensorView s_view;
  TensorView mask_view;  ///< ndim 0 without a mask
};

/// Throws InvalidArgument, naming the field, unless sizes are in range, `hidden` is a multiple of
/// the group (of 4 for per_token_quant), experts and masked_m fit the schedule, and no buffer is
/// larger than 2^40 bytes.
void validate(const Problem& problem);

/// Buffers of a valid problem: the input generated, the outputs poisoned. Shapes, row-major:
/// input [E,] T, H (2H with silu); q [E,] T + pad_rows, H; row scales [E,] T, S; column scales
/// [E,] S, ceil(T / 4) * 4 seen as [E,] T, S; swizzled scales [E,] bytes; per_token_quant
/// T + pad_rows scales. Throws: InvalidArgument.
[[nodiscard]] ProblemBuffers make_buffers(const Problem& problem);

/// The same views over other memory, such as a device's copy of the buffers.
[[nodiscard]] TensorView rebased(const TensorView& view, void* data, std::int32_t device);

/// Runs the CPU reference over the buffers. Throws: InvalidArgument.
void run_reference(const Problem& problem, const reference::Target& target,
                   const ProblemBuffers& buffers);

}  // namespace quantjit::io
