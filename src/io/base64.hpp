// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace quantjit::io {

/// Decodes base64 (RFC 4648, standard alphabet, padded, no line breaks). Nothing if the text is
/// anything else, unused bits that are not zero included.
[[nodiscard]] std::optional<std::vector<std::byte>> decode_base64(std::string_view text);

}  // namespace quantjit::io
