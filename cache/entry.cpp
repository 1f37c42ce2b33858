// SPDX-License-Identifier: Apache-2.0
#include "cache/entry.hpp"

#include "src/base/sha256.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace quantjit::cache {
namespace {

constexpr std::size_t kRequestDigits = 64;
constexpr std::size_t kToolchainDigits = 16;
constexpr std::string_view kExtension = ".qjc";

enum class SealKind : std::uint32_t { kSha256 = 1, kHmacSha256 = 2 };

constexpr std::string_view kTagName = "NAME";
constexpr std::string_view kTagKeyText = "KEYT";
constexpr std::string_view kTagMetadata = "META";
constexpr std::string_view kTagCode = "CODE";
constexpr std::uint32_t kMaxSections = 64;

// Places of the prelude's fields.
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kSealKindAt = 12;
constexpr std::size_t kFileSizeAt = 16;
constexpr std::size_t kRankAt = 24;
constexpr std::size_t kSectionsAt = 28;

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

void append_integer(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out.push_back(static_cast<char>((value >> (8 * i)) & 0xFFU));
  }
}

std::uint64_t read_integer(std::string_view bytes, std::size_t at, int count) {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
    value |= std::uint64_t{byte} << (8 * i);
  }
  return value;
}

std::uint32_t read_u32(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(read_integer(bytes, at, 4));
}

void append_section(std::string& out, std::string_view tag, std::string_view payload) {
  out.append(tag);
  append_integer(out, 0, 4);
  append_integer(out, payload.size(), 8);
  out.append(payload);
}

base::Sha256Digest seal_of(std::string_view bytes, std::string_view mac_key) {
  const auto raw = std::as_bytes(std::span(bytes.data(), bytes.size()));
  return mac_key.empty() ? base::sha256(raw) : base::hmac_sha256(mac_key, raw);
}

/// Compares without leaving early, so that timing tells a forger nothing.
bool same_seal(const base::Sha256Digest& wanted, std::string_view found) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    difference |= static_cast<unsigned>(wanted[i]) ^ static_cast<unsigned char>(found[i]);
  }
  return difference == 0;
}

struct Section {
  std::string_view tag;
  std::string_view payload;
};

/// Takes one section off the front of `rest`; nothing if it is out of bounds or malformed.
std::optional<Section> take_section(std::string_view& rest) {
  if (rest.size() < kSectionHeaderBytes) {
    return std::nullopt;
  }
  const std::uint64_t length = read_integer(rest, 8, 8);
  if (read_u32(rest, 4) != 0 || length > rest.size() - kSectionHeaderBytes) {
    return std::nullopt;
  }
  const Section section{rest.substr(0, 4),
                        rest.substr(kSectionHeaderBytes, static_cast<std::size_t>(length))};
  rest.remove_prefix(kSectionHeaderBytes + static_cast<std::size_t>(length));
  return section;
}

/// A lower-case first letter marks a section that a reader may pass over.
bool is_optional(std::string_view tag) {
  return tag[0] >= 'a' && tag[0] <= 'z';
}

Rejection check_prelude(std::string_view bytes) {
  const std::string_view magic = bytes.substr(0, kMagic.size());
  if (magic != kMagic.substr(0, magic.size())) {
    return Rejection::kNotAnEntry;
  }
  if (bytes.size() < kSealKindAt) {
    return Rejection::kTruncated;
  }
  if (read_u32(bytes, kVersionAt) != kFormatVersion) {
    return Rejection::kVersion;
  }
  if (bytes.size() < kPreludeBytes + kSealBytes) {
    return Rejection::kTruncated;
  }
  const std::uint64_t file_size = read_integer(bytes, kFileSizeAt, 8);
  if (file_size > kMaxFileBytes || bytes.size() > file_size) {
    return Rejection::kSize;
  }
  return bytes.size() < file_size ? Rejection::kTruncated : Rejection::kNone;
}

Rejection check_seal(std::string_view bytes, std::string_view mac_key) {
  const SealKind wanted = mac_key.empty() ? SealKind::kSha256 : SealKind::kHmacSha256;
  if (read_u32(bytes, kSealKindAt) != static_cast<std::uint32_t>(wanted)) {
    return Rejection::kSeal;
  }
  const std::size_t sealed = bytes.size() - kSealBytes;
  return same_seal(seal_of(bytes.substr(0, sealed), mac_key), bytes.substr(sealed))
             ? Rejection::kNone
             : Rejection::kChecksum;
}

/// Where each known section's payload goes, and the cap on it.
struct Slot {
  std::string_view tag;
  std::uint64_t max_bytes;
  std::optional<std::string_view> payload;
};

std::optional<Entry> read_sections(std::string_view bytes) {
  std::array<Slot, 4> slots{Slot{kTagName, kRequestDigits + 1 + kToolchainDigits, {}},
                            Slot{kTagKeyText, kMaxKeyTextBytes, {}},
                            Slot{kTagMetadata, kMaxMetadataBytes, {}},
                            Slot{kTagCode, kMaxCodeBytes, {}}};
  const std::uint32_t count = read_u32(bytes, kSectionsAt);
  if (count > kMaxSections) {
    return std::nullopt;
  }
  std::string_view rest = bytes.substr(kPreludeBytes, bytes.size() - kPreludeBytes - kSealBytes);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::optional<Section> section = take_section(rest);
    if (!section) {
      return std::nullopt;
    }
    const auto slot = std::find_if(slots.begin(), slots.end(),
                                   [&](const Slot& s) { return s.tag == section->tag; });
    if (slot == slots.end()) {
      if (!is_optional(section->tag)) {
        return std::nullopt;
      }
      continue;
    }
    if (slot->payload || section->payload.size() > slot->max_bytes) {
      return std::nullopt;
    }
    slot->payload = section->payload;
  }
  if (!rest.empty() || !std::all_of(slots.begin(), slots.end(),
                                    [](const Slot& s) { return s.payload.has_value(); })) {
    return std::nullopt;
  }
  std::optional<EntryKey> key = EntryKey::parse(*slots[0].payload);
  if (!key || slots[0].payload->size() != slots[0].max_bytes) {
    return std::nullopt;
  }
  return Entry{std::move(*key), read_u32(bytes, kRankAt), std::string(*slots[1].payload),
               std::string(*slots[2].payload), std::string(*slots[3].payload)};
}

struct RejectionWords {
  std::string_view name;
  std::string_view text;
};

RejectionWords words_of(Rejection rejection) {
  switch (rejection) {
    case Rejection::kNone: return {"none", "it is good"};
    case Rejection::kTruncated: return {"truncated", "it is shorter than it should be"};
    case Rejection::kNotAnEntry: return {"magic", "it does not begin like an entry"};
    case Rejection::kVersion: return {"version", "it has another format version"};
    case Rejection::kSize: return {"size", "its size is not the one it states, or beyond the cap"};
    case Rejection::kSeal: return {"seal", "it is not sealed the way this root requires"};
    case Rejection::kChecksum: return {"checksum", "its checksum does not match"};
    case Rejection::kStructure: return {"structure", "its sections are not those of an entry"};
    case Rejection::kKey: return {"key", "it is the entry of another key"};
    case Rejection::kKeyText: return {"keytext", "its key text is another one"};
    case Rejection::kFileType: return {"filetype", "it is not a regular file"};
    case Rejection::kOwner:
      return {"owner", "it is owned by another user, or writable by group or others"};
  }
  return {"unknown", "it is not usable"};
}

}  // namespace

std::string EntryKey::name() const {
  return request + "-" + toolchain;
}

std::string EntryKey::file_name() const {
  return name().append(kExtension);
}

bool EntryKey::valid() const {
  return request.size() == kRequestDigits && toolchain.size() == kToolchainDigits &&
         is_hex(request) && is_hex(toolchain);
}

std::optional<EntryKey> EntryKey::parse(std::string_view text) {
  if (text.ends_with(kExtension)) {
    text.remove_suffix(kExtension.size());
  }
  if (text.size() != kRequestDigits + 1 + kToolchainDigits || text[kRequestDigits] != '-') {
    return std::nullopt;
  }
  EntryKey key{std::string(text.substr(0, kRequestDigits)),
               std::string(text.substr(kRequestDigits + 1))};
  if (!key.valid()) {
    return std::nullopt;
  }
  return key;
}

std::string_view rejection_name(Rejection rejection) {
  return words_of(rejection).name;
}

std::string_view rejection_text(Rejection rejection) {
  return words_of(rejection).text;
}

bool serializable(const Entry& entry) {
  return entry.key.valid() && entry.key_text.size() <= kMaxKeyTextBytes &&
         entry.metadata.size() <= kMaxMetadataBytes && entry.code.size() <= kMaxCodeBytes;
}

std::string serialize(const Entry& entry, std::string_view mac_key) {
  const std::string name = entry.key.name();
  const std::array<Section, 4> sections{
      Section{kTagName, name}, Section{kTagKeyText, entry.key_text},
      Section{kTagMetadata, entry.metadata}, Section{kTagCode, entry.code}};
  std::uint64_t file_size = kPreludeBytes + kSealBytes;
  for (const Section& section : sections) {
    file_size += kSectionHeaderBytes + section.payload.size();
  }
  const SealKind kind = mac_key.empty() ? SealKind::kSha256 : SealKind::kHmacSha256;
  std::string out;
  out.reserve(static_cast<std::size_t>(file_size));
  out.append(kMagic);
  append_integer(out, kFormatVersion, 4);
  append_integer(out, static_cast<std::uint32_t>(kind), 4);
  append_integer(out, file_size, 8);
  append_integer(out, entry.toolchain_rank, 4);
  append_integer(out, sections.size(), 4);
  for (const Section& section : sections) {
    append_section(out, section.tag, section.payload);
  }
  const base::Sha256Digest seal = seal_of(out, mac_key);
  for (const std::uint8_t byte : seal) {
    out.push_back(static_cast<char>(byte));
  }
  return out;
}

ParsedEntry parse(std::string_view bytes, std::string_view mac_key) {
  ParsedEntry result;
  result.rejection = check_prelude(bytes);
  if (result.rejection == Rejection::kNone) {
    result.rejection = check_seal(bytes, mac_key);
  }
  if (result.rejection == Rejection::kNone) {
    result.entry = read_sections(bytes);
    result.rejection = result.entry ? Rejection::kNone : Rejection::kStructure;
  }
  return result;
}

std::optional<std::uint64_t> head_bytes(std::string_view bytes) {
  constexpr std::size_t kName = kRequestDigits + 1 + kToolchainDigits;
  constexpr std::size_t kKeyTextAt = kPreludeBytes + kSectionHeaderBytes + kName;
  if (bytes.size() < kKeyTextAt + kSectionHeaderBytes || !bytes.starts_with(kMagic) ||
      read_u32(bytes, kVersionAt) != kFormatVersion || bytes.substr(kPreludeBytes, 4) != kTagName ||
      read_integer(bytes, kPreludeBytes + 8, 8) != kName ||
      bytes.substr(kKeyTextAt, 4) != kTagKeyText) {
    return std::nullopt;
  }
  const std::uint64_t length = read_integer(bytes, kKeyTextAt + 8, 8);
  if (length > kMaxKeyTextBytes) {
    return std::nullopt;
  }
  return kKeyTextAt + kSectionHeaderBytes + length;
}

std::optional<EntryHead> parse_head(std::string_view bytes) {
  const std::optional<std::uint64_t> needed = head_bytes(bytes);
  if (!needed || bytes.size() < *needed) {
    return std::nullopt;
  }
  std::string_view rest = bytes.substr(kPreludeBytes);
  const std::optional<Section> name = take_section(rest);
  const std::optional<Section> key_text = take_section(rest);
  if (!name || !key_text) {
    return std::nullopt;
  }
  std::optional<EntryKey> key = EntryKey::parse(name->payload);
  if (!key) {
    return std::nullopt;
  }
  return EntryHead{std::move(*key), read_u32(bytes, kRankAt), std::string(key_text->payload)};
}

}  // namespace quantjit::cache
