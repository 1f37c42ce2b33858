// SPDX-License-Identifier: Apache-2.0
// The geometry table as data, and the search in it.
#pragma once

#include "src/ops/geometry.hpp"

namespace quantjit::ops {

/// The kernels that the table knows.
enum class RuleKernel { kFlat, kMasked, kRows };

/// The first rule of a kernel and arch that holds for `size` on `multiprocessors` of them.
[[nodiscard]] const GeometryRule& find_rule(RuleKernel kernel, const Arch& arch, std::int64_t size,
                                            std::int64_t multiprocessors);

}  // namespace quantjit::ops
