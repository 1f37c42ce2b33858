// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arith_bits.hpp"

#include <limits>
#include <type_traits>

// Integer instructions, one lane each.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {

template <class T>
using Unsigned = std::make_unsigned_t<T>;

/// Wrap-around arithmetic is done in an unsigned type of at least 32 bits.
template <class T>
using Wide = std::conditional_t<(sizeof(T) < 4), std::uint32_t, Unsigned<T>>;

/// The double-width type of T.
template <class T>
struct Twice;

template <>
struct Twice<std::int16_t> {
  using type = std::int32_t;
};

template <>
struct Twice<std::uint16_t> {
  using type = std::uint32_t;
};

template <>
struct Twice<std::int32_t> {
  using type = std::int64_t;
};

template <>
struct Twice<std::uint32_t> {
  using type = std::uint64_t;
};

template <>
struct Twice<std::int64_t> {
  __extension__ using type = __int128;
};

template <>
struct Twice<std::uint64_t> {
  __extension__ using type = unsigned __int128;
};

template <class T>
QUANTJIT_SIM_INLINE T add_int(T a, T b) {
  return static_cast<T>(static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b));
}

template <class T>
QUANTJIT_SIM_INLINE T sub_int(T a, T b) {
  return static_cast<T>(static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b));
}

QUANTJIT_SIM_INLINE std::int32_t clamp_s32(std::int64_t x) {
  x = x > 2147483647 ? 2147483647 : x;
  return static_cast<std::int32_t>(x < -2147483648LL ? -2147483648LL : x);
}

QUANTJIT_SIM_INLINE std::int32_t add_sat(std::int32_t a, std::int32_t b) {
  return clamp_s32(std::int64_t{a} + b);
}

QUANTJIT_SIM_INLINE std::int32_t sub_sat(std::int32_t a, std::int32_t b) {
  return clamp_s32(std::int64_t{a} - b);
}

template <class T>
QUANTJIT_SIM_INLINE T mul_lo(T a, T b) {
  return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
}

template <class T>
QUANTJIT_SIM_INLINE typename Twice<T>::type mul_wide(T a, T b) {
  using W = typename Twice<T>::type;
  return static_cast<W>(static_cast<W>(a) * static_cast<W>(b));
}

template <class T>
QUANTJIT_SIM_INLINE T mul_hi(T a, T b) {
  return static_cast<T>(mul_wide(a, b) >> (8 * sizeof(T)));
}

template <class T>
QUANTJIT_SIM_INLINE T mad_lo(T a, T b, T c) {
  return add_int(mul_lo(a, b), c);
}

template <class T>
QUANTJIT_SIM_INLINE T mad_hi(T a, T b, T c) {
  return add_int(mul_hi(a, b), c);
}

template <class T>
QUANTJIT_SIM_INLINE typename Twice<T>::type mad_wide(T a, T b, typename Twice<T>::type c) {
  return add_int(mul_wide(a, b), c);
}

QUANTJIT_SIM_INLINE std::int64_t low24(std::int32_t x) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << 8) >> 8;
}

QUANTJIT_SIM_INLINE std::int64_t low24(std::uint32_t x) {
  return x & 0xFFFFFF;
}

template <class T>
QUANTJIT_SIM_INLINE T mul24_lo(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(low24(a) * low24(b)));
}

template <class T>
QUANTJIT_SIM_INLINE T mul24_hi(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(low24(a) * low24(b)) >> 16);
}

template <class T>
QUANTJIT_SIM_INLINE T mad24_lo(T a, T b, T c) {
  return add_int(mul24_lo(a, b), c);
}

template <class T>
QUANTJIT_SIM_INLINE T sad_int(T a, T b, T c) {
  return add_int(c, a < b ? sub_int(b, a) : sub_int(a, b));
}

/// A zero divisor gives all ones, as the hardware's routine does.
template <class T>
QUANTJIT_SIM_INLINE T div_int(T a, T b) {
  if (b == 0) {
    return static_cast<T>(~T{0});
  }
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) {
      return sub_int(T{0}, a);
    }
  }
  return static_cast<T>(a / b);
}

template <class T>
QUANTJIT_SIM_INLINE T rem_int(T a, T b) {
  if (b == 0) {
    return static_cast<T>(~T{0});
  }
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) {
      return 0;
    }
  }
  return static_cast<T>(a % b);
}

template <class T>
QUANTJIT_SIM_INLINE T neg_int(T a) {
  return sub_int(T{0}, a);
}

template <class T>
QUANTJIT_SIM_INLINE T abs_int(T a) {
  return a < 0 ? sub_int(T{0}, a) : a;
}

template <class T>
QUANTJIT_SIM_INLINE T min_int(T a, T b) {
  return a < b ? a : b;
}

template <class T>
QUANTJIT_SIM_INLINE T max_int(T a, T b) {
  return a > b ? a : b;
}

template <bool Max>
QUANTJIT_SIM_INLINE std::int32_t extremum_relu(std::int32_t a, std::int32_t b) {
  return max_int(Max ? max_int(a, b) : min_int(a, b), 0);
}

/// Applies F to both 16-bit halves.
template <class T, T (*F)(T, T)>
QUANTJIT_SIM_INLINE std::uint32_t halves(std::uint32_t a, std::uint32_t b) {
  const auto low = static_cast<std::uint16_t>(F(static_cast<T>(a), static_cast<T>(b)));
  const auto high = static_cast<std::uint16_t>(F(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  return std::uint32_t{low} | (std::uint32_t{high} << 16);
}

template <class T>
QUANTJIT_SIM_INLINE T and_bits(T a, T b) {
  return static_cast<T>(a & b);
}

template <class T>
QUANTJIT_SIM_INLINE T or_bits(T a, T b) {
  return static_cast<T>(a | b);
}

template <class T>
QUANTJIT_SIM_INLINE T xor_bits(T a, T b) {
  return static_cast<T>(a ^ b);
}

template <class T>
QUANTJIT_SIM_INLINE T not_bits(T a) {
  return static_cast<T>(~a);
}

template <class T>
QUANTJIT_SIM_INLINE T cnot_bits(T a) {
  return a == 0 ? T{1} : T{0};
}

template <class T>
QUANTJIT_SIM_INLINE T shl_bits(T a, std::uint32_t n) {
  constexpr std::uint32_t kBits = 8 * sizeof(T);
  const auto shifted = static_cast<T>(static_cast<Wide<T>>(a) << (n & (kBits - 1)));
  return n >= kBits ? T{0} : shifted;
}

/// Logical for unsigned, arithmetic for signed types; counts beyond the width saturate.
template <class T>
QUANTJIT_SIM_INLINE T shr_bits(T a, std::uint32_t n) {
  constexpr std::uint32_t kBits = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(a >> (n >= kBits ? kBits - 1 : n));
  } else {
    const auto shifted = static_cast<T>(a >> (n & (kBits - 1)));
    return n >= kBits ? T{0} : shifted;
  }
}

template <bool Left, bool Clamp>
QUANTJIT_SIM_INLINE std::uint32_t funnel(std::uint32_t low, std::uint32_t high, std::uint32_t n) {
  n = Clamp ? (n > 32 ? 32 : n) : (n & 31);
  const std::uint64_t both = (std::uint64_t{high} << 32) | low;
  return static_cast<std::uint32_t>(Left ? (both << n) >> 32 : both >> n);
}

QUANTJIT_SIM_INLINE std::uint32_t popc32(std::uint32_t x) {
  x -= (x >> 1) & 0x55555555;
  x = (x & 0x33333333) + ((x >> 2) & 0x33333333);
  return (((x + (x >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24;
}

QUANTJIT_SIM_INLINE std::uint32_t popc64(std::uint64_t x) {
  return popc32(static_cast<std::uint32_t>(x)) + popc32(static_cast<std::uint32_t>(x >> 32));
}

QUANTJIT_SIM_INLINE std::uint32_t clz32(std::uint32_t x) {
  return x == 0 ? 32 : static_cast<std::uint32_t>(__builtin_clz(x));
}

QUANTJIT_SIM_INLINE std::uint32_t clz64(std::uint64_t x) {
  return x == 0 ? 64 : static_cast<std::uint32_t>(__builtin_clzll(x));
}

QUANTJIT_SIM_INLINE std::uint32_t brev32(std::uint32_t x) {
  x = ((x >> 1) & 0x55555555) | ((x & 0x55555555) << 1);
  x = ((x >> 2) & 0x33333333) | ((x & 0x33333333) << 2);
  x = ((x >> 4) & 0x0F0F0F0F) | ((x & 0x0F0F0F0F) << 4);
  return __builtin_bswap32(x);
}

QUANTJIT_SIM_INLINE std::uint64_t brev64(std::uint64_t x) {
  return (std::uint64_t{brev32(static_cast<std::uint32_t>(x))} << 32) |
         brev32(static_cast<std::uint32_t>(x >> 32));
}

/// Position of the most significant bit that differs from the sign, 0xFFFFFFFF without one.
template <class T, bool ShiftAmount>
QUANTJIT_SIM_INLINE std::uint32_t bfind(T a) {
  const auto u = static_cast<Unsigned<T>>(std::is_signed_v<T> && a < 0 ? ~a : a);
  constexpr std::uint32_t kTop = 8 * sizeof(T) - 1;
  const std::uint32_t zeros = sizeof(T) == 8 ? clz64(u) : clz32(static_cast<std::uint32_t>(u));
  return u == 0 ? 0xFFFFFFFF : (ShiftAmount ? zeros : kTop - zeros);
}

template <class T>
QUANTJIT_SIM_INLINE T bfe(T a, std::uint32_t position, std::uint32_t length) {
  using U = Unsigned<T>;
  constexpr std::uint32_t kBits = 8 * sizeof(T);
  position &= 0xFF;
  length &= 0xFF;
  if (length == 0) {
    return 0;
  }
  const std::uint32_t last = position + length - 1;
  const std::uint32_t sign_at = last < kBits ? last : kBits - 1;
  const bool sign = std::is_signed_v<T> && ((static_cast<U>(a) >> sign_at) & 1) != 0;
  const U field = position >= kBits ? U{0} : static_cast<U>(static_cast<U>(a) >> position);
  const std::uint32_t valid = position >= kBits ? 0 : kBits - position;
  const std::uint32_t kept = length < valid ? length : valid;
  const U mask = kept >= kBits ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << kept) - 1);
  return static_cast<T>((field & mask) | (sign ? static_cast<U>(~mask) : U{0}));
}

template <class U>
QUANTJIT_SIM_INLINE U bfi(U field, U base, std::uint32_t position, std::uint32_t length) {
  constexpr std::uint32_t kBits = 8 * sizeof(U);
  position &= 0xFF;
  length &= 0xFF;
  if (length == 0 || position >= kBits) {
    return base;
  }
  const U ones = length >= kBits ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << length) - 1);
  const U mask = static_cast<U>(ones << position);
  return static_cast<U>((base & ~mask) | ((field << position) & mask));
}

template <bool Clamp>
QUANTJIT_SIM_INLINE std::uint32_t bmsk(std::uint32_t position, std::uint32_t length) {
  if constexpr (Clamp) {
    position = position > 32 ? 32 : position;
    length = length > 32 ? 32 : length;
  } else {
    position &= 31;
    length &= 31;
  }
  return static_cast<std::uint32_t>(((std::uint64_t{1} << length) - 1) << position);
}

QUANTJIT_SIM_INLINE std::uint32_t lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                       std::uint32_t table) {
  std::uint32_t r = 0;
  r |= (0 - (table & 1)) & ~a & ~b & ~c;
  r |= (0 - ((table >> 1) & 1)) & ~a & ~b & c;
  r |= (0 - ((table >> 2) & 1)) & ~a & b & ~c;
  r |= (0 - ((table >> 3) & 1)) & ~a & b & c;
  r |= (0 - ((table >> 4) & 1)) & a & ~b & ~c;
  r |= (0 - ((table >> 5) & 1)) & a & ~b & c;
  r |= (0 - ((table >> 6) & 1)) & a & b & ~c;
  r |= (0 - ((table >> 7) & 1)) & a & b & c;
  return r;
}

QUANTJIT_SIM_INLINE std::uint32_t prmt_pick(std::uint64_t bytes, std::uint32_t selector) {
  const auto byte = static_cast<std::uint32_t>(bytes >> (8 * (selector & 7))) & 0xFF;
  const std::uint32_t sign = (byte & 0x80) != 0 ? 0xFF : 0;
  return (selector & 8) != 0 ? sign : byte;
}

QUANTJIT_SIM_INLINE std::uint32_t prmt(std::uint32_t a, std::uint32_t b, std::uint32_t selector) {
  const std::uint64_t bytes = (std::uint64_t{b} << 32) | a;
  return prmt_pick(bytes, selector) | (prmt_pick(bytes, selector >> 4) << 8) |
         (prmt_pick(bytes, selector >> 8) << 16) | (prmt_pick(bytes, selector >> 12) << 24);
}

/// The selectors that prmt's modes stand for, by the two low bits of c.
enum class PrmtMode : std::uint8_t { kF4e, kB4e, kRc8, kEcl, kEcr, kRc16 };

template <PrmtMode M>
QUANTJIT_SIM_INLINE std::uint32_t prmt_mode(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  constexpr std::uint32_t kSelectors[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
      {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
      {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  return prmt(a, b, kSelectors[static_cast<int>(M)][c & 3]);
}

template <class A, class B>
QUANTJIT_SIM_INLINE std::uint32_t dp4a(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t sum = c;
  for (unsigned i = 0; i < 32; i += 8) {
    sum += static_cast<std::uint32_t>(static_cast<A>(a >> i) * static_cast<B>(b >> i));
  }
  return sum;
}

template <class T>
QUANTJIT_SIM_INLINE T select(T a, T b, bool which) {
  return which ? a : b;
}

/// Keeps a value within another integer type's range.
template <class To, class From>
QUANTJIT_SIM_INLINE To clamp_int(From x) {
  using Limits = std::numeric_limits<To>;
  __extension__ using Big = __int128;
  const Big wide = x;
  const Big low = wide < Limits::min() ? Big{Limits::min()} : wide;
  return static_cast<To>(low > Limits::max() ? Big{Limits::max()} : low);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
