// SPDX-License-Identifier: Apache-2.0
// One cache entry and its bytes on disk (format version 1).
//
//   <entry>   ::= <prelude> <section>+ <seal>
//   <prelude> ::= magic[8] version:u32 seal_kind:u32 file_size:u64 toolchain_rank:u32 sections:u32
//   <section> ::= tag[4] reserved:u32 length:u64 payload[length]
//   <seal>    ::= digest[32]
//
// Integers are little-endian. The digest covers every byte before it. Magic and version keep their
// place in all versions, so that a reader of any age can tell a foreign format from damage.
// cache/README.md specifies each field, the section tags and the caps.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quantjit::cache {

inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::string_view kMagic{"\x89QJC\r\n\x1a\n", 8};
inline constexpr std::size_t kPreludeBytes = 32;
inline constexpr std::size_t kSectionHeaderBytes = 16;
inline constexpr std::size_t kSealBytes = 32;

// Caps, checked before anything is allocated: a damaged length must not cost memory.
inline constexpr std::uint64_t kMaxKeyTextBytes = std::uint64_t{4} << 20;
inline constexpr std::uint64_t kMaxMetadataBytes = std::uint64_t{16} << 20;
inline constexpr std::uint64_t kMaxCodeBytes = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{288} << 20;

/// Name of an entry: what was asked for, and the compiler that answered.
struct EntryKey {
  std::string request;    ///< 64 lower-case hexadecimal digits
  std::string toolchain;  ///< 16 lower-case hexadecimal digits

  /// `<request>-<toolchain>.qjc`
  [[nodiscard]] std::string file_name() const;
  /// `<request>-<toolchain>`
  [[nodiscard]] std::string name() const;
  /// Whether both parts have the right length and alphabet.
  [[nodiscard]] bool valid() const;
  /// Reads `<request>-<toolchain>`, with or without `.qjc`; nothing if it is not a key.
  [[nodiscard]] static std::optional<EntryKey> parse(std::string_view text);

  friend auto operator<=>(const EntryKey&, const EntryKey&) = default;
};

/// What one entry holds. The store looks into none of the texts.
struct Entry {
  EntryKey key;
  /// Orders the toolchains of one request, newest highest, e.g. 1000 * major + minor of NVRTC.
  std::uint32_t toolchain_rank = 0;
  std::string key_text;  ///< full text that was hashed into `key.request`; compared on load
  std::string metadata;  ///< JSON
  std::string code;      ///< cubin or PTX bytes
};

/// Why bytes are not a usable entry.
enum class Rejection : std::uint8_t {
  kNone,
  kTruncated,   ///< shorter than its own header says, or than any entry
  kNotAnEntry,  ///< not an entry of any version
  kVersion,     ///< an entry of another format version
  kSize,        ///< longer than its own header says, or beyond a cap
  kSeal,        ///< sealed in another way than this root asks for (checksum or MAC)
  kChecksum,    ///< checksum or MAC does not match
  kStructure,   ///< sections missing, doubled, unknown or out of bounds
  kKey,         ///< an entry of another key
  kKeyText,     ///< same file name, another key text: a collision, or a foreign entry
  kFileType,    ///< a directory, link, FIFO, socket or device at the path
  kOwner,       ///< owned or writable by a stranger
};

/// Short name of a rejection, e.g. "checksum". Stable: it is part of quarantine file names.
[[nodiscard]] std::string_view rejection_name(Rejection rejection);
/// One phrase for messages, e.g. "its checksum does not match".
[[nodiscard]] std::string_view rejection_text(Rejection rejection);

/// Outcome of parse(): an entry, or the reason why there is none.
struct ParsedEntry {
  std::optional<Entry> entry;
  Rejection rejection = Rejection::kNone;
};

/// Whether `entry` fits the format: valid key, texts and code within the caps.
[[nodiscard]] bool serializable(const Entry& entry);
/// Bytes of an entry. With a non-empty `mac_key` the seal is HMAC-SHA-256 under it, else SHA-256.
/// REQUIRES: serializable(entry).
[[nodiscard]] std::string serialize(const Entry& entry, std::string_view mac_key = {});
/// Reads an entry and verifies all of it. Never throws but std::bad_alloc, whatever the bytes are.
/// @param mac_key non-empty: only entries sealed by HMAC-SHA-256 under this key pass
[[nodiscard]] ParsedEntry parse(std::string_view bytes, std::string_view mac_key = {});

/// The part of an entry that can be read without its code. Nothing here is verified.
struct EntryHead {
  EntryKey key;
  std::uint32_t toolchain_rank = 0;
  std::string key_text;
};

/// Number of leading bytes of a file that hold the head, read from its first `bytes` (at least the
/// prelude and two section headers' worth); nothing if they cannot belong to an entry.
[[nodiscard]] std::optional<std::uint64_t> head_bytes(std::string_view bytes);
/// Reads the head from the first bytes of a file; nothing if there are too few or they are damaged.
[[nodiscard]] std::optional<EntryHead> parse_head(std::string_view bytes);

}  // namespace quantjit::cache
