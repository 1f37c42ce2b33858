// SPDX-License-Identifier: Apache-2.0
// The fixed part of a bundle (format version 1). src/bundle/README.md specifies it.
//
//   <bundle> ::= <header> <frame>* <index>
//
// The header has 256 bytes; every frame is one entry file, the index one JSON object a line, each
// compressed on its own so that one entry can be read without the others.
#pragma once

#include "src/base/sha256.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quantjit::bundle {

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::string_view kMagic{"\x89QJB\r\n\x1a\n", 8};
inline constexpr std::string_view kExtension = ".qjb";
inline constexpr std::size_t kHeaderBytes = 256;
/// What a signature covers: all of the header before it, the index digest included.
inline constexpr std::size_t kSignedBytes = 96;

// Caps, checked before memory or time is spent: a small file must not cost much of either.
inline constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 17;
inline constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{128} << 20;
inline constexpr std::uint64_t kMaxUnpackedBytes = std::uint64_t{16} << 30;

using PublicKey = std::array<std::uint8_t, 32>;
using SignatureBytes = std::array<std::uint8_t, 64>;

/// An Ed25519 signature and the key that it is by.
struct Signature {
  PublicKey key{};
  SignatureBytes bytes{};
};

struct Header {
  std::uint64_t file_bytes = 0;
  std::uint64_t index_at = 0;
  std::uint64_t index_packed_bytes = 0;
  std::uint64_t index_bytes = 0;
  std::uint64_t entries = 0;
  base::Sha256Digest index_sha256{};  ///< of the compressed index
  std::optional<Signature> signature;
};

/// The bytes that a signature covers.
[[nodiscard]] std::string signed_bytes(const Header& header);
[[nodiscard]] std::string encode(const Header& header);

/// A header, or the reason why there is none.
struct DecodedHeader {
  std::optional<Header> header;
  std::string problem;  ///< a phrase about the file, e.g. "it is empty"
};

/// Reads a header and checks all of it.
/// @param bytes      the first bytes of the file, kHeaderBytes of them if it has as many
/// @param file_bytes size of the file
[[nodiscard]] DecodedHeader decode(std::string_view bytes, std::uint64_t file_bytes);

/// Whether a path is meant as a bundle.
[[nodiscard]] bool is_bundle_path(std::string_view path);

}  // namespace quantjit::bundle
