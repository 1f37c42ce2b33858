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
  kLanes16 = 0,  ///< 16 elements a thread: any shape
  kLanes32 = 1,  ///< 32 elements a thread with 256-bit accesses, where has_wide_entry()
};

/// Whether a descriptor has GroupEntry::kLanes32: SM100+, schedule=flat, 16-bit input, group
/// at least 32.
[[nodiscard]] bool has_wide_entry(const PerTokenGroupQuant& traits, const Arch& arch);

/// Entry points of `per_token_quant`, indices into Specialization::name_expressions.
enum class TokenEntry : unsigned {
  kNarrow = 0,  ///< 4 elements at once: any row
  kWide = 1,    ///< wide_token_elements() at once, where rows divide into them and start on them
};

/// Elements that TokenEntry::kWide loads at once: as many as make 16 bytes, on SM100+ 32; 0 where
/// that is no more than the narrow one takes, so that there is no such entry (f32 on sm_90).
[[nodiscard]] unsigned wide_token_elements(const PerTokenQuant& traits, const Arch& arch);

/// REQUIRES: valid traits; `math` is kFast or kPrecise. Thread safe.
[[nodiscard]] Specialization specialize(const Traits& traits, MathMode math, const Arch& arch);

}  // namespace quantjit
