// SPDX-License-Identifier: Apache-2.0
#include "src/io/host_file.hpp"

#include "src/traits/quote.hpp"

#include <quantjit/error.hpp>

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace quantjit::io {

namespace {

std::string reason_of(int code) {
  return std::generic_category().message(code);
}

[[noreturn]] void fail_write(const std::filesystem::path& path, int code) {
  throw Error("writing " + traits::quote(path.string()) + " failed: " + reason_of(code));
}

/// Temporary file beside its target. Removed unless `commit` renamed it.
class PendingFile {
 public:
  explicit PendingFile(const std::filesystem::path& target) : target_(target) {
    constexpr mode_t kOrdinary = 0666;  // a dump is an ordinary file, as the umask allows
    constexpr int kMostTries = 100;     // leftovers of crashed runs may hold the first names
    for (int attempt = 0; attempt < kMostTries && descriptor_ < 0; ++attempt) {
      name_ =
          target.string() + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(attempt);
      descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOrdinary);
      if (descriptor_ < 0 && errno != EEXIST) {
        break;
      }
    }
    if (descriptor_ < 0) {
      fail_write(target_, errno);
    }
  }

  ~PendingFile() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
      ::unlink(name_.c_str());
    }
  }

  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  void append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) {
        continue;
      }
      if (written < 0) {
        fail_write(target_, errno);
      }
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void commit() {
    if (::rename(name_.c_str(), target_.c_str()) != 0) {
      fail_write(target_, errno);
    }
    ::close(std::exchange(descriptor_, -1));
  }

 private:
  const std::filesystem::path& target_;
  std::string name_;
  int descriptor_ = -1;
};

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : name_(traits::quote(path.string())) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    throw InvalidArgument("file " + name_, "not readable", "it must open: " + reason_of(errno));
  }

  struct stat status {};

  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw InvalidArgument("file " + name_, "not a regular file",
                          "tensors are read from regular files");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      name_(std::move(other.name_)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(name_, other.name_);
  return *this;
}

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    const ssize_t got =
        ::pread(descriptor_, target.data(), target.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      throw InvalidArgument(
          "file " + name_, "cut short at byte " + std::to_string(offset),
          got < 0 ? "reading failed: " + reason_of(errno) : "more bytes must follow");
    }
    target = target.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
}

void write_file(const std::filesystem::path& path,
                std::span<const std::span<const std::byte>> pieces) {
  PendingFile pending(path);
  for (const std::span<const std::byte> piece : pieces) {
    pending.append(piece);
  }
  pending.commit();
}

}  // namespace quantjit::io
