// SPDX-License-Identifier: Apache-2.0
#include "cache/file_system.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace quantjit::cache {
namespace {

/// Repeats a call while a signal interrupts it; errno of the failure, or 0.
template <typename Call>
IoError attempt(Call call) {
  while (call() < 0) {
    if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

template <typename T, typename Call>
IoResult<T> attempt_value(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0) {
      return {0, static_cast<T>(result)};
    }
    if (errno != EINTR) {
      return {errno, T{}};
    }
  }
}

FileStatus to_status(const struct stat& raw) {
  FileStatus status;
  status.kind = S_ISREG(raw.st_mode)   ? FileKind::kRegular
                : S_ISDIR(raw.st_mode) ? FileKind::kDirectory
                : S_ISLNK(raw.st_mode) ? FileKind::kSymlink
                                       : FileKind::kOther;
  status.mode = raw.st_mode & 07777U;
  status.owner = raw.st_uid;
  status.bytes = static_cast<std::uint64_t>(raw.st_size);
  status.device = raw.st_dev;
  status.inode = raw.st_ino;
  status.links = raw.st_nlink;
  status.modified =
      std::chrono::seconds(raw.st_mtim.tv_sec) + std::chrono::nanoseconds(raw.st_mtim.tv_nsec);
  return status;
}

class PosixFileSystem final : public FileSystem {
 public:
  IoResult<int> open_read(const std::string& path) override {
    constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    return attempt_value<int>([&] { return ::open(path.c_str(), kFlags); });
  }

  IoResult<int> create(const std::string& path, std::uint32_t mode) override {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    IoResult<int> file = attempt_value<int>([&] { return ::open(path.c_str(), kFlags, mode); });
    if (file.ok() && (status(file.value).value.mode & 0777U) != (mode & 0777U)) {
      file.error = attempt([&] { return ::fchmod(file.value, mode); });
      if (!file.ok()) {
        ::close(file.value);
        ::unlink(path.c_str());
      }
    }
    return file;
  }

  IoResult<std::size_t> read_at(int file, std::uint64_t offset, std::span<char> into) override {
    return attempt_value<std::size_t>(
        [&] { return ::pread(file, into.data(), into.size(), static_cast<off_t>(offset)); });
  }

  IoResult<std::size_t> write_at(int file, std::uint64_t offset, std::string_view bytes) override {
    return attempt_value<std::size_t>(
        [&] { return ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
  }

  IoError sync(int file) override {
    return attempt([&] { return ::fsync(file); });
  }

  IoError close(int file) override {
    // On Linux the descriptor is closed even if the call was interrupted, so there is no retry.
    return ::close(file) < 0 && errno != EINTR ? errno : 0;
  }

  IoError sync_directory(const std::string& path) override {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const IoResult<int> file = attempt_value<int>([&] { return ::open(path.c_str(), kFlags); });
    if (!file.ok()) {
      return file.error;
    }
    const IoError error = sync(file.value);
    ::close(file.value);
    // File systems without directory sync say EINVAL; there is nothing more to do on those.
    return error == EINVAL ? 0 : error;
  }

  IoError rename(const std::string& from, const std::string& to) override {
    return attempt([&] { return std::rename(from.c_str(), to.c_str()); });
  }

  IoError link(const std::string& from, const std::string& to) override {
    return attempt([&] { return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0); });
  }

  IoError unlink(const std::string& path) override {
    return attempt([&] { return ::unlink(path.c_str()); });
  }

  IoError remove_directory(const std::string& path) override {
    return attempt([&] { return ::rmdir(path.c_str()); });
  }

  IoError make_directory(const std::string& path, std::uint32_t mode) override {
    const IoError error = attempt([&] { return ::mkdir(path.c_str(), mode); });
    if (error != 0 || (status(path).value.mode & 0777U) == (mode & 0777U)) {
      return error;
    }
    return attempt([&] { return ::fchmodat(AT_FDCWD, path.c_str(), mode, AT_SYMLINK_NOFOLLOW); });
  }

  IoResult<FileStatus> status(const std::string& path) override {
    struct stat raw {};

    const IoError error = attempt([&] { return ::lstat(path.c_str(), &raw); });
    return {error, error == 0 ? to_status(raw) : FileStatus{}};
  }

  IoResult<FileStatus> status(int file) override {
    struct stat raw {};

    const IoError error = attempt([&] { return ::fstat(file, &raw); });
    return {error, error == 0 ? to_status(raw) : FileStatus{}};
  }

  IoError set_modified(const std::string& path, std::chrono::nanoseconds since_epoch) override {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
    std::array<struct timespec, 2> times{};
    times[0].tv_nsec = UTIME_OMIT;
    times[1].tv_sec = seconds.count();
    times[1].tv_nsec = (since_epoch - seconds).count();
    return attempt(
        [&] { return ::utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW); });
  }

  IoResult<std::vector<std::string>> list(const std::string& path) override {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const IoResult<int> file = attempt_value<int>([&] { return ::open(path.c_str(), kFlags); });
    if (!file.ok()) {
      return {file.error, {}};
    }

    struct CloseDirectory {
      void operator()(DIR* directory) const { ::closedir(directory); }
    };

    const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(file.value));
    if (directory == nullptr) {
      const IoError error = errno;
      ::close(file.value);
      return {error, {}};
    }
    IoResult<std::vector<std::string>> names;
    errno = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): this directory stream is of this thread alone
    while (const dirent* item = ::readdir(directory.get())) {
      const std::string_view name(item->d_name);
      if (name != "." && name != "..") {
        names.value.emplace_back(name);
      }
      errno = 0;
    }
    names.error = errno;
    return names;
  }

  IoResult<std::string> read_link(const std::string& path) override {
    std::array<char, 4096> target{};
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    if (length < 0) {
      return {errno, {}};
    }
    return {0, std::string(target.data(), static_cast<std::size_t>(length))};
  }

  IoError may_write(const std::string& path) override {
    return attempt([&] { return ::faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS); });
  }
};

struct NamedError {
  IoError error;
  const char* name;
};

constexpr std::array kErrorNames{
    NamedError{EACCES, "EACCES"},       NamedError{EBUSY, "EBUSY"},
    NamedError{EDQUOT, "EDQUOT"},       NamedError{EEXIST, "EEXIST"},
    NamedError{EFBIG, "EFBIG"},         NamedError{EIO, "EIO"},
    NamedError{EISDIR, "EISDIR"},       NamedError{ELOOP, "ELOOP"},
    NamedError{EMFILE, "EMFILE"},       NamedError{ENFILE, "ENFILE"},
    NamedError{ENODEV, "ENODEV"},       NamedError{ENOENT, "ENOENT"},
    NamedError{ENOSPC, "ENOSPC"},       NamedError{ENOTDIR, "ENOTDIR"},
    NamedError{ENOTEMPTY, "ENOTEMPTY"}, NamedError{EPERM, "EPERM"},
    NamedError{EROFS, "EROFS"},         NamedError{ESTALE, "ESTALE"},
    NamedError{ETIMEDOUT, "ETIMEDOUT"}, NamedError{ENAMETOOLONG, "ENAMETOOLONG"}};

}  // namespace

FileSystem::~FileSystem() = default;

std::string FileSystem::why_no_directory(const std::string& /*path*/) {
  return {};
}

FileSystem& posix_file_system() {
  static PosixFileSystem files;
  return files;
}

std::string error_name(IoError error) {
  for (const NamedError& named : kErrorNames) {
    if (named.error == error) {
      return named.name;
    }
  }
  return "errno " + std::to_string(error);
}

IoResult<std::string> read_small_file(FileSystem& files, const std::string& path,
                                      std::size_t max_bytes) {
  const IoResult<int> file = files.open_read(path);
  if (!file.ok()) {
    return {file.error, {}};
  }
  IoResult<std::string> content;
  content.value.resize(max_bytes);
  std::size_t filled = 0;
  while (filled < max_bytes) {
    const IoResult<std::size_t> got = files.read_at(
        file.value, filled, std::span(content.value.data() + filled, max_bytes - filled));
    if (!got.ok() || got.value == 0) {
      content.error = got.error;
      break;
    }
    filled += got.value;
  }
  content.value.resize(filled);
  static_cast<void>(files.close(file.value));
  return content;
}

IoError write_all(FileSystem& files, int file, std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const IoResult<std::size_t> written = files.write_at(file, offset, bytes);
    if (!written.ok()) {
      return written.error;
    }
    if (written.value == 0) {
      return EIO;
    }
    offset += written.value;
    bytes.remove_prefix(written.value);
  }
  return 0;
}

}  // namespace quantjit::cache
