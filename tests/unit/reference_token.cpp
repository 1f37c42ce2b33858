// SPDX-License-Identifier: Apache-2.0
// per_token_quant at its edges.
#include "src/reference/sm90_tables.hpp"
#include "src/reference/soft_float.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reference_fixture.hpp"

#include <quantjit/error.hpp>

#include <cmath>

using namespace quantjit;
using namespace quantjit::reference;
using quantjit::test::Call;
using quantjit::test::kInf;
using quantjit::test::kNan;
using quantjit::test::make_call;
using quantjit::test::quantize;
using quantjit::test::Row;

namespace {

using Codes = std::vector<int>;

const std::string kToken = "per_token_quant:pdl=true";
const std::string kGuarded = "per_token_quant:zero_rows=zero";

/// One row through the original's warp path: one multiprocessor, sixteen rows.
Codes warp_codes(const std::string& text, const std::vector<float>& values) {
  Call call = make_call(text, 16, static_cast<std::int64_t>(values.size()));
  call.target.sm_count = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    call.set(i, values[i]);
  }
  call.run();
  Codes codes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes.push_back(call.code(i));
  }
  return codes;
}

}  // namespace

TEST_CASE("Token: zero rows differ below and from 16 rows a multiprocessor on", "[reference]") {
  const auto code_of_zero = [](std::int64_t tokens, int sm_count) {
    Call call = make_call(kToken, tokens, 4);
    call.target.sm_count = sm_count;
    call.set(0, -0.0F);
    call.run();
    CHECK(call.scale_word(0) == 0U);
    return std::pair(call.code(0), call.code(1));
  };
  for (const int sm_count : {1, 132, 148}) {
    const std::int64_t threshold = std::int64_t{16} * sm_count;
    CHECK(code_of_zero(1, sm_count) == std::pair(0x7E, 0x7E));
    CHECK(code_of_zero(threshold - 1, sm_count) == std::pair(0x7E, 0x7E));
    CHECK(code_of_zero(threshold, sm_count) == std::pair(0x80, 0x00));
    CHECK(code_of_zero(threshold + 1, sm_count) == std::pair(0x80, 0x00));
  }
}

TEST_CASE("Token: zero_rows=zero guards every row count", "[reference]") {
  for (const char* arch : {"sm_90a", "sm_100a"}) {
    const Row row = quantize(kGuarded, {0.0F, -0.0F, kNan, 0.0F}, test::target_of(arch));
    CHECK(row.scale == 0U);
    CHECK(row.codes == Codes{0x00, 0x80, 0x7E, 0x00});
  }
}

TEST_CASE("Token: rows that are not zero have the same bits on both paths", "[reference]") {
  const std::vector<float> values{1.0F, -0.37109375F, 0.0F, 3.0F, kNan, -2.921875F, 0.125F, 1e-3F};
  std::vector<float> held;
  for (const float value : values) {
    held.push_back(bf16_to_float(to_bf16(value)));
  }
  CHECK(quantize(kToken, held).codes == warp_codes(kToken, held));
}

TEST_CASE("Token: fast multiplies by the reciprocals, precise divides", "[reference]") {
  std::size_t differing_scales = 0;
  for (std::uint16_t bits = 0x3F80; bits < 0x4000; ++bits) {
    const float maximum = bf16_to_float(bits);
    const std::vector<float> row{maximum, 0, 0, 0};
    const Row fast = quantize(kToken, row);
    const Row precise = quantize(kToken, row, test::target_of("sm_100a"));
    CHECK(fast.scale == bits_of(maximum * (1.0F / 448.0F)));
    CHECK(precise.scale == bits_of(maximum / 448.0F));
    differing_scales += fast.scale == precise.scale ? 0 : 1;
  }
  CHECK(differing_scales > 0);
}

TEST_CASE("Token: ties beside 448 round to even", "[reference]") {
  const Row row =
      quantize(kToken, {448.0F, 1.0625F, -1.0625F, 1.1875F, -1.1875F, 1.375F, 17.0F, -19.0F});
  CHECK(row.scale == bits_of(1.0F));
  CHECK(row.codes == Codes{0x7E, 0x38, 0xB8, 0x3A, 0xBA, 0x3B, 0x58, 0xDA});
}

TEST_CASE("Token: NaN is +448 and does not enter the scale", "[reference]") {
  const Row one = quantize(kToken, {448.0F, kNan, -448.0F, 0.0F});
  CHECK(one.scale == bits_of(1.0F));
  CHECK(one.codes == Codes{0x7E, 0x7E, 0xFE, 0x00});
  const Row all = quantize(kToken, {kNan, kNan, kNan, kNan});
  CHECK(all.scale == 0U);
  CHECK(all.codes == Codes(4, 0x7E));
  CHECK(warp_codes(kToken, {kNan, kNan, kNan, kNan}) == Codes(4, 0x7E));
}

TEST_CASE("Token: infinity makes the scale infinite and itself +448", "[reference]") {
  for (const float infinity : {kInf, -kInf}) {
    const Row row = quantize(kToken, {1.0F, -1.0F, infinity, 0.0F});
    CHECK(row.scale == bits_of(kInf));
    CHECK(row.codes == Codes{0x00, 0x80, 0x7E, 0x00});
  }
}

TEST_CASE("Token: subnormal rows flush under fast math and overflow under precise", "[reference]") {
  const std::vector<float> values{0x1p-130F, -0x1p-131F, 0.0F, 0x1p-133F};
  for (const char* in : {",in=bf16", ",in=f32"}) {
    const Row fast = quantize(kToken + in, values);
    CHECK(fast.scale == 0U);
    CHECK(fast.codes == Codes(4, 0x7E));
    CHECK(warp_codes(kToken + in, values) == Codes{0x00, 0x80, 0x00, 0x00});
    // Precise: 2^-130 / 448 is a subnormal whose reciprocal is infinite.
    const Row precise = quantize(kToken + in, values, test::target_of("sm_100a"));
    CHECK(precise.scale == bits_of(0x1p-130F / 448.0F));
    CHECK(precise.scale != 0U);
    CHECK(precise.codes == Codes{0x7E, 0xFE, 0x7E, 0x7E});
  }
  // f16 subnormals are normal in f32.
  const Row f16 = quantize(kToken + ",in=f16", {0x1p-24F, -0x1p-24F, 0.0F, 0.0F});
  CHECK(f16.codes == Codes{0x7E, 0xFE, 0x00, 0x00});
}

TEST_CASE("Token: a tiny or a huge f32 row", "[reference]") {
  const std::string f32 = kToken + ",in=f32";
  const Row tiny = quantize(f32, {1e-12F, 1e-12F, -1e-12F, 0.0F});
  CHECK(tiny.scale == bits_of(1e-12F * (1.0F / 448.0F)));
  CHECK(tiny.codes == Codes{0x7E, 0x7E, 0xFE, 0x00});
  const float largest = std::numeric_limits<float>::max();
  CHECK(quantize(f32, {largest, -largest, 0.0F, 1.0F}).codes == Codes{0x7E, 0xFE, 0x00, 0x00});
  // 1e-38 / 448 is subnormal: fast flushes it to a zero scale, as a thread block sees it.
  const Row edge = quantize(f32, {1e-38F * 2, 0.0F, 0.0F, 0.0F});
  CHECK(edge.scale == 0U);
  CHECK(edge.codes == Codes(4, 0x7E));
}

TEST_CASE("Token exact: zero rows take the floor and signed zeros", "[reference]") {
  const Row row = quantize(kToken + ",numerics=exact", {0.0F, -0.0F, 0.0F, 0.0F});
  CHECK(row.scale == 0x2A7B5123U);
  CHECK(row.codes == Codes{0x00, 0x80, 0x00, 0x00});
  const Row special = quantize(kToken + ",numerics=exact", {1.0F, kNan, kInf, -kInf});
  CHECK(special.scale == bits_of(1.0F / 448.0F));
  CHECK(special.codes == Codes{0x7E, 0x7F, 0x7E, 0xFE});
}

TEST_CASE("Token: rows beyond the tokens keep their contents", "[reference]") {
  Call call = make_call(kToken + ",in=f32", 3, 12, {}, 2);
  call.run();
  for (std::size_t i = 0; i < call.buffers.q.size(); ++i) {
    CHECK((call.code(i) == 0xA5) == (i >= 36));
  }
  CHECK(call.scale_word(2) == 0U);
  CHECK(call.scale_word(3) == 0x7FC00000U);
  CHECK(call.scale_word(4) == 0x7FC00000U);
}

TEST_CASE("Token: hidden sizes that are only multiples of four work", "[reference]") {
  for (const std::int64_t hidden : {4, 8, 12, 1076, 1368, 8196}) {
    Call call = make_call(kToken + ",in=f16", 2, hidden);
    call.set(static_cast<std::size_t>(hidden) - 1, 448.0F);
    call.run();
    CHECK(call.code(static_cast<std::size_t>(hidden) - 1) == 0x7E);
    CHECK(call.scale_word(0) == bits_of(1.0F));
  }
}

TEST_CASE("Token: operands that break the contract are refused by name", "[reference]") {
  const auto refusal = [](auto&& change) {
    Call call = make_call(kToken, 3, 8);
    change(call.buffers);
    try {
      call.run();
    } catch (const InvalidArgument& failure) {
      return failure.parameter();
    }
    return std::string();
  };
  using Buffers = io::ProblemBuffers;
  CHECK(refusal([](Buffers& b) { b.input_view.shape[1] = 6; }) == "input.shape[1]");
  CHECK(refusal([](Buffers& b) { b.input_view.shape[1] = 0; }) == "input.shape[1]");
  CHECK(refusal([](Buffers& b) { b.q_view.shape[0] = 2; }) == "output_q.shape[0]");
  CHECK(refusal([](Buffers& b) { b.q_view.shape[1] = 4; }) == "output_q.shape[1]");
  CHECK(refusal([](Buffers& b) { b.s_view.shape[0] = 2; }) == "output_s.shape[0]");
  CHECK(refusal([](Buffers& b) { b.s_view.dtype = DType::kInt32; }) == "output_s.dtype");
  CHECK(refusal([](Buffers& b) { b.q_view.strides[1] = 2; }) == "output_q.strides[1]");
}
