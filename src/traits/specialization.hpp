// SPDX-License-Identifier: Apache-2.0
// From a descriptor to what NVRTC compiles: a kernel file and name expressions over it.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/traits.hpp>

#include <string>
#include <vector>

namespace quantjit {

/// What one descriptor compiles to. A function of its arguments alone.
struct Specialization {
  std::string source;  ///< path under kernels/, e.g. "per_token_group_quant.cuh"
  /// One to three instantiations; launch picks by index (see src/ops/geometry.hpp).
  std::vector<std::string> name_expressions;
  /// Compile options beside the target, in a fixed order.
  std::vector<std::string> options;
};

/// Entry points of `per_token_group_quant`, indices into Specialization::name_expressions.
enum class GroupEntry : unsigned {
  kLanes16 = 0,  ///< 16 elements a thread: any aligned shape
  kLanes32 = 1,  ///< SM100+, group >= 32, flat: 32 elements a thread, 256-bit accesses
};

/// Entry points of `per_token_quant`: elements that a thread loads at once.
enum class TokenEntry : unsigned {
  kVector4 = 0,   ///< any row
  kVector8 = 1,   ///< rows of a multiple of 8 elements on 16-byte boundaries (f32: 32)
  kVector16 = 2,  ///< rows of a multiple of 16 elements; 16-bit input only
};

/// REQUIRES: valid traits; `math` is kFast or kPrecise. Thread safe.
[[nodiscard]] Specialization specialize(const Traits& traits, MathMode math, const Arch& arch);

}  // namespace quantjit
