// SPDX-License-Identifier: Apache-2.0
// What a store is made from, and the text forms that settings give it in.
#pragma once

#include "cache/clock.hpp"
#include "cache/file_system.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::cache {

/// One layer of the store.
struct RootSpec {
  std::string path;
  /// Empty: a private root, which only the user and root may be able to write. Else a root that
  /// strangers may write; its entries carry a MAC under the key in this file.
  std::string mac_key_file;

  friend bool operator==(const RootSpec&, const RootSpec&) = default;
};

/// How processes wait for each other's compiles. Trade-off of `silence`: shorter recovers sooner
/// from a holder that died on another host, longer tolerates holders starved of CPU.
struct LeaseTimings {
  std::chrono::nanoseconds heartbeat = std::chrono::seconds(1);  ///< 0: no thread, beat by hand
  std::chrono::nanoseconds silence = std::chrono::seconds(5);    ///< then a holder is taken over
  std::chrono::nanoseconds limit = std::chrono::seconds(120);    ///< then a waiter compiles anyway
  std::chrono::nanoseconds poll_first = std::chrono::milliseconds(1);
  std::chrono::nanoseconds poll_last = std::chrono::milliseconds(20);
};

struct StoreOptions {
  /// In order of search. The first one that can be written takes all writes.
  std::vector<RootSpec> roots;
  /// Size limit of the written root in bytes; 0 is no limit. Other layers are never trimmed.
  std::uint64_t max_bytes = std::uint64_t{2} << 30;
  /// Eviction begins above `high_water` percent of the limit and goes down to `low_water` percent.
  unsigned high_water = 95;
  unsigned low_water = 80;
  /// Most entries of the written root, whatever their size: with 256 shards about 2,048 in each, so
  /// that directories stay quick to list on any file system.
  std::size_t max_entries = std::size_t{1} << 19;
  LeaseTimings lease;
  /// Temporary files older than this belong to processes that died and are swept.
  std::chrono::nanoseconds stale_temporary = std::chrono::hours(1);
  /// Both must outlive the store and its leases; null is the operating system's.
  FileSystem* file_system = nullptr;
  /// If set, keeps `file_system` for as long as the store lives.
  std::shared_ptr<FileSystem> file_system_owner;
  Clock* clock = nullptr;
  /// Takes one line per warning; empty is the library's logger. Called from any thread.
  std::function<void(std::string_view)> warn;
};

/// `$XDG_CACHE_HOME/quantjit`, else `$HOME/.cache/quantjit`, else the same under the home directory
/// of the user database. Values that are empty or not absolute count as unset. Nothing if there is
/// no home at all.
[[nodiscard]] std::optional<std::string> default_root(
    const std::optional<std::string>& xdg_cache_home, const std::optional<std::string>& home);

/// Splits `QUANTJIT_CACHE_DIR`: a colon list of roots. Empty elements are left out, relative ones
/// are taken from the working directory of now.
[[nodiscard]] std::vector<RootSpec> parse_roots(std::string_view text);
/// Reads `QUANTJIT_CACHE_SHARED`: a colon list of `<root>=<MAC key file>`, split at the last `=`.
/// Throws: InvalidArgument.
[[nodiscard]] std::vector<RootSpec> parse_shared_roots(std::string_view text);
/// One list for StoreOptions: a private root that is named as shared too becomes shared in its
/// place; other shared roots follow.
[[nodiscard]] std::vector<RootSpec> merge_roots(std::vector<RootSpec> roots,
                                                const std::vector<RootSpec>& shared);
/// Reads a size in bytes with an optional suffix K, M, G or T (powers of 1024, either case).
/// Throws: InvalidArgument.
[[nodiscard]] std::uint64_t parse_size(std::string_view text);

}  // namespace quantjit::cache
