// SPDX-License-Identifier: Apache-2.0
#include "src/bundle/format.hpp"

#include <algorithm>

namespace quantjit::bundle {
namespace {

// Places of the header's fields. What lies between them is zero.
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kFileBytesAt = 16;
constexpr std::size_t kIndexAtAt = 24;
constexpr std::size_t kIndexPackedAt = 32;
constexpr std::size_t kIndexBytesAt = 40;
constexpr std::size_t kEntriesAt = 48;
constexpr std::size_t kIndexDigestAt = 64;
constexpr std::size_t kSignatureKindAt = 96;
constexpr std::size_t kPublicKeyAt = 104;
constexpr std::size_t kSignatureAt = 136;
constexpr std::size_t kHeaderDigestAt = 224;

constexpr std::uint32_t kUnsigned = 0;
constexpr std::uint32_t kEd25519 = 1;

void put(std::string& out, std::size_t at, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out[at + static_cast<std::size_t>(i)] = static_cast<char>((value >> (8 * i)) & 0xFFU);
  }
}

std::uint64_t get(std::string_view bytes, std::size_t at, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
    value |= std::uint64_t{byte} << (8 * i);
  }
  return value;
}

template <std::size_t N>
void put_array(std::string& out, std::size_t at, const std::array<std::uint8_t, N>& bytes) {
  std::transform(bytes.begin(), bytes.end(), out.begin() + static_cast<std::ptrdiff_t>(at),
                 [](std::uint8_t byte) { return static_cast<char>(byte); });
}

template <std::size_t N>
std::array<std::uint8_t, N> get_array(std::string_view bytes, std::size_t at) {
  std::array<std::uint8_t, N> out{};
  std::transform(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + N), out.begin(),
                 [](char byte) { return static_cast<std::uint8_t>(byte); });
  return out;
}

/// What tells a bundle from other files, and this version's bundles from others'.
std::string identity_problem(std::string_view bytes, std::uint64_t file_bytes) {
  const std::string_view magic = bytes.substr(0, kMagic.size());
  if (file_bytes == 0) {
    return "it is empty";
  }
  if (magic != kMagic.substr(0, magic.size())) {
    return "it does not begin like a bundle";
  }
  if (bytes.size() < kVersionAt + 4) {
    return "it is cut off after " + std::to_string(bytes.size()) + " bytes";
  }
  const auto version = static_cast<std::uint32_t>(get(bytes, kVersionAt, 4));
  if (version != kFormatVersion) {
    return "it has format version " + std::to_string(version) + ", which is " +
           (version < kFormatVersion ? "older" : "newer") + " than the one that is read here, " +
           std::to_string(kFormatVersion);
  }
  if (bytes.size() < kHeaderBytes) {
    return "it is cut off after " + std::to_string(bytes.size()) + " bytes";
  }
  return {};
}

std::string size_problem(const Header& header, std::uint64_t file_bytes) {
  if (header.file_bytes != file_bytes) {
    return std::string(file_bytes < header.file_bytes ? "it is cut off" : "something follows it") +
           ": it should have " + std::to_string(header.file_bytes) + " bytes and has " +
           std::to_string(file_bytes);
  }
  if (header.index_at < kHeaderBytes || header.index_at > file_bytes ||
      header.index_packed_bytes != file_bytes - header.index_at) {
    return "its index lies outside of it";
  }
  if (header.entries > kMaxEntries || header.index_bytes > kMaxIndexBytes ||
      header.index_packed_bytes > kMaxIndexBytes) {
    return "its index is larger than a bundle's may be";
  }
  return {};
}

}  // namespace

std::string signed_bytes(const Header& header) {
  std::string out(kSignedBytes, '\0');
  out.replace(0, kMagic.size(), kMagic);
  put(out, kVersionAt, kFormatVersion, 4);
  put(out, kFileBytesAt, header.file_bytes, 8);
  put(out, kIndexAtAt, header.index_at, 8);
  put(out, kIndexPackedAt, header.index_packed_bytes, 8);
  put(out, kIndexBytesAt, header.index_bytes, 8);
  put(out, kEntriesAt, header.entries, 8);
  put_array(out, kIndexDigestAt, header.index_sha256);
  return out;
}

std::string encode(const Header& header) {
  std::string out = signed_bytes(header);
  out.resize(kHeaderBytes, '\0');
  if (header.signature) {
    put(out, kSignatureKindAt, kEd25519, 4);
    put_array(out, kPublicKeyAt, header.signature->key);
    put_array(out, kSignatureAt, header.signature->bytes);
  }
  put_array(out, kHeaderDigestAt, base::sha256(std::string_view(out).substr(0, kHeaderDigestAt)));
  return out;
}

DecodedHeader decode(std::string_view bytes, std::uint64_t file_bytes) {
  bytes = bytes.substr(0, kHeaderBytes);
  if (std::string problem = identity_problem(bytes, file_bytes); !problem.empty()) {
    return {std::nullopt, std::move(problem)};
  }
  Header header{.file_bytes = get(bytes, kFileBytesAt, 8),
                .index_at = get(bytes, kIndexAtAt, 8),
                .index_packed_bytes = get(bytes, kIndexPackedAt, 8),
                .index_bytes = get(bytes, kIndexBytesAt, 8),
                .entries = get(bytes, kEntriesAt, 8),
                .index_sha256 = get_array<32>(bytes, kIndexDigestAt),
                .signature = std::nullopt};
  const std::uint64_t kind = get(bytes, kSignatureKindAt, 4);
  if (kind == kEd25519) {
    header.signature = {get_array<32>(bytes, kPublicKeyAt), get_array<64>(bytes, kSignatureAt)};
  }
  if (get_array<32>(bytes, kHeaderDigestAt) != base::sha256(bytes.substr(0, kHeaderDigestAt))) {
    return {std::nullopt, "its header was changed"};
  }
  if (kind != kEd25519 && kind != kUnsigned) {
    return {std::nullopt, "it is signed in a way that is not known here"};
  }
  // Written again it must be the same: so what is unused is zero, and everything was understood.
  if (encode(header) != bytes) {
    return {std::nullopt, "its header holds what is not known here"};
  }
  if (std::string problem = size_problem(header, file_bytes); !problem.empty()) {
    return {std::nullopt, std::move(problem)};
  }
  return {header, {}};
}

bool is_bundle_path(std::string_view path) {
  return path.size() > kExtension.size() && path.ends_with(kExtension);
}

}  // namespace quantjit::bundle
