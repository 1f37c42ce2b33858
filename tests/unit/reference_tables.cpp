// SPDX-License-Identifier: Apache-2.0
#include "src/base/file.hpp"
#include "src/reference/arithmetic.hpp"
#include "src/reference/sm90_tables.hpp"
#include "src/reference/soft_float.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <cstring>
#include <limits>

using namespace quantjit;
using namespace quantjit::reference;

namespace {

/// Counts of the recorded approximation against the correctly rounded reciprocal.
struct Counts {
  std::size_t below = 0;
  std::size_t equal = 0;
  std::size_t above = 0;
};

Counts count_reciprocals(std::uint32_t exponent_bits) {
  Counts counts;
  for (std::uint32_t fraction = 0; fraction < (1U << 23U); ++fraction) {
    const float value = float_from_bits(exponent_bits | fraction);
    const std::uint32_t exact = bits_of(1.0F / value);
    const std::uint32_t approximate = bits_of(rcp_approx_ftz(value));
    counts.below += approximate == exact - 1 ? 1 : 0;
    counts.equal += approximate == exact ? 1 : 0;
    counts.above += approximate == exact + 1 ? 1 : 0;
  }
  return counts;
}

}  // namespace

TEST_CASE("Tables: the reciprocal differs from IEEE as often as recorded", "[reference]") {
  for (const std::uint32_t exponent : {127U << 23U, 100U << 23U, 180U << 23U}) {
    const Counts counts = count_reciprocals(exponent);
    CHECK(counts.below == 374723);
    CHECK(counts.equal == 7280086);
    CHECK(counts.above == 733799);
  }
}

TEST_CASE("Tables: the reciprocal flushes and keeps signs", "[reference]") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(rcp_approx_ftz(0.0F) == infinity);
  CHECK(rcp_approx_ftz(-0.0F) == -infinity);
  CHECK(rcp_approx_ftz(0x1p-127F) == infinity);
  CHECK(rcp_approx_ftz(-0x1p-140F) == -infinity);
  CHECK(bits_of(rcp_approx_ftz(infinity)) == 0U);
  CHECK(bits_of(rcp_approx_ftz(-infinity)) == 0x80000000U);
  CHECK(std::isnan(rcp_approx_ftz(std::numeric_limits<float>::quiet_NaN())));
  CHECK(rcp_approx_ftz(-4.0F) == -0.25F);
  CHECK(rcp_approx_ftz(0x1p-126F) == 0x1p126F);
  CHECK(bits_of(rcp_approx_ftz(0x1.8p126F)) == 0U);
  CHECK(bits_of(rcp_approx_ftz(-std::numeric_limits<float>::max())) == 0x80000000U);
}

TEST_CASE("Tables: fast arithmetic gives the recorded quotients", "[reference]") {
  const auto recorded = base::read_file(QUANTJIT_GOLDEN_DIRECTORY "/sm90_reciprocals.f32");
  REQUIRE(recorded.has_value());
  constexpr std::size_t kColumns = 6;
  REQUIRE(recorded->size() == 1024 * kColumns * sizeof(float));
  const Arithmetic fast(MathMode::kFast);
  std::size_t mismatches = 0;
  for (std::size_t row = 0; row < 1024; ++row) {
    float expected[kColumns];
    std::memcpy(expected, recorded->data() + row * sizeof expected, sizeof expected);
    const float x = 1.0F + static_cast<float>(row) / 1024.0F;
    const float actual[kColumns] = {
        fast.mul(x, 1.0F / 448.0F), rcp_approx_ftz(fast.mul(x, 1.0F / 448.0F)),
        fast.div(448.0F, x),        fast.div(127.0F, x),
        x * (1.0F / 448.0F),        x * (1.0F / 127.0F)};
    mismatches += std::memcmp(expected, actual, sizeof expected) == 0 ? 0 : 1;
  }
  CHECK(mismatches == 0);
}

TEST_CASE("Tables: recorded SiLU stays within one place of the function", "[reference]") {
  std::size_t compared = 0;
  std::size_t far = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto gate = static_cast<std::uint16_t>(bits);
    const double x = f16_to_float(gate);
    const double exact = x / (1.0 + std::exp(-x));
    if (!std::isfinite(x) || std::fabs(exact) < 0x1p-14) {
      continue;
    }
    // Sign and magnitude order the bit patterns, so neighbours differ by one.
    ++compared;
    far += std::abs(int{silu_f16(gate)} - int{to_f16(exact)}) <= 1 ? 0 : 1;
  }
  CHECK(compared > 30000);
  CHECK(far == 0);
  CHECK(silu_bf16(0x0000) == 0x0000);
  CHECK(silu_bf16(0x8000) == 0x8000);
  CHECK(silu_bf16(0x7F80) == 0x7F80);
  CHECK(std::isnan(bf16_to_float(silu_bf16(0xFF80))));
}
