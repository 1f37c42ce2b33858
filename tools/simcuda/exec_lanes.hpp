// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arith_bits.hpp"
#include "instructions.hpp"
#include "warp.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

#if defined(__clang__)
#define QUANTJIT_SIM_LANE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define QUANTJIT_SIM_LANE_LOOP _Pragma("GCC ivdep")
#endif

// Turns a function of one lane into a Handler. A destination slot either equals a source slot or is
// disjoint from it (the register allocator sees to that), so that the loops may be vectorized.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {

inline constexpr std::uint32_t kLaneBit[kLanes] = {
    1U << 0,  1U << 1,  1U << 2,  1U << 3,  1U << 4,  1U << 5,  1U << 6,  1U << 7,
    1U << 8,  1U << 9,  1U << 10, 1U << 11, 1U << 12, 1U << 13, 1U << 14, 1U << 15,
    1U << 16, 1U << 17, 1U << 18, 1U << 19, 1U << 20, 1U << 21, 1U << 22, 1U << 23,
    1U << 24, 1U << 25, 1U << 26, 1U << 27, 1U << 28, 1U << 29, 1U << 30, 1U << 31};

template <class T>
struct Input {
  const T* values;

  QUANTJIT_SIM_INLINE Input(const Warp& warp, std::uint32_t slot)
      : values(warp.lanes<const T>(slot)) {}

  QUANTJIT_SIM_INLINE T operator[](unsigned lane) const { return values[lane]; }
};

template <>
struct Input<bool> {
  std::uint32_t mask;

  QUANTJIT_SIM_INLINE Input(const Warp& warp, std::uint32_t slot) : mask(warp.predicate(slot)) {}

  QUANTJIT_SIM_INLINE bool operator[](unsigned lane) const { return (mask & kLaneBit[lane]) != 0; }
};

/// Stores a predicate result for the lanes in `mask`.
QUANTJIT_SIM_INLINE void set_predicate(const Warp& warp, std::uint32_t slot, std::uint32_t bits,
                                       std::uint32_t mask) {
  if (slot != kNone) {
    std::uint32_t& p = warp.predicate(slot);
    p = (p & ~mask) | (bits & mask);
  }
}

template <auto F>
struct Each;

template <class R, class... A, R (*F)(A...)>
struct Each<F> {
  static void run(Warp& warp, const Op& op, std::uint32_t mask) {
    run_indexed(warp, op, mask, std::make_index_sequence<sizeof...(A)>{});
  }

 private:
  template <std::size_t... I>
  QUANTJIT_SIM_INLINE static void run_indexed(Warp& warp, const Op& op, std::uint32_t mask,
                                              std::index_sequence<I...>) {
    apply(warp, op, mask, Input<A>(warp, op.src[I])...);
  }

  QUANTJIT_SIM_INLINE static void apply(Warp& warp, const Op& op, std::uint32_t mask,
                                        Input<A>... in) {
    if constexpr (std::is_same_v<R, bool>) {
      std::uint32_t hits[kLanes];
      QUANTJIT_SIM_LANE_LOOP
      for (unsigned i = 0; i < kLanes; ++i) {
        hits[i] = F(in[i]...) ? kLaneBit[i] : 0;
      }
      std::uint32_t bits = 0;
      for (unsigned i = 0; i < kLanes; ++i) {
        bits |= hits[i];
      }
      set_predicate(warp, op.dst, bits, mask);
      set_predicate(warp, op.dst2, ~bits, mask);
    } else if (mask == kAllLanes) {
      R* d = warp.lanes<R>(op.dst);
      QUANTJIT_SIM_LANE_LOOP
      for (unsigned i = 0; i < kLanes; ++i) {
        d[i] = F(in[i]...);
      }
    } else {
      R* d = warp.lanes<R>(op.dst);
      QUANTJIT_SIM_LANE_LOOP
      for (unsigned i = 0; i < kLanes; ++i) {
        const R r = F(in[i]...);
        d[i] = (mask & kLaneBit[i]) != 0 ? r : d[i];
      }
    }
  }
};

/// A comparison combined with a predicate: p = F op c, q = !F op c. Op 0 and, 1 or, 2 xor.
template <auto F, int Combine>
struct CombinedCompare;

template <class T, int Combine, bool (*F)(T, T)>
struct CombinedCompare<F, Combine> {
  static void run(Warp& warp, const Op& op, std::uint32_t mask) {
    const Input<T> a(warp, op.src[0]);
    const Input<T> b(warp, op.src[1]);
    const std::uint32_t c = warp.predicate(op.src[2]);
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < kLanes; ++i) {
      bits |= F(a[i], b[i]) ? kLaneBit[i] : 0;
    }
    set_predicate(warp, op.dst, combine(bits, c), mask);
    set_predicate(warp, op.dst2, combine(~bits, c), mask);
  }

 private:
  static std::uint32_t combine(std::uint32_t x, std::uint32_t c) {
    return Combine == 0 ? (x & c) : (Combine == 1 ? (x | c) : (x ^ c));
  }
};

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
