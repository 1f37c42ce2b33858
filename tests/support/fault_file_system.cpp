// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fault_file_system.hpp"

#include <signal.h>

namespace quantjit::cache {

std::string file_op_name(FileOp op) {
  constexpr const char* kNames[] = {"open_read",
                                    "create",
                                    "read_at",
                                    "write_at",
                                    "sync",
                                    "close",
                                    "sync_directory",
                                    "rename",
                                    "link",
                                    "unlink",
                                    "remove_directory",
                                    "make_directory",
                                    "status",
                                    "set_modified",
                                    "list",
                                    "read_link",
                                    "may_write"};
  return kNames[static_cast<int>(op)];
}

void FaultFileSystem::set(std::optional<Fault> fault) {
  const std::lock_guard lock(mutex_);
  fault_ = fault;
  calls_.clear();
  steps_ = 0;
}

void FaultFileSystem::kill_at_step(int step, KillMoment moment) {
  const std::lock_guard lock(mutex_);
  kill_step_ = step;
  kill_moment_ = moment;
}

int FaultFileSystem::calls(FileOp op) const {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(op);
  return found == calls_.end() ? 0 : found->second;
}

int FaultFileSystem::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

FaultFileSystem::Decision FaultFileSystem::decide(FileOp op, bool changes) {
  const std::lock_guard lock(mutex_);
  const int call = ++calls_[op];
  Decision decision;
  if (changes && ++steps_ == kill_step_) {
    if (kill_moment_ == KillMoment::kBefore) {
      ::raise(SIGKILL);
    }
    decision.short_write = true;
    decision.die_after = true;
  }
  if (fault_ && fault_->op == op && call >= fault_->from && call < fault_->from + fault_->count) {
    decision.error = fault_->error;
    decision.after = fault_->after;
    decision.short_write = fault_->short_write;
  }
  return decision;
}

template <typename Call>
IoError FaultFileSystem::plain(FileOp op, bool changes, Call call) {
  const Decision decision = decide(op, changes);
  if (decision.error != 0 && !decision.after) {
    return decision.error;
  }
  const IoError error = call();
  if (decision.die_after) {
    ::raise(SIGKILL);
  }
  return decision.error != 0 ? decision.error : error;
}

template <typename T, typename Call>
IoResult<T> FaultFileSystem::valued(FileOp op, bool changes, Call call) {
  const Decision decision = decide(op, changes);
  if (decision.error != 0) {
    return {decision.error, T{}};
  }
  IoResult<T> result = call();
  if (decision.die_after) {
    ::raise(SIGKILL);
  }
  return result;
}

IoResult<int> FaultFileSystem::open_read(const std::string& path) {
  return valued<int>(FileOp::kOpenRead, false, [&] { return real_.open_read(path); });
}

IoResult<int> FaultFileSystem::create(const std::string& path, std::uint32_t mode) {
  return valued<int>(FileOp::kCreate, true, [&] { return real_.create(path, mode); });
}

IoResult<std::size_t> FaultFileSystem::read_at(int file, std::uint64_t offset,
                                               std::span<char> into) {
  return valued<std::size_t>(FileOp::kReadAt, false,
                             [&] { return real_.read_at(file, offset, into); });
}

IoResult<std::size_t> FaultFileSystem::write_at(int file, std::uint64_t offset,
                                                std::string_view bytes) {
  const Decision decision = decide(FileOp::kWriteAt, true);
  if (decision.short_write) {
    bytes = bytes.substr(0, (bytes.size() + 1) / 2);
  }
  if (decision.error != 0) {
    return {decision.error, 0};
  }
  const IoResult<std::size_t> result = real_.write_at(file, offset, bytes);
  if (decision.die_after) {
    ::raise(SIGKILL);
  }
  return result;
}

IoError FaultFileSystem::sync(int file) {
  return plain(FileOp::kSync, true, [&] { return real_.sync(file); });
}

IoError FaultFileSystem::close(int file) {
  // The descriptor is gone whatever the answer is, as with the real call.
  const Decision decision = decide(FileOp::kClose, false);
  const IoError error = real_.close(file);
  return decision.error != 0 ? decision.error : error;
}

IoError FaultFileSystem::sync_directory(const std::string& path) {
  return plain(FileOp::kSyncDirectory, true, [&] { return real_.sync_directory(path); });
}

IoError FaultFileSystem::rename(const std::string& from, const std::string& to) {
  return plain(FileOp::kRename, true, [&] { return real_.rename(from, to); });
}

IoError FaultFileSystem::link(const std::string& from, const std::string& to) {
  return plain(FileOp::kLink, true, [&] { return real_.link(from, to); });
}

IoError FaultFileSystem::unlink(const std::string& path) {
  return plain(FileOp::kUnlink, true, [&] { return real_.unlink(path); });
}

IoError FaultFileSystem::remove_directory(const std::string& path) {
  return plain(FileOp::kRemoveDirectory, true, [&] { return real_.remove_directory(path); });
}

IoError FaultFileSystem::make_directory(const std::string& path, std::uint32_t mode) {
  return plain(FileOp::kMakeDirectory, true, [&] { return real_.make_directory(path, mode); });
}

IoResult<FileStatus> FaultFileSystem::status(const std::string& path) {
  return valued<FileStatus>(FileOp::kStatus, false, [&] { return real_.status(path); });
}

IoResult<FileStatus> FaultFileSystem::status(int file) {
  return valued<FileStatus>(FileOp::kStatus, false, [&] { return real_.status(file); });
}

IoError FaultFileSystem::set_modified(const std::string& path,
                                      std::chrono::nanoseconds since_epoch) {
  return plain(FileOp::kSetModified, true, [&] { return real_.set_modified(path, since_epoch); });
}

IoResult<std::vector<std::string>> FaultFileSystem::list(const std::string& path) {
  return valued<std::vector<std::string>>(FileOp::kList, false, [&] { return real_.list(path); });
}

IoResult<std::string> FaultFileSystem::read_link(const std::string& path) {
  return valued<std::string>(FileOp::kReadLink, false, [&] { return real_.read_link(path); });
}

IoError FaultFileSystem::may_write(const std::string& path) {
  return plain(FileOp::kMayWrite, false, [&] { return real_.may_write(path); });
}

}  // namespace quantjit::cache
