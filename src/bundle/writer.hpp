// SPDX-License-Identifier: Apache-2.0
// Writing a bundle. Others see all of it or nothing.
#pragma once

#include "cache/entry.hpp"
#include "cache/file_system.hpp"
#include "src/bundle/format.hpp"
#include "src/bundle/index.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::bundle {

/// Writes one bundle under a temporary name beside its own and renames it at the end. Keeps no more
/// than one entry in memory. The same entries give the same bytes, as long as zstd is the same. Not
/// thread safe.
class Writer {
 public:
  /// Throws: Error if the file cannot be created; NotImplemented without zstd.
  Writer(cache::FileSystem& files, std::string path);
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  /// Removes what is not finished.
  ~Writer();

  /// Adds an entry. REQUIRES: serializable(entry), and a greater key than that of the one before.
  /// Throws: Error if it cannot be written, or is one that no reader would take.
  void add(const cache::Entry& entry);

  /// Writes index and header, brings all to the disk and puts the file in its place, replacing one
  /// that is there. Nothing can be added afterwards.
  /// @param signing_key PEM file of an Ed25519 private key; empty: not signed
  /// Throws: Error, InvalidArgument for the key; then the old file is as it was.
  Header finish(const std::string& signing_key);

  [[nodiscard]] const std::vector<IndexEntry>& entries() const { return entries_; }

 private:
  void append(std::string_view bytes);
  void check(cache::IoError error, std::string_view doing) const;

  cache::FileSystem& files_;
  std::string path_;
  std::string temporary_;  ///< empty once renamed
  int file_ = -1;
  std::uint64_t at_ = kHeaderBytes;
  std::uint64_t unpacked_ = 0;
  std::vector<IndexEntry> entries_;
};

}  // namespace quantjit::bundle
