// SPDX-License-Identifier: Apache-2.0
#include "src/reference/soft_float.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace quantjit::reference;

namespace {

/// The E4M3 code nearest to `value` by search over all of them, ties to the even code.
std::uint8_t nearest_e4m3(float value) {
  const double magnitude = std::fabs(static_cast<double>(value));
  int best = 0;
  for (int code = 1; code <= kMaxCodeE4M3; ++code) {
    const double distance = std::fabs(e4m3_to_float(static_cast<std::uint8_t>(code)) - magnitude);
    const double best_distance =
        std::fabs(e4m3_to_float(static_cast<std::uint8_t>(best)) - magnitude);
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
      best = code;
    }
  }
  return static_cast<std::uint8_t>(best | (std::signbit(value) ? 0x80 : 0));
}

std::size_t e4m3_mismatches(const std::vector<float>& values) {
  std::size_t mismatches = 0;
  for (const float value : values) {
    mismatches += to_e4m3(value) == nearest_e4m3(value) ? 0 : 1;
    mismatches += to_e4m3(-value) == nearest_e4m3(-value) ? 0 : 1;
  }
  return mismatches;
}

using Widen = float (*)(std::uint16_t);
using Narrow = std::uint16_t (*)(double);

/// Rounds every value of a 16-bit format, every midpoint and both neighbours of each midpoint.
std::size_t narrow_mismatches(Widen widen, Narrow narrow, std::uint16_t infinity) {
  std::size_t mismatches = 0;
  for (std::uint16_t bits = 0; bits < infinity; ++bits) {
    const double low = widen(bits);
    // The format's next value; beyond the largest the one that a wider exponent would have.
    const double high = bits + 1 == infinity
                            ? low + (low - widen(static_cast<std::uint16_t>(bits - 1)))
                            : widen(static_cast<std::uint16_t>(bits + 1));
    const double middle = low + (high - low) / 2;
    const auto next = static_cast<std::uint16_t>(bits + 1);
    mismatches += narrow(low) == bits ? 0 : 1;
    mismatches += narrow(-low) == (bits | 0x8000) ? 0 : 1;
    mismatches += narrow(middle) == (bits % 2 == 0 ? bits : next) ? 0 : 1;
    mismatches += narrow(std::nextafter(middle, low)) == bits ? 0 : 1;
    mismatches += narrow(std::nextafter(middle, high)) == next ? 0 : 1;
  }
  return mismatches;
}

}  // namespace

TEST_CASE("SoftFloat: E4M3 codes decode to the format's values", "[reference]") {
  CHECK(e4m3_to_float(0x00) == 0.0F);
  CHECK(e4m3_to_float(0x01) == 0x1p-9F);
  CHECK(e4m3_to_float(0x07) == 0x7p-9F);
  CHECK(e4m3_to_float(0x08) == 0x1p-6F);
  CHECK(e4m3_to_float(0x38) == 1.0F);
  CHECK(e4m3_to_float(0x7E) == 448.0F);
  CHECK(e4m3_to_float(0xFE) == -448.0F);
  CHECK(std::isnan(e4m3_to_float(0x7F)));
  CHECK(std::isnan(e4m3_to_float(0xFF)));
  CHECK(std::signbit(e4m3_to_float(0x80)));
}

TEST_CASE("SoftFloat: E4M3 rounding is to nearest even at every tie", "[reference]") {
  std::vector<float> values;
  for (int code = 0; code <= kMaxCodeE4M3; ++code) {
    const float low = e4m3_to_float(static_cast<std::uint8_t>(code));
    const float high =
        code == kMaxCodeE4M3 ? 480.0F : e4m3_to_float(static_cast<std::uint8_t>(code + 1));
    const float middle = (low + high) / 2;
    for (const float value : {low, middle, high}) {
      values.push_back(value);
      values.push_back(std::nextafter(value, 0.0F));
      values.push_back(std::nextafter(value, 1000.0F));
    }
  }
  CHECK(e4m3_mismatches(values) == 0);
}

TEST_CASE("SoftFloat: E4M3 rounding is to nearest over random values", "[reference]") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::vector<float> values;
  for (int i = 0; i < 200000; ++i) {
    // Exponents around the format's range, any fraction.
    const auto exponent = static_cast<std::uint32_t>(127 - 14 + random() % 26);
    const auto fraction = static_cast<std::uint32_t>(random() & 0x7FFFFFU);
    values.push_back(float_from_bits(exponent << 23U | fraction));
  }
  CHECK(e4m3_mismatches(values) == 0);
}

TEST_CASE("SoftFloat: E4M3 saturates and keeps NaN apart", "[reference]") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(to_e4m3(infinity) == 0x7E);
  CHECK(to_e4m3(-infinity) == 0xFE);
  CHECK(to_e4m3(std::numeric_limits<float>::max()) == 0x7E);
  CHECK(to_e4m3(464.0F) == 0x7E);
  CHECK(to_e4m3(std::numeric_limits<float>::quiet_NaN()) == 0x7F);
  CHECK(to_e4m3(-0.0F) == 0x80);
  CHECK(to_e4m3(-std::numeric_limits<float>::denorm_min()) == 0x80);
}

TEST_CASE("SoftFloat: bf16 and f16 round to nearest even at every tie", "[reference]") {
  CHECK(narrow_mismatches(&bf16_to_float, &to_bf16, 0x7F80) == 0);
  CHECK(narrow_mismatches(&f16_to_float, &to_f16, 0x7C00) == 0);
}

TEST_CASE("SoftFloat: bf16 and f16 keep infinity and give the default NaN", "[reference]") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(to_bf16(-infinity) == 0xFF80);
  CHECK(to_f16(infinity) == 0x7C00);
  CHECK(to_bf16(1e300) == 0x7F80);
  CHECK(to_f16(65520.0) == 0x7C00);
  CHECK(to_f16(65519.9) == 0x7BFF);
  CHECK(to_bf16(std::nan("")) == 0x7FC0);
  CHECK(to_f16(std::nan("")) == 0x7E00);
  CHECK(std::isnan(f16_to_float(0x7E01)));
  CHECK(f16_to_float(0xFC00) == -std::numeric_limits<float>::infinity());
  CHECK(to_bf16(-0.0) == 0x8000);
}

TEST_CASE("SoftFloat: flushing keeps the sign and the smallest normal value", "[reference]") {
  CHECK(bits_of(flush_subnormal(-0x1p-127F)) == 0x80000000U);
  CHECK(bits_of(flush_subnormal(0x1p-149F)) == 0U);
  CHECK(flush_subnormal(0x1p-126F) == 0x1p-126F);
  CHECK(std::isnan(flush_subnormal(std::numeric_limits<float>::quiet_NaN())));
}
