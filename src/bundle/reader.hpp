// SPDX-License-Identifier: Apache-2.0
// Reading a bundle: nothing is handed out that was not verified.
#pragma once

#include "cache/entry.hpp"
#include "src/bundle/byte_source.hpp"
#include "src/bundle/format.hpp"
#include "src/bundle/index.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quantjit::bundle {

/// How far a bundle's signature can be relied on.
enum class SignatureStatus : std::uint8_t {
  kNone,        ///< it is not signed
  kUnchecked,   ///< it is signed, and this build cannot check it
  kConsistent,  ///< the signature is the one of the key in the bundle, whoever has that
  kTrusted,     ///< the signature is the one of the key that was asked for
};

/// Bytes of an entry file, or the reason why there are none.
struct EntryBytes {
  std::optional<std::string> bytes;
  std::string problem;
};

/// A verified entry, or the reason why there is none.
struct ReadEntry {
  std::optional<cache::Entry> entry;
  std::string problem;
};

/// A bundle whose header and index were verified. Thread safe.
class Reader {
 public:
  /// Throws: Error that names the bundle and what is wrong with it; NotImplemented without zstd.
  explicit Reader(std::unique_ptr<ByteSource> source);

  [[nodiscard]] const std::string& name() const { return source_->name(); }

  [[nodiscard]] const Header& header() const { return header_; }

  /// In ascending order of keys.
  [[nodiscard]] const std::vector<IndexEntry>& entries() const { return entries_; }

  /// The file of an entry as it was exported, checked against the digests of the index.
  [[nodiscard]] EntryBytes read_bytes(const IndexEntry& entry) const;
  /// The same, read as the store reads its files, and compared with what the index says.
  [[nodiscard]] ReadEntry read(const IndexEntry& entry) const;

  /// Checks the signature as far as can be.
  /// @param wanted if given, the bundle must be signed by this key
  /// Throws: Error for a missing, wrong or foreign signature; NotImplemented if `wanted` is given
  /// and this build cannot check.
  [[nodiscard]] SignatureStatus check_signature(const std::optional<PublicKey>& wanted) const;

  /// The targets that it holds entries for, sorted.
  [[nodiscard]] std::vector<std::string> archs() const;
  /// Throws: Error that names the targets of `wanted` that it holds no entry for.
  void require_archs(const std::vector<std::string>& wanted) const;

 private:
  [[noreturn]] void refuse(const std::string& problem) const;

  std::unique_ptr<ByteSource> source_;
  Header header_;
  std::vector<IndexEntry> entries_;
};

}  // namespace quantjit::bundle
