// SPDX-License-Identifier: Apache-2.0
// per_token_group_quant: what each family makes of the values at its edges.
#include "src/reference/quantize.hpp"
#include "src/reference/soft_float.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reference_fixture.hpp"

#include <cmath>

using namespace quantjit;
using namespace quantjit::reference;
using quantjit::test::kInf;
using quantjit::test::kNan;
using quantjit::test::quantize;
using quantjit::test::Row;

namespace {

using Codes = std::vector<int>;

const std::string kSglang = "per_token_group_quant:group=16";
const std::string kSglangUe = kSglang + ",scale=ue8m0";
const std::string kV2 = "per_token_group_quant:numerics=sglang_v2,group=16";
const std::string kVllm = "per_token_group_quant:numerics=vllm,scale=ue8m0,layout=col";

const PerTokenGroupQuant& traits_of(const Descriptor& descriptor) {
  return std::get<PerTokenGroupQuant>(descriptor.traits);
}

}  // namespace

TEST_CASE("Group sglang: zero groups give the floor's scale and signed zeros", "[reference]") {
  for (const char* in : {",in=bf16", ",in=f16", ",in=f32"}) {
    const Row packed = quantize(kSglangUe + in, {0.0F, -0.0F});
    CHECK(packed.scale == 85U);
    CHECK(packed.codes == Codes{0x00, 0x80});
    const Row floats = quantize(kSglang + in, {0.0F, -0.0F});
    CHECK(floats.scale == 0x2A7B5124U);
    CHECK(floats.codes == Codes{0x00, 0x80});
    const Row integers = quantize(kSglang + in + ",out=int8", {0.0F, -0.0F});
    CHECK(integers.scale == 0x2B5DA243U);
    CHECK(integers.codes == Codes{0, 0});
  }
}

TEST_CASE("Group sglang: f16 with ue8m0 is right below the original's overflow", "[reference]") {
  // The original's multiplier 2^(127-e) leaves f16's range at e <= 111, amax 0.0068359375.
  const float last_bad = 0.0068359375F;
  const float first_good = f16_to_float(static_cast<std::uint16_t>(to_f16(last_bad) + 1));
  const Row bad = quantize(kSglangUe + ",in=f16", {last_bad, -last_bad / 2, 0.0F, kNan});
  CHECK(bad.scale == 111U);
  CHECK(bad.codes == Codes{0x7E, 0xF6, 0x00, 0x7E});
  const Row good = quantize(kSglangUe + ",in=f16", {first_good, -first_good / 2, 0.0F, kNan});
  CHECK(good.scale == 112U);
  CHECK(good.codes == Codes{0x76, 0xEE, 0x00, 0x7E});
  const Row tiny = quantize(kSglangUe + ",in=f16", {0x1p-24F, -0x1p-24F});
  CHECK(tiny.scale == 95U);  // ceil(2^-24 / 448) = 2^-32
  CHECK(tiny.codes == Codes{0x78, 0xF8});
}

TEST_CASE("Group sglang: f16 and bf16 ue8m0 agree on values that both hold", "[reference]") {
  for (int exponent = -24; exponent < 15; ++exponent) {
    const std::vector<float> values{std::ldexp(1.0F, exponent), -std::ldexp(1.0F, exponent - 1)};
    if (exponent == -24) {
      continue;  // half of it is no f16
    }
    const Row narrow = quantize(kSglangUe + ",in=f16", values);
    const Row wide = quantize(kSglangUe + ",in=bf16", values);
    CHECK(narrow.codes == wide.codes);
    CHECK(narrow.scale == wide.scale);
  }
}

TEST_CASE("Group sglang: NaN is +448 and does not enter the scale", "[reference]") {
  for (const char* in : {",in=bf16", ",in=f16", ",in=f32"}) {
    CAPTURE(in);
    const Row one = quantize(kSglang + in, {448.0F, kNan, -448.0F});
    CHECK(one.codes == Codes{0x7E, 0x7E, 0xFE});
    CHECK(one.scale == bits_of(1.0F));
    CHECK(quantize(kSglangUe + in, {448.0F, kNan, -448.0F}).scale == 127U);
    const Row all = quantize(kSglangUe + in, std::vector<float>(16, kNan));
    CHECK(all.scale == 85U);
    CHECK(all.codes == Codes(16, 0x7E));
    CHECK(quantize(kSglang + in + ",out=int8", {127.0F, kNan}).codes == Codes{127, 0x80});
  }
}

TEST_CASE("Group sglang: one infinity flips signs under ue8m0 and zeroes under f32",
          "[reference]") {
  const std::vector<float> values{1.0F, -1.0F, 0.0F, kInf, -kInf, kNan};
  for (const char* in : {",in=bf16", ",in=f16", ",in=f32"}) {
    CAPTURE(in);
    const Row packed = quantize(kSglangUe + in, values);
    CHECK(packed.scale == 255U);
    CHECK(packed.codes == Codes{0xFE, 0x7E, 0x7E, 0xFE, 0x7E, 0x7E});
    const Row floats = quantize(kSglang + in, values);
    CHECK(floats.scale == bits_of(kInf));
    CHECK(floats.codes == Codes{0x00, 0x80, 0x00, 0x7E, 0x7E, 0x7E});
    const Row power = quantize(kSglang + ",scale=f32_pow2" + in, values);
    CHECK(power.scale == bits_of(kInf));
    CHECK(power.codes == packed.codes);
    CHECK(quantize(kSglang + in + ",out=int8", values).codes == Codes{0, 0, 0, 0x80, 0x80, 0x80});
  }
}

TEST_CASE("Group sglang: subnormal bf16 is not flushed by a power-of-two product", "[reference]") {
  const std::vector<float> values{0x1p-130F, -0x1p-130F, kInf};
  CHECK(quantize(kSglangUe + ",in=bf16", values).codes == Codes{0xFE, 0x7E, 0xFE});
  // f32 is multiplied under fast math, where the subnormal is zero and zero times infinity NaN.
  CHECK(quantize(kSglangUe + ",in=f32", values).codes == Codes{0x7E, 0x7E, 0xFE});
  CHECK(quantize(kSglangUe + ",in=f32", values, test::target_of("sm_100a")).codes ==
        Codes{0xFE, 0x7E, 0xFE});
}

TEST_CASE("Group sglang_v2: subnormal bf16 is flushed under fast math, as recorded",
          "[reference]") {
  const std::vector<float> values{0x1p-130F, -0x1p-130F, kInf};
  const std::string packed = kV2 + ",scale=ue8m0";
  CHECK(quantize(packed, values).codes == Codes{0xFE, 0xFE, 0xFE});
  CHECK(quantize(packed, values, test::target_of("sm_100a")).codes == Codes{0xFE, 0x7E, 0xFE});
}

TEST_CASE("Group sglang: the stored scale is amax times fl(1/448) in both modes", "[reference]") {
  std::size_t differing = 0;
  for (std::uint16_t bits = 0x3F80; bits < 0x4380; ++bits) {
    const float amax = bf16_to_float(bits);
    for (const char* arch : {"sm_90a", "sm_100a"}) {
      const Row row = quantize(kSglang, {amax}, test::target_of(arch));
      differing += row.scale == bits_of(amax * float_from_bits(0x3B124925U)) ? 0 : 1;
    }
  }
  CHECK(differing == 0);
  // One place apart from the quotient at, among others, 1e-10.
  CHECK(quantize(kSglang, {0.0F}).scale != bits_of(1e-10F / 448.0F));
}

TEST_CASE("Group sglang: fast codes vanish from amax 2^126 on, precise ones do not",
          "[reference]") {
  const float largest = bf16_to_float(0x7F7F);
  const Row fast = quantize(kSglang, {largest, -largest});
  CHECK(fast.codes == Codes{0x00, 0x80});
  CHECK(fast.scale == bits_of(largest * (1.0F / 448.0F)));
  const Row precise = quantize(kSglang, {largest, -largest}, test::target_of("sm_100a"));
  CHECK(precise.codes == Codes{0x7E, 0xFE});
  CHECK(quantize(kSglang, {bf16_to_float(0x7E7F)}).codes == Codes{0x7E});
  const Row packed = quantize(kSglangUe, {largest, -largest});
  CHECK(packed.scale == 247U);
  CHECK(packed.codes == Codes{0x78, 0xF8});
}

TEST_CASE("Group sglang: every positive bf16 maximum has the exponent of the formula",
          "[reference]") {
  const Descriptor descriptor = parse_descriptor(kSglangUe);
  const Arithmetic fast(MathMode::kFast);
  std::size_t mismatches = 0;
  std::size_t compared = 0;
  for (std::uint16_t bits = 1; bits < 0x7F80; ++bits) {
    const float value = bf16_to_float(bits);
    const std::vector<float> group(16, value);
    const float maximum = group_maximum(Numerics::kSglang, group);
    const Scaling scaling = group_scaling(traits_of(descriptor), fast, maximum);
    // The smallest power of two that is not below max(|x|, 1e-10) / 448, in double.
    const double quotient = std::max(static_cast<double>(value), static_cast<double>(1e-10F)) / 448;
    const int expected = static_cast<int>(std::ceil(std::log2(quotient))) + 127;
    mismatches += scaling.exponent == expected ? 0 : 1;
    ++compared;
  }
  CHECK(compared == 32639);
  CHECK(mismatches == 0);
}

TEST_CASE("Group sglang: maxima of 448 * 2^k are exact powers, the next float is above",
          "[reference]") {
  const Descriptor descriptor = parse_descriptor(kSglangUe);
  const Arithmetic fast(MathMode::kFast);
  std::size_t mismatches = 0;
  for (int k = -40; k <= 100; ++k) {
    const float maximum = std::ldexp(448.0F, k);
    const float next = std::nextafter(maximum, kInf);
    mismatches += group_scaling(traits_of(descriptor), fast, maximum).exponent == 127 + k ? 0 : 1;
    mismatches += group_scaling(traits_of(descriptor), fast, next).exponent == 128 + k ? 0 : 1;
  }
  CHECK(mismatches == 0);
  CHECK(
      quantize(kSglangUe, {bf16_to_float(static_cast<std::uint16_t>(to_bf16(448.0) + 1))}).scale ==
      128U);
}

TEST_CASE("Group sglang: integers truncate, so the largest can fall short", "[reference]") {
  std::size_t short_of = 0;
  for (std::uint16_t bits = 0x3F80; bits < 0x4000; ++bits) {
    const Row row = quantize(kSglang + ",out=int8", {bf16_to_float(bits)});
    REQUIRE((row.codes[0] == 126 || row.codes[0] == 127));
    short_of += row.codes[0] == 126 ? 1 : 0;
  }
  CHECK(short_of > 0);
  CHECK(short_of < 64);
  CHECK(
      quantize(kSglang + ",out=int8", {127.0F, 1.875F, -1.875F, 0.875F}, test::target_of("sm_100a"))
          .codes == Codes{127, 1, 0xFF, 0});
}

TEST_CASE("Group sglang_v2: NaN and zero beside infinity are -448", "[reference]") {
  const std::vector<float> values{1.0F, -1.0F, 0.0F, kInf, -kInf, kNan};
  CHECK(quantize(kV2, {448.0F, kNan}).codes == Codes{0x7E, 0xFE});
  CHECK(quantize(kV2, values).codes == Codes{0x00, 0x80, 0x00, 0xFE, 0xFE, 0xFE});
  CHECK(quantize(kV2 + ",scale=ue8m0", values).codes == Codes{0xFE, 0x7E, 0xFE, 0xFE, 0x7E, 0xFE});
  CHECK(quantize(kV2 + ",scale=ue8m0,in=f16", {0.0F, -0.0F}).codes == Codes{0x00, 0x80});
  CHECK(quantize(kV2 + ",out=int8", {127.0F, kNan}).codes == Codes{127, 0x80});
}

TEST_CASE("Group sglang_v2: honours what its original drops", "[reference]") {
  // Integers with powers of two, and SiLU and masks in every layout.
  const Row integers = quantize(kV2 + ",out=int8,scale=ue8m0", {127.0F, 2.75F, -2.75F});
  CHECK(integers.scale == 127U);
  CHECK(integers.codes == Codes{127, 2, 0xFE});
  test::Call call = test::make_call(kV2 + ",silu=true,schedule=masked", 2, 16, {1});
  call.set(0, 16.0F);  // silu(16) = 16 in bf16
  call.set(16, 2.0F);
  call.run();
  CHECK(call.code(0) == 0x7E);
  CHECK(call.scale_word(0) == bits_of(32.0F * (1.0F / 448.0F)));
  CHECK(call.code(16) == 0xA5);
}

TEST_CASE("Group vllm: the floor is on the scale", "[reference]") {
  CHECK((quantize(kVllm, {0.0F, -0.0F}).scale & 0xFFU) == 94U);
  CHECK(quantize(kVllm, {0.0F, -0.0F}).codes == Codes{0x00, 0x80});
  // sglang and vllm part at amax 448 * 2^-34.
  const float boundary = 0x1.cp-26F;
  CHECK((quantize(kVllm, {boundary}).scale & 0xFFU) == 94U);
  CHECK(quantize(kSglangUe, {boundary}).scale == 93U);
  const float next = bf16_to_float(static_cast<std::uint16_t>(to_bf16(boundary) + 1));
  CHECK((quantize(kVllm, {next}).scale & 0xFFU) == 94U);
  CHECK(quantize(kSglangUe, {next}).scale == 94U);
  // In f16, where the original of sglang fails, both are right.
  const Row vllm = quantize(kVllm + ",in=f16", {0x1p-14F, -0x1p-15F});
  const Row sglang = quantize(kSglangUe + ",in=f16", {0x1p-14F, -0x1p-15F});
  CHECK((vllm.scale & 0xFFU) == sglang.scale);
  CHECK(vllm.codes == sglang.codes);
}

TEST_CASE("Group vllm: equals sglang for every larger bf16 maximum", "[reference]") {
  const Descriptor vllm = parse_descriptor(kVllm);
  const Descriptor sglang = parse_descriptor(kSglangUe);
  const Arithmetic fast(MathMode::kFast);
  const Arithmetic precise(MathMode::kPrecise);
  std::size_t differing_below = 0;
  std::size_t differing_above = 0;
  for (std::uint16_t bits = 1; bits < 0x7F80; ++bits) {
    const float maximum = std::max(bf16_to_float(bits), 1e-10F);
    const bool same = group_scaling(traits_of(vllm), precise, maximum).exponent ==
                      group_scaling(traits_of(sglang), fast, maximum).exponent;
    (bf16_to_float(bits) <= 0x1.cp-26F ? differing_below : differing_above) += same ? 0 : 1;
  }
  CHECK(differing_below == 13024);
  CHECK(differing_above == 0);
}

TEST_CASE("Group vllm: a constant of 672 rounds the byte up", "[reference]") {
  const Row row = quantize(kVllm, std::vector<float>(128, 672.0F));
  CHECK((row.scale & 0xFFU) == 128U);
  CHECK(row.codes == Codes(128, 0x7A));  // 336 is a tie between 320 and 352
}

TEST_CASE("Group vllm: NaN and infinity are -448, finite values beside infinity zero",
          "[reference]") {
  const Row row = quantize(kVllm, {1.0F, -1.0F, 0.0F, kInf, -kInf, kNan});
  CHECK((row.scale & 0xFFU) == 255U);
  CHECK(row.codes == Codes{0x00, 0x80, 0x00, 0xFE, 0xFE, 0xFE});
  const Row integers = quantize(kVllm + ",out=int8", {127.0F, -127.0F, kNan, 1.875F});
  CHECK(integers.codes == Codes{127, 0x81, 0x80, 1});
}

TEST_CASE("Group: SiLU at its edges on sm_90", "[reference]") {
  test::Call call = test::make_call(kSglang + ",silu=true", 1, 16);
  const std::vector<float> gates{-kInf, -88.0F, -9984.0F, 0.0F, 60.0F, kNan, 60.0F, 60.0F};
  const std::vector<float> ups{1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 0.0F, -1.0F};
  for (std::size_t i = 0; i < gates.size(); ++i) {
    call.set(i, gates[i]);
    call.set(16 + i, ups[i]);
  }
  call.run();
  Codes codes;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    codes.push_back(call.code(i));
  }
  CHECK(codes == Codes{0x7E, 0x80, 0x80, 0x00, 0x7E, 0x7E, 0x00, 0xFE});
  CHECK(call.scale_word(0) == bits_of(60.0F * (1.0F / 448.0F)));
}

TEST_CASE("Group: SiLU forms agree to a few places over arch, math and family", "[reference]") {
  for (const char* numerics : {"sglang", "sglang_v2", "exact"}) {
    for (const char* arch : {"sm_90a", "sm_100a"}) {
      for (const MathMode math : {MathMode::kFast, MathMode::kPrecise}) {
        test::Call call = test::make_call(
            "per_token_group_quant:silu=true,numerics=" + std::string(numerics), 1, 128);
        call.target = test::target_of(arch, math);
        for (std::size_t i = 0; i < 128; ++i) {
          call.set(i, (static_cast<float>(i) - 64) / 8);
          call.set(128 + i, 1.0F);
        }
        call.run();
        const float scale = float_from_bits(call.scale_word(0));
        double worst = 0;
        for (std::size_t i = 0; i < 128; ++i) {
          const double gate = (static_cast<double>(i) - 64) / 8;
          const double expected = gate / (1 + std::exp(-gate));
          const double actual =
              e4m3_to_float(static_cast<std::uint8_t>(call.code(i))) * static_cast<double>(scale);
          const double step =
              std::max(std::fabs(expected) / 16, static_cast<double>(scale) * 0x1p-9);
          worst = std::max(worst, std::fabs(actual - expected) / step);
        }
        CAPTURE(numerics, arch, to_string(math), worst);
        CHECK(worst < 1.2);  // half a code, and the roundings before it
      }
    }
  }
}
