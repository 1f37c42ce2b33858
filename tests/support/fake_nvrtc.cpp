// SPDX-License-Identifier: Apache-2.0
// Source of the fake compiler libraries: versions and damage that a test machine cannot have.
// Compile definitions: QUANTJIT_FAKE_MAJOR, QUANTJIT_FAKE_MINOR, QUANTJIT_FAKE_OLD_API (without
// the entry points that were added later), QUANTJIT_FAKE_PTX (the code is a PTX text). They compile
// nothing: the code is the source's text.
//
// Two environment variables make a compile misbehave: QUANTJIT_FAKE_ABORT names a part of a name
// expression, and the compile that has it aborts the process; QUANTJIT_FAKE_HOLD names a file, and
// every compile adds a byte to FILE.begun and waits for as long as FILE exists.
#include <nvrtc.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

struct _nvrtcProgram {
  std::string source;
  std::string log;
  std::vector<std::string> expressions = {};
};

#define FAKE(name) extern "C" __attribute__((visibility("default"))) nvrtcResult name

FAKE(nvrtcVersion)(int* major, int* minor) {
  *major = QUANTJIT_FAKE_MAJOR;
  *minor = QUANTJIT_FAKE_MINOR;
  return NVRTC_SUCCESS;
}

#ifndef QUANTJIT_FAKE_OLD_API
extern "C" __attribute__((visibility("default"))) const char* nvrtcGetErrorString(
    nvrtcResult code) {
  return code == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE ? "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE"
                                                       : "NVRTC_ERROR_OTHER";
}

FAKE(nvrtcGetNumSupportedArchs)(int* count) {
  *count = 3;
  return NVRTC_SUCCESS;
}

FAKE(nvrtcGetSupportedArchs)(int* archs) {
  archs[0] = 80;
  archs[1] = 100;
  archs[2] = 90;
  return NVRTC_SUCCESS;
}

namespace {

void abort_if_asked(const _nvrtcProgram& program) {
  const char* const part = std::getenv("QUANTJIT_FAKE_ABORT");
  for (const std::string& expression : program.expressions) {
    if (part != nullptr && expression.find(part) != std::string::npos) {
      std::abort();
    }
  }
}

/// Like the real one, this takes SIGINT and SIGTERM over while any thread compiles: who has
/// handlers for them is not asked, and the process ends.
class SignalsTaken {
 public:
  SignalsTaken() {
    const std::lock_guard lock(mutex());
    if (compiles()++ == 0) {
      interrupt() = std::signal(SIGINT, [](int) { _exit(4); });
      terminate() = std::signal(SIGTERM, [](int) { _exit(4); });
    }
  }

  SignalsTaken(const SignalsTaken&) = delete;
  SignalsTaken& operator=(const SignalsTaken&) = delete;

  ~SignalsTaken() {
    const std::lock_guard lock(mutex());
    if (--compiles() == 0) {
      std::signal(SIGINT, interrupt());
      std::signal(SIGTERM, terminate());
    }
  }

 private:
  using Handler = void (*)(int);

  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }

  static int& compiles() {
    static int count = 0;
    return count;
  }

  static Handler& interrupt() {
    static Handler handler = SIG_DFL;
    return handler;
  }

  static Handler& terminate() {
    static Handler handler = SIG_DFL;
    return handler;
  }
};

void hold_if_asked() {
  const char* const file = std::getenv("QUANTJIT_FAKE_HOLD");
  if (file == nullptr) {
    return;
  }
  const int begun =
      open((std::string(file) + ".begun").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (begun < 0 || write(begun, "x", 1) != 1) {
    std::abort();
  }
  close(begun);
  while (access(file, F_OK) == 0) {
    usleep(2000);
  }
}

}  // namespace

FAKE(nvrtcCreateProgram)

(nvrtcProgram* program, const char* source, const char*, int, const char* const*,
 const char* const*) {
#ifdef QUANTJIT_FAKE_PTX
  const std::string head = ".version 9.0\n.target sm_90a\n.address_size 64\n// ";
#else
  const std::string head;
#endif
  *program = new _nvrtcProgram{head + source, ""};
  return NVRTC_SUCCESS;
}

FAKE(nvrtcDestroyProgram)(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

FAKE(nvrtcAddNameExpression)(nvrtcProgram program, const char* expression) {
  program->expressions.emplace_back(expression);
  return NVRTC_SUCCESS;
}

/// Like the real one, this opens its companion by name and fails if the loader does not have it.
FAKE(nvrtcCompileProgram)(nvrtcProgram program, int, const char* const*) {
  const std::string builtins = "libnvrtc-builtins.so." + std::to_string(QUANTJIT_FAKE_MAJOR) + "." +
                               std::to_string(QUANTJIT_FAKE_MINOR);
  if (dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    program->log = "nvrtc: error: failed to open " + builtins + ".";
    return NVRTC_ERROR_BUILTIN_OPERATION_FAILURE;
  }
  const SignalsTaken taken;
  abort_if_asked(*program);
  hold_if_asked();
  return NVRTC_SUCCESS;
}

FAKE(nvrtcGetProgramLogSize)(nvrtcProgram program, std::size_t* size) {
  *size = program->log.size() + 1;
  return NVRTC_SUCCESS;
}

FAKE(nvrtcGetProgramLog)(nvrtcProgram program, char* log) {
  std::strcpy(log, program->log.c_str());
  return NVRTC_SUCCESS;
}

FAKE(nvrtcGetLoweredName)(nvrtcProgram, const char*, const char** name) {
  *name = "lowered";
  return NVRTC_SUCCESS;
}

FAKE(nvrtcGetCUBINSize)(nvrtcProgram program, std::size_t* size) {
  *size = program->source.size();
  return NVRTC_SUCCESS;
}

FAKE(nvrtcGetCUBIN)(nvrtcProgram program, char* code) {
  std::memcpy(code, program->source.data(), program->source.size());
  return NVRTC_SUCCESS;
}

FAKE(nvrtcGetPTXSize)(nvrtcProgram program, std::size_t* size) {
  return nvrtcGetCUBINSize(program, size);
}

FAKE(nvrtcGetPTX)(nvrtcProgram program, char* code) {
  return nvrtcGetCUBIN(program, code);
}
#endif
