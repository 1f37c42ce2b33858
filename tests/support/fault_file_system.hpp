// SPDX-License-Identifier: Apache-2.0
// A file system on top of the real one that fails, or kills the process, where a test wants it to.
#pragma once

#include "cache/file_system.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace quantjit::cache {

enum class FileOp : std::uint8_t {
  kOpenRead,
  kCreate,
  kReadAt,
  kWriteAt,
  kSync,
  kClose,
  kSyncDirectory,
  kRename,
  kLink,
  kUnlink,
  kRemoveDirectory,
  kMakeDirectory,
  kStatus,
  kSetModified,
  kList,
  kReadLink,
  kMayWrite,
};

[[nodiscard]] std::string file_op_name(FileOp op);

struct Fault {
  FileOp op = FileOp::kWriteAt;
  int from = 1;              ///< first call that fails, counted from 1 for each operation
  int count = 1;             ///< how many calls fail in a row
  int error = 0;             ///< 0: the call is done for real; for kWriteAt see `short_write`
  bool after = false;        ///< the call takes effect, and only then its answer is the error
  bool short_write = false;  ///< only the first half of the bytes is written
};

/// When a step is the last one: before it, or after as much of it as can be half done (a write has
/// written half of its bytes; all else is done).
enum class KillMoment : std::uint8_t { kBefore, kWithin };

/// Thread safe.
class FaultFileSystem final : public FileSystem {
 public:
  /// Replaces the fault and starts counting anew.
  void set(std::optional<Fault> fault);
  /// Kills the process (SIGKILL) at the n-th call that changes anything, counted from 1.
  void kill_at_step(int step, KillMoment moment);
  /// Calls of one operation since set().
  [[nodiscard]] int calls(FileOp op) const;
  /// Calls that change something, of all operations.
  [[nodiscard]] int steps() const;

  IoResult<int> open_read(const std::string& path) override;
  IoResult<int> create(const std::string& path, std::uint32_t mode) override;
  IoResult<std::size_t> read_at(int file, std::uint64_t offset, std::span<char> into) override;
  IoResult<std::size_t> write_at(int file, std::uint64_t offset, std::string_view bytes) override;
  IoError sync(int file) override;
  IoError close(int file) override;
  IoError sync_directory(const std::string& path) override;
  IoError rename(const std::string& from, const std::string& to) override;
  IoError link(const std::string& from, const std::string& to) override;
  IoError unlink(const std::string& path) override;
  IoError remove_directory(const std::string& path) override;
  IoError make_directory(const std::string& path, std::uint32_t mode) override;
  IoResult<FileStatus> status(const std::string& path) override;
  IoResult<FileStatus> status(int file) override;
  IoError set_modified(const std::string& path, std::chrono::nanoseconds since_epoch) override;
  IoResult<std::vector<std::string>> list(const std::string& path) override;
  IoResult<std::string> read_link(const std::string& path) override;
  IoError may_write(const std::string& path) override;

 private:
  struct Decision {
    int error = 0;
    bool after = false;
    bool short_write = false;
    bool die_after = false;
  };

  Decision decide(FileOp op, bool changes);
  template <typename Call>
  IoError plain(FileOp op, bool changes, Call call);
  template <typename T, typename Call>
  IoResult<T> valued(FileOp op, bool changes, Call call);

  FileSystem& real_ = posix_file_system();
  mutable std::mutex mutex_;
  std::optional<Fault> fault_;
  std::map<FileOp, int> calls_;
  int steps_ = 0;
  int kill_step_ = 0;
  KillMoment kill_moment_ = KillMoment::kBefore;
};

}  // namespace quantjit::cache
