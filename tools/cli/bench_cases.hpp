// SPDX-License-Identifier: Apache-2.0
// What `quantjit bench` measures, and what others reached on the same cases.
#pragma once

#include <quantjit/traits.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::cli {

/// One shape of one descriptor.
struct BenchCase {
  std::string name;
  Descriptor descriptor;
  std::int64_t tokens = 0;   ///< padded rows an expert where experts are given
  std::int64_t hidden = 0;   ///< output columns
  std::int64_t experts = 0;  ///< 0: flat
  std::vector<std::int64_t> masked_m;
  std::int64_t expected_m = 0;
  std::optional<double> best_original_us;  ///< fastest recorded kernel of this case
  std::string best_original;               ///< its name

  /// Rows that are read.
  [[nodiscard]] std::int64_t live_tokens() const;
  /// Each live input and output byte once.
  [[nodiscard]] std::int64_t live_bytes() const;
};

/// A recorded file: its cases in order, each once, and its floors.
struct BenchFile {
  std::vector<BenchCase> cases;
  double empty_pdl_us = 0;   ///< 0: not recorded
  double copy_gb_per_s = 0;  ///< of 2 GiB, bytes read plus bytes written; 0: not recorded
};

/// Reads a CSV with a header line; needed columns: case op in_dtype out_dtype tokens hidden group
/// scale_layout silu experts masked_m expected_m; `kernel` and `us_median` give recorded times.
/// Throws: InvalidArgument that names the line.
[[nodiscard]] BenchFile parse_bench_csv(std::string_view text);

/// Cases beyond the recorded ones: more rows and widths, groups, dtypes, skewed experts.
[[nodiscard]] std::vector<BenchCase> additional_bench_cases();

}  // namespace quantjit::cli
