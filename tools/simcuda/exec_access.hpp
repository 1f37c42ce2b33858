// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arith_bits.hpp"
#include "checks.hpp"
#include "exec_lanes.hpp"

#include <cstdint>

// Address computation and the fast checks that every memory instruction shares.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {

/// Bit 0 of Op::detail of a memory instruction: the address register has 64 bits.
inline constexpr std::uint8_t kWideAddress = 1;

QUANTJIT_SIM_INLINE void gather_addresses(const Warp& warp, const Op& op,
                                          std::uint64_t (&out)[kLanes]) {
  const auto offset = static_cast<std::uint64_t>(op.immediate);
  if ((op.detail & kWideAddress) != 0) {
    const std::uint64_t* base = warp.lanes<const std::uint64_t>(op.src[0]);
    for (unsigned i = 0; i < kLanes; ++i) {
      out[i] = base[i] + offset;
    }
  } else {
    const std::uint32_t* base = warp.lanes<const std::uint32_t>(op.src[0]);
    for (unsigned i = 0; i < kLanes; ++i) {
      out[i] = base[i] + static_cast<std::uint32_t>(offset);
    }
  }
}

QUANTJIT_SIM_INLINE void check_alignment(const Warp& warp, const Op& op,
                                         const std::uint64_t (&addresses)[kLanes],
                                         std::uint32_t mask, unsigned bytes) {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    bits |= (mask & kLaneBit[i]) != 0 ? addresses[i] : 0;
  }
  if ((bits & (bytes - 1)) == 0) {
    return;
  }
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    if ((addresses[lane] & (bytes - 1)) != 0) {
      raise_misaligned(warp, op, lane, addresses[lane], bytes);
    }
  }
}

/// The allocation that holds all lanes' accesses. Null when several lanes need different ones; a
/// single lane outside of every allocation is reported.
QUANTJIT_SIM_INLINE const Allocation* resolve(const Warp& warp, const Op& op,
                                              const std::uint64_t (&addresses)[kLanes],
                                              std::uint32_t mask, unsigned bytes, bool write) {
  check_alignment(warp, op, addresses, mask, bytes);
  const unsigned first = first_lane(mask);
  std::uint64_t low = addresses[first];
  std::uint64_t high = addresses[first];
  for (unsigned i = 0; i < kLanes; ++i) {
    const std::uint64_t a = (mask & kLaneBit[i]) != 0 ? addresses[i] : addresses[first];
    low = a < low ? a : low;
    high = a > high ? a : high;
  }
  const Allocation* found = lookup(*warp.cta, low, high - low + bytes);
  if (found == nullptr && (mask & (mask - 1)) == 0) {
    raise_unmapped(warp, op, first, low, bytes, write);
  }
  return found;
}

/// Whether the init bits of [offset, offset + bytes) are all set; offset is aligned to bytes.
QUANTJIT_SIM_INLINE bool is_initialized(const Allocation& at, std::uint64_t offset,
                                        unsigned bytes) {
  const std::uint8_t* p = at.init + (offset >> 3);
  switch (bytes) {
    case 32:
      return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(p), __ATOMIC_RELAXED) ==
             0xFFFFFFFF;
    case 16:
      return __atomic_load_n(reinterpret_cast<const std::uint16_t*>(p), __ATOMIC_RELAXED) == 0xFFFF;
    case 8: return __atomic_load_n(p, __ATOMIC_RELAXED) == 0xFF;
    default: {
      const unsigned want = ((1U << bytes) - 1) << (offset & 7);
      return (__atomic_load_n(p, __ATOMIC_RELAXED) & want) == want;
    }
  }
}

QUANTJIT_SIM_INLINE void set_initialized(const Allocation& at, std::uint64_t offset,
                                         unsigned bytes) {
  std::uint8_t* p = at.init + (offset >> 3);
  switch (bytes) {
    case 32:
      __atomic_store_n(reinterpret_cast<std::uint32_t*>(p), 0xFFFFFFFF, __ATOMIC_RELAXED);
      break;
    case 16:
      __atomic_store_n(reinterpret_cast<std::uint16_t*>(p), std::uint16_t{0xFFFF},
                       __ATOMIC_RELAXED);
      break;
    case 8: __atomic_store_n(p, std::uint8_t{0xFF}, __ATOMIC_RELAXED); break;
    default: {
      const auto bits = static_cast<std::uint8_t>(((1U << bytes) - 1) << (offset & 7));
      if ((__atomic_load_n(p, __ATOMIC_RELAXED) & bits) != bits) {
        __atomic_fetch_or(p, bits, __ATOMIC_RELAXED);
      }
    }
  }
}

/// Lanes of `mask` whose generic address lies in the window.
QUANTJIT_SIM_INLINE std::uint32_t lanes_in(const std::uint64_t (&addresses)[kLanes],
                                           std::uint32_t mask, std::uint64_t window) {
  std::uint32_t r = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    r |= (addresses[i] & kWindowMask) == window ? kLaneBit[i] : 0;
  }
  return r & mask;
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
