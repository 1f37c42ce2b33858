// SPDX-License-Identifier: Apache-2.0
#include "arith_int.hpp"
#include "convert.hpp"
#include "exec_groups.hpp"
#include "exec_lanes.hpp"

// Conversions from and to integers. 8-bit values travel in 16-bit registers; the decoder handles
// registers that are wider than their type.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {
namespace {

using S8 = std::int8_t;
using U8 = std::uint8_t;
using S16 = std::int16_t;
using U16 = std::uint16_t;
using S32 = std::int32_t;
using U32 = std::uint32_t;
using S64 = std::int64_t;
using U64 = std::uint64_t;

/// The register type that holds an I: 8-bit values are extended to 16 bits.
template <class I>
using Held =
    std::conditional_t<sizeof(I) == 1, std::conditional_t<std::is_signed_v<I>, S16, U16>, I>;

template <class I>
constexpr const char* kLetter = sizeof(I) <= 2 ? "h" : (sizeof(I) == 4 ? "w" : "d");

template <class I>
constexpr const char* kName = std::is_signed_v<I> ? (sizeof(I) == 1   ? ".s8"
                                                     : sizeof(I) == 2 ? ".s16"
                                                     : sizeof(I) == 4 ? ".s32"
                                                                      : ".s64")
                                                  : (sizeof(I) == 1   ? ".u8"
                                                     : sizeof(I) == 2 ? ".u16"
                                                     : sizeof(I) == 4 ? ".u32"
                                                                      : ".u64");

/// "xy" for a one-letter destination and source.
struct Signature {
  char text[3];

  Signature(const char* to, const char* from) : text{to[0], from[0], 0} {}
};

template <class To, class From>
Held<To> cast(Held<From> x) {
  return static_cast<Held<To>>(static_cast<To>(static_cast<From>(x)));
}

template <class To, class From>
Held<To> cast_saturated(Held<From> x) {
  return static_cast<Held<To>>(clamp_int<To>(static_cast<From>(x)));
}

/// Whether a To can be every From: then there is nothing to saturate, and no such spelling.
template <class To, class From>
constexpr bool holds() {
  return std::is_signed_v<To> == std::is_signed_v<From>
             ? sizeof(To) >= sizeof(From)
             : std::is_signed_v<To> && sizeof(To) > sizeof(From);
}

template <class To, class From>
void add_pair(InstructionSet& set) {
  const Signature sig(kLetter<To>, kLetter<From>);
  set.add({"cvt", kName<To>, kName<From>}, sig.text, Each<&cast<To, From>>::run);
  if constexpr (!holds<To, From>()) {
    set.add({"cvt.sat", kName<To>, kName<From>}, sig.text, Each<&cast_saturated<To, From>>::run);
  }
}

template <class To>
void add_pairs(InstructionSet& set) {
  add_pair<To, U8>(set);
  add_pair<To, S8>(set);
  add_pair<To, U16>(set);
  add_pair<To, S16>(set);
  add_pair<To, U32>(set);
  add_pair<To, S32>(set);
  add_pair<To, U64>(set);
  add_pair<To, S64>(set);
}

template <class I, Round R, bool Ftz>
Held<I> from_f32(float x) {
  return int_from_f32<I, R, Ftz>(x);
}

template <class I, Round R>
Held<I> from_f64(double x) {
  return int_from_f64<I, R>(x);
}

template <class I, class T, Round R>
Held<I> from_16(U16 x) {
  return int_from_16<I, T, R>(x);
}

template <class I, Round R>
float to_f32(Held<I> x) {
  return f32_from_int<I, R>(static_cast<I>(x));
}

template <class I>
double to_f64(Held<I> x) {
  return static_cast<double>(static_cast<I>(x));
}

template <class I, class T, Round R>
U16 to_16(Held<I> x) {
  return f16_from_int<T, I, R>(static_cast<I>(x));
}

template <class I, Round R>
void add_rounded(InstructionSet& set, const char* integral, const char* rounding) {
  const char* name = kName<I>;
  const char* letter = kLetter<I>;
  const Signature from_word(letter, "f");
  const Signature from_half(letter, "h");
  const Signature to_half("h", letter);
  set.add({"cvt", integral, name, ".f32"}, from_word.text, Each<&from_f32<I, R, false>>::run);
  set.add({"cvt", integral, ".ftz", name, ".f32"}, from_word.text,
          Each<&from_f32<I, R, true>>::run);
  set.add({"cvt", integral, ".sat", name, ".f32"}, from_word.text,
          Each<&from_f32<I, R, false>>::run);
  set.add({"cvt", integral, ".ftz.sat", name, ".f32"}, from_word.text,
          Each<&from_f32<I, R, true>>::run);
  set.add({"cvt", integral, name, ".f64"}, Signature(letter, "e").text, Each<&from_f64<I, R>>::run);
  set.add({"cvt", integral, name, ".f16"}, from_half.text, Each<&from_16<I, Half, R>>::run);
  set.add({"cvt", rounding, ".f32", name}, Signature("f", letter).text, Each<&to_f32<I, R>>::run);
  set.add({"cvt", rounding, ".f16", name}, to_half.text, Each<&to_16<I, Half, R>>::run);
  if constexpr (sizeof(I) > 1) {
    set.add({"cvt", integral, name, ".bf16"}, from_half.text, Each<&from_16<I, Bfloat, R>>::run);
    set.add({"cvt", rounding, ".bf16", name}, to_half.text, Each<&to_16<I, Bfloat, R>>::run);
  }
  if constexpr (R == Round::kNearest) {
    set.add({"cvt.rn.f64", name}, Signature("e", letter).text, Each<&to_f64<I>>::run);
    if constexpr (sizeof(I) <= 4) {
      set.add({"cvt.f64", name}, Signature("e", letter).text, Each<&to_f64<I>>::run);
    }
  }
}

template <class I>
void add_float(InstructionSet& set) {
  add_rounded<I, Round::kNearest>(set, ".rni", ".rn");
  add_rounded<I, Round::kZero>(set, ".rzi", ".rz");
  add_rounded<I, Round::kDown>(set, ".rmi", ".rm");
  add_rounded<I, Round::kUp>(set, ".rpi", ".rp");
}

template <class I>
void add_integer(InstructionSet& set) {
  add_pairs<I>(set);
  add_float<I>(set);
}

/// cvt.pack: a above b, for 8 bits above the low half of c.
template <class I>
U32 pack8(S32 a, S32 b, U32 c) {
  const U32 high = static_cast<U8>(clamp_int<I>(a));
  const U32 low = static_cast<U8>(clamp_int<I>(b));
  return (c << 16) | (high << 8) | low;
}

template <class I>
U32 pack16(S32 a, S32 b) {
  const U32 high = static_cast<U16>(clamp_int<I>(a));
  return (high << 16) | static_cast<U16>(clamp_int<I>(b));
}

}  // namespace

void register_convert(InstructionSet& set) {
  add_integer<U8>(set);
  add_integer<S8>(set);
  add_integer<U16>(set);
  add_integer<S16>(set);
  add_integer<U32>(set);
  add_integer<S32>(set);
  add_integer<U64>(set);
  add_integer<S64>(set);
  set.add({"cvt.pack.sat.u8.s32.b32"}, "wwww", Each<&pack8<U8>>::run);
  set.add({"cvt.pack.sat.s8.s32.b32"}, "wwww", Each<&pack8<S8>>::run);
  set.add({"cvt.pack.sat.u16.s32"}, "www", Each<&pack16<U16>>::run);
  set.add({"cvt.pack.sat.s16.s32"}, "www", Each<&pack16<S16>>::run);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
