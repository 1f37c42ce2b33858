// SPDX-License-Identifier: Apache-2.0
// The small text beside a request's entries that names the newest one, for machines without a
// toolchain of their own: `qj-latest 1 <rank> <toolchain>\n`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quantjit::remote {

inline constexpr std::string_view kLatest = "latest";

struct Alias {
  std::uint32_t rank = 0;  ///< as an entry's toolchain_rank
  std::string toolchain;   ///< 16 hexadecimal digits

  friend bool operator==(const Alias&, const Alias&) = default;
};

[[nodiscard]] std::string to_text(const Alias& alias);
/// Nothing for any text that to_text() does not write.
[[nodiscard]] std::optional<Alias> parse_alias(std::string_view text);

}  // namespace quantjit::remote
