// SPDX-License-Identifier: Apache-2.0
#include "arith_16.hpp"
#include "arith_approx.hpp"
#include "arith_compare.hpp"
#include "exec_groups.hpp"
#include "exec_lanes.hpp"

namespace quantjit::sim::inline QUANTJIT_SIM_ISA {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;

U16 low_half(U32 x) {
  return static_cast<U16>(x);
}

U16 high_half(U32 x) {
  return static_cast<U16>(x >> 16);
}

U32 join(U16 low, U16 high) {
  return U32{low} | (U32{high} << 16);
}

template <U16 (*F)(U16)>
U32 both1(U32 a) {
  return join(F(low_half(a)), F(high_half(a)));
}

template <U16 (*F)(U16, U16)>
U32 both2(U32 a, U32 b) {
  return join(F(low_half(a), low_half(b)), F(high_half(a), high_half(b)));
}

template <U16 (*F)(U16, U16, U16)>
U32 both3(U32 a, U32 b, U32 c) {
  return join(F(low_half(a), low_half(b), low_half(c)),
              F(high_half(a), high_half(b), high_half(c)));
}

/// The type's spelling and its packed form's.
template <class T>
constexpr bool kIsHalf = T::kInfinity == Half::kInfinity;
template <class T>
constexpr const char* kType = kIsHalf<T> ? ".f16" : ".bf16";
template <class T>
constexpr const char* kPacked = kIsHalf<T> ? ".f16x2" : ".bf16x2";

template <U16 (*F)(U16), class T>
void add_unary(InstructionSet& set, const char* name, const char* modifiers) {
  set.add({name, modifiers, kType<T>}, "hh", Each<F>::run);
  set.add({name, modifiers, kPacked<T>}, "ww", Each<&both1<F>>::run);
}

template <U16 (*F)(U16, U16), class T>
void add_binary(InstructionSet& set, const char* name, const char* modifiers) {
  set.add({name, modifiers, kType<T>}, "hhh", Each<F>::run);
  set.add({name, modifiers, kPacked<T>}, "www", Each<&both2<F>>::run);
}

template <U16 (*F)(U16, U16, U16), class T>
void add_ternary(InstructionSet& set, const char* name, const char* modifiers) {
  set.add({name, modifiers, kType<T>}, "hhhh", Each<F>::run);
  set.add({name, modifiers, kPacked<T>}, "wwww", Each<&both3<F>>::run);
}

template <class T, bool Ftz>
U16 fma_relu(U16 a, U16 b, U16 c) {
  return relu16<T>(fma16<T, Ftz, false>(a, b, c));
}

template <class T, bool Ftz, bool Sat>
void register_arithmetic(InstructionSet& set, const char* modifiers, const char* rounded) {
  for (const char* spelling : {modifiers, rounded}) {
    add_binary<&add16<T, Ftz, Sat>, T>(set, "add", spelling);
    add_binary<&sub16<T, Ftz, Sat>, T>(set, "sub", spelling);
    add_binary<&mul16<T, Ftz, Sat>, T>(set, "mul", spelling);
  }
  add_ternary<&fma16<T, Ftz, Sat>, T>(set, "fma", rounded);
}

template <class T, bool Ftz, bool Nan>
void register_extrema(InstructionSet& set, const char* modifiers, const char* xorsign) {
  add_binary<&extremum16<T, Ftz, Nan, false>, T>(set, "min", modifiers);
  add_binary<&extremum16<T, Ftz, Nan, true>, T>(set, "max", modifiers);
  add_binary<&xorsign16<T, Ftz, Nan, false>, T>(set, "min", xorsign);
  add_binary<&xorsign16<T, Ftz, Nan, true>, T>(set, "max", xorsign);
}

template <class T, bool Ftz, double (*F)(double)>
U16 approximate(U16 x) {
  const std::uint16_t r = narrow<T, Round::kNearest>(static_cast<float>(F(operand16<T, Ftz>(x))));
  return Ftz ? flush16<T>(r) : r;
}

// Comparisons of both halves: two predicates, or two numbers.

template <Compare C, class T, bool Ftz, int Combine>
void run_setp2(Warp& warp, const Op& op, U32 mask) {
  const Input<U32> a(warp, op.src[0]);
  const Input<U32> b(warp, op.src[1]);
  U32 low = 0;
  U32 high = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    low |= compare_16<C, T, Ftz>(low_half(a[i]), low_half(b[i])) ? kLaneBit[i] : 0;
    high |= compare_16<C, T, Ftz>(high_half(a[i]), high_half(b[i])) ? kLaneBit[i] : 0;
  }
  if constexpr (Combine >= 0) {
    const U32 c = warp.predicate(op.src[2]);
    low = Combine == 0 ? (low & c) : (Combine == 1 ? (low | c) : (low ^ c));
    high = Combine == 0 ? (high & c) : (Combine == 1 ? (high | c) : (high ^ c));
  }
  set_predicate(warp, op.dst, low, mask);
  set_predicate(warp, op.dst2, high, mask);
}

template <Compare C, class T, bool Ftz>
U16 set_number(U16 a, U16 b) {
  return compare_16<C, T, Ftz>(a, b) ? T::kOne : U16{0};
}

template <Compare C, class T, bool Ftz>
U16 set_mask(U16 a, U16 b) {
  return compare_16<C, T, Ftz>(a, b) ? U16{0xFFFF} : U16{0};
}

template <Compare C, class T, bool Ftz>
void register_compare(InstructionSet& set) {
  const char* name = kCompareNames[static_cast<int>(C)];
  const char* ftz = Ftz ? ".ftz" : "";
  constexpr auto kF = &compare_16<C, T, Ftz>;
  set.add({"setp", name, ftz, kType<T>}, "phh", Each<kF>::run);
  set.add({"setp", name, ".and", ftz, kType<T>}, "phhp", CombinedCompare<kF, 0>::run);
  set.add({"setp", name, ".or", ftz, kType<T>}, "phhp", CombinedCompare<kF, 1>::run);
  set.add({"setp", name, ".xor", ftz, kType<T>}, "phhp", CombinedCompare<kF, 2>::run);
  set.add({"setp", name, ftz, kPacked<T>}, "pww", run_setp2<C, T, Ftz, -1>);
  set.add({"setp", name, ".and", ftz, kPacked<T>}, "pwwp", run_setp2<C, T, Ftz, 0>);
  set.add({"setp", name, ".or", ftz, kPacked<T>}, "pwwp", run_setp2<C, T, Ftz, 1>);
  set.add({"setp", name, ".xor", ftz, kPacked<T>}, "pwwp", run_setp2<C, T, Ftz, 2>);
  set.add({"set", name, ftz, kType<T>, kType<T>}, "hhh", Each<&set_number<C, T, Ftz>>::run);
  set.add({"set", name, ftz, kPacked<T>, kPacked<T>}, "www",
          Each<&both2<&set_number<C, T, Ftz>>>::run);
  set.add({"set", name, ftz, ".u32", kPacked<T>}, "www", Each<&both2<&set_mask<C, T, Ftz>>>::run);
}

template <class T, bool Ftz, int... I>
void register_compares(InstructionSet& set, std::integer_sequence<int, I...>) {
  (register_compare<static_cast<Compare>(I), T, Ftz>(set), ...);
}

}  // namespace

void register_16(InstructionSet& set) {
  constexpr auto kAll = std::make_integer_sequence<int, 14>{};
  register_arithmetic<Half, false, false>(set, "", ".rn");
  register_arithmetic<Half, true, false>(set, ".ftz", ".rn.ftz");
  register_arithmetic<Half, false, true>(set, ".sat", ".rn.sat");
  register_arithmetic<Half, true, true>(set, ".ftz.sat", ".rn.ftz.sat");
  register_arithmetic<Bfloat, false, false>(set, "", ".rn");
  add_ternary<&fma_relu<Half, false>, Half>(set, "fma", ".rn.relu");
  add_ternary<&fma_relu<Half, true>, Half>(set, "fma", ".rn.ftz.relu");
  add_ternary<&fma_relu<Bfloat, false>, Bfloat>(set, "fma", ".rn.relu");
  register_extrema<Half, false, false>(set, "", ".xorsign.abs");
  register_extrema<Half, true, false>(set, ".ftz", ".ftz.xorsign.abs");
  register_extrema<Half, false, true>(set, ".NaN", ".NaN.xorsign.abs");
  register_extrema<Half, true, true>(set, ".ftz.NaN", ".ftz.NaN.xorsign.abs");
  register_extrema<Bfloat, false, false>(set, "", ".xorsign.abs");
  register_extrema<Bfloat, false, true>(set, ".NaN", ".NaN.xorsign.abs");
  add_unary<&abs16<Half, false>, Half>(set, "abs", "");
  add_unary<&abs16<Half, true>, Half>(set, "abs", ".ftz");
  add_unary<&abs16<Bfloat, false>, Bfloat>(set, "abs", "");
  add_unary<&neg16<Half, false>, Half>(set, "neg", "");
  add_unary<&neg16<Half, true>, Half>(set, "neg", ".ftz");
  add_unary<&neg16<Bfloat, false>, Bfloat>(set, "neg", "");
  add_unary<&approximate<Half, false, &exp2_double>, Half>(set, "ex2.approx", "");
  add_unary<&approximate<Bfloat, true, &exp2_double>, Bfloat>(set, "ex2.approx", ".ftz");
  add_unary<&approximate<Half, false, &tanh_double>, Half>(set, "tanh.approx", "");
  add_unary<&approximate<Bfloat, false, &tanh_double>, Bfloat>(set, "tanh.approx", "");
  register_compares<Half, false>(set, kAll);
  register_compares<Half, true>(set, kAll);
  register_compares<Bfloat, false>(set, kAll);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
