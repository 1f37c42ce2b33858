// SPDX-License-Identifier: Apache-2.0
// zstd, where it was there at build time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quantjit::bundle {

/// Version of the zstd that is used, e.g. "1.5.4"; empty if this build has none.
[[nodiscard]] std::string compression_version();
/// One frame that states its content's size. Throws: NotImplemented without zstd.
[[nodiscard]] std::string compress(std::string_view bytes);
/// Content of `packed`, which must be one frame of exactly `bytes` bytes and nothing more; nothing
/// if it is not. Takes no more memory than that. Throws: NotImplemented without zstd.
[[nodiscard]] std::optional<std::string> decompress(std::string_view packed, std::uint64_t bytes);

}  // namespace quantjit::bundle
