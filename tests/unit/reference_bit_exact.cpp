// SPDX-License-Identifier: Apache-2.0
#include "tests/support/catch.hpp"
#include "tests/unit/reference_fixture.hpp"

#include <quantjit/reference.hpp>

using namespace quantjit;
using quantjit::test::target_of;

namespace {

bool bit_exact(const char* text, const char* arch, MathMode math = MathMode::kAuto) {
  return reference::is_bit_exact(parse_descriptor(text).traits, target_of(arch, math));
}

}  // namespace

TEST_CASE("BitExact: everything is on fast sm_90", "[reference]") {
  for (const Traits& traits : enumerate_traits()) {
    CHECK(reference::is_bit_exact(traits, target_of("sm_90a")));
  }
}

TEST_CASE("BitExact: exact and vllm are everywhere, whatever math is preferred", "[reference]") {
  for (const char* arch : {"sm_90a", "sm_100a", "sm_120f"}) {
    for (const MathMode math : {MathMode::kAuto, MathMode::kFast, MathMode::kPrecise}) {
      CHECK(bit_exact("per_token_group_quant:numerics=exact,silu=true", arch, math));
      CHECK(bit_exact("per_token_quant:numerics=exact", arch, math));
      CHECK(bit_exact("per_token_group_quant:numerics=vllm,scale=ue8m0,layout=col", arch, math));
    }
  }
}

TEST_CASE("BitExact: approximate SiLU is only where it was recorded", "[reference]") {
  for (const char* text :
       {"per_token_group_quant:silu=true", "per_token_group_quant:silu=true,numerics=sglang_v2"}) {
    CHECK(bit_exact(text, "sm_90a", MathMode::kFast));
    CHECK_FALSE(bit_exact(text, "sm_90a", MathMode::kPrecise));
    CHECK_FALSE(bit_exact(text, "sm_100a", MathMode::kFast));
    CHECK_FALSE(bit_exact(text, "sm_100a", MathMode::kPrecise));
  }
}

TEST_CASE("BitExact: fast division is only where it was recorded", "[reference]") {
  for (const char* text : {"per_token_group_quant", "per_token_quant"}) {
    CHECK(bit_exact(text, "sm_90a", MathMode::kPrecise));
    CHECK(bit_exact(text, "sm_100a", MathMode::kPrecise));
    CHECK_FALSE(bit_exact(text, "sm_100a", MathMode::kFast));
  }
  CHECK(bit_exact("per_token_group_quant:scale=ue8m0", "sm_100a", MathMode::kFast));
  CHECK(bit_exact("per_token_group_quant:scale=f32_pow2", "sm_100a", MathMode::kFast));
}
