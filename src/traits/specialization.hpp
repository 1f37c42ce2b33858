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

/// Entry points of `per_token_quant`: 4 << entry elements are loaded at once.
enum class TokenEntry : unsigned {
  kVector4 = 0,   ///< any row
  kVector8 = 1,   ///< 16-bit input: rows of a multiple of 8 on 16 bytes; f32: SM100+, on 32 bytes
  kVector16 = 2,  ///< SM100+, 16-bit input: rows of a multiple of 16
};

/// Number of entry points: 2 (f32: 1), and one more on SM100+.
[[nodiscard]] unsigned token_entry_count(const PerTokenQuant& traits, const Arch& arch);

/// REQUIRES: valid traits; `math` is kFast or kPrecise. Thread safe.
[[nodiscard]] Specialization specialize(const Traits& traits, MathMode math, const Arch& arch);

}  // namespace quantjit
