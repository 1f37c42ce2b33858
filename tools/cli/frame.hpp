// SPDX-License-Identifier: Apache-2.0
// Messages between a command and its worker processes: a length of 4 bytes, then the bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quantjit::cli {

/// False if the other side has gone.
[[nodiscard]] bool write_frame(int descriptor, std::string_view message);

/// The next message, or nothing at the end of the stream, also in the middle of a message.
[[nodiscard]] std::optional<std::string> read_frame(int descriptor);

}  // namespace quantjit::cli
