// SPDX-License-Identifier: Apache-2.0
// How a scale tensor follows from the traits.
#pragma once

#include <quantjit/tensor.hpp>
#include <quantjit/traits.hpp>

#include <cstdint>

namespace quantjit::ops {

inline constexpr std::int64_t kSwizzleRows = 128;   ///< rows of a swizzled tile
inline constexpr std::int64_t kSwizzleColumns = 4;  ///< groups of a swizzled tile

constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

constexpr DType scale_dtype(ScaleFormat format) {
  switch (format) {
    case ScaleFormat::kF32:
    case ScaleFormat::kF32Pow2: return DType::kF32;
    case ScaleFormat::kUE8M0: return DType::kInt32;
    case ScaleFormat::kE8M0: return DType::kE8M0;
  }
  return DType::kF32;
}

/// Columns of an unswizzled scale tensor: groups, or words of four.
constexpr std::int64_t scale_columns(ScaleFormat format, std::int64_t num_groups) {
  return format == ScaleFormat::kUE8M0 ? ceil_div(num_groups, 4) : num_groups;
}

/// Bytes of an expert's swizzled scales: whole 128 x 4 tiles.
constexpr std::int64_t swizzled_bytes(std::int64_t num_tokens, std::int64_t num_groups) {
  return ceil_div(num_tokens, kSwizzleRows) * ceil_div(num_groups, kSwizzleColumns) * kSwizzleRows *
         kSwizzleColumns;
}

}  // namespace quantjit::ops
