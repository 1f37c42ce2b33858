// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/console.hpp"

#include "tools/cli/json_writer.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace quantjit::cli {
namespace {

/// Where messages cannot be written there is nowhere to say so.
void to_standard_error(const std::string& text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

}  // namespace

void Console::prepare_process() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF) {
      // The wrong direction on purpose: using a stream that was closed stays an error.
      const int flags = descriptor == 0 ? O_WRONLY : O_RDONLY;
      [[maybe_unused]] const int opened = ::open("/dev/null", flags);
    }
  }
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
}

void Console::write(std::string_view text) {
  if (output_error_ != 0 || text.empty()) {
    return;
  }
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    output_error_ = errno != 0 ? errno : EIO;
  }
}

void Console::flush() {
  errno = 0;
  if (std::fflush(stdout) != 0 && output_error_ == 0) {
    output_error_ = errno != 0 ? errno : EIO;
  }
}

void Console::line(std::string_view text) {
  if (!json()) {
    progress({});
    write(text);
    write("\n");
  }
}

void Console::document(const Value& value) {
  if (json()) {
    progress({});
    write(to_json(value));
    write("\n");
    has_document_ = true;
  }
}

void Console::bytes(std::span<const std::byte> data) {
  // char may alias anything, so bytes can be written as text.
  write({reinterpret_cast<const char*>(data.data()), data.size()});
}

void Console::message(std::string_view text) {
  progress({});
  // Data before messages, so that a terminal shows both in the order they were made.
  flush();
  to_standard_error("quantjit: " + std::string(text) + "\n");
}

bool Console::shows_progress() {
  static const bool terminal = ::isatty(STDERR_FILENO) == 1;
  return terminal;
}

void Console::progress(std::string_view text) {
  if (!shows_progress() || (text.empty() && !progress_shown_)) {
    return;
  }
  to_standard_error("\r\033[K" + std::string(text));
  progress_shown_ = !text.empty();
}

int Console::finish(int status) {
  progress({});
  flush();
  if (output_error_ == 0) {
    return status;
  }
  // A reader that has seen enough is not worth a message.
  if (output_error_ != EPIPE) {
    char text[128];
    const char* const reason = ::strerror_r(output_error_, text, sizeof(text));
    to_standard_error("quantjit: standard output cannot be written: " + std::string(reason) + "\n");
  }
  return status == 0 ? 1 : status;
}

}  // namespace quantjit::cli
