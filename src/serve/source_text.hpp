// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace quantjit::serve {

/// Refuses a kernel source of a stranger that could make the compiler open a file: everything that
/// includes must be a plain `#include "path"` on a line of its own, of a path that cannot leave the
/// include root, so that the one reader of includes that keys are made by cannot be misled.
/// Throws: Refusal naming path and line.
void check_source_text(std::string_view text, const std::string& path);

}  // namespace quantjit::serve
