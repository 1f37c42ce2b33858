// SPDX-License-Identifier: Apache-2.0
#include "arith_compare.hpp"
#include "exec_groups.hpp"
#include "exec_lanes.hpp"

#include <cmath>

namespace quantjit::sim::inline QUANTJIT_SIM_ISA {
namespace {

using U64 = std::uint64_t;

/// Of two NaN operands the second is the result, quiet and otherwise unchanged.
double pick_nan(double r, double a, double b) {
  return is_nan(b) ? quiet(b) : (is_nan(a) ? quiet(a) : r);
}

double add(double a, double b) {
  return pick_nan(a + b, a, b);
}

double sub(double a, double b) {
  return pick_nan(a - b, a, b);
}

double mul(double a, double b) {
  return pick_nan(a * b, a, b);
}

double div(double a, double b) {
  return a / b;
}

double rcp(double a) {
  return 1.0 / a;
}

double root(double a) {
  return std::sqrt(a);
}

/// The factor b goes before the addend c, and that before a.
double fma(double a, double b, double c) {
  return pick_nan(pick_nan(__builtin_fma(a, b, c), a, c), 0.0, b);
}

double absolute(double a) {
  return is_nan(a) ? quiet(a) : double_of(bits_of(a) & 0x7FFFFFFFFFFFFFFF);
}

double negate(double a) {
  return is_nan(a) ? quiet(a) : double_of(bits_of(a) ^ 0x8000000000000000);
}

double copysign(double sign, double magnitude) {
  return double_of((bits_of(magnitude) & 0x7FFFFFFFFFFFFFFF) |
                   (bits_of(sign) & 0x8000000000000000));
}

double minimum(double a, double b) {
  const double ordered = a == b ? double_of(bits_of(a) | bits_of(b)) : (a < b ? a : b);
  return is_nan(a) ? quiet(b) : (is_nan(b) ? a : ordered);
}

double maximum(double a, double b) {
  const double ordered = a == b ? double_of(bits_of(a) & bits_of(b)) : (a > b ? a : b);
  return is_nan(a) ? quiet(b) : (is_nan(b) ? a : ordered);
}

template <Compare C>
void register_compare(InstructionSet& set) {
  const char* name = kCompareNames[static_cast<int>(C)];
  constexpr auto kF = &compare_f64<C>;
  set.add({"setp", name, ".f64"}, "pee", Each<kF>::run);
  set.add({"setp", name, ".and.f64"}, "peep", CombinedCompare<kF, 0>::run);
  set.add({"setp", name, ".or.f64"}, "peep", CombinedCompare<kF, 1>::run);
  set.add({"setp", name, ".xor.f64"}, "peep", CombinedCompare<kF, 2>::run);
}

template <int... I>
void register_compares(InstructionSet& set, std::integer_sequence<int, I...>) {
  (register_compare<static_cast<Compare>(I)>(set), ...);
}

}  // namespace

void register_f64(InstructionSet& set) {
  for (const char* round : {"", ".rn"}) {
    set.add({"add", round, ".f64"}, "eee", Each<&add>::run);
    set.add({"sub", round, ".f64"}, "eee", Each<&sub>::run);
    set.add({"mul", round, ".f64"}, "eee", Each<&mul>::run);
  }
  set.add({"fma.rn.f64"}, "eeee", Each<&fma>::run);
  set.add({"mad.rn.f64"}, "eeee", Each<&fma>::run);
  set.add({"div.rn.f64"}, "eee", Each<&div>::run);
  set.add({"rcp.rn.f64"}, "ee", Each<&rcp>::run);
  set.add({"sqrt.rn.f64"}, "ee", Each<&root>::run);
  set.add({"abs.f64"}, "ee", Each<&absolute>::run);
  set.add({"neg.f64"}, "ee", Each<&negate>::run);
  set.add({"min.f64"}, "eee", Each<&minimum>::run);
  set.add({"max.f64"}, "eee", Each<&maximum>::run);
  set.add({"copysign.f64"}, "eee", Each<&copysign>::run);
  register_compares(set, std::make_integer_sequence<int, 14>{});
}

}  // namespace quantjit::sim::inline QUANTJIT_SIM_ISA
