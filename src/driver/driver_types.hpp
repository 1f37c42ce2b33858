// SPDX-License-Identifier: Apache-2.0
// The driver's handle types, forward-declared so that no header needs cuda.h.
#pragma once

#include <cstdint>

struct CUctx_st;
struct CUevent_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUkern_st;
struct CUlib_st;
struct CUstream_st;

namespace quantjit::driver {

/// Address in device memory, in bytes (the driver's CUdeviceptr).
using DevicePointer = std::uint64_t;

}  // namespace quantjit::driver
