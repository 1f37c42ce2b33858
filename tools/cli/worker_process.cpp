// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/worker_process.hpp"

#include "tools/cli/context.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace quantjit::cli {
namespace {

[[noreturn]] void fail(int error) {
  throw CommandFailure("a worker process cannot be started: " +
                       std::error_code(error, std::generic_category()).message());
}

/// Two ends that no other child inherits.
struct Pipe {
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      fail(errno);
    }
  }

  ~Pipe() {
    close(0);
    close(1);
  }

  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close(int end) {
    if (ends[end] >= 0) {
      ::close(std::exchange(ends[end], -1));
    }
  }

  int take(int end) { return std::exchange(ends[end], -1); }

  int ends[2] = {-1, -1};
};

/// What a child of posix_spawn is given.
class SpawnSetup {
 public:
  SpawnSetup(int input, int output) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    ::posix_spawnattr_setsigmask(&attributes_, &blocked);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }

  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  [[nodiscard]] pid_t start(const char* command) const {
    // The arguments are not written to, whatever the interface says.
    char* const arguments[] = {const_cast<char*>("quantjit"), const_cast<char*>(command), nullptr};
    pid_t pid = -1;
    const int error =
        ::posix_spawn(&pid, "/proc/self/exe", &actions_, &attributes_, arguments, ::environ);
    if (error != 0) {
      fail(error);
    }
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const char* const name = ::sigabbrev_np(signal);
    return "was ended by signal " + std::to_string(signal) +
           (name == nullptr ? "" : " (SIG" + std::string(name) + ")");
  }
  return "exited with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

WorkerProcess::WorkerProcess(const char* command) {
  Pipe in;
  Pipe out;
  pid_ = SpawnSetup(in.ends[0], out.ends[1]).start(command);
  input_ = in.take(1);
  output_ = out.take(0);
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::exchange(other.input_, -1)),
      output_(std::exchange(other.output_, -1)) {}

WorkerProcess::~WorkerProcess() {
  static_cast<void>(end());
}

std::string WorkerProcess::end() {
  for (int* const descriptor : {&input_, &output_}) {
    if (*descriptor >= 0) {
      ::close(std::exchange(*descriptor, -1));
    }
  }
  if (pid_ < 0) {
    return "has ended";
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) {
      return "cannot be waited for";
    }
  }
  pid_ = -1;
  return describe_end(status);
}

}  // namespace quantjit::cli
