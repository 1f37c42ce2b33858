// SPDX-License-Identifier: Apache-2.0
// Looking over a whole root, and keeping its size within the limit.
#pragma once

#include "cache/context.hpp"
#include "cache/entry.hpp"
#include "cache/root.hpp"
#include "cache/store.hpp"

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace quantjit::cache {

struct ScannedEntry {
  EntryKey key;
  std::string path;
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds modified{0};
};

struct ScanResult {
  std::vector<ScannedEntry> entries;
  std::uint64_t bytes = 0;
};

/// Whether a scan also deletes what dead processes left behind.
enum class Sweep : std::uint8_t { kNo, kYes };

/// Every file that is named like an entry. Opens none of them.
[[nodiscard]] ScanResult scan(Context& context, const Root& root, Sweep sweep);
/// Names of the entries of one shard that belong to `request`.
[[nodiscard]] std::vector<EntryKey> scan_request(Context& context, const Root& root,
                                                 const std::string& request);
/// File names of the pins of a root.
[[nodiscard]] std::set<std::string> read_pins(Context& context, const Root& root);

/// Keeps the written root within the size limit. It looks at the whole root only now and then: a
/// process knows what it wrote itself since the last look and allows for others that do the same.
/// Thread safe.
class Trimmer {
 public:
  explicit Trimmer(Context& context) : context_(context) {}

  /// To be called after each write to `root`.
  void written(const Root& root, std::uint64_t bytes);
  /// To be called once at the end: what others wrote meanwhile counts too.
  void finish(const Root& root);
  /// Evicts until at most `target_bytes` are left; without a target, to the low-water mark if the
  /// high-water mark is passed.
  RemovalReport evict(const Root& root, std::optional<std::uint64_t> target_bytes,
                      Execution execution);

 private:
  [[nodiscard]] std::uint64_t high_water() const;
  [[nodiscard]] std::uint64_t low_water() const;
  void look(const Root& root);

  Context& context_;
  std::mutex mutex_;
  bool looked_ = false;               // guarded by mutex_
  std::uint64_t known_bytes_ = 0;     // at the last look; guarded by mutex_
  std::uint64_t known_entries_ = 0;   // the same
  std::uint64_t unseen_bytes_ = 0;    // written by this object since; guarded by mutex_
  std::uint64_t unseen_entries_ = 0;  // the same
};

}  // namespace quantjit::cache
