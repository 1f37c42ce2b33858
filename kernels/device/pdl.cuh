// SPDX-License-Identifier: Apache-2.0
// Programmatic dependent launch (sm_90 and later). A kernel that triggers its dependents before its
// work must wait in every CTA before it exits: else the next kernel but one could overtake.
//
// What a kernel does before it waits runs beside the kernel in front: its launch, its parameters,
// its addresses. keep() holds results there that the compiler would rather compute where they are
// used.
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

/// Returns when all memory of the kernels in front is visible. Nothing may be read or written
/// before.
template <bool kPdl>
QUANTJIT_DEVICE void pdl_wait() {
  if constexpr (kPdl) {
    asm volatile("griddepcontrol.wait;" ::: "memory");
  }
}

/// Computes an address here and not later.
template <typename T>
QUANTJIT_DEVICE void keep(T*& address) {
  asm volatile("" : "+l"(address));
}

QUANTJIT_DEVICE void keep(U32& value) {
  asm volatile("" : "+r"(value));
}

/// Asks for a line in the L2 cache. Allowed before pdl_wait: it yields no value, and the L2 cache
/// is where the memory of a device is coherent, so what the kernel in front still writes to that
/// line is seen.
QUANTJIT_DEVICE void prefetch_l2(const char* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

}  // namespace quantjit::device
