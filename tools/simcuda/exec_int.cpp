// SPDX-License-Identifier: Apache-2.0
#include "arith_int.hpp"
#include "exec_groups.hpp"
#include "exec_lanes.hpp"

namespace quantjit::sim::inline QUANTJIT_SIM_ISA {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using S16 = std::int16_t;
using S32 = std::int32_t;
using S64 = std::int64_t;

template <class T>
constexpr const char* kSignatures[5] = {
    sizeof(T) == 2 ? "hh" : (sizeof(T) == 4 ? "ww" : "dd"),
    sizeof(T) == 2 ? "hhh" : (sizeof(T) == 4 ? "www" : "ddd"),
    sizeof(T) == 2 ? "hhhh" : (sizeof(T) == 4 ? "wwww" : "dddd"), sizeof(T) == 2 ? "whh" : "dww",
    sizeof(T) == 2 ? "whhw" : "dwwd"};

template <class T>
void register_arithmetic(InstructionSet& set, const char* type) {
  const auto& sig = kSignatures<T>;
  set.add({"add", type}, sig[1], Each<&add_int<T>>::run);
  set.add({"sub", type}, sig[1], Each<&sub_int<T>>::run);
  set.add({"mul.lo", type}, sig[1], Each<&mul_lo<T>>::run);
  set.add({"mul.hi", type}, sig[1], Each<&mul_hi<T>>::run);
  set.add({"mad.lo", type}, sig[2], Each<&mad_lo<T>>::run);
  set.add({"mad.hi", type}, sig[2], Each<&mad_hi<T>>::run);
  if constexpr (sizeof(T) < 8) {
    set.add({"mul.wide", type}, sig[3], Each<&mul_wide<T>>::run);
    set.add({"mad.wide", type}, sig[4], Each<&mad_wide<T>>::run);
  }
  set.add({"sad", type}, sig[2], Each<&sad_int<T>>::run);
  set.add({"div", type}, sig[1], Each<&div_int<T>>::run);
  set.add({"rem", type}, sig[1], Each<&rem_int<T>>::run);
  set.add({"min", type}, sig[1], Each<&min_int<T>>::run);
  set.add({"max", type}, sig[1], Each<&max_int<T>>::run);
  if constexpr (std::is_signed_v<T>) {
    set.add({"neg", type}, sig[0], Each<&neg_int<T>>::run);
    set.add({"abs", type}, sig[0], Each<&abs_int<T>>::run);
  }
  const char* shift = sizeof(T) == 2 ? "hhw" : (sizeof(T) == 4 ? "www" : "ddw");
  set.add({"shr", type}, shift, Each<&shr_bits<T>>::run);
}

template <class T>
void register_bits(InstructionSet& set, const char* type) {
  const auto& sig = kSignatures<T>;
  set.add({"and", type}, sig[1], Each<&and_bits<T>>::run);
  set.add({"or", type}, sig[1], Each<&or_bits<T>>::run);
  set.add({"xor", type}, sig[1], Each<&xor_bits<T>>::run);
  set.add({"not", type}, sig[0], Each<&not_bits<T>>::run);
  set.add({"cnot", type}, sig[0], Each<&cnot_bits<T>>::run);
  const char* shift = sizeof(T) == 2 ? "hhw" : (sizeof(T) == 4 ? "www" : "ddw");
  set.add({"shl", type}, shift, Each<&shl_bits<T>>::run);
  set.add({"shr", type}, shift, Each<&shr_bits<T>>::run);
}

template <class T, int... Combine>
void register_compare(InstructionSet& set, const char* type, const char* name,
                      const char* signature, const char* combined,
                      std::integer_sequence<int, Combine...>, auto compare) {
  static constexpr const char* kNames[] = {".and", ".or", ".xor"};
  set.add({"setp", name, type}, signature, Each<compare()>::run);
  (set.add({"setp", name, kNames[Combine], type}, combined,
           CombinedCompare<compare(), Combine>::run),
   ...);
}

template <class T>
bool equal(T a, T b) {
  return a == b;
}

template <class T>
bool not_equal(T a, T b) {
  return a != b;
}

template <class T>
bool less(T a, T b) {
  return a < b;
}

template <class T>
bool less_equal(T a, T b) {
  return a <= b;
}

template <class T>
bool greater(T a, T b) {
  return a > b;
}

template <class T>
bool greater_equal(T a, T b) {
  return a >= b;
}

template <class T>
void register_compares(InstructionSet& set, const char* type, bool only_equality = false) {
  const char* sig = sizeof(T) == 2 ? "phh" : (sizeof(T) == 4 ? "pww" : "pdd");
  const char* combined = sizeof(T) == 2 ? "phhp" : (sizeof(T) == 4 ? "pwwp" : "pddp");
  constexpr std::integer_sequence<int, 0, 1, 2> kCombine{};
  const auto add = [&](const char* name, auto compare) {
    register_compare<T>(set, type, name, sig, combined, kCombine, compare);
  };
  add(".eq", [] { return &equal<T>; });
  add(".ne", [] { return &not_equal<T>; });
  if (only_equality) {
    return;
  }
  add(".lt", [] { return &less<T>; });
  add(".le", [] { return &less_equal<T>; });
  add(".gt", [] { return &greater<T>; });
  add(".ge", [] { return &greater_equal<T>; });
  if constexpr (std::is_unsigned_v<T>) {
    add(".lo", [] { return &less<T>; });
    add(".ls", [] { return &less_equal<T>; });
    add(".hi", [] { return &greater<T>; });
    add(".hs", [] { return &greater_equal<T>; });
  }
}

// Arithmetic with the per-lane carry flag -------------------------------------------------------

/// d = a + b (+ carry) or a - b (- borrow), optionally leaving the new flag.
template <class T, bool Subtract, bool UseCarry, bool SetCarry>
void run_carry(Warp& warp, const Op& op, U32 mask) {
  const Input<T> a(warp, op.src[0]);
  const Input<T> b(warp, op.src[1]);
  T* d = warp.lanes<T>(op.dst);
  U32 carry = warp.carry;
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned i = first_lane(left);
    const bool in = UseCarry && ((warp.carry >> i) & 1) != 0;
    T r{};
    bool out = false;
    if constexpr (Subtract) {
      r = static_cast<T>(a[i] - b[i] - (in ? 1U : 0U));
      out = a[i] < b[i] || (in && a[i] == b[i]);
    } else {
      r = static_cast<T>(a[i] + b[i] + (in ? 1U : 0U));
      out = r < a[i] || (in && r == a[i]);
    }
    d[i] = r;
    carry = out ? (carry | (1U << i)) : (carry & ~(1U << i));
  }
  if constexpr (SetCarry) {
    warp.carry = carry;
  }
}

/// d = low or high half of a * b, plus c (+ carry).
template <class T, bool High, bool UseCarry, bool SetCarry>
void run_mad_carry(Warp& warp, const Op& op, U32 mask) {
  using U = Unsigned<T>;
  const Input<T> a(warp, op.src[0]);
  const Input<T> b(warp, op.src[1]);
  const Input<U> c(warp, op.src[2]);
  U* d = warp.lanes<U>(op.dst);
  U32 carry = warp.carry;
  for (U32 left = mask; left != 0; left &= left - 1) {
    const unsigned i = first_lane(left);
    const bool in = UseCarry && ((warp.carry >> i) & 1) != 0;
    const U product = static_cast<U>(High ? mul_hi(a[i], b[i]) : mul_lo(a[i], b[i]));
    const U r = static_cast<U>(product + c[i] + (in ? 1U : 0U));
    const bool out = r < product || (in && r == product);
    d[i] = r;
    carry = out ? (carry | (1U << i)) : (carry & ~(1U << i));
  }
  if constexpr (SetCarry) {
    warp.carry = carry;
  }
}

template <class T>
void register_carry(InstructionSet& set, const char* type) {
  using U = Unsigned<T>;
  const auto& sig = kSignatures<T>;
  set.add({"add.cc", type}, sig[1], run_carry<U, false, false, true>);
  set.add({"addc", type}, sig[1], run_carry<U, false, true, false>);
  set.add({"addc.cc", type}, sig[1], run_carry<U, false, true, true>);
  set.add({"sub.cc", type}, sig[1], run_carry<U, true, false, true>);
  set.add({"subc", type}, sig[1], run_carry<U, true, true, false>);
  set.add({"subc.cc", type}, sig[1], run_carry<U, true, true, true>);
  set.add({"mad.lo.cc", type}, sig[2], run_mad_carry<T, false, false, true>);
  set.add({"mad.hi.cc", type}, sig[2], run_mad_carry<T, true, false, true>);
  set.add({"madc.lo", type}, sig[2], run_mad_carry<T, false, true, false>);
  set.add({"madc.hi", type}, sig[2], run_mad_carry<T, true, true, false>);
  set.add({"madc.lo.cc", type}, sig[2], run_mad_carry<T, false, true, true>);
  set.add({"madc.hi.cc", type}, sig[2], run_mad_carry<T, true, true, true>);
}

void register_fields(InstructionSet& set) {
  set.add({"popc.b32"}, "ww", Each<&popc32>::run);
  set.add({"popc.b64"}, "wd", Each<&popc64>::run);
  set.add({"clz.b32"}, "ww", Each<&clz32>::run);
  set.add({"clz.b64"}, "wd", Each<&clz64>::run);
  set.add({"brev.b32"}, "ww", Each<&brev32>::run);
  set.add({"brev.b64"}, "dd", Each<&brev64>::run);
  set.add({"bfind.u32"}, "ww", Each<&bfind<U32, false>>::run);
  set.add({"bfind.s32"}, "ww", Each<&bfind<S32, false>>::run);
  set.add({"bfind.u64"}, "wd", Each<&bfind<U64, false>>::run);
  set.add({"bfind.s64"}, "wd", Each<&bfind<S64, false>>::run);
  set.add({"bfind.shiftamt.u32"}, "ww", Each<&bfind<U32, true>>::run);
  set.add({"bfind.shiftamt.s32"}, "ww", Each<&bfind<S32, true>>::run);
  set.add({"bfind.shiftamt.u64"}, "wd", Each<&bfind<U64, true>>::run);
  set.add({"bfind.shiftamt.s64"}, "wd", Each<&bfind<S64, true>>::run);
  set.add({"bfe.u32"}, "wwww", Each<&bfe<U32>>::run);
  set.add({"bfe.s32"}, "wwww", Each<&bfe<S32>>::run);
  set.add({"bfe.u64"}, "ddww", Each<&bfe<U64>>::run);
  set.add({"bfe.s64"}, "ddww", Each<&bfe<S64>>::run);
  set.add({"bfi.b32"}, "wwwww", Each<&bfi<U32>>::run);
  set.add({"bfi.b64"}, "dddww", Each<&bfi<U64>>::run);
  set.add({"bmsk.clamp.b32"}, "www", Each<&bmsk<true>>::run);
  set.add({"bmsk.wrap.b32"}, "www", Each<&bmsk<false>>::run);
  set.add({"shf.l.clamp.b32"}, "wwww", Each<&funnel<true, true>>::run);
  set.add({"shf.l.wrap.b32"}, "wwww", Each<&funnel<true, false>>::run);
  set.add({"shf.r.clamp.b32"}, "wwww", Each<&funnel<false, true>>::run);
  set.add({"shf.r.wrap.b32"}, "wwww", Each<&funnel<false, false>>::run);
  set.add({"lop3.b32"}, "wwwww", Each<&lop3>::run);
  set.add({"prmt.b32"}, "wwww", Each<&prmt>::run);
  set.add({"prmt.b32.f4e"}, "wwww", Each<&prmt_mode<PrmtMode::kF4e>>::run);
  set.add({"prmt.b32.b4e"}, "wwww", Each<&prmt_mode<PrmtMode::kB4e>>::run);
  set.add({"prmt.b32.rc8"}, "wwww", Each<&prmt_mode<PrmtMode::kRc8>>::run);
  set.add({"prmt.b32.ecl"}, "wwww", Each<&prmt_mode<PrmtMode::kEcl>>::run);
  set.add({"prmt.b32.ecr"}, "wwww", Each<&prmt_mode<PrmtMode::kEcr>>::run);
  set.add({"prmt.b32.rc16"}, "wwww", Each<&prmt_mode<PrmtMode::kRc16>>::run);
  set.add({"dp4a.u32.u32"}, "wwww", Each<&dp4a<std::uint8_t, std::uint8_t>>::run);
  set.add({"dp4a.u32.s32"}, "wwww", Each<&dp4a<std::uint8_t, std::int8_t>>::run);
  set.add({"dp4a.s32.u32"}, "wwww", Each<&dp4a<std::int8_t, std::uint8_t>>::run);
  set.add({"dp4a.s32.s32"}, "wwww", Each<&dp4a<std::int8_t, std::int8_t>>::run);
}

void register_mixed(InstructionSet& set) {
  set.add({"add.sat.s32"}, "www", Each<&add_sat>::run);
  set.add({"sub.sat.s32"}, "www", Each<&sub_sat>::run);
  set.add({"mul24.lo.u32"}, "www", Each<&mul24_lo<U32>>::run);
  set.add({"mul24.lo.s32"}, "www", Each<&mul24_lo<S32>>::run);
  set.add({"mul24.hi.u32"}, "www", Each<&mul24_hi<U32>>::run);
  set.add({"mul24.hi.s32"}, "www", Each<&mul24_hi<S32>>::run);
  set.add({"mad24.lo.u32"}, "wwww", Each<&mad24_lo<U32>>::run);
  set.add({"mad24.lo.s32"}, "wwww", Each<&mad24_lo<S32>>::run);
  set.add({"min.relu.s32"}, "www", Each<&extremum_relu<false>>::run, 90);
  set.add({"max.relu.s32"}, "www", Each<&extremum_relu<true>>::run, 90);
  set.add({"add.u16x2"}, "www", Each<&halves<U16, &add_int<U16>>>::run, 90);
  set.add({"add.s16x2"}, "www", Each<&halves<S16, &add_int<S16>>>::run, 90);
  set.add({"min.u16x2"}, "www", Each<&halves<U16, &min_int<U16>>>::run, 90);
  set.add({"min.s16x2"}, "www", Each<&halves<S16, &min_int<S16>>>::run, 90);
  set.add({"max.u16x2"}, "www", Each<&halves<U16, &max_int<U16>>>::run, 90);
  set.add({"max.s16x2"}, "www", Each<&halves<S16, &max_int<S16>>>::run, 90);
  for (const char* type : {".b16", ".u16", ".s16"}) {
    set.add({"selp", type}, "hhhp", Each<&select<U16>>::run);
  }
  for (const char* type : {".b32", ".u32", ".s32"}) {
    set.add({"selp", type}, "wwwp", Each<&select<U32>>::run);
  }
  set.add({"selp.f32"}, "fffp", Each<&select<U32>>::run);
  for (const char* type : {".b64", ".u64", ".s64"}) {
    set.add({"selp", type}, "dddp", Each<&select<U64>>::run);
  }
  set.add({"selp.f64"}, "eeep", Each<&select<U64>>::run);
}

// Predicates live as one bit a lane, so whole warps are done at once.

template <int Operation>
void run_predicate(Warp& warp, const Op& op, U32 mask) {
  const U32 a = warp.predicate(op.src[0]);
  const U32 b = Operation < 3 ? warp.predicate(op.src[1]) : 0;
  const U32 r = Operation == 0   ? (a & b)
                : Operation == 1 ? (a | b)
                : Operation == 2 ? (a ^ b)
                : Operation == 3 ? ~a
                                 : a;
  set_predicate(warp, op.dst, r, mask);
}

}  // namespace

void register_int(InstructionSet& set) {
  register_arithmetic<U16>(set, ".u16");
  register_arithmetic<S16>(set, ".s16");
  register_arithmetic<U32>(set, ".u32");
  register_arithmetic<S32>(set, ".s32");
  register_arithmetic<U64>(set, ".u64");
  register_arithmetic<S64>(set, ".s64");
  register_bits<U16>(set, ".b16");
  register_bits<U32>(set, ".b32");
  register_bits<U64>(set, ".b64");
  register_compares<U16>(set, ".u16");
  register_compares<S16>(set, ".s16");
  register_compares<U32>(set, ".u32");
  register_compares<S32>(set, ".s32");
  register_compares<U64>(set, ".u64");
  register_compares<S64>(set, ".s64");
  register_compares<U16>(set, ".b16", true);
  register_compares<U32>(set, ".b32", true);
  register_compares<U64>(set, ".b64", true);
  register_carry<U32>(set, ".u32");
  register_carry<S32>(set, ".s32");
  register_carry<U64>(set, ".u64");
  register_carry<S64>(set, ".s64");
  register_fields(set);
  register_mixed(set);
  set.add({"and.pred"}, "ppp", run_predicate<0>);
  set.add({"or.pred"}, "ppp", run_predicate<1>);
  set.add({"xor.pred"}, "ppp", run_predicate<2>);
  set.add({"not.pred"}, "pp", run_predicate<3>);
  set.add({"mov.pred"}, "pp", run_predicate<4>);
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
