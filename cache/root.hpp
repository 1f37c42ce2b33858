// SPDX-License-Identifier: Apache-2.0
// One layer of the store: where its files are, whether it may be used, and reading, writing and
// moving aside single entries.
#pragma once

#include "cache/context.hpp"
#include "cache/entry.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::cache {

enum class ReadStatus : std::uint8_t { kFound, kAbsent, kRejected, kFailed };

/// What stood at an entry's path.
struct ReadOutcome {
  ReadStatus status = ReadStatus::kAbsent;
  std::optional<Entry> entry;
  std::string path;  ///< of what was read or is in the way
  Rejection rejection = Rejection::kNone;
  IoError error = 0;
  FileStatus file;  ///< of what was read or rejected, so that nothing newer is moved aside for it
};

/// Where a write ended.
struct WriteOutcome {
  std::string path;
  std::string_view step;  ///< of the failure
  IoError error = 0;

  [[nodiscard]] bool ok() const { return error == 0; }
};

/// What is known about a root.
struct RootState {
  bool settled = true;  ///< false: to be examined again at the next use
  bool exists = false;
  bool trusted = false;
  bool writable = false;
  std::string reason;
  std::string mac_key;  ///< empty: entries carry a plain checksum
  std::uint32_t file_mode = 0600;
  std::uint32_t directory_mode = 0700;
};

/// One root. Thread safe.
class Root {
 public:
  Root(RootSpec spec, Context& context);

  [[nodiscard]] const std::string& path() const { return spec_.path; }

  [[nodiscard]] bool shared() const { return !spec_.mac_key_file.empty(); }

  /// Examines the root; once it is known, only once. A root that is missing or could not be looked
  /// at is looked at again each time.
  [[nodiscard]] std::shared_ptr<const RootState> state();

  [[nodiscard]] std::string entry_path(const EntryKey& key) const;
  [[nodiscard]] std::string shard_path(std::string_view request) const;

  [[nodiscard]] std::string version_path() const { return spec_.path + "/v1"; }

  /// A directory of the store's own: "leases", "pins", "counters" or "quarantine".
  [[nodiscard]] std::string area_path(std::string_view area) const;

  /// Reads and verifies the entry of a key. Changes nothing.
  /// @param key_text if given, the entry's must be equal
  [[nodiscard]] ReadOutcome read(const EntryKey& key, std::optional<std::string_view> key_text);
  /// Writes an entry so that others see all of it or nothing, and it survives a crash.
  WriteOutcome write(const EntryKey& key, std::string_view bytes);
  /// Moves what was rejected out of the way, if it still stands there. Returns where it went,
  /// empty if it could only be deleted or not even that.
  std::string quarantine(const ReadOutcome& rejected);
  /// Marks an entry as used now, as far as this user may.
  void touch(const std::string& entry_path);

  /// Makes a directory below the root and all that is missing above it.
  IoError make_directories(const std::string& path);

 private:
  [[nodiscard]] std::shared_ptr<const RootState> examine();
  void examine_sharing(RootState& state, std::uint32_t root_mode);
  ReadOutcome read_file(const std::string& path, const RootState& state);
  IoError load(int file, const FileStatus& status, std::string& bytes);
  WriteOutcome try_write(const std::string& shard, const std::string& path, std::string_view bytes);
  IoError fill(const std::string& temporary, std::string_view bytes, FileStatus& written,
               std::string_view& step);
  bool clear_the_way(const EntryKey& key, const std::string& path, IoError error);
  void trim_quarantine(const std::string& directory);

  RootSpec spec_;
  Context& context_;
  std::mutex mutex_;
  std::shared_ptr<const RootState> state_;  // guarded by mutex_
};

/// Temporary files begin with this; they are never read.
inline constexpr std::string_view kTemporaryPrefix = ".tmp-";

/// Removes a file, or a directory with what is in it down to a few levels.
void remove_tree(FileSystem& files, const std::string& path, int levels = 8);

}  // namespace quantjit::cache
