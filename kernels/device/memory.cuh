// SPDX-License-Identifier: Apache-2.0
// Vector access to global memory: 128 bits everywhere, 256 bits on SM100 and later (from NVRTC 12.9
// on, whose PTX has them).
#pragma once

#if __CUDA_ARCH__ >= 1000 && (__CUDACC_VER_MAJOR__ > 12 || __CUDACC_VER_MINOR__ >= 9)
#define QUANTJIT_256_BIT_ACCESS 1
#else
#define QUANTJIT_256_BIT_ACCESS 0
#endif

#include "device/types.cuh"

namespace quantjit::device {

QUANTJIT_DEVICE void load_16_bytes(const char* from, U32* to) {
  asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "l"(from)
               : "memory");
}

QUANTJIT_DEVICE void load_8_bytes(const char* from, U32* to) {
  asm volatile("ld.global.v2.b32 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "l"(from)
               : "memory");
}

QUANTJIT_DEVICE void store_16_bytes(char* to, const U32* from) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
}

#if QUANTJIT_256_BIT_ACCESS
QUANTJIT_DEVICE void load_32_bytes(const char* from, U32* to) {
  asm volatile("ld.global.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]), "=r"(to[4]), "=r"(to[5]),
                 "=r"(to[6]), "=r"(to[7])
               : "l"(from)
               : "memory");
}

QUANTJIT_DEVICE void store_32_bytes(char* to, const U32* from) {
  asm volatile("st.global.v8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};"
               :
               : "l"(to), "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3]), "r"(from[4]),
                 "r"(from[5]), "r"(from[6]), "r"(from[7])
               : "memory");
}
#endif

/// Loads kCount registers from a 16-byte boundary. With `aligned32` (uniform) the address is on 32
/// bytes and SM100+ takes 256 bits at once.
template <int kCount>
QUANTJIT_DEVICE void load_words(const char* from, bool aligned32, Words<kCount>& to) {
  if constexpr (kCount == 2) {
    load_8_bytes(from, to.at);
  } else {
#if QUANTJIT_256_BIT_ACCESS
    if (kCount % 8 == 0 && aligned32) {
      load_32_bytes(from, to.at);
      if constexpr (kCount > 8) {
        load_32_bytes(from + 32, to.at + 8);
      }
      return;
    }
#endif
    load_16_bytes(from, to.at);
    if constexpr (kCount > 4) {
      load_16_bytes(from + 16, to.at + 4);
    }
    if constexpr (kCount > 8) {
      load_16_bytes(from + 32, to.at + 8);
      load_16_bytes(from + 48, to.at + 12);
    }
  }
}

/// Stores one thread's codes, 4 bytes a register; the address is aligned to their total.
template <int kCount>
QUANTJIT_DEVICE void store_words(char* to, const Words<kCount>& from) {
  if constexpr (kCount == 1) {
    *reinterpret_cast<U32*>(to) = from.at[0];
  } else if constexpr (kCount == 2) {
    *reinterpret_cast<uint2*>(to) = make_uint2(from.at[0], from.at[1]);
  } else if constexpr (kCount == 4) {
    store_16_bytes(to, from.at);
  } else {
#if QUANTJIT_256_BIT_ACCESS
    store_32_bytes(to, from.at);
#else
    store_16_bytes(to, from.at);
    store_16_bytes(to + 16, from.at + 4);
#endif
  }
}

}  // namespace quantjit::device
