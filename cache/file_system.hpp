// SPDX-License-Identifier: Apache-2.0
// The store's only way to the operating system. Tests put faults in at this seam.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quantjit::cache {

/// An errno value; 0 is success.
using IoError = int;

/// A value, or the errno of the call that should have made it.
template <typename T>
struct [[nodiscard]] IoResult {
  IoError error = 0;
  T value{};

  [[nodiscard]] bool ok() const { return error == 0; }
};

enum class FileKind : std::uint8_t { kRegular, kDirectory, kSymlink, kOther };

struct FileStatus {
  FileKind kind = FileKind::kOther;
  std::uint32_t mode = 0;  ///< permission bits, with set-id and sticky
  std::uint32_t owner = 0;
  std::uint64_t bytes = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t links = 0;
  std::chrono::nanoseconds modified{0};  ///< since 1970

  [[nodiscard]] bool same_file(const FileStatus& other) const {
    return device == other.device && inode == other.inode;
  }
};

/// Operations as the store needs them. No call follows a symbolic link at the end of a path.
/// Implementations are thread safe; EINTR is retried inside.
class FileSystem {
 public:
  FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  virtual ~FileSystem();

  /// Opens for reading without blocking (a FIFO must not hang the caller) and close-on-exec.
  virtual IoResult<int> open_read(const std::string& path) = 0;
  /// Creates a file that must not exist, for writing, with exactly `mode` whatever the umask is.
  virtual IoResult<int> create(const std::string& path, std::uint32_t mode) = 0;
  /// Reads up to `into.size()` bytes at `offset`; 0 is the end of the file.
  virtual IoResult<std::size_t> read_at(int file, std::uint64_t offset, std::span<char> into) = 0;
  /// Writes some of `bytes` at `offset` and says how many.
  virtual IoResult<std::size_t> write_at(int file, std::uint64_t offset,
                                         std::string_view bytes) = 0;
  virtual IoError sync(int file) = 0;
  /// The descriptor is gone after this call, whatever it returns.
  virtual IoError close(int file) = 0;
  virtual IoError sync_directory(const std::string& path) = 0;
  virtual IoError rename(const std::string& from, const std::string& to) = 0;
  virtual IoError link(const std::string& from, const std::string& to) = 0;
  virtual IoError unlink(const std::string& path) = 0;
  virtual IoError remove_directory(const std::string& path) = 0;
  /// Makes one directory with exactly `mode` whatever the umask is.
  virtual IoError make_directory(const std::string& path, std::uint32_t mode) = 0;
  virtual IoResult<FileStatus> status(const std::string& path) = 0;
  virtual IoResult<FileStatus> status(int file) = 0;
  virtual IoError set_modified(const std::string& path, std::chrono::nanoseconds since_epoch) = 0;
  /// Names in a directory without `.` and `..`, in no order.
  virtual IoResult<std::vector<std::string>> list(const std::string& path) = 0;
  virtual IoResult<std::string> read_link(const std::string& path) = 0;
  /// Whether the effective user may make files in a directory.
  virtual IoError may_write(const std::string& path) = 0;
  /// Why a path that is not a directory cannot stand for one, where this file system knows more.
  virtual std::string why_no_directory(const std::string& path);
};

/// The operating system itself. Lives as long as the process.
[[nodiscard]] FileSystem& posix_file_system();

/// Symbol of an errno value, e.g. "ENOSPC", or "errno 71" for those the store has no name for.
[[nodiscard]] std::string error_name(IoError error);
/// Whole content of a small file of at most `max_bytes`.
[[nodiscard]] IoResult<std::string> read_small_file(FileSystem& files, const std::string& path,
                                                    std::size_t max_bytes);
/// Writes all of `bytes` at `offset`, over as many calls as it takes.
[[nodiscard]] IoError write_all(FileSystem& files, int file, std::uint64_t offset,
                                std::string_view bytes);

}  // namespace quantjit::cache
