// SPDX-License-Identifier: Apache-2.0
// numerics=exact, and the SiLU that it shares with the device.
#include "kernels/exact_silu.h"
#include "src/reference/silu.hpp"
#include "src/reference/soft_float.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reference_fixture.hpp"

#include <cmath>
#include <random>

using namespace quantjit;
using namespace quantjit::reference;
using quantjit::test::kInf;
using quantjit::test::kNan;
using quantjit::test::quantize;
using quantjit::test::Row;

namespace {

/// The operations of the sequence, named as on the device.
struct Ieee {
  static float fma(float a, float b, float c) { return std::fma(a, b, c); }

  static float add(float a, float b) { return a + b; }

  static float mul(float a, float b) { return a * b; }

  static float div(float a, float b) { return a / b; }

  static unsigned to_bits(float value) { return bits_of(value); }

  static float from_bits(unsigned bits) { return float_from_bits(bits); }
};

float silu(float gate) {
  return exact::exact_silu<Ieee>(gate);
}

/// Distance of exp's result from e^x in units of the last place of the result.
double exp_error(float x) {
  const double expected = std::exp(static_cast<double>(x));
  const double place = std::ldexp(1.0, std::ilogb(static_cast<float>(expected)) - 23);
  return std::fabs(exact::exact_exp<Ieee>(x) - expected) / place;
}

bool in_range(float x) {
  return x >= exact::kExpLowest && x <= exact::kExpHighest;
}

constexpr const char* kExact = "per_token_group_quant:numerics=exact,in=f32,group=16";

}  // namespace

TEST_CASE("Exact: exp is within one place of e^x for every 16-bit argument", "[reference]") {
  double worst = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    for (const float x : {bf16_to_float(static_cast<std::uint16_t>(bits)),
                          f16_to_float(static_cast<std::uint16_t>(bits))}) {
      worst = in_range(x) ? std::max(worst, exp_error(x)) : worst;
    }
  }
  CHECK(worst > 0.4);  // the loop did compare
  CHECK(worst < 1.0);
}

TEST_CASE("Exact: exp is within one place of e^x for random arguments", "[reference]") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  double worst = 0;
  for (int i = 0; i < 1000000; ++i) {
    const float x = std::uniform_real_distribution<float>(-86.0F, 88.72F)(random);
    worst = std::max(worst, exp_error(x));
  }
  CHECK(worst < 1.0);
}

TEST_CASE("Exact: exp ends in infinity above and zero below", "[reference]") {
  CHECK(std::isfinite(exact::exact_exp<Ieee>(exact::kExpHighest)));
  CHECK(exact::exact_exp<Ieee>(std::nextafter(exact::kExpHighest, kInf)) == kInf);
  CHECK(std::exp(static_cast<double>(std::nextafter(exact::kExpHighest, kInf))) >
        static_cast<double>(std::numeric_limits<float>::max()));
  CHECK(exact::exact_exp<Ieee>(kInf) == kInf);
  CHECK(exact::exact_exp<Ieee>(-kInf) == 0.0F);
  CHECK(exact::exact_exp<Ieee>(0.0F) == 1.0F);
  CHECK(std::isnan(exact::exact_exp<Ieee>(kNan)));
  // Where it gives 0, adding 1 would have hidden it.
  CHECK(1.0F + static_cast<float>(std::exp(-86.0)) == 1.0F);
}

TEST_CASE("Exact: SiLU of special values follows from the formula", "[reference]") {
  CHECK(bits_of(silu(0.0F)) == 0U);
  CHECK(bits_of(silu(-0.0F)) == 0x80000000U);
  CHECK(silu(kInf) == kInf);
  CHECK(std::isnan(silu(-kInf)));
  CHECK(std::isnan(silu(kNan)));
  CHECK(bits_of(silu(-89.0F)) == 0x80000000U);
  CHECK(bits_of(silu(-std::numeric_limits<float>::max())) == 0x80000000U);
  CHECK(silu(1e30F) == 1e30F);
  CHECK(silu(0x1p-140F) == 0x1p-141F);
}

TEST_CASE("Exact: SiLU is within three places of the function", "[reference]") {
  std::size_t compared = 0;
  double worst = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float x = bf16_to_float(static_cast<std::uint16_t>(bits));
    const double expected = x / (1.0 + std::exp(-static_cast<double>(x)));
    if (!std::isfinite(x) || x < -88.7F || std::fabs(expected) < 0x1p-126) {
      continue;
    }
    const double place = std::ldexp(1.0, std::ilogb(static_cast<float>(expected)) - 23);
    worst = std::max(worst, std::fabs(silu(x) - expected) / place);
    ++compared;
  }
  CHECK(compared > 40000);
  CHECK(worst < 3.0);
}

TEST_CASE("Exact: the fused form rounds to the type twice, f32 once", "[reference]") {
  const Arch arch = Arch::parse("sm_100a");
  const SiluAndMul bf16(Numerics::kExact, DType::kBF16, arch, MathMode::kPrecise);
  const SiluAndMul f32(Numerics::kExact, DType::kF32, arch, MathMode::kPrecise);
  std::size_t twice = 0;
  std::size_t once = 0;
  for (std::uint16_t bits = 0x3F80; bits < 0x4000; ++bits) {
    const float gate = bf16_to_float(bits);
    const float up = bf16_to_float(static_cast<std::uint16_t>(0x407F - (bits & 0x7F)));
    const double single = static_cast<double>(silu(gate)) * up;
    const double rounded_first = static_cast<double>(bf16_to_float(to_bf16(silu(gate)))) * up;
    const float product = bf16(to_bf16(gate), to_bf16(up));
    twice += product == bf16_to_float(to_bf16(rounded_first)) ? 1 : 0;
    once += product == bf16_to_float(to_bf16(single)) ? 1 : 0;
    CHECK(f32(bits_of(gate), bits_of(up)) == silu(gate) * up);
  }
  CHECK(twice == 128);
  CHECK(once < 128);
}

TEST_CASE("Exact: NaN and infinity have codes of their own and no say in the scale",
          "[reference]") {
  const Row row = quantize(kExact, {1.0F, kNan, kInf, -kInf, -0.0F, 0.0F, -1.0F});
  CHECK(row.codes == std::vector<int>{0x7E, 0x7F, 0x7E, 0xFE, 0x80, 0x00, 0xFE});
  CHECK(row.scale == bits_of(1.0F / 448.0F));
  const Row integers =
      quantize(std::string(kExact) + ",out=int8", {1.0F, kNan, kInf, -kInf, -1.0F});
  CHECK(integers.codes == std::vector<int>{127, 0, 127, 0x80, 0x81});
  CHECK(integers.scale == bits_of(1.0F / 127.0F));
}

TEST_CASE("Exact: groups without a finite element take the floor", "[reference]") {
  for (const float value : {0.0F, kNan, kInf}) {
    const Row row = quantize(kExact, std::vector<float>(16, value));
    CHECK(row.scale == 0x2A7B5123U);  // RN(1e-10 / 448)
  }
  const Row packed = quantize(std::string(kExact) + ",scale=ue8m0", std::vector<float>(16, kInf));
  CHECK(packed.scale == 85U);
}

TEST_CASE("Exact: integers round to nearest even", "[reference]") {
  // With the largest element 127 the multiplier is 1.
  const Row row = quantize(std::string(kExact) + ",out=int8",
                           {127.0F, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 126.5F, -126.6F});
  CHECK(row.codes == std::vector<int>{127, 0, 2, 2, 0, 0xFE, 126, 0x81});
}

TEST_CASE("Exact: f32_pow2 stores the power of ue8m0 and has its codes", "[reference]") {
  const std::vector<float> values{3.0F, -1.7F, 0.01F, 600.0F, 1e-3F};
  const Row packed = quantize(std::string(kExact) + ",scale=ue8m0", values);
  const Row power = quantize(std::string(kExact) + ",scale=f32_pow2", values);
  CHECK(packed.codes == power.codes);
  CHECK(packed.scale == 128U);  // 600 / 448 is between 1 and 2
  CHECK(power.scale == bits_of(2.0F));
}

TEST_CASE("Exact: bytes do not depend on arch or preferred math", "[reference]") {
  std::vector<float> values;
  for (int i = 0; i < 16; ++i) {
    values.push_back(std::ldexp(1.0F + static_cast<float>(i) / 16, i - 135));
  }
  const Row hopper = quantize(kExact, values, test::target_of("sm_90a", MathMode::kFast));
  const Row blackwell = quantize(kExact, values, test::target_of("sm_100a"));
  CHECK(hopper.codes == blackwell.codes);
  CHECK(hopper.scale == blackwell.scale);
}
