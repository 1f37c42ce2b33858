// SPDX-License-Identifier: Apache-2.0
// How the driver tests reach a driver library: dlopen and dlsym only, as a user would.
#pragma once

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace quantjit::simtest {

/// One loaded driver library; loaded at first use and kept until the process ends.
class DriverLibrary {
 public:
  /// Loads `path`, or ends the process with a message: no test can go on without the library.
  explicit DriverLibrary(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      std::fprintf(stderr, "cannot load the driver library: %s\n", dlerror());
      std::exit(2);
    }
  }

  /// The address of an exported name, or null.
  [[nodiscard]] void* find(const char* name) const { return dlsym(handle_, name); }

  /// The address of an exported name; ends the process when it is missing.
  [[nodiscard]] void* get(const char* name) const {
    void* address = find(name);
    if (address == nullptr) {
      std::fprintf(stderr, "the driver library does not export %s\n", name);
      std::exit(2);
    }
    return address;
  }

 private:
  void* handle_;
};

/// The library under test; each test program defines it.
const DriverLibrary& driver();

/// The enumerator's name of a result, as cuGetErrorName gives it.
std::string result_name(CUresult result);

}  // namespace quantjit::simtest

#define QUANTJIT_TEXT_OF_(x) #x
#define QUANTJIT_TEXT_OF(x) QUANTJIT_TEXT_OF_(x)
/// The driver entry point that `name` means to a program compiled against cuda.h.
#define CU(name) \
  (reinterpret_cast<decltype(&::name)>(::quantjit::simtest::driver().get(QUANTJIT_TEXT_OF(name))))
