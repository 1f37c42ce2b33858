// SPDX-License-Identifier: Apache-2.0
// f32 arithmetic against the host's own IEEE arithmetic, on millions of bit patterns.
#include "arith_f32.hpp"
#include "instruction_table.hpp"
#include "tests/support/catch.hpp"

#include <cfenv>
#include <cmath>

using namespace quantjit;
using sim::Round;

namespace {

constexpr std::size_t kCount = 1U << 20;
constexpr std::uint64_t kSeed = 7;

// Volatile copies keep the compiler from folding or moving the operation out of its mode.
template <class F>
float opaque(F&& operation, float a, float b) {
  volatile float x = a;
  volatile float y = b;
  volatile float r = operation(x, y);
  return r;
}

float host_add(float a, float b) {
  return opaque([](float x, float y) { return x + y; }, a, b);
}

float host_sub(float a, float b) {
  return opaque([](float x, float y) { return x - y; }, a, b);
}

float host_mul(float a, float b) {
  return opaque([](float x, float y) { return x * y; }, a, b);
}

float host_div(float a, float b) {
  return opaque([](float x, float y) { return x / y; }, a, b);
}

float host_sqrt(float a, float b) {
  return opaque([](float x, float) { return std::sqrt(x); }, a, b);
}

int host_mode(Round round) {
  switch (round) {
    case Round::kZero: return FE_TOWARDZERO;
    case Round::kDown: return FE_DOWNWARD;
    case Round::kUp: return FE_UPWARD;
    default: return FE_TONEAREST;
  }
}

float flushed(float x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x;
}

struct Operation {
  const char* name;
  float (*host)(float, float);
  float scale_a;  ///< powers of two that together multiply the result by 2^64
  float scale_b;
};

constexpr Operation kAdd{"add", host_add, 0x1p64F, 0x1p64F};
constexpr Operation kSub{"sub", host_sub, 0x1p64F, 0x1p64F};
constexpr Operation kMul{"mul", host_mul, 0x1p64F, 1.0F};
constexpr Operation kDiv{"div", host_div, 0x1p64F, 1.0F};
constexpr Operation kSqrt{"sqrt", host_sqrt, 1.0F, 1.0F};

/// What the instruction gives according to the host.
float expected(const Operation& operation, Round round, bool ftz, float a, float b) {
  if (ftz) {
    a = flushed(a);
    b = flushed(b);
  }
  std::fesetround(host_mode(round));
  const float r = operation.host(a, b);
  const float scaled = operation.host(a * operation.scale_a, b * operation.scale_b);
  std::fesetround(FE_TONEAREST);
  if (std::isnan(r)) {
    return sim::float_of(0x7FFFFFFF);
  }
  // The result counts as subnormal if it is below 2^-126 with any exponent range.
  const bool small = std::fabs(r) <= 0x1p-126F;  // else the scaled operation may overflow
  const bool tiny = small && std::fabs(scaled) < 0x1p-62F && operation.scale_a != 1.0F;
  return ftz && tiny ? std::copysign(0.0F, r) : r;
}

template <class F>
void check(const Operation& operation, Round round, bool ftz, F&& computed) {
  const auto a = test::operands('f', kSeed, kCount);
  const auto b = test::operands('f', kSeed + 1, kCount);
  CAPTURE(operation.name, kSeed, static_cast<int>(round), ftz);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const float x = sim::float_of(static_cast<std::uint32_t>(a[i]));
    const float y = sim::float_of(static_cast<std::uint32_t>(b[i]));
    const std::uint32_t want = sim::bits_of(expected(operation, round, ftz, x, y));
    const std::uint32_t got = sim::bits_of(computed(x, y));
    if (want != got && ++wrong <= 3) {
      CAPTURE(a[i], b[i], want, got);
      CHECK(want == got);
    }
  }
  CHECK(wrong == 0);
}

template <Round R, bool Ftz>
void check_all() {
  check(kAdd, R, Ftz, [](float a, float b) { return sim::add_f32<R, Ftz, false>(a, b); });
  check(kSub, R, Ftz, [](float a, float b) { return sim::sub_f32<R, Ftz, false>(a, b); });
  check(kMul, R, Ftz, [](float a, float b) { return sim::mul_f32<R, Ftz, false>(a, b); });
  check(kDiv, R, Ftz, [](float a, float b) { return sim::div_rounded_f32<R, Ftz>(a, b); });
  check(kSqrt, R, Ftz, [](float a, float) { return sim::sqrt_rounded_f32<R, Ftz>(a); });
}

}  // namespace

TEST_CASE("Arithmetic: f32 to nearest agrees with the host", "[sim]") {
  check_all<Round::kNearest, false>();
  check_all<Round::kNearest, true>();
}

TEST_CASE("Arithmetic: f32 towards zero agrees with the host", "[sim]") {
  check_all<Round::kZero, false>();
  check_all<Round::kZero, true>();
}

TEST_CASE("Arithmetic: f32 downwards agrees with the host", "[sim]") {
  check_all<Round::kDown, false>();
  check_all<Round::kDown, true>();
}

TEST_CASE("Arithmetic: f32 upwards agrees with the host", "[sim]") {
  check_all<Round::kUp, false>();
  check_all<Round::kUp, true>();
}

TEST_CASE("Arithmetic: f32 saturation, min, max and NaN", "[sim]") {
  const float nan = sim::float_of(0x7FC12345);
  const auto bits = [](float x) { return sim::bits_of(x); };
  CHECK(sim::add_f32<Round::kNearest, false, true>(3.0F, 4.0F) == 1.0F);
  CHECK(bits(sim::add_f32<Round::kNearest, false, true>(-3.0F, 1.0F)) == 0);
  CHECK(bits(sim::add_f32<Round::kNearest, false, true>(nan, 1.0F)) == 0);
  CHECK(sim::min_f32<false, false>(nan, 2.0F) == 2.0F);
  CHECK(sim::max_f32<false, false>(2.0F, nan) == 2.0F);
  CHECK(bits(sim::min_f32<false, false>(nan, nan)) == 0x7FFFFFFF);
  CHECK(bits(sim::min_f32<false, true>(nan, 2.0F)) == 0x7FFFFFFF);
  CHECK(bits(sim::min_f32<false, false>(0.0F, -0.0F)) == 0x80000000);
  CHECK(bits(sim::min_f32<false, false>(-0.0F, 0.0F)) == 0x80000000);
  CHECK(bits(sim::max_f32<false, false>(-0.0F, 0.0F)) == 0);
  CHECK(bits(sim::max_f32<true, false>(sim::float_of(0x80000001), -1.0F)) == 0x80000000);
}
