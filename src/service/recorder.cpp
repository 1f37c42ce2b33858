// SPDX-License-Identifier: Apache-2.0
#include "src/service/recorder.hpp"

#include "src/base/log.hpp"
#include "src/service/request.hpp"

#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace quantjit::service {
namespace {

/// One line of a trace; src/io/manifest.hpp has the format.
std::string to_record(const Traits& traits, MathMode math, const Arch& arch) {
  return R"({"quantjit_trace":1,"arch":")" + arch.to_string() + R"(","traits":")" +
         portable_text(traits, math, arch) + "\"}\n";
}

/// Whether a file ends inside a line, since a writer died there.
bool ends_in_line(int file) {
  struct stat status {};

  char last = '\n';
  return fstat(file, &status) == 0 && status.st_size > 0 &&
         pread(file, &last, 1, status.st_size - 1) == 1 && last != '\n';
}

}  // namespace

Recorder::~Recorder() {
  close_file();
}

bool Recorder::start(const std::string& path) {
  const std::lock_guard lock(mutex_);
  close_file();
  path_ = path;
  if (path.empty()) {
    return false;
  }
  constexpr mode_t kOrdinary = 0666;  // as the umask allows: other users' engines may append
  // Not blocking matters for a pipe only: its reader must not hold up requests.
  file_ = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                 kOrdinary);
  if (file_ < 0) {
    give_up("opened", errno);
    return false;
  }
  append(noted_lines_);
  return file_ >= 0;
}

void Recorder::note(const Traits& traits, MathMode math, const Arch& arch) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (!noted_.insert({pack(traits), math, arch}).second) {
      return;
    }
    const std::string line = to_record(traits, math, arch);
    noted_lines_ += line;
    if (file_ >= 0) {
      append(line);
    }
  } catch (const std::exception& error) {
    base::log_warn(std::string("a request could not be recorded: ") + error.what());
  }
}

/// One write a call, so that the records of many processes do not mix.
void Recorder::append(const std::string& lines) {
  if (lines.empty()) {
    return;
  }
  const std::string text = ends_in_line(file_) ? "\n" + lines : lines;
  ssize_t written = -1;
  do {
    written = ::write(file_, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(text.size())) {
    give_up("written", written < 0 ? errno : ENOSPC);
  }
}

void Recorder::close_file() {
  if (file_ >= 0) {
    ::close(file_);
    file_ = -1;
  }
}

void Recorder::give_up(const char* what, int error) {
  close_file();
  base::log_warn("the record of requested kernels " + path_ + " cannot be " + what + " (" +
                 std::generic_category().message(error) +
                 "); requests go on unrecorded, name another file in QUANTJIT_RECORD");
}

}  // namespace quantjit::service
