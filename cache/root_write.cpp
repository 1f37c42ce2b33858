// SPDX-License-Identifier: Apache-2.0
// What changes a root: publishing entries and moving bad ones aside.
#include "cache/root.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace quantjit::cache {
namespace {

constexpr std::string_view kCacheTagName = "CACHEDIR.TAG";
// The first line is fixed by the convention that backup programs look for.
constexpr std::string_view kCacheTag =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Compiled kernels of quantjit. Everything here can be made again; deleting it is safe.\n";

constexpr std::size_t kMaxQuarantined = 16;
constexpr std::uint64_t kMaxQuarantinedBytes = std::uint64_t{64} << 20;
// A quarantine holds at most this part of the size limit.
constexpr std::uint64_t kQuarantineShare = 20;

constexpr int kWriteAttempts = 3;

std::string parent_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

/// Fixed-width, so that names sort by time.
std::string time_text(std::chrono::nanoseconds since_epoch) {
  std::array<char, 17> text{};
  (void)std::snprintf(text.data(), text.size(), "%016llx",
                      static_cast<unsigned long long>(since_epoch.count()));
  return text.data();
}

}  // namespace

void remove_tree(FileSystem& files, const std::string& path, int levels) {
  const IoResult<FileStatus> status = files.status(path);
  if (!status.ok()) {
    return;
  }
  if (status.value.kind != FileKind::kDirectory) {
    static_cast<void>(files.unlink(path));
    return;
  }
  if (levels > 0) {
    for (const std::string& name : files.list(path).value) {
      remove_tree(files, path + "/" + name, levels - 1);
    }
  }
  static_cast<void>(files.remove_directory(path));
}

IoError Root::make_directories(const std::string& path) {
  const std::uint32_t mode = state()->directory_mode;
  IoError error = context_.files.make_directory(path, mode);
  if (error == ENOENT && path.rfind('/') > 0) {
    error = make_directories(parent_of(path));
    if (error == 0) {
      error = context_.files.make_directory(path, mode);
    }
  }
  const bool made = error == 0;
  if (error == EEXIST || error == EISDIR) {
    const IoResult<FileStatus> status = context_.files.status(path);
    if (status.ok()) {
      error = status.value.kind == FileKind::kDirectory ? 0 : ENOTDIR;
    }
  }
  if (made && path == version_path()) {
    const std::string tag = spec_.path + "/" + std::string(kCacheTagName);
    const IoResult<int> file = context_.files.create(tag, state()->file_mode);
    if (file.ok()) {
      static_cast<void>(write_all(context_.files, file.value, 0, kCacheTag));
      static_cast<void>(context_.files.close(file.value));
    }
  }
  return error;
}

WriteOutcome Root::write(const EntryKey& key, std::string_view bytes) {
  const std::string shard = shard_path(key.request);
  const std::string path = entry_path(key);
  WriteOutcome outcome;
  for (int attempt = 0; attempt < kWriteAttempts; ++attempt) {
    outcome = try_write(shard, path, bytes);
    const IoError error = outcome.error;
    // Directories that someone removed, names taken by someone else, and things in the way are
    // worth another attempt. Full disks and missing permissions are not.
    if (error == ENOENT || error == ESTALE) {
      if (attempt > 0 || outcome.step != "create") {
        context_.counters->add_error(error);  // the first one only says that the shard is new
      }
      if (const IoError made = make_directories(shard);
          made != 0 && (made != ENOTDIR || !clear_the_way(key, shard, made))) {
        return {path, "mkdir", made};
      }
    } else if (error == EEXIST || error == EBUSY) {
      context_.counters->add_error(error);
      clear_the_way(key, path, error);
    } else if (error == ENOTDIR || error == EISDIR || error == ENOTEMPTY) {
      if (!clear_the_way(key, error == ENOTDIR ? shard : path, error)) {
        return outcome;
      }
    } else {
      return outcome;
    }
  }
  return outcome;
}

/// Moves aside what is no regular file but stands at an entry's or a shard's place.
bool Root::clear_the_way(const EntryKey& key, const std::string& path, IoError error) {
  const IoResult<FileStatus> status = context_.files.status(path);
  const FileKind wanted =
      path == shard_path(key.request) ? FileKind::kDirectory : FileKind::kRegular;
  if (!status.ok() || status.value.kind == wanted) {
    return status.error == ENOENT;
  }
  ReadOutcome obstacle;
  obstacle.status = ReadStatus::kRejected;
  obstacle.path = path;
  obstacle.rejection = Rejection::kFileType;
  obstacle.error = error;
  obstacle.file = status.value;
  quarantine(obstacle);
  return context_.files.status(path).error == ENOENT;
}

WriteOutcome Root::try_write(const std::string& shard, const std::string& path,
                             std::string_view bytes) {
  FileSystem& files = context_.files;
  const std::string temporary = shard + "/" + std::string(kTemporaryPrefix) + unique_token();
  WriteOutcome outcome{path, "create", 0};
  FileStatus written;
  outcome.error = fill(temporary, bytes, written, outcome.step);
  if (!outcome.ok()) {
    return outcome;
  }
  outcome.step = "rename";
  outcome.error = files.rename(temporary, path);
  const IoResult<FileStatus> arrived = files.status(path);
  if (!outcome.ok() && arrived.ok() && arrived.value.same_file(written)) {
    // Network file systems repeat requests whose answer was lost, and report the repetition's.
    context_.counters->add_error(outcome.error);
    outcome.error = 0;
  }
  if (!outcome.ok()) {
    static_cast<void>(files.unlink(temporary));
    return outcome;
  }
  if (!arrived.ok()) {
    static_cast<void>(files.unlink(temporary));
    return {path, "confirm", arrived.error};
  }
  // The entry is there; if this fails it may be gone after a power cut, which is a miss.
  if (const IoError error = files.sync_directory(shard); error != 0) {
    context_.report_error(spec_.path, error, "directory sync");
  }
  return outcome;
}

/// Makes a complete file of its own and brings it to the disk. Leaves nothing behind on failure.
IoError Root::fill(const std::string& temporary, std::string_view bytes, FileStatus& written,
                   std::string_view& step) {
  FileSystem& files = context_.files;
  step = "create";
  const IoResult<int> file = files.create(temporary, state()->file_mode);
  if (!file.ok()) {
    return file.error;
  }
  step = "write";
  IoError error = write_all(files, file.value, 0, bytes);
  if (error == 0) {
    step = "fsync";
    error = files.sync(file.value);
  }
  if (error == 0) {
    const IoResult<FileStatus> status = files.status(file.value);
    written = status.value;
    error = status.error;
  }
  // Quotas of network file systems are reported here at the latest.
  const IoError closed = files.close(file.value);
  if (error == 0 && closed != 0) {
    step = "close";
    error = closed;
  }
  if (error != 0) {
    static_cast<void>(files.unlink(temporary));
  }
  return error;
}

std::string Root::quarantine(const ReadOutcome& rejected) {
  FileSystem& files = context_.files;
  const IoResult<FileStatus> now = files.status(rejected.path);
  if (!now.ok() || !now.value.same_file(rejected.file) ||
      now.value.modified != rejected.file.modified) {
    return {};  // someone has moved it aside or replaced it by a good one
  }
  const std::string directory = area_path("quarantine");
  const std::string name = rejected.path.substr(rejected.path.rfind('/') + 1);
  std::string target = directory + "/" + time_text(context_.clock.since_epoch()) + "-" +
                       std::string(rejection_name(rejected.rejection)) + "-" + name;
  IoError error = files.rename(rejected.path, target);
  if (error == ENOENT && make_directories(directory) == 0) {
    error = files.rename(rejected.path, target);
  }
  if (error == 0) {
    context_.counters->add(Counter::kQuarantined);
    trim_quarantine(directory);
    return target;
  }
  context_.counters->add_error(error);
  if (rejected.file.kind == FileKind::kDirectory || files.unlink(rejected.path) != 0) {
    context_.counters->add(Counter::kQuarantineFailed);
  }
  return {};
}

void Root::trim_quarantine(const std::string& directory) {
  std::vector<std::string> names = context_.files.list(directory).value;
  std::sort(names.begin(), names.end(), std::greater<>());
  const std::uint64_t limit = context_.options.max_bytes;
  const std::uint64_t max_bytes =
      limit == 0 ? kMaxQuarantinedBytes : std::min(kMaxQuarantinedBytes, limit / kQuarantineShare);
  std::uint64_t bytes = 0;
  std::size_t kept = 0;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    bytes += context_.files.status(path).value.bytes;
    if (++kept > kMaxQuarantined || bytes > max_bytes) {
      remove_tree(context_.files, path);
    }
  }
}

void Root::touch(const std::string& entry_path) {
  // Only order matters, and only for eviction: a user who may not do this loses nothing.
  static_cast<void>(context_.files.set_modified(entry_path, context_.clock.since_epoch()));
}

}  // namespace quantjit::cache
