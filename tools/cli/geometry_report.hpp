// SPDX-License-Identifier: Apache-2.0
// Launch geometry for people and for scripts.
#pragma once

#include "tools/cli/value.hpp"

#include <quantjit/geometry.hpp>

#include <string>

namespace quantjit::cli {

/// The rule as a JSON object; no limit is null.
[[nodiscard]] Value describe(const GeometryRule& rule);
/// What it launches, without its size class, e.g. "128 threads, 16 elements each, prefetching".
[[nodiscard]] std::string brief(const GeometryRule& rule);
/// Its size class, e.g. "up to 2560 bytes of input a multiprocessor".
[[nodiscard]] std::string size_class(const GeometryRule& rule);

}  // namespace quantjit::cli
