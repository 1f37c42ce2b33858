// SPDX-License-Identifier: Apache-2.0
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>
#include <quantjit/traits.hpp>

#include <string>
#include <vector>

using namespace quantjit;
using quantjit::test::ContainsSubstring;

namespace {

/// An impossible combination and the two keys, with values, that the message must name.
struct Impossible {
  std::string items;
  std::string cause;
  std::string allowed;
};

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_descriptor(text));
  } catch (const InvalidArgument& failure) {
    return failure.what();
  }
  return {};
}

}  // namespace

TEST_CASE("Traits: each class of impossible combination names both keys", "[traits]") {
  const std::string vllm = "numerics=vllm,scale=ue8m0,layout=col";
  const std::string mxfp8 = "numerics=exact,scale=e8m0,group=32";
  const std::vector<Impossible> table{
      {"out=int8,scale=ue8m0", "numerics=sglang with out=int8", "scale=f32"},
      {"out=int8,scale=f32_pow2", "numerics=sglang with out=int8", "scale=f32"},
      {"in=f32,silu=true", "numerics=sglang with in=f32", "silu=false"},
      {"numerics=sglang_v2,in=f32", "numerics=sglang_v2", "in=bf16|f16"},
      {"numerics=sglang_v2,group=256", "numerics=sglang_v2", "group=16|32|64|128"},
      {vllm + ",in=f32", "numerics=vllm", "in=bf16|f16"},
      {vllm + ",group=64", "numerics=vllm", "group=128"},
      {"numerics=vllm,layout=col", "numerics=vllm", "scale=ue8m0"},
      {"numerics=vllm,layout=col,scale=f32_pow2", "numerics=vllm", "scale=ue8m0"},
      {"numerics=vllm,scale=ue8m0", "numerics=vllm", "layout=col"},
      {vllm + ",silu=true", "numerics=vllm", "silu=false"},
      {vllm + ",schedule=masked", "numerics=vllm", "schedule=flat"},
      {"fill=zero", "fill=zero", "numerics=vllm"},
      {"fill=zero,numerics=sglang_v2", "fill=zero", "numerics=vllm"},
      {"fill=zero,numerics=exact", "fill=zero", "numerics=vllm"},
      {"scale=e8m0,group=32", "scale=e8m0", "numerics=exact"},
      {"scale=e8m0,group=32,numerics=sglang_v2", "scale=e8m0", "numerics=exact"},
      {mxfp8 + ",out=int8", "scale=e8m0", "out=e4m3"},
      {"numerics=exact,scale=e8m0", "scale=e8m0", "group=32"},
      {mxfp8 + ",layout=col", "scale=e8m0", "layout=row|swizzle128x4"},
      {"layout=swizzle128x4", "layout=swizzle128x4", "scale=e8m0"},
      {"layout=swizzle128x4,scale=ue8m0,numerics=exact", "layout=swizzle128x4", "scale=e8m0"},
      {"numerics=exact,math=fast", "numerics=exact", "math=auto|precise"},
      {vllm + ",math=fast", "numerics=vllm", "math=auto|precise"},
  };
  for (const Impossible& entry : table) {
    CAPTURE(entry.items);
    const std::string message = refusal("per_token_group_quant:" + entry.items);
    CHECK_THAT(message, ContainsSubstring(entry.cause));
    CHECK_THAT(message, ContainsSubstring(entry.allowed));
  }
  CHECK_THAT(refusal("per_token_quant:numerics=exact,zero_rows=legacy"),
             ContainsSubstring("zero_rows is legacy, but numerics=exact allows only "
                               "zero_rows=zero"));
  CHECK_THAT(refusal("per_token_quant:numerics=exact,math=fast"),
             ContainsSubstring("math is fast, but numerics=exact"));
}

TEST_CASE("Traits: what the contract allows is allowed", "[traits]") {
  const std::vector<std::string> table{
      "in=f32,scale=f32_pow2,group=256,schedule=masked",
      "silu=true,schedule=masked,out=int8",
      "numerics=sglang_v2,out=int8,scale=ue8m0,silu=true,schedule=masked,layout=row",
      "numerics=sglang_v2,group=16,scale=f32_pow2,layout=col",
      "numerics=vllm,scale=ue8m0,layout=col,out=int8,fill=none",
      "numerics=exact,in=f32,silu=true,out=int8,scale=ue8m0,layout=col,group=256,schedule=masked",
      "numerics=exact,scale=e8m0,group=32,layout=swizzle128x4,silu=true,schedule=masked,in=f32",
      "numerics=exact,math=precise",
  };
  for (const std::string& items : table) {
    CAPTURE(items);
    CHECK_NOTHROW(parse_descriptor("per_token_group_quant:" + items));
  }
}

TEST_CASE("Traits: a struct with a value that is no enumerator is refused by key", "[traits]") {
  PerTokenGroupQuant traits;
  traits.in = DType::kInt8;
  CHECK_THROWS_WITH(validate(traits), ContainsSubstring("in=bf16|f16|f32"));
  traits = {};
  traits.group = 96;
  CHECK_THROWS_WITH(validate(traits), ContainsSubstring("group is 96, but"));
  traits = {};
  traits.numerics = static_cast<Numerics>(200);
  CHECK_THROWS_WITH(validate(traits), ContainsSubstring("numerics is 200, but"));
  PerTokenQuant token;
  token.numerics = Numerics::kVllm;
  CHECK_THROWS_AS(validate(token), InvalidArgument);
  token = {};
  token.numerics = Numerics::kExact;  // with the struct's default of zero_rows=legacy
  CHECK_THROWS_WITH(validate(token), ContainsSubstring("zero_rows"));
}

TEST_CASE("Traits: math resolves by descriptor, preference, then target", "[traits]") {
  const Arch hopper = Arch::parse("sm_90a");
  const Arch blackwell = Arch::parse("sm_100a");
  Descriptor descriptor{PerTokenQuant{}, MathMode::kAuto};
  CHECK(resolve_math(descriptor, hopper) == MathMode::kFast);
  CHECK(resolve_math(descriptor, blackwell) == MathMode::kPrecise);
  CHECK(resolve_math(descriptor, Arch::parse("sm_120f")) == MathMode::kPrecise);
  CHECK(resolve_math(descriptor, hopper, MathMode::kPrecise) == MathMode::kPrecise);
  CHECK(resolve_math(descriptor, blackwell, MathMode::kFast) == MathMode::kFast);
  descriptor.math = MathMode::kPrecise;
  CHECK(resolve_math(descriptor, hopper, MathMode::kFast) == MathMode::kPrecise);
  descriptor.math = MathMode::kFast;
  CHECK(resolve_math(descriptor, blackwell, MathMode::kPrecise) == MathMode::kFast);
}

TEST_CASE("Traits: exact and vllm are precise whatever is preferred", "[traits]") {
  for (const char* text : {"per_token_group_quant:numerics=exact", "per_token_quant:numerics=exact",
                           "per_token_group_quant:numerics=vllm,scale=ue8m0,layout=col"}) {
    Descriptor descriptor = parse_descriptor(text);
    for (const char* arch : {"sm_90a", "sm_100a"}) {
      CHECK(resolve_math(descriptor, Arch::parse(arch), MathMode::kFast) == MathMode::kPrecise);
    }
    descriptor.math = MathMode::kFast;
    CHECK_THROWS_AS(resolve_math(descriptor, Arch::parse("sm_90a")), InvalidArgument);
  }
}
