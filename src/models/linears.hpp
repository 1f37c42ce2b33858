// SPDX-License-Identifier: Apache-2.0
// The linear layers of a model: their widths per rank, and what quantizes their input.
#pragma once

#include "src/models/plan.hpp"

#include <string>
#include <vector>

namespace quantjit::models {

/// A linear whose input is quantized, seen from one rank.
struct Linear {
  std::string name;
  std::int64_t k = 0;
  std::int64_t n = 0;  ///< 0: not known, and no gate depends on it
  /// Columns of the parts that are split over ranks; empty for a linear that is not split by
  /// columns.
  std::vector<std::int64_t> columns = {};
  bool by_rows = false;  ///< split by rows: k is a share
  std::int64_t tp = 1;
};

/// The linears of attention, dense MLP and shared expert that the checkpoint quantizes.
/// @param shared_expert whether the shared expert is computed on its own
/// Throws: Refused where a width cannot be split.
[[nodiscard]] std::vector<Linear> list_linears(const Plan& plan, bool shared_expert);

/// Throws Refused where the engine's check of weight blocks fails.
void check_blocks(const Plan& plan, const Linear& linear);

/// Adds the sites of SGLang's linears.
void add_sglang_linears(Plan& plan, const std::vector<Linear>& linears);

/// Adds one per-token site a linear.
void add_token_linears(Plan& plan, const std::vector<Linear>& linears);

/// Whether DeepGEMM takes a linear of this shape.
[[nodiscard]] bool fits_deepgemm(const Plan& plan, const Linear& linear);

}  // namespace quantjit::models
