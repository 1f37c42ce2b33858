// SPDX-License-Identifier: Apache-2.0
#include "arith_f32.hpp"
#include "convert.hpp"
#include "exec_groups.hpp"
#include "exec_lanes.hpp"

// Conversions between floating point formats.
namespace quantjit::sim::inline QUANTJIT_SIM_ISA {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;

template <class T>
constexpr bool kIsHalf = T::kInfinity == Half::kInfinity;

// f32 and f64 ------------------------------------------------------------------------------------

template <Round R, bool Ftz, bool Sat>
float integral_f32(float x) {
  return finish_f32<Round::kNearest, Ftz, Sat>(flush_if<Ftz>(integral<R>(flush_if<Ftz>(x))));
}

template <bool Ftz, bool Sat>
float same_f32(float x) {
  return Sat ? saturate(flush_if<Ftz>(x)) : canonical(flush_if<Ftz>(x));
}

template <Round R>
double integral_f64(double x) {
  return quiet(integral<R>(x));
}

/// NaN keeps its sign and the upper bits of its payload.
template <Round R, bool Ftz, bool Sat>
float from_f64(double x) {
  const float r = flush_if<Ftz>(to_float<R>(x));
  return Sat ? saturate(r) : (is_nan(x) ? static_cast<float>(x) : r);
}

template <bool Ftz>
double to_f64(float x) {
  return static_cast<double>(Ftz ? canonical(flush(x)) : x);
}

template <Round R>
void register_f32_f64(InstructionSet& set, const char* whole, const char* round) {
  set.add({"cvt", whole, ".f32.f32"}, "ff", Each<&integral_f32<R, false, false>>::run);
  set.add({"cvt", whole, ".ftz.f32.f32"}, "ff", Each<&integral_f32<R, true, false>>::run);
  set.add({"cvt", whole, ".sat.f32.f32"}, "ff", Each<&integral_f32<R, false, true>>::run);
  set.add({"cvt", whole, ".ftz.sat.f32.f32"}, "ff", Each<&integral_f32<R, true, true>>::run);
  set.add({"cvt", whole, ".f64.f64"}, "ee", Each<&integral_f64<R>>::run);
  set.add({"cvt", round, ".f32.f64"}, "fe", Each<&from_f64<R, false, false>>::run);
  set.add({"cvt", round, ".ftz.f32.f64"}, "fe", Each<&from_f64<R, true, false>>::run);
  set.add({"cvt", round, ".sat.f32.f64"}, "fe", Each<&from_f64<R, false, true>>::run);
  set.add({"cvt", round, ".ftz.sat.f32.f64"}, "fe", Each<&from_f64<R, true, true>>::run);
}

// 16-bit formats ---------------------------------------------------------------------------------

template <class T, bool Ftz, bool Sat>
float widen_f32(U16 x) {
  const float r = flush_if<Ftz>(widen<T>(x));
  if constexpr (Sat) {
    return saturate(r);
  } else {
    return kIsHalf<T> ? canonical(r) : r;  // bf16 is a shift: the payload survives
  }
}

template <class T>
double widen_f64(U16 x) {
  return static_cast<double>(widen<T>(x));
}

/// NaN keeps its sign and the upper bits of its payload.
template <class T, Round R>
U16 narrow_f64(double x) {
  if (is_nan(x)) {
    const U32 u = bits_of(static_cast<float>(x));
    return static_cast<U16>((u >> 16 & 0x8000) | T::kInfinity |
                            (u >> (kIsHalf<T> ? 13 : 16) & (kIsHalf<T> ? 0x3FFU : 0x7FU)));
  }
  return narrow<T, R>(to_float_odd(x));
}

template <class T, Round R, bool Ftz, bool Sat>
U16 narrow_f32(float x) {
  const U16 r = narrow<T, R>(flush_if<Ftz>(x));
  return Sat ? saturate16<T>(r) : r;
}

template <class To, class From, Round R>
U16 across(U16 x) {
  return narrow<To, R>(widen<From>(x));
}

template <class T, Round R>
U16 integral_16(U16 x) {
  return narrow<T, Round::kNearest>(integral<R>(widen<T>(x)));
}

template <class T, Round R>
void register_round_16(InstructionSet& set, const char* whole, const char* round, const char* type,
                       const char* other) {
  using Other = std::conditional_t<kIsHalf<T>, Bfloat, Half>;
  set.add({"cvt", whole, type, type}, "hh", Each<&integral_16<T, R>>::run);
  set.add({"cvt", round, type, ".f32"}, "hf", Each<&narrow_f32<T, R, false, false>>::run);
  set.add({"cvt", round, ".ftz", type, ".f32"}, "hf", Each<&narrow_f32<T, R, true, false>>::run);
  set.add({"cvt", round, ".sat", type, ".f32"}, "hf", Each<&narrow_f32<T, R, false, true>>::run);
  set.add({"cvt", round, ".ftz.sat", type, ".f32"}, "hf", Each<&narrow_f32<T, R, true, true>>::run);
  set.add({"cvt", round, type, ".f64"}, "he", Each<&narrow_f64<T, R>>::run);
  set.add({"cvt", round, type, other}, "hh", Each<&across<T, Other, R>>::run);
}

template <class T, Round R, bool Relu, bool SatFinite>
void register_packing(InstructionSet& set, const char* round, const char* type,
                      const char* packed) {
  const char* relu = Relu ? ".relu" : "";
  const char* finite = SatFinite ? ".satfinite" : "";
  if constexpr (Relu || SatFinite) {
    set.add({"cvt", round, relu, finite, type, ".f32"}, "hf",
            Each<&f16_from_f32<T, R, Relu, SatFinite>>::run);
  }
  set.add({"cvt", round, relu, finite, packed, ".f32"}, "wff",
          Each<&f16x2_from_f32<T, R, Relu, SatFinite>>::run);
}

template <class T>
void register_16_format(InstructionSet& set, const char* type, const char* packed,
                        const char* other) {
  register_round_16<T, Round::kNearest>(set, ".rni", ".rn", type, other);
  register_round_16<T, Round::kZero>(set, ".rzi", ".rz", type, other);
  register_round_16<T, Round::kDown>(set, ".rmi", ".rm", type, other);
  register_round_16<T, Round::kUp>(set, ".rpi", ".rp", type, other);
  register_packing<T, Round::kNearest, false, false>(set, ".rn", type, packed);
  register_packing<T, Round::kNearest, true, false>(set, ".rn", type, packed);
  register_packing<T, Round::kNearest, false, true>(set, ".rn", type, packed);
  register_packing<T, Round::kNearest, true, true>(set, ".rn", type, packed);
  register_packing<T, Round::kZero, false, false>(set, ".rz", type, packed);
  register_packing<T, Round::kZero, true, false>(set, ".rz", type, packed);
  register_packing<T, Round::kZero, false, true>(set, ".rz", type, packed);
  register_packing<T, Round::kZero, true, true>(set, ".rz", type, packed);
  set.add({"cvt.f32", type}, "fh", Each<&widen_f32<T, false, false>>::run);
  set.add({"cvt.ftz.f32", type}, "fh", Each<&widen_f32<T, true, false>>::run);
  set.add({"cvt.sat.f32", type}, "fh", Each<&widen_f32<T, false, true>>::run);
  set.add({"cvt.ftz.sat.f32", type}, "fh", Each<&widen_f32<T, true, true>>::run);
  set.add({"cvt.f64", type}, "eh", Each<&widen_f64<T>>::run);
}

// 8-bit formats ----------------------------------------------------------------------------------

template <int E, bool Relu>
void register_f8(InstructionSet& set, const char* type) {
  const char* relu = Relu ? ".relu" : "";
  set.add({"cvt.rn.satfinite", relu, type, ".f32"}, "hff", Each<&f8x2_from_f32<E, Relu>>::run, 89);
  set.add({"cvt.rn.satfinite", relu, type, ".f16x2"}, "hw",
          Each<&f8x2_from_16x2<E, Half, Relu>>::run, 89);
  set.add({"cvt.rn", relu, ".f16x2", type}, "wh", Each<&f16x2_from_f8x2<E, Relu>>::run, 89);
}

template <Round R, bool SatFinite>
void register_ue8m0(InstructionSet& set, const char* round) {
  const char* finite = SatFinite ? ".satfinite" : "";
  set.add({"cvt", round, finite, ".ue8m0x2.f32"}, "hff", Each<&ue8m0x2_from_f32<R, SatFinite>>::run,
          100, true);
  set.add({"cvt", round, finite, ".ue8m0x2.bf16x2"}, "hw",
          Each<&ue8m0x2_from_bf16x2<R, SatFinite>>::run, 100, true);
}

}  // namespace

void register_convert_narrow(InstructionSet& set) {
  register_f32_f64<Round::kNearest>(set, ".rni", ".rn");
  register_f32_f64<Round::kZero>(set, ".rzi", ".rz");
  register_f32_f64<Round::kDown>(set, ".rmi", ".rm");
  register_f32_f64<Round::kUp>(set, ".rpi", ".rp");
  set.add({"cvt.f32.f32"}, "ff", Each<&same_f32<false, false>>::run);
  set.add({"cvt.ftz.f32.f32"}, "ff", Each<&same_f32<true, false>>::run);
  set.add({"cvt.sat.f32.f32"}, "ff", Each<&same_f32<false, true>>::run);
  set.add({"cvt.ftz.sat.f32.f32"}, "ff", Each<&same_f32<true, true>>::run);
  set.add({"cvt.f64.f32"}, "ef", Each<&to_f64<false>>::run);
  set.add({"cvt.ftz.f64.f32"}, "ef", Each<&to_f64<true>>::run);
  register_16_format<Half>(set, ".f16", ".f16x2", ".bf16");
  register_16_format<Bfloat>(set, ".bf16", ".bf16x2", ".f16");
  register_f8<4, false>(set, ".e4m3x2");
  register_f8<4, true>(set, ".e4m3x2");
  register_f8<5, false>(set, ".e5m2x2");
  register_f8<5, true>(set, ".e5m2x2");
  register_ue8m0<Round::kUp, false>(set, ".rp");
  register_ue8m0<Round::kUp, true>(set, ".rp");
  register_ue8m0<Round::kZero, false>(set, ".rz");
  register_ue8m0<Round::kZero, true>(set, ".rz");
  set.add({"cvt.rn.bf16x2.ue8m0x2"}, "wh", Each<&bf16x2_from_ue8m0x2>::run, 100, true);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
