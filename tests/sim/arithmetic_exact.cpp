// SPDX-License-Identifier: Apache-2.0
// f32, f16 and bf16 arithmetic against exact numbers.
#include "arith_16.hpp"
#include "arith_f32.hpp"
#include "exact.hpp"
#include "instruction_table.hpp"
#include "tests/support/catch.hpp"

#include <cmath>

using namespace quantjit;
using namespace quantjit::test;

namespace {

constexpr std::uint64_t kSeed = 20260829;

double as_double(BinaryFormat format, std::uint64_t bits) {
  if (format.is_nan(bits)) {
    return std::nan("");
  }
  const double sign = format.negative(bits) ? -1.0 : 1.0;
  if (format.is_infinite(bits)) {
    return sign * INFINITY;
  }
  return std::copysign(
      std::ldexp(static_cast<double>(format.significand(bits)), format.scale(bits)), sign);
}

/// a * b + c, rounded once; NaN is every format's all-ones pattern below the sign.
std::uint64_t expected_fma(BinaryFormat format, Mode mode, std::uint64_t a, std::uint64_t b,
                           std::uint64_t c) {
  const double x = as_double(format, a);
  const double y = as_double(format, b);
  const double z = as_double(format, c);
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) {
    const double special = x * y + z;  // exact whenever an operand is not finite
    if (std::isnan(special)) {
      return format.sign_bit() - 1;
    }
    return format.infinity() | (special < 0 ? format.sign_bit() : 0);
  }
  Exact number;
  number.add(format.significand(a) * format.significand(b), format.scale(a) + format.scale(b));
  number.add(format.significand(c), format.scale(c));
  if (number.sign() != 0) {
    return round_exact(number, format, mode);
  }
  const bool product_negative = format.negative(a) != format.negative(b);
  const bool same = product_negative == format.negative(c);
  const bool negative = same ? product_negative : mode == Mode::kDown;
  return negative ? format.sign_bit() : 0;
}

template <class F>
void check_fma(BinaryFormat format, char letter, Mode mode, std::size_t count, F&& computed) {
  const auto a = operands(letter, kSeed, count);
  const auto b = operands(letter, kSeed + 1, count);
  const auto c = operands(letter, kSeed + 2, count);
  CAPTURE(kSeed, letter, static_cast<int>(mode));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    // Every fourth addend nearly cancels the product.
    std::uint64_t addend = c[i];
    if (i % 4 == 0 && !format.is_nan(a[i]) && !format.is_nan(b[i])) {
      const std::uint64_t product = expected_fma(format, Mode::kNearest, a[i], b[i], 0);
      addend = (product ^ format.sign_bit()) + (i / 4) % 3 - 1;
      addend &= 2 * format.sign_bit() - 1;
    }
    const std::uint64_t want = expected_fma(format, mode, a[i], b[i], addend);
    const std::uint64_t got = computed(a[i], b[i], addend);
    if (want != got && ++wrong <= 3) {
      CAPTURE(i, a[i], b[i], addend, want, got);
      CHECK(want == got);
    }
  }
  CHECK(wrong == 0);
}

template <sim::Round R>
std::uint64_t fma32(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return sim::bits_of(sim::fma_f32<R, false, false>(sim::float_of(static_cast<std::uint32_t>(a)),
                                                    sim::float_of(static_cast<std::uint32_t>(b)),
                                                    sim::float_of(static_cast<std::uint32_t>(c))));
}

template <class T>
std::uint64_t fma_16(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return sim::fma16<T, false, false>(static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b),
                                     static_cast<std::uint16_t>(c));
}

/// Products and sums are fused operations with a constant.
template <class T>
void check_add_mul(BinaryFormat format, char letter, std::uint64_t one) {
  check_fma(format, letter, Mode::kNearest, 100000,
            [one](std::uint64_t a, std::uint64_t b, std::uint64_t c) -> std::uint64_t {
              (void)b;
              (void)one;
              return fma_16<T>(a, b, c);
            });
  const auto a = operands(letter, kSeed + 3, 300000);
  const auto b = operands(letter, kSeed + 4, 300000);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<std::uint16_t>(a[i]);
    const auto y = static_cast<std::uint16_t>(b[i]);
    const std::uint64_t minus_zero = format.sign_bit();
    const std::uint64_t product_zero =
        format.negative(x) != format.negative(y) ? minus_zero : 0;  // keeps a zero's sign
    wrong += sim::mul16<T, false, false>(x, y) !=
                     expected_fma(format, Mode::kNearest, x, y, product_zero)
                 ? 1
                 : 0;
    wrong += sim::add16<T, false, false>(x, y) != expected_fma(format, Mode::kNearest, x, one, y)
                 ? 1
                 : 0;
    wrong += sim::sub16<T, false, false>(x, y) !=
                     expected_fma(format, Mode::kNearest, x, one, y ^ minus_zero)
                 ? 1
                 : 0;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("Arithmetic: fma.f32 is exact in all four rounding modes", "[sim]") {
  check_fma(kBinary32, 'f', Mode::kNearest, 100000, fma32<sim::Round::kNearest>);
  check_fma(kBinary32, 'f', Mode::kZero, 100000, fma32<sim::Round::kZero>);
  check_fma(kBinary32, 'f', Mode::kDown, 100000, fma32<sim::Round::kDown>);
  check_fma(kBinary32, 'f', Mode::kUp, 100000, fma32<sim::Round::kUp>);
}

TEST_CASE("Arithmetic: f16 add, sub, mul and fma are rounded once", "[sim]") {
  check_add_mul<sim::Half>(kBinary16, 'H', 0x3C00);
}

TEST_CASE("Arithmetic: bf16 add, sub, mul and fma are rounded once", "[sim]") {
  check_add_mul<sim::Bfloat>(kBrain16, 'B', 0x3F80);
}

TEST_CASE("Arithmetic: .sat, .relu and .ftz of 16-bit results", "[sim]") {
  CHECK(sim::add16<sim::Half, false, true>(0x4000, 0x3C00) == 0x3C00);
  CHECK(sim::add16<sim::Half, false, true>(0xC000, 0x3C00) == 0);
  CHECK(sim::add16<sim::Half, false, true>(0x7E00, 0x3C00) == 0);
  CHECK(sim::mul16<sim::Half, true, false>(0x0400, 0x3800) == 0);
  CHECK(sim::mul16<sim::Half, true, false>(0x0400, 0x3BFF) == 0);        // below 2^-14 by itself
  CHECK(sim::mul16<sim::Half, false, false>(0x0400, 0x3BFF) == 0x0400);  // rounds up to 2^-14
  CHECK(sim::mul16<sim::Half, false, false>(0x0400, 0x3800) == 0x0200);
  CHECK(sim::add16<sim::Half, true, false>(0x83FF, 0x8000) == 0x8000);
  CHECK(sim::relu16<sim::Half>(0x8001) == 0);
  CHECK(sim::relu16<sim::Half>(0x7FFF) == 0x7FFF);
}
