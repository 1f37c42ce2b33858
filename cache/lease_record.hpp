// SPDX-License-Identifier: Apache-2.0
// The text of a lease file:
//
//   quantjit-lease 1
//   beat <20 digits: beats so far> <20 digits: nanoseconds since boot>
//   token <32 hexadecimal digits>
//   pid <decimal>
//   start <decimal>
//   kernel <text>
//   host <text>
//
// The beat line has a fixed place and width, so that it can be written over without the rest.
#pragma once

#include "cache/owner.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quantjit::cache {

struct LeaseRecord {
  std::uint64_t beats = 0;
  std::chrono::nanoseconds beat_time{0};  ///< since boot of the owner's kernel
  std::string token;                      ///< names this holding, never another one
  ProcessIdentity owner;
};

inline constexpr std::uint64_t kBeatLineOffset = 17;

[[nodiscard]] std::string format_beat(const LeaseRecord& record);
[[nodiscard]] std::string format_lease(const LeaseRecord& record);
/// Nothing if the text is not a whole lease.
[[nodiscard]] std::optional<LeaseRecord> parse_lease(std::string_view text);

}  // namespace quantjit::cache
