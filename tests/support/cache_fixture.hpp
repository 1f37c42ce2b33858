// SPDX-License-Identifier: Apache-2.0
// What the tests of the store share: a directory of their own, entries, and caught warnings.
#pragma once

#include "cache/store.hpp"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace quantjit::cache {

/// A new empty directory that is removed at the end, whatever is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Warnings of a store, in order. Thread safe.
class CaughtWarnings {
 public:
  [[nodiscard]] std::function<void(std::string_view)> sink();
  [[nodiscard]] std::vector<std::string> all() const;

  [[nodiscard]] std::size_t count() const { return all().size(); }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> messages_;
};

/// Entry number `seed`: same seed, same entry. `code_bytes` of code that looks random.
[[nodiscard]] Entry make_entry(std::uint64_t seed, std::size_t code_bytes = 1000);
/// The same request compiled by another toolchain.
[[nodiscard]] Entry with_toolchain(Entry entry, std::uint64_t toolchain, std::uint32_t rank);

/// Options with these private roots, no heartbeat thread, and warnings caught.
[[nodiscard]] StoreOptions options_for(const std::vector<std::string>& roots,
                                       CaughtWarnings& warnings);

[[nodiscard]] bool same_entry(const Entry& a, const Entry& b);
[[nodiscard]] std::string read_all(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);
/// All files below a directory, as paths, sorted.
[[nodiscard]] std::vector<std::string> files_below(const std::string& directory);
/// Those of them whose name begins with the store's temporary prefix, or that are leases or claims.
[[nodiscard]] std::vector<std::string> leftovers_below(const std::string& directory);
/// Permission bits.
[[nodiscard]] unsigned mode_of(const std::string& path);

[[nodiscard]] std::uint64_t counter(CubinStore& store, Counter counter);

/// Folder tests/unit/data of the source tree.
[[nodiscard]] std::string cache_test_data();

}  // namespace quantjit::cache
