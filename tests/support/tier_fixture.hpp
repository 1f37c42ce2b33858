// SPDX-License-Identifier: Apache-2.0
// Entries and tiers for the tests of remote tiers.
#pragma once

#include "cache/entry.hpp"
#include "src/base/sha256.hpp"
#include "src/remote/tiers.hpp"
#include "tests/support/memory_server.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace quantjit::test {

inline constexpr char kToolchain[] = "00000000000000aa";
inline constexpr char kOldToolchain[] = "00000000000000bb";

/// An entry of its own for each number.
inline cache::Entry entry_of(int number, const std::string& toolchain = kToolchain,
                             std::uint32_t rank = 13000) {
  const std::string key_text = "what is asked for: " + std::to_string(number);
  return {.key = {base::to_hex(base::sha256(key_text)), toolchain},
          .toolchain_rank = rank,
          .key_text = key_text,
          .metadata = "{}",
          .code = std::string(1000, static_cast<char>('a' + number % 26))};
}

inline remote::Wanted wanted(const cache::Entry& entry) {
  return {entry.key.request, entry.key.toolchain, entry.key_text};
}

inline remote::Wanted wanted_by_any(const cache::Entry& entry) {
  return {entry.key.request, {}, entry.key_text};
}

inline remote::Name name_of(const cache::Entry& entry) {
  return {entry.key.request, entry.key.toolchain};
}

inline remote::Name newest_of(const cache::Entry& entry) {
  return {entry.key.request, "latest"};
}

/// A tier of one server.
inline std::unique_ptr<remote::RemoteTier> tier_of(MemoryServer& server, cache::Clock& clock,
                                                   remote::TierOptions options = {},
                                                   const std::string& label = "memory://server") {
  std::vector<std::unique_ptr<remote::Backend>> servers;
  servers.push_back(std::make_unique<MemoryBackend>(server, label));
  return std::make_unique<remote::RemoteTier>(std::move(options), std::move(servers), clock);
}

template <typename... Tier>
std::unique_ptr<remote::Tiers> tiers_of(remote::RemoteOptions options, cache::Clock& clock,
                                        std::unique_ptr<Tier>... tier) {
  std::vector<std::unique_ptr<remote::RemoteTier>> list;
  (list.push_back(std::move(tier)), ...);
  return std::make_unique<remote::Tiers>(std::move(list), options, clock);
}

}  // namespace quantjit::test
