// SPDX-License-Identifier: Apache-2.0
// Entries as files of a directory: `<path>/<2 digits>/<request>-<part>`. Files appear whole or not
// at all. A mount that hangs cannot be timed out: deadlines are looked at between system calls.
#include "cache/context.hpp"
#include "src/remote/deadline.hpp"
#include "src/remote/make_backend.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace quantjit::remote {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;  // bytes between two looks at the clock

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  ~Descriptor() {
    if (file_ >= 0) {
      ::close(file_);
    }
  }

  [[nodiscard]] int get() const { return file_; }

  /// Closes it and says how that went: some file systems report a failed write only here.
  [[nodiscard]] int close() { return ::close(std::exchange(file_, -1)); }

 private:
  int file_;
};

/// A file that is gone at the end unless it was renamed.
class Temporary {
 public:
  explicit Temporary(std::string path) : path_(std::move(path)) {}

  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  ~Temporary() {
    if (!path_.empty()) {
      ::unlink(path_.c_str());
    }
  }

  [[nodiscard]] const char* path() const { return path_.c_str(); }

  void renamed() { path_.clear(); }

 private:
  std::string path_;
};

/// What an errno means to a caller of the backend.
Reply failure(const char* doing, int error) {
  switch (error) {
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOSPC:
    case EDQUOT: return {Outcome::kRefused, {}, doing + cache::describe_error(error)};
    default: return {Outcome::kFailed, {}, doing + cache::describe_error(error)};
  }
}

Reply timed_out() {
  return {Outcome::kFailed, {}, "it took longer than its time limit"};
}

template <typename Call>
auto retried(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

Reply read_all(int file, std::size_t bytes, const Deadline& deadline) {
  Reply reply{Outcome::kFound, std::string(bytes, '\0'), {}};
  std::size_t done = 0;
  while (done < bytes) {
    if (deadline.passed()) {
      return timed_out();
    }
    const std::size_t want = std::min(kChunk, bytes - done);
    const ssize_t got = retried([&] { return ::read(file, reply.body.data() + done, want); });
    if (got < 0) {
      return failure("reading: ", errno);
    }
    if (got == 0) {
      return {Outcome::kFailed, {}, "the file shrank while it was read"};
    }
    done += static_cast<std::size_t>(got);
  }
  return reply;
}

Reply write_all(int file, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    if (deadline.passed()) {
      return timed_out();
    }
    const std::size_t want = std::min(kChunk, bytes.size());
    const ssize_t done = retried([&] { return ::write(file, bytes.data(), want); });
    if (done < 0) {
      return failure("writing: ", errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  if (retried([&] { return ::fsync(file); }) != 0) {
    return failure("syncing: ", errno);
  }
  return {Outcome::kFound, {}, {}};
}

class FileBackend : public Backend {
 public:
  explicit FileBackend(const TierSpec& spec) : root_(spec.path), label_(spec.label(0)) {}

  Reply get(const Name& name, const Limits& limits) override {
    const Deadline deadline(limits.timeout);
    const std::string path = path_of(name);
    // A FIFO must not hang the caller, and a link may lead anywhere.
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const Descriptor file(retried([&] { return ::open(path.c_str(), flags); }));
    if (file.get() < 0) {
      return errno == ENOENT ? Reply{Outcome::kAbsent, {}, {}} : failure("opening: ", errno);
    }

    struct stat status {};

    if (::fstat(file.get(), &status) != 0) {
      return failure("examining: ", errno);
    }
    if (!S_ISREG(status.st_mode)) {
      return {Outcome::kFailed, {}, "it is no regular file"};
    }
    if (static_cast<std::uint64_t>(status.st_size) > limits.max_bytes) {
      return {Outcome::kFailed, {}, "it is longer than what is read"};
    }
    return read_all(file.get(), static_cast<std::size_t>(status.st_size), deadline);
  }

  Reply put(const Name& name, std::string_view bytes, Overwrite overwrite,
            const Limits& limits) override {
    const Deadline deadline(limits.timeout);
    const std::string path = path_of(name);
    if (overwrite == Overwrite::kKeep && head(name, limits).found()) {
      return {Outcome::kKept, {}, {}};
    }
    const std::string folder = path.substr(0, path.rfind('/'));
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
      // The tier's own directory is not made: below a mount point it would fill the local disk.
      return failure("making a directory: ", errno);
    }
    Temporary temporary(folder + "/.tmp-" + cache::unique_token());
    Descriptor file(retried(
        [&] { return ::open(temporary.path(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644); }));
    if (file.get() < 0) {
      return failure("making a file: ", errno);
    }
    if (Reply written = write_all(file.get(), bytes, deadline); !written.found()) {
      return written;
    }
    if (file.close() != 0) {
      return failure("closing: ", errno);
    }
    return publish(temporary, path, overwrite);
  }

  Reply head(const Name& name, const Limits& /*limits*/) override {
    struct stat status {};

    if (::lstat(path_of(name).c_str(), &status) != 0) {
      return errno == ENOENT ? Reply{Outcome::kAbsent, {}, {}} : failure("examining: ", errno);
    }
    return S_ISREG(status.st_mode) ? Reply{Outcome::kFound, {}, {}}
                                   : Reply{Outcome::kFailed, {}, "it is no regular file"};
  }

  Reply remove(const Name& name, const Limits& /*limits*/) override {
    if (::unlink(path_of(name).c_str()) != 0) {
      return errno == ENOENT ? Reply{Outcome::kAbsent, {}, {}} : failure("removing: ", errno);
    }
    return {Outcome::kFound, {}, {}};
  }

  [[nodiscard]] const std::string& label() const override { return label_; }

 private:
  [[nodiscard]] std::string path_of(const Name& name) const {
    return root_ + "/" + name.request.substr(0, 2) + "/" + name.request + "-" + name.part;
  }

  static Reply publish(Temporary& temporary, const std::string& path, Overwrite overwrite) {
    if (overwrite == Overwrite::kKeep) {
      if (::link(temporary.path(), path.c_str()) == 0) {
        return {Outcome::kFound, {}, {}};
      }
      if (errno == EEXIST) {
        return {Outcome::kKept, {}, {}};
      }
      // File systems without hard links: what another put made since head() is replaced.
    }
    if (::rename(temporary.path(), path.c_str()) != 0) {
      return failure("renaming: ", errno);
    }
    temporary.renamed();
    return {Outcome::kFound, {}, {}};
  }

  std::string root_;
  std::string label_;
};

}  // namespace

std::unique_ptr<Backend> make_file_backend(const TierSpec& spec) {
  return std::make_unique<FileBackend>(spec);
}

}  // namespace quantjit::remote
