// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace quantjit::traits {

/// User text for a message: in double quotes, control characters, quotes and bytes beyond ASCII
/// escaped, cut after about 80 characters with the full length named.
[[nodiscard]] std::string quote(std::string_view text);

}  // namespace quantjit::traits
