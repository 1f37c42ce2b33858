// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch (sm_90 and later). A kernel that triggers its dependents before its
// work must wait in every CTA before it exits: else the next kernel but one could overtake.
#pragma once

#include "device/types.cuh"

namespace quantjit::device {

/// Lets the next kernel on the stream start.
template <bool kPdl>
QUANTJIT_DEVICE void pdl_trigger() {
  if constexpr (kPdl) {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  }
}

/// Returns when all memory of the kernels in front is visible. Nothing may be read or written before.
template <bool kPdl>
QUANTJIT_DEVICE void pdl_wait() {
  if constexpr (kPdl) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
  }
}

}  // namespace quantjit::device
