// SPDX-License-Identifier: Apache-2.0
#include "tests/support/child_process.hpp"

#include "src/base/dynamic_library.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace quantjit::cache {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments,
                           const std::vector<std::string>& environment) {
  std::array<int, 2> to_child{};
  std::array<int, 2> from_child{};
  if (::pipe2(to_child.data(), O_CLOEXEC) != 0 || ::pipe2(from_child.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe can be had");
  }
  const std::string program = (base::executable_directory() / "cache_worker").string();
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> settings;
  for (char** setting = environ; *setting != nullptr; ++setting) {
    settings.emplace_back(*setting);
  }
  settings.insert(settings.end(), environment.begin(), environment.end());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to_child[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, from_child[1], 1);
  const int error = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, pointers(words).data(),
                                  pointers(settings).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(to_child[0]);
  ::close(from_child[1]);
  input_ = to_child[1];
  output_ = from_child[0];
  if (error != 0) {
    throw std::runtime_error("cannot start " + program);
  }
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)) {}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait();
  }
  release();
  if (output_ >= 0) {
    ::close(output_);
  }
}

std::string ChildProcess::read_line() {
  std::string line;
  for (char c = 0;;) {
    const ssize_t got = ::read(output_, &c, 1);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0 || c == '\n') {
      return line;
    }
    line.push_back(c);
  }
}

void ChildProcess::release() {
  if (input_ >= 0) {
    ::close(std::exchange(input_, -1));
  }
}

void ChildProcess::signal(int number) const {
  ::kill(pid_, number);
}

int ChildProcess::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace quantjit::cache
