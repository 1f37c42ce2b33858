// SPDX-License-Identifier: Apache-2.0
// Conversions to and from 16- and 8-bit formats, against tables built from the formats'
// definitions.
#include "convert.hpp"
#include "exact.hpp"
#include "instruction_table.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace quantjit;
using namespace quantjit::test;
using sim::bits_of;
using sim::float_of;
using sim::Round;

namespace {

/// The value of an E4M3 or E5M2 code, from the formats' definition.
double f8_value(int exponent_bits, unsigned code) {
  const int mantissa_bits = 7 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int e = static_cast<int>((code & 0x7F) >> mantissa_bits);
  const int m = static_cast<int>(code & ((1U << mantissa_bits) - 1));
  const bool nan = exponent_bits == 4 ? (code & 0x7F) == 0x7F : (code & 0x7F) > 0x7C;
  if (nan) {
    return std::nan("");
  }
  if (exponent_bits == 5 && e == 31) {
    return (code & 0x80) != 0 ? -INFINITY : INFINITY;
  }
  const double v = e == 0 ? std::ldexp(m, 1 - bias - mantissa_bits)
                          : std::ldexp((1 << mantissa_bits) + m, e - bias - mantissa_bits);
  return (code & 0x80) != 0 ? -v : v;
}

/// The code nearest to x, ties to even, saturating, by searching all codes.
unsigned nearest_f8(int exponent_bits, double x) {
  if (std::isnan(x)) {
    return 0x7F;
  }
  const unsigned sign = std::signbit(x) ? 0x80 : 0;
  const unsigned largest = exponent_bits == 4 ? 0x7E : 0x7B;
  const double magnitude = std::fabs(x);
  if (magnitude >= f8_value(exponent_bits, largest)) {
    return largest | sign;
  }
  unsigned best = 0;
  for (unsigned code = 1; code <= largest; ++code) {
    const double d = std::fabs(f8_value(exponent_bits, code) - magnitude);
    const double b = std::fabs(f8_value(exponent_bits, best) - magnitude);
    if (d < b || (d == b && code % 2 == 0)) {
      best = code;
    }
  }
  return best | sign;
}

double value_of(BinaryFormat format, std::uint64_t bits) {
  if (format.is_nan(bits)) {
    return std::nan("");
  }
  const double magnitude =
      format.is_infinite(bits)
          ? INFINITY
          : std::ldexp(std::fabs(static_cast<double>(format.significand(bits))),
                       format.scale(bits));
  return format.negative(bits) ? -magnitude : magnitude;
}

/// Rounds with the oracle; the sign of zero is the operand's.
std::uint64_t expected_narrow(BinaryFormat format, Mode mode, std::uint32_t bits) {
  if (kBinary32.is_nan(bits)) {
    return 0x7FFF;
  }
  const std::uint64_t sign = kBinary32.negative(bits) ? format.sign_bit() : 0;
  if (kBinary32.is_infinite(bits)) {
    return format.infinity() | sign;
  }
  Exact number;
  number.add(kBinary32.significand(bits), kBinary32.scale(bits));
  return number.sign() == 0 ? sign : (round_exact(number, format, mode) | sign);
}

/// Every value of a format as f32, the middles between neighbours, and one ulp around both.
std::vector<std::uint32_t> interesting(BinaryFormat format) {
  std::vector<std::uint32_t> result;
  for (std::uint64_t bits = 0; bits < format.infinity(); ++bits) {
    const double v = value_of(format, bits);
    const double next =
        std::ldexp(static_cast<double>(format.significand(bits + 1)), format.scale(bits + 1));
    for (const double point : {v, (v + next) / 2}) {
      const std::uint32_t u = bits_of(static_cast<float>(point));
      for (const std::uint32_t x : {u, u + 1, u == 0 ? 0 : u - 1}) {
        result.push_back(x);
        result.push_back(x | 0x80000000);
      }
    }
  }
  return result;
}

template <class T, Round R>
void check_narrow(BinaryFormat format, Mode mode, const std::vector<std::uint32_t>& inputs) {
  std::size_t wrong = 0;
  for (const std::uint32_t u : inputs) {
    const std::uint64_t want = expected_narrow(format, mode, u);
    const std::uint64_t got = sim::narrow<T, R>(float_of(u));
    if (want != got && ++wrong <= 3) {
      CAPTURE(u, want, got, static_cast<int>(mode));
      CHECK(want == got);
    }
  }
  CHECK(wrong == 0);
}

template <class T>
void check_format(BinaryFormat format) {
  std::size_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float got = sim::widen<T>(static_cast<std::uint16_t>(bits));
    const double want = value_of(format, bits);
    wrong += std::isnan(want)
                 ? !std::isnan(got)
                 : (static_cast<double>(got) != want || std::signbit(got) != std::signbit(want));
    // And back, exactly.
    const std::uint16_t back = sim::narrow<T, Round::kNearest>(got);
    wrong += back == (std::isnan(want) ? 0x7FFFU : bits) ? 0 : 1;
  }
  CHECK(wrong == 0);
  auto inputs = interesting(format);
  if (inputs.size() > 400000) {  // every third is enough for the wide format
    std::vector<std::uint32_t> part;
    for (std::size_t i = 0; i < inputs.size(); i += 2) {
      part.push_back(inputs[i]);
    }
    inputs = std::move(part);
  }
  for (const std::uint64_t bits : operands('f', 5, 100000)) {
    inputs.push_back(static_cast<std::uint32_t>(bits));
  }
  check_narrow<T, Round::kNearest>(format, Mode::kNearest, inputs);
  check_narrow<T, Round::kZero>(format, Mode::kZero, inputs);
  check_narrow<T, Round::kDown>(format, Mode::kDown, inputs);
  check_narrow<T, Round::kUp>(format, Mode::kUp, inputs);
}

template <int E>
void check_f8() {
  for (unsigned code = 0; code < 256; ++code) {
    const double want = f8_value(E, code);
    const std::uint16_t half = sim::f16_from_f8<E>(code);
    CAPTURE(code);
    if (std::isnan(want)) {
      CHECK(half == 0x7FFF);
      continue;
    }
    CHECK(static_cast<double>(sim::widen<sim::Half>(half)) == want);
    CHECK(std::signbit(sim::widen<sim::Half>(half)) == std::signbit(want));
    if (!std::isinf(want)) {
      CHECK(sim::f8_from_f32<E, false>(static_cast<float>(want)) == code);
    }
  }
  std::size_t wrong = 0;
  const auto check = [&](float x) {
    wrong += sim::f8_from_f32<E, false>(x) == nearest_f8(E, static_cast<double>(x)) ? 0 : 1;
  };
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    check(sim::widen<sim::Half>(static_cast<std::uint16_t>(bits)));
    check(sim::widen<sim::Bfloat>(static_cast<std::uint16_t>(bits)));
  }
  for (unsigned code = 0; code < 0x7E; ++code) {
    const double middle = (f8_value(E, code) + f8_value(E, code + 1)) / 2;
    if (std::isfinite(middle)) {
      const auto u = bits_of(static_cast<float>(middle));
      for (const std::uint32_t x : {u - 1, u, u + 1}) {
        check(float_of(x));
        check(float_of(x | 0x80000000));
      }
    }
  }
  for (const std::uint64_t bits : operands('f', 6, 100000)) {
    check(float_of(static_cast<std::uint32_t>(bits)));
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("Formats: all 65,536 f16 patterns, and every rounding into f16", "[sim]") {
  check_format<sim::Half>(kBinary16);
}

TEST_CASE("Formats: all 65,536 bf16 patterns, and every rounding into bf16", "[sim]") {
  check_format<sim::Bfloat>(kBrain16);
}

TEST_CASE("Formats: all 256 E4M3 codes, and rounding from every 16-bit value", "[sim]") {
  check_f8<4>();
  CHECK(sim::f8x2_from_f32<4, false>(449.0F, -INFINITY) == 0x7EFE);
  CHECK(sim::f8_from_f32<4, true>(-1.0F) == 0);
  CHECK(sim::f8_from_f32<4, true>(std::numeric_limits<float>::quiet_NaN()) == 0x7F);
}

TEST_CASE("Formats: all 256 E5M2 codes, and rounding from every 16-bit value", "[sim]") {
  check_f8<5>();
}

TEST_CASE("Formats: UE8M0 exponents round up or towards zero", "[sim]") {
  for (int e = -126; e <= 127; ++e) {
    const float power = std::ldexp(1.0F, e);
    const auto code = static_cast<std::uint32_t>(e + 127);
    CAPTURE(e);
    CHECK(sim::ue8m0_from_f32<Round::kUp, true>(power) == code);
    CHECK(sim::ue8m0_from_f32<Round::kZero, true>(-power) == code);
    const float above = float_of(bits_of(power) + 1);
    CHECK(sim::ue8m0_from_f32<Round::kUp, true>(above) == std::min(code + 1, 0xFEU));
    CHECK(sim::ue8m0_from_f32<Round::kZero, true>(above) == code);
    CHECK(float_of(sim::bf16_from_ue8m0(code) << 16) == power);
  }
  CHECK(sim::ue8m0_from_f32<Round::kUp, true>(INFINITY) == 0xFE);
  CHECK(sim::ue8m0_from_f32<Round::kUp, false>(INFINITY) == 0xFF);
  CHECK(sim::ue8m0_from_f32<Round::kUp, true>(float_of(0x7FC00000)) == 0xFF);
  CHECK(sim::ue8m0_from_f32<Round::kUp, true>(0.0F) == 0);
  CHECK(sim::ue8m0_from_f32<Round::kUp, true>(std::ldexp(1.0F, -127)) == 0);
  CHECK(sim::ue8m0_from_f32<Round::kUp, true>(std::ldexp(1.5F, -127)) == 1);
}

TEST_CASE("Formats: floats to integers clamp, NaN gives zero", "[sim]") {
  const float nan = float_of(0x7FC00000);
  CHECK(sim::int_from_f32<std::int8_t, Round::kZero, false>(-300.7F) == -128);
  CHECK(sim::int_from_f32<std::int8_t, Round::kZero, false>(127.9F) == 127);
  CHECK(sim::int_from_f32<std::int8_t, Round::kZero, false>(-0.9F) == 0);
  CHECK(sim::int_from_f32<std::uint8_t, Round::kNearest, false>(-0.6F) == 0);
  CHECK(sim::int_from_f32<std::int32_t, Round::kNearest, false>(2.5F) == 2);
  CHECK(sim::int_from_f32<std::int32_t, Round::kNearest, false>(3.5F) == 4);
  CHECK(sim::int_from_f32<std::int32_t, Round::kDown, false>(-2.1F) == -3);
  CHECK(sim::int_from_f32<std::int32_t, Round::kUp, false>(-2.9F) == -2);
  CHECK(sim::int_from_f32<std::int32_t, Round::kZero, false>(3e9F) == 2147483647);
  CHECK(sim::int_from_f32<std::int32_t, Round::kZero, false>(-INFINITY) == -2147483647 - 1);
  CHECK(sim::int_from_f32<std::uint32_t, Round::kZero, false>(4.4e9F) == 4294967295U);
  CHECK(sim::int_from_f32<std::int32_t, Round::kZero, false>(nan) == 0);
  const auto values = operands('f', 8, 300000);
  std::size_t wrong = 0;
  for (const std::uint64_t bits : values) {
    const float x = float_of(static_cast<std::uint32_t>(bits));
    if (std::isnan(x)) {
      continue;
    }
    wrong += bits_of(sim::integral<Round::kNearest>(x)) == bits_of(std::nearbyint(x)) ? 0 : 1;
    wrong += bits_of(sim::integral<Round::kZero>(x)) == bits_of(std::trunc(x)) ? 0 : 1;
    wrong += bits_of(sim::integral<Round::kDown>(x)) == bits_of(std::floor(x)) ? 0 : 1;
    wrong += bits_of(sim::integral<Round::kUp>(x)) == bits_of(std::ceil(x)) ? 0 : 1;
  }
  CHECK(wrong == 0);
}
