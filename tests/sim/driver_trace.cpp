// SPDX-License-Identifier: Apache-2.0
// Prints what a CUDA driver library answers to a fixed list of calls, good and bad, one line a
// call. Run once on a GPU it yields the recorded report; a test compares the simulated device's
// answers with that report.
//
//   driver_trace LIBRARY
//
// Every section runs in a process of its own, so that a crash or a dead context stays in it.
#include "driver_trace.hpp"

#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

namespace quantjit::simtest {

namespace {

const char* library_path = nullptr;

}  // namespace

const DriverLibrary& driver() {
  static const DriverLibrary library(library_path);
  return library;
}

std::string result_name(CUresult result) {
  const char* name = nullptr;
  CU(cuGetErrorName)(result, &name);
  return name == nullptr ? "unnamed " + std::to_string(static_cast<int>(result)) : name;
}

void Trace::answer(const char* label, CUresult result) const {
  std::printf("%s.%s = %s\n", section_, label, result_name(result).c_str());
  std::fflush(stdout);
}

void Trace::value(const char* label, long long value) const {
  std::printf("%s.%s = %lld\n", section_, label, value);
  std::fflush(stdout);
}

}  // namespace quantjit::simtest

int main(int argc, char** argv) {
  using namespace quantjit::simtest;
  if (argc != 2) {
    std::fprintf(stderr, "usage: driver_trace LIBRARY\n");
    return 2;
  }
  library_path = argv[1];
  int failures = 0;
  for (const Section& section : trace_sections()) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      section.run(Trace(section.name));
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
      std::printf("%s.ended = abnormally (%d)\n", section.name, status);
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}
