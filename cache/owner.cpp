// SPDX-License-Identifier: Apache-2.0
#include "cache/owner.hpp"

#include "cache/file_system.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <string_view>
#include <sys/utsname.h>
#include <unistd.h>

namespace quantjit::cache {
namespace {

struct ProcessState {
  char letter = '?';
  std::uint64_t start = 0;
};

/// Reads state and start time from /proc/<pid>/stat; nothing if it is not to be seen.
std::optional<ProcessState> process_state(const std::string& pid) {
  constexpr int kStartField = 22;  // counted from 1, as in proc(5)
  const IoResult<std::string> content =
      read_small_file(posix_file_system(), "/proc/" + pid + "/stat", 4096);
  if (!content.ok()) {
    return std::nullopt;
  }
  // The second field is the program's name in parentheses, which may hold blanks and parentheses.
  std::string_view rest = content.value;
  const std::size_t name_end = rest.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= rest.size()) {
    return std::nullopt;
  }
  rest.remove_prefix(name_end + 2);
  ProcessState state;
  state.letter = rest.front();
  for (int field = 3; field < kStartField; ++field) {
    const std::size_t blank = rest.find(' ');
    if (blank == std::string_view::npos) {
      return std::nullopt;
    }
    rest.remove_prefix(blank + 1);
  }
  const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), state.start);
  return parsed.ec == std::errc() ? std::optional(state) : std::nullopt;
}

std::string kernel_identity() {
  FileSystem& files = posix_file_system();
  std::string boot = read_small_file(files, "/proc/sys/kernel/random/boot_id", 64).value;
  while (!boot.empty() && boot.back() == '\n') {
    boot.pop_back();
  }
  const std::string processes = files.read_link("/proc/self/ns/pid").value;
  if (boot.empty() || processes.empty()) {
    return {};
  }
  return boot + "/" + processes + "/" + files.read_link("/proc/self/ns/time").value;
}

}  // namespace

ProcessIdentity current_process() {
  ProcessIdentity self;

  struct utsname names {};

  if (::uname(&names) == 0) {
    self.host = names.nodename;
  }
  self.kernel = kernel_identity();
  self.pid = ::getpid();
  self.start = process_state("self").value_or(ProcessState{}).start;
  return self;
}

bool comparable(const ProcessIdentity& a, const ProcessIdentity& b) {
  return !a.kernel.empty() && a.kernel == b.kernel;
}

bool has_ended(const ProcessIdentity& owner, const ProcessIdentity& self) {
  if (!comparable(owner, self) || owner.pid <= 0) {
    return false;
  }
  if (const auto state = process_state(std::to_string(owner.pid))) {
    const bool finished = state->letter == 'Z' || state->letter == 'X';
    return finished || (owner.start != 0 && state->start != owner.start);
  }
  return ::kill(static_cast<pid_t>(owner.pid), 0) != 0 && errno == ESRCH;
}

}  // namespace quantjit::cache
