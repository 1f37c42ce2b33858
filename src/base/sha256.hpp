// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), for keys and entry checksums.
#pragma once

#include "src/base/sha256_compress.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quantjit::base {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// Incremental SHA-256. Not thread safe; distinct objects are independent.
class Sha256 {
 public:
  Sha256();
  /// With one form of the compression function; the other constructor takes the fastest.
  explicit Sha256(Sha256Compress compress);
  void update(std::span<const std::byte> bytes);

  void update(std::string_view text) { update(std::as_bytes(std::span(text.data(), text.size()))); }

  /// Digest of everything fed so far; the object must not be used afterwards.
  [[nodiscard]] Sha256Digest finish();

 private:
  Sha256Compress compress_;
  Sha256State state_;
  std::array<std::byte, 64> buffer_{};
  std::size_t buffered_ = 0;
  std::uint64_t total_bytes_ = 0;
};

/// Digest of one span.
[[nodiscard]] Sha256Digest sha256(std::span<const std::byte> bytes);
[[nodiscard]] Sha256Digest sha256(std::string_view text);
/// HMAC-SHA-256 (RFC 2104).
[[nodiscard]] Sha256Digest hmac_sha256(std::string_view key, std::span<const std::byte> bytes);

/// Lower-case hexadecimal.
[[nodiscard]] std::string to_hex(std::span<const std::uint8_t> bytes);

}  // namespace quantjit::base
