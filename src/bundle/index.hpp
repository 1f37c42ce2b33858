// SPDX-License-Identifier: Apache-2.0
// What a bundle says about its entries: one JSON object a line, in ascending order of keys.
#pragma once

#include "cache/entry.hpp"
#include "src/base/sha256.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::bundle {

struct IndexEntry {
  cache::EntryKey key;
  // What the entry's key text says.
  std::string traits;
  std::string arch;
  std::string math;
  std::string code_kind;
  std::uint64_t bytes = 0;         ///< of the entry file
  std::uint64_t packed_bytes = 0;  ///< of its frame
  std::string sha256;              ///< of the entry file, hexadecimal
  std::string packed_sha256;       ///< of its frame
  std::uint64_t at = 0;            ///< where the frame begins; follows from those before it
};

/// What the index says about an entry but sizes and digests; nothing if its key text is none, or
/// is not what its key is the hash of.
[[nodiscard]] std::optional<IndexEntry> describe(const cache::Entry& entry);

/// Text of an index. The same entries give the same text.
[[nodiscard]] std::string write_index(const std::vector<IndexEntry>& entries);

/// The entries of an index, or the reason why it is none.
struct ParsedIndex {
  std::vector<IndexEntry> entries;
  std::string problem;
};

/// Reads an index and checks every field; nothing in it is taken on trust.
/// @param count    number of entries it must have
/// @param at       where the first frame begins
/// @param index_at where the frames must end
[[nodiscard]] ParsedIndex parse_index(std::string_view text, std::uint64_t count, std::uint64_t at,
                                      std::uint64_t index_at);

}  // namespace quantjit::bundle
