// SPDX-License-Identifier: Apache-2.0
#include "arith_approx.hpp"
#include "arith_compare.hpp"
#include "arith_f32.hpp"
#include "arith_int.hpp"
#include "exec_groups.hpp"
#include "exec_lanes.hpp"

namespace quantjit::sim::inline QUANTJIT_SIM_ISA {
namespace {

using U32 = std::uint32_t;
using U64 = std::uint64_t;

/// Both halves of a 64-bit register.
template <float (*F)(float, float)>
U64 pair2(U64 a, U64 b) {
  const U32 low = bits_of(F(float_of(static_cast<U32>(a)), float_of(static_cast<U32>(b))));
  const U32 high =
      bits_of(F(float_of(static_cast<U32>(a >> 32)), float_of(static_cast<U32>(b >> 32))));
  return (U64{high} << 32) | low;
}

template <float (*F)(float, float, float)>
U64 pair3(U64 a, U64 b, U64 c) {
  const U32 low = bits_of(F(float_of(static_cast<U32>(a)), float_of(static_cast<U32>(b)),
                            float_of(static_cast<U32>(c))));
  const U32 high =
      bits_of(F(float_of(static_cast<U32>(a >> 32)), float_of(static_cast<U32>(b >> 32)),
                float_of(static_cast<U32>(c >> 32))));
  return (U64{high} << 32) | low;
}

template <Round R, bool Ftz, bool Sat>
void register_rounded(InstructionSet& set, const char* round, bool fma_too = true) {
  const char* ftz = Ftz ? ".ftz" : "";
  const char* sat = Sat ? ".sat" : "";
  set.add({"add", round, ftz, sat, ".f32"}, "fff", Each<&add_f32<R, Ftz, Sat>>::run);
  set.add({"sub", round, ftz, sat, ".f32"}, "fff", Each<&sub_f32<R, Ftz, Sat>>::run);
  set.add({"mul", round, ftz, sat, ".f32"}, "fff", Each<&mul_f32<R, Ftz, Sat>>::run);
  if (fma_too) {
    set.add({"fma", round, ftz, sat, ".f32"}, "ffff", Each<&fma_f32<R, Ftz, Sat>>::run);
    set.add({"mad", round, ftz, sat, ".f32"}, "ffff", Each<&fma_f32<R, Ftz, Sat>>::run);
  }
  if constexpr (!Sat) {
    set.add({"add", round, ftz, ".f32x2"}, "ddd", Each<&pair2<&add_f32<R, Ftz, false>>>::run, 100);
    set.add({"sub", round, ftz, ".f32x2"}, "ddd", Each<&pair2<&sub_f32<R, Ftz, false>>>::run, 100);
    set.add({"mul", round, ftz, ".f32x2"}, "ddd", Each<&pair2<&mul_f32<R, Ftz, false>>>::run, 100);
    if (fma_too) {
      set.add({"fma", round, ftz, ".f32x2"}, "dddd", Each<&pair3<&fma_f32<R, Ftz, false>>>::run,
              100);
    }
  }
}

template <Round R>
void register_round(InstructionSet& set, const char* round) {
  register_rounded<R, false, false>(set, round);
  register_rounded<R, true, false>(set, round);
  register_rounded<R, false, true>(set, round);
  register_rounded<R, true, true>(set, round);
  set.add({"div", round, ".f32"}, "fff", Each<&div_rounded_f32<R, false>>::run);
  set.add({"div", round, ".ftz.f32"}, "fff", Each<&div_rounded_f32<R, true>>::run);
  set.add({"rcp", round, ".f32"}, "ff", Each<&rcp_rounded_f32<R, false>>::run);
  set.add({"rcp", round, ".ftz.f32"}, "ff", Each<&rcp_rounded_f32<R, true>>::run);
  set.add({"sqrt", round, ".f32"}, "ff", Each<&sqrt_rounded_f32<R, false>>::run);
  set.add({"sqrt", round, ".ftz.f32"}, "ff", Each<&sqrt_rounded_f32<R, true>>::run);
}

template <bool Ftz, bool Nan>
float min3(float a, float b, float c) {
  return min_f32<Ftz, Nan>(min_f32<Ftz, Nan>(a, b), c);
}

template <bool Ftz, bool Nan>
float max3(float a, float b, float c) {
  return max_f32<Ftz, Nan>(max_f32<Ftz, Nan>(a, b), c);
}

template <bool Ftz, bool Nan>
void register_extrema(InstructionSet& set) {
  const char* ftz = Ftz ? ".ftz" : "";
  const char* nan = Nan ? ".NaN" : "";
  set.add({"min", ftz, nan, ".f32"}, "fff", Each<&min_f32<Ftz, Nan>>::run);
  set.add({"max", ftz, nan, ".f32"}, "fff", Each<&max_f32<Ftz, Nan>>::run);
  set.add({"min", ftz, nan, ".f32"}, "ffff", Each<&min3<Ftz, Nan>>::run, 100);
  set.add({"max", ftz, nan, ".f32"}, "ffff", Each<&max3<Ftz, Nan>>::run, 100);
  set.add({"min", ftz, nan, ".xorsign.abs.f32"}, "fff", Each<&xorsign_f32<Ftz, Nan, false>>::run);
  set.add({"max", ftz, nan, ".xorsign.abs.f32"}, "fff", Each<&xorsign_f32<Ftz, Nan, true>>::run);
}

template <bool Ftz>
void register_functions(InstructionSet& set, const char* ftz) {
  set.add({"abs", ftz, ".f32"}, "ff", Each<&abs_f32<Ftz>>::run);
  set.add({"neg", ftz, ".f32"}, "ff", Each<&neg_f32<Ftz>>::run);
  set.add({"rcp.approx", ftz, ".f32"}, "ff", Each<&rcp_approx_f32<Ftz>>::run);
  set.add({"div.approx", ftz, ".f32"}, "fff", Each<&div_approx_f32<Ftz>>::run);
  set.add({"div.full", ftz, ".f32"}, "fff", Each<&div_full_f32<Ftz>>::run);
  set.add({"rsqrt.approx", ftz, ".f32"}, "ff", Each<&through_double<Ftz, &rsqrt_double>>::run);
  set.add({"sqrt.approx", ftz, ".f32"}, "ff", Each<&through_double<Ftz, &sqrt_double>>::run);
  set.add({"ex2.approx", ftz, ".f32"}, "ff", Each<&through_double<Ftz, &exp2_double>>::run);
  set.add({"lg2.approx", ftz, ".f32"}, "ff", Each<&through_double<Ftz, &log2_double>>::run);
  set.add({"sin.approx", ftz, ".f32"}, "ff", Each<&through_double<Ftz, &sin_double>>::run);
  set.add({"cos.approx", ftz, ".f32"}, "ff", Each<&through_double<Ftz, &cos_double>>::run);
}

template <Compare C, bool Ftz>
void register_compare(InstructionSet& set) {
  const char* name = kCompareNames[static_cast<int>(C)];
  const char* ftz = Ftz ? ".ftz" : "";
  constexpr auto kF = &compare_f32<C, Ftz>;
  set.add({"setp", name, ftz, ".f32"}, "pff", Each<kF>::run);
  set.add({"setp", name, ".and", ftz, ".f32"}, "pffp", CombinedCompare<kF, 0>::run);
  set.add({"setp", name, ".or", ftz, ".f32"}, "pffp", CombinedCompare<kF, 1>::run);
  set.add({"setp", name, ".xor", ftz, ".f32"}, "pffp", CombinedCompare<kF, 2>::run);
}

template <int... I>
void register_compares(InstructionSet& set, std::integer_sequence<int, I...>) {
  (register_compare<static_cast<Compare>(I), false>(set), ...);
  (register_compare<static_cast<Compare>(I), true>(set), ...);
}

enum class Test : std::uint8_t { kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal };

/// Zeros count as normal.
template <Test Which>
bool testp(float x) {
  const U32 u = bits_of(x) & 0x7FFFFFFF;
  switch (Which) {
    case Test::kFinite: return u < 0x7F800000;
    case Test::kInfinite: return u == 0x7F800000;
    case Test::kNumber: return u <= 0x7F800000;
    case Test::kNotANumber: return u > 0x7F800000;
    case Test::kNormal: return u == 0 || (u >= 0x00800000 && u < 0x7F800000);
    case Test::kSubnormal: return u != 0 && u < 0x00800000;
  }
  return false;
}

void register_tests(InstructionSet& set) {
  set.add({"testp.finite.f32"}, "pf", Each<&testp<Test::kFinite>>::run);
  set.add({"testp.infinite.f32"}, "pf", Each<&testp<Test::kInfinite>>::run);
  set.add({"testp.number.f32"}, "pf", Each<&testp<Test::kNumber>>::run);
  set.add({"testp.notanumber.f32"}, "pf", Each<&testp<Test::kNotANumber>>::run);
  set.add({"testp.normal.f32"}, "pf", Each<&testp<Test::kNormal>>::run);
  set.add({"testp.subnormal.f32"}, "pf", Each<&testp<Test::kSubnormal>>::run);
}

}  // namespace

void register_f32(InstructionSet& set) {
  register_round<Round::kNearest>(set, ".rn");
  register_round<Round::kZero>(set, ".rz");
  register_round<Round::kDown>(set, ".rm");
  register_round<Round::kUp>(set, ".rp");
  register_rounded<Round::kNearest, false, false>(set, "", false);
  register_rounded<Round::kNearest, true, false>(set, "", false);
  register_rounded<Round::kNearest, false, true>(set, "", false);
  register_rounded<Round::kNearest, true, true>(set, "", false);
  register_extrema<false, false>(set);
  register_extrema<true, false>(set);
  register_extrema<false, true>(set);
  register_extrema<true, true>(set);
  register_functions<false>(set, "");
  register_functions<true>(set, ".ftz");
  set.add({"tanh.approx.f32"}, "ff", Each<&through_double<false, &tanh_double>>::run);
  set.add({"copysign.f32"}, "fff", Each<&copysign_f32>::run);
  register_compares(set, std::make_integer_sequence<int, 14>{});
  register_tests(set);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
