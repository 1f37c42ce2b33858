// SPDX-License-Identifier: Apache-2.0
// Launch geometry: pure functions from traits, shape, strides and device to grid, block and kernel
// parameters. They look at no memory, allocate nothing and are cheap enough for every launch.
#pragma once

#include "kernels/params.h"

#include <quantjit/arch.hpp>
#include <quantjit/geometry.hpp>
#include <quantjit/traits.hpp>

#include <cstdint>
#include <span>

namespace quantjit::ops {

/// Chunks that a slab may hold: indices inside it stay below 2^31 with room for a last block.
inline constexpr std::uint32_t kMaxSlabChunks = 0x7FFF0000;

/// What geometry depends on beside the problem.
struct DeviceFacts {
  Arch arch;         ///< the arch the kernel was compiled for
  int sm_count = 0;  ///< multiprocessors of the device
  /// Smaller only where a test wants many slabs of few rows.
  std::uint32_t max_slab_chunks = kMaxSlabChunks;
  /// Rules of the kernel, the last without limit; empty = those that ship for the arch.
  std::span<const GeometryRule> rules{};
};

/// Extent of a grid in blocks or of a block in threads.
struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
};

/// How a kernel is launched.
struct LaunchShape {
  bool empty = false;  ///< nothing to do: do not launch
  unsigned entry = 0;  ///< index into Specialization::name_expressions
  Dim3 grid;
  Dim3 block;
  std::uint32_t shared_bytes = 0;  ///< dynamic shared memory
};

/// Operands of per_token_group_quant, checked by the caller. Strides in elements of the tensor they
/// belong to; `output_s` counts what it stores (f32 groups, int32 words, e8m0 bytes).
struct GroupQuantProblem {
  const void* input = nullptr;
  void* output_q = nullptr;
  void* output_s = nullptr;
  const void* masked_m = nullptr;  ///< schedule=masked
  bool masked_m_is_int64 = false;
  std::int64_t num_experts = 1;  ///< 1 when flat
  std::int64_t num_tokens = 0;   ///< T, or T_pad when masked
  std::int64_t hidden_size = 0;  ///< output columns, a multiple of the group
  std::int64_t q_rows = 0;       ///< rows of output_q; read by fill=zero only
  std::int64_t expected_m = 0;   ///< hint, 0 or less = unknown
  std::int64_t input_token_stride = 0;
  std::int64_t input_expert_stride = 0;
  std::int64_t q_token_stride = 0;
  std::int64_t q_expert_stride = 0;
  std::int64_t s_token_stride = 0;  ///< ignored for swizzle128x4
  std::int64_t s_group_stride = 0;  ///< between groups, or words of four; ignored for swizzle128x4
  std::int64_t s_expert_stride = 0;
};

struct GroupQuantLaunch {
  LaunchShape shape;
  device::GroupQuantParams params{};
};

/// Operands of per_token_quant, checked by the caller. Strides in elements.
struct TokenQuantProblem {
  const void* input = nullptr;
  void* output_q = nullptr;
  float* output_s = nullptr;
  std::int64_t num_tokens = 0;
  std::int64_t hidden_size = 0;  ///< positive multiple of 4
  std::int64_t input_token_stride = 0;
  std::int64_t q_token_stride = 0;
};

struct TokenQuantLaunch {
  LaunchShape shape;
  device::TokenQuantParams params{};
};

/// REQUIRES: valid traits, a problem that fits them, input and q rows on 16-byte boundaries.
/// Throws: InvalidArgument for a row or a grid beyond what a launch can express. Thread safe.
[[nodiscard]] GroupQuantLaunch plan(const PerTokenGroupQuant& traits,
                                    const GroupQuantProblem& problem, const DeviceFacts& device);

/// `zero_rows=legacy` switches at num_tokens >= 16 * sm_count, whatever geometry is chosen.
/// REQUIRES: valid traits and a problem that fits them; input rows aligned to 4 elements.
/// Throws: InvalidArgument. Thread safe.
[[nodiscard]] TokenQuantLaunch plan(const PerTokenQuant& traits, const TokenQuantProblem& problem,
                                    const DeviceFacts& device);

}  // namespace quantjit::ops
