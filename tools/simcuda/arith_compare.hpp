// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arith_16.hpp"
#include "arith_bits.hpp"

// Floating point comparisons. The names ending in u are also true when an operand is NaN.
namespace quantjit::sim {

enum class Compare : std::uint8_t {
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kEqu,
  kNeu,
  kLtu,
  kLeu,
  kGtu,
  kGeu,
  kNum,
  kNan
};

inline constexpr const char* kCompareNames[] = {".eq",  ".ne",  ".lt",  ".le",  ".gt",
                                                ".ge",  ".equ", ".neu", ".ltu", ".leu",
                                                ".gtu", ".geu", ".num", ".nan"};

inline namespace QUANTJIT_SIM_ISA {

template <Compare C, class F>
QUANTJIT_SIM_INLINE bool compare(F a, F b) {
  const bool unordered = is_nan(a) || is_nan(b);
  switch (C) {
    case Compare::kEq: return a == b;
    case Compare::kNe: return !unordered && !(a == b);
    case Compare::kLt: return a < b;
    case Compare::kLe: return a <= b;
    case Compare::kGt: return a > b;
    case Compare::kGe: return a >= b;
    case Compare::kEqu: return unordered || a == b;
    case Compare::kNeu: return !(a == b);
    case Compare::kLtu: return unordered || a < b;
    case Compare::kLeu: return unordered || a <= b;
    case Compare::kGtu: return unordered || a > b;
    case Compare::kGeu: return unordered || a >= b;
    case Compare::kNum: return !unordered;
    case Compare::kNan: return unordered;
  }
  return false;
}

template <Compare C, bool Ftz>
QUANTJIT_SIM_INLINE bool compare_f32(float a, float b) {
  return compare<C>(flush_if<Ftz>(a), flush_if<Ftz>(b));
}

template <Compare C>
QUANTJIT_SIM_INLINE bool compare_f64(double a, double b) {
  return compare<C>(a, b);
}

template <Compare C, class T, bool Ftz>
QUANTJIT_SIM_INLINE bool compare_16(std::uint16_t a, std::uint16_t b) {
  if constexpr (Ftz) {
    a = flush16<T>(a);
    b = flush16<T>(b);
  }
  return compare<C>(widen<T>(a), widen<T>(b));
}

}  // namespace QUANTJIT_SIM_ISA
}  // namespace quantjit::sim
