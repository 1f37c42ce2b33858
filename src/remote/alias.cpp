// SPDX-License-Identifier: Apache-2.0
#include "src/remote/alias.hpp"

#include "cache/entry.hpp"

#include <charconv>

namespace quantjit::remote {
namespace {

constexpr std::string_view kHead = "qj-latest 1 ";
constexpr std::size_t kToolchainDigits = 16;

}  // namespace

std::string to_text(const Alias& alias) {
  return std::string(kHead) + std::to_string(alias.rank) + " " + alias.toolchain + "\n";
}

std::optional<Alias> parse_alias(std::string_view text) {
  if (!text.starts_with(kHead)) {
    return std::nullopt;
  }
  const std::string_view rest = text.substr(kHead.size());
  Alias alias;
  const auto [blank, status] = std::from_chars(rest.data(), rest.data() + rest.size(), alias.rank);
  if (status != std::errc{}) {
    return std::nullopt;
  }
  const std::string_view tail = rest.substr(static_cast<std::size_t>(blank - rest.data()));
  if (tail.size() != kToolchainDigits + 2) {
    return std::nullopt;
  }
  alias.toolchain = tail.substr(1, kToolchainDigits);
  const bool valid = cache::EntryKey{std::string(64, '0'), alias.toolchain}.valid();
  return valid && to_text(alias) == text ? std::optional(std::move(alias)) : std::nullopt;
}

}  // namespace quantjit::remote
