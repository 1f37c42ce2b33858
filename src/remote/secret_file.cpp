// SPDX-License-Identifier: Apache-2.0
#include "src/remote/secret_file.hpp"

#include "cache/context.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace quantjit::remote {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{16} << 10;

/// Up to kMaxBytes + 1 bytes, so that a longer file is noticed.
std::string read_some(int file, int& error) {
  std::string text(kMaxBytes + 1, '\0');
  std::size_t done = 0;
  ssize_t got = 1;
  while (got > 0 && done < text.size()) {
    got = ::read(file, text.data() + done, text.size() - done);
    done += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  error = got < 0 ? errno : 0;
  text.resize(done);
  return text;
}

}  // namespace

SecretFile::SecretFile(std::string path, std::string text)
    : path_(std::move(path)), secret_{std::move(text), {}} {}

SecretFile::Secret SecretFile::get() {
  return get(Freshness::kIfChanged);
}

SecretFile::Secret SecretFile::read_again() {
  return get(Freshness::kAlways);
}

SecretFile::Secret SecretFile::get(Freshness freshness) {
  if (path_.empty()) {
    return secret_;
  }
  Version version;
  if (home_.left()) {
    return read(version);
  }
  const std::lock_guard lock(mutex_);
  if (freshness == Freshness::kAlways || look() != version_ || version_ == Version()) {
    secret_ = read(version);
    version_ = secret_.error.empty() ? version : Version();
  }
  return secret_;
}

SecretFile::Version SecretFile::look() const {
  struct stat status {};

  if (::stat(path_.c_str(), &status) != 0) {
    return {};
  }
  return {status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ino};
}

SecretFile::Secret SecretFile::read(Version& version) const {
  version = look();
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return {{}, path_ + " cannot be read: " + cache::describe_error(errno)};
  }
  int error = 0;
  std::string text = read_some(file, error);
  ::close(file);
  if (error != 0) {
    return {{}, path_ + " cannot be read: " + cache::describe_error(error)};
  }
  while (text.ends_with('\n') || text.ends_with('\r')) {
    text.pop_back();
  }
  const bool is_line = std::none_of(text.begin(), text.end(), [](char character) {
    return static_cast<unsigned char>(character) < 0x20 || character == 0x7f;
  });
  if (text.empty() || text.size() > kMaxBytes || !is_line) {
    return {{}, path_ + " does not hold one line"};
  }
  return {std::move(text), {}};
}

}  // namespace quantjit::remote
