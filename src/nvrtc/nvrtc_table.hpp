// SPDX-License-Identifier: Apache-2.0
// NVRTC's entry points as one table. Private to this module: the only header that needs nvrtc.h.
#pragma once

#include "src/base/dynamic_library.hpp"
#include "src/nvrtc/nvrtc.hpp"

#include <nvrtc.h>

#include <filesystem>
#include <string>
#include <vector>

#define QUANTJIT_NVRTC_SYMBOLS(X) \
  X(nvrtcVersion)                 \
  X(nvrtcGetErrorString)          \
  X(nvrtcGetNumSupportedArchs)    \
  X(nvrtcGetSupportedArchs)       \
  X(nvrtcCreateProgram)           \
  X(nvrtcDestroyProgram)          \
  X(nvrtcAddNameExpression)       \
  X(nvrtcCompileProgram)          \
  X(nvrtcGetProgramLogSize)       \
  X(nvrtcGetProgramLog)           \
  X(nvrtcGetLoweredName)          \
  X(nvrtcGetCUBINSize)            \
  X(nvrtcGetCUBIN)                \
  X(nvrtcGetPTXSize)              \
  X(nvrtcGetPTX)

namespace quantjit::nvrtc {

struct NvrtcTable {
// NOLINTNEXTLINE(bugprone-macro-parentheses): the argument is declared, not used
#define QUANTJIT_MEMBER(name) decltype(&::name) name = nullptr;
  QUANTJIT_NVRTC_SYMBOLS(QUANTJIT_MEMBER)
#undef QUANTJIT_MEMBER

  base::DynamicLibrary library;
  base::DynamicLibrary builtins;  ///< loaded from beside the library, if it is there
  std::string builtins_name;      ///< e.g. "libnvrtc-builtins.so.13.0"
  Version version;
  std::vector<int> arch_numbers;  ///< e.g. 90, 100, 103, 120
};

/// Directories beside a library where its builtins may be: where its path points, and where the
/// file really is.
[[nodiscard]] std::vector<std::filesystem::path> builtins_directories(
    const std::filesystem::path& library);

/// "sm_90, sm_90a, ...".
[[nodiscard]] std::string list_text(const std::vector<Arch>& archs);

}  // namespace quantjit::nvrtc
