// SPDX-License-Identifier: Apache-2.0
// Launch geometry as data: which blocks a kernel is launched with, by size class.
#pragma once

#include <quantjit/arch.hpp>
#include <quantjit/export.hpp>
#include <quantjit/traits.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit {

/// Kernels that have a table of their own.
enum class GeometryKernel : std::uint8_t {
  kFlat = 0,        ///< per_token_group_quant, schedule=flat
  kFlatSilu = 1,    ///< the same with silu=true
  kMasked = 2,      ///< per_token_group_quant, schedule=masked
  kMaskedSilu = 3,  ///< the same with silu=true
  kRows = 4,        ///< per_token_quant
};

inline constexpr std::size_t kGeometryKernels = 5;

/// Whether it is one of schedule=masked.
[[nodiscard]] constexpr bool is_masked(GeometryKernel kernel) {
  return kernel == GeometryKernel::kMasked || kernel == GeometryKernel::kMaskedSilu;
}

/// "flat", "flat_silu", "masked", "masked_silu" or "rows".
QUANTJIT_API std::string_view to_string(GeometryKernel kernel);
/// Throws: InvalidArgument.
QUANTJIT_API GeometryKernel parse_geometry_kernel(std::string_view text);
/// The table that launches of a descriptor look into.
QUANTJIT_API GeometryKernel geometry_kernel(const Traits& traits);

/// Size class of the last rule of a kernel: all that the others leave.
inline constexpr std::int64_t kNoSizeLimit = std::numeric_limits<std::int64_t>::max();

/// One line of a geometry table. A launch takes the first rule of its kernel whose `at_most` is not
/// exceeded. Geometry never changes a result, only its time.
struct GeometryRule {
  GeometryKernel kernel = GeometryKernel::kFlat;  ///< whose table it is of
  /// Size class: at most this many bytes of input (flat), warps of work (masked) or rows (rows) a
  /// multiprocessor. The last rule of a kernel has kNoSizeLimit.
  std::int64_t at_most = 0;
  /// Threads a block, a multiple of 32: 32 to 512 (flat, rows) or 256 (masked). rows: at most, as
  /// far as whole rows go.
  std::uint32_t threads = 0;
  std::uint32_t blocks_per_sm = 0;  ///< masked: cap of the grid, 1 to 32; else 0
  /// flat: elements a thread, 16, or 32 where alignment, group and target allow; else 0.
  std::uint32_t elements = 0;
  std::uint32_t block_rows = 0;  ///< rows: rows a block, 1 to 16, as far as `threads` allow; else 0
  bool prefetch =
      false;  ///< flat, rows: bring the input to the L2 cache before the kernel in front ends

  friend bool operator==(const GeometryRule&, const GeometryRule&) = default;
};

/// The table that ships for a target. sm_90: measured on an H200. Later targets: reasoned from it.
[[nodiscard]] QUANTJIT_API std::vector<GeometryRule> default_geometry(const Arch& arch);

/// The rules of one kernel in a table, in their order.
[[nodiscard]] QUANTJIT_API std::vector<GeometryRule> rules_of(std::span<const GeometryRule> table,
                                                              GeometryKernel kernel);

/// Checks a table: ranges as above, and for each kernel in it rising size classes of which the last
/// has no limit. Throws: InvalidArgument naming the rule.
QUANTJIT_API void validate(std::span<const GeometryRule> rules);

/// A table and where it comes from.
struct Geometry {
  std::vector<GeometryRule> rules;  ///< of all kernels
  std::string source;               ///< "built in", "options", or "tuned for <GPU>"
};

}  // namespace quantjit
