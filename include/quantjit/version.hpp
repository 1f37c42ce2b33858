// SPDX-License-Identifier: Apache-2.0
// The one place that holds the version: CMake, pkg-config and the CLI read it from here.
#pragma once

#define QUANTJIT_VERSION_MAJOR 1
#define QUANTJIT_VERSION_MINOR 0
#define QUANTJIT_VERSION_PATCH 0

namespace quantjit {

/// Version of the library as "major.minor.patch".
inline constexpr const char* kVersion = "1.0.0";

}  // namespace quantjit
