// SPDX-License-Identifier: Apache-2.0
// The kernel sources that were built into the library: NVRTC's include root.
#pragma once

#include <span>
#include <string_view>

namespace quantjit::kernels {

/// One embedded file.
struct Source {
  std::string_view path;  ///< relative to kernels/, with '/', e.g. "device/warp.cuh"
  std::string_view text;
};

/// Every `.cuh` and `.h` file of kernels/, sorted by path. Static storage; thread safe.
std::span<const Source> embedded_sources();

}  // namespace quantjit::kernels
