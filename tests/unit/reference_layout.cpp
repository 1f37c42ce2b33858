// SPDX-License-Identifier: Apache-2.0
// per_token_group_quant: where bytes are written and where they are not.
#include "src/reference/soft_float.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/reference_fixture.hpp"

#include <quantjit/error.hpp>

#include <algorithm>
#include <cmath>

using namespace quantjit;
using namespace quantjit::reference;
using quantjit::test::Call;
using quantjit::test::ContainsSubstring;
using quantjit::test::make_call;

namespace {

constexpr std::uint32_t kPoisonWord = 0xA5A5A5A5U;
constexpr std::uint32_t kPoisonFloat = 0x7FC00000U;
constexpr int kPoison = 0xA5;

const std::string kOp = "per_token_group_quant:";

/// Fills a row-major input so that group g of row r (over all experts) holds 448 * 2^(r + 2g) in
/// its first element: scale byte 127 + r + 2g.
void number_groups(Call& call) {
  const auto& traits = std::get<PerTokenGroupQuant>(call.problem.traits);
  const std::int64_t groups = call.problem.hidden / traits.group;
  const std::int64_t rows = call.problem.tokens * std::max<std::int64_t>(call.problem.experts, 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t group = 0; group < groups; ++group) {
      const auto at = static_cast<std::size_t>(row * call.problem.hidden + group * traits.group);
      call.set(at, 448.0F * static_cast<float>(1U << (row + 2 * group)));
    }
  }
}

int byte_of(std::uint32_t word, std::size_t byte) {
  return static_cast<int>(word >> (8 * byte) & 0xFFU);
}

}  // namespace

TEST_CASE("Layout: ue8m0 packs four groups a word and zeroes the tail in rows", "[reference]") {
  for (const std::int64_t groups : {1, 2, 3, 4, 5, 6}) {
    Call call = make_call(kOp + "group=16,scale=ue8m0", 3, groups * 16);
    number_groups(call);
    call.run();
    const std::int64_t words = (groups + 3) / 4;
    REQUIRE(call.buffers.s.size() == static_cast<std::size_t>(3 * words * 4));
    for (std::int64_t token = 0; token < 3; ++token) {
      for (std::int64_t byte = 0; byte < words * 4; ++byte) {
        const int expected = byte < groups ? static_cast<int>(127 + token + 2 * byte) : 0;
        CHECK(call.scale_byte(static_cast<std::size_t>(token * words * 4 + byte)) == expected);
      }
    }
  }
}

TEST_CASE("Layout: ue8m0 columns keep their pad rows", "[reference]") {
  for (const char* numerics : {"sglang", "sglang_v2", "exact"}) {
    Call call = make_call(kOp + "group=16,scale=ue8m0,layout=col,numerics=" + numerics, 3, 80);
    number_groups(call);
    call.run();
    REQUIRE(call.buffers.s.size() == 2 * 4 * 4);  // two packs of four rows
    for (std::size_t token = 0; token < 3; ++token) {
      const std::uint32_t first = call.scale_word(token);
      const std::uint32_t second = call.scale_word(4 + token);
      for (std::size_t byte = 0; byte < 4; ++byte) {
        CHECK(byte_of(first, byte) == static_cast<int>(127 + token + 2 * byte));
      }
      CHECK(second == 127 + token + 8);
    }
    CHECK(call.scale_word(3) == kPoisonWord);
    CHECK(call.scale_word(7) == kPoisonWord);
  }
}

TEST_CASE("Layout: float columns keep their pad rows", "[reference]") {
  for (const char* scale : {"f32", "f32_pow2"}) {
    Call call = make_call(kOp + "group=32,layout=col,scale=" + scale, 5, 64);
    number_groups(call);
    call.run();
    REQUIRE(call.buffers.s.size() == 2 * 8 * 4);
    for (std::size_t group = 0; group < 2; ++group) {
      for (std::size_t token = 0; token < 8; ++token) {
        const auto power = static_cast<float>(1U << (token + 2 * group));
        CHECK(call.scale_word(group * 8 + token) == (token < 5 ? bits_of(power) : kPoisonFloat));
      }
    }
  }
}

TEST_CASE("Layout: rows of q beyond the tokens are left alone", "[reference]") {
  Call call = make_call(kOp + "group=16", 2, 32, {}, 3);
  call.run();
  for (std::size_t i = 0; i < call.buffers.q.size(); ++i) {
    CHECK(call.code(i) == (i < 64 ? 0x00 : kPoison));
  }
}

TEST_CASE("Layout: masked rows at and beyond masked_m are left alone", "[reference]") {
  for (const DType mask : {DType::kInt32, DType::kInt64}) {
    for (const char* layout : {"row", "col"}) {
      Call call = make_call(kOp + "group=16,schedule=masked,layout=" + layout, 4, 32, {2, 0, 4});
      call.problem.mask_dtype = mask;
      call.buffers = io::make_buffers(call.problem);
      call.run();
      std::size_t wrong = 0;
      const std::vector<std::size_t> live{2, 0, 4};
      for (std::size_t expert = 0; expert < 3; ++expert) {
        for (std::size_t token = 0; token < 4; ++token) {
          const bool written = token < live[expert];
          const std::size_t row = expert * 4 + token;
          const bool scale_written =
              call.scale_word(layout[0] == 'r' ? row * 2 : expert * 8 + token) != kPoisonFloat;
          wrong += scale_written == written ? 0 : 1;
          const auto begin = call.buffers.q.begin() + static_cast<std::ptrdiff_t>(row * 32);
          const bool all_poison = std::all_of(
              begin, begin + 32, [](std::byte byte) { return byte == std::byte{kPoison}; });
          wrong += all_poison != written ? 0 : 1;
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("Layout: masked_m is clamped to the rows there are, and int64 is read in full",
          "[reference]") {
  const std::int64_t high_word = std::int64_t{1} << 32U;
  const auto rows_written = [](std::int64_t count, DType mask) {
    Call call = make_call(kOp + "group=16,schedule=masked", 4, 16, {0});
    call.problem.mask_dtype = mask;
    call.problem.masked_m = {count};
    call.buffers = io::make_buffers(call.problem);
    call.run();
    std::int64_t written = 0;
    for (std::size_t token = 0; token < 4; ++token) {
      written += call.scale_word(token) != kPoisonFloat ? 1 : 0;
    }
    return written;
  };
  CHECK(rows_written(4, DType::kInt32) == 4);
  CHECK(rows_written(5, DType::kInt32) == 4);
  CHECK(rows_written(-1, DType::kInt32) == 0);
  CHECK(rows_written(std::numeric_limits<std::int32_t>::max(), DType::kInt32) == 4);
  CHECK(rows_written(std::numeric_limits<std::int32_t>::min(), DType::kInt32) == 0);
  CHECK(rows_written(high_word + 1, DType::kInt64) == 4);  // its low word alone would say 1
  CHECK(rows_written(-high_word + 1, DType::kInt64) == 0);
  CHECK(rows_written(3, DType::kInt64) == 3);
}

TEST_CASE("Layout: vllm zeroes pad rows of q and pad words inside the tensor", "[reference]") {
  const std::string vllm = kOp + "numerics=vllm,scale=ue8m0,layout=col";
  for (const std::int64_t tokens : {1, 2, 3, 5, 127}) {
    for (const std::int64_t extra : {0, 1, 2, 6}) {
      CAPTURE(tokens, extra);
      Call call = make_call(vllm, tokens, 5 * 128, {}, extra);
      call.run();
      const std::int64_t aligned = (tokens + 3) / 4 * 4;
      std::size_t wrong = 0;
      for (std::int64_t row = 0; row < tokens + extra; ++row) {
        const int expected =
            row < std::max(tokens, std::min(tokens + extra, aligned)) ? 0 : kPoison;
        for (std::int64_t column = 0; column < 640; ++column) {
          wrong += call.code(static_cast<std::size_t>(row * 640 + column)) == expected ? 0 : 1;
        }
      }
      for (std::int64_t word = 0; word < 2 * aligned; ++word) {
        const std::int64_t token = word % aligned;
        const bool last = word >= aligned;
        std::uint32_t expected = last ? 0x0000005EU : 0x5E5E5E5EU;  // a zero group's byte is 94
        if (token >= tokens) {
          expected = last ? kPoisonWord : 0;
        }
        wrong += call.scale_word(static_cast<std::size_t>(word)) == expected ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("Layout: vllm with fill=none leaves padding alone but zeroes pack tails", "[reference]") {
  Call call = make_call(kOp + "numerics=vllm,scale=ue8m0,layout=col,fill=none", 3, 5 * 128, {}, 1);
  call.run();
  CHECK(call.scale_word(3) == kPoisonWord);
  CHECK(call.scale_word(4) == 0x5EU);
  CHECK(call.scale_word(7) == kPoisonWord);
  CHECK(call.code(3 * 640) == kPoison);
}

TEST_CASE("Layout: strided input, codes and scales land where the strides say", "[reference]") {
  Call call = make_call(kOp + "group=16", 3, 16);
  for (std::size_t row = 0; row < 3; ++row) {
    call.set(row * 16, 448.0F * static_cast<float>(1U << row));
  }
  // Every other row of wider buffers, last row first.
  std::vector<std::byte> wide_q(3 * 48, std::byte{kPoison});
  std::vector<float> wide_s(3 * 4, -1.0F);
  call.buffers.q_view = TensorView::strided(wide_q.data() + 96, DType::kE4M3, {3, 16}, {-48, 1});
  call.buffers.s_view = TensorView::strided(wide_s.data(), DType::kF32, {3, 1}, {4, 1});
  call.run();
  CHECK(std::to_integer<int>(wide_q[96]) == 0x7E);
  CHECK(std::to_integer<int>(wide_q[0]) == 0x7E);
  CHECK(std::to_integer<int>(wide_q[16]) == kPoison);
  CHECK(wide_s == std::vector<float>{1, -1, -1, -1, 2, -1, -1, -1, 4, -1, -1, -1});
}

TEST_CASE("Layout: e8m0 rows hold one byte a group", "[reference]") {
  Call call = make_call(kOp + "numerics=exact,scale=e8m0,group=32", 2, 96);
  number_groups(call);
  call.run();
  REQUIRE(call.buffers.s.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(call.scale_byte(i) == static_cast<int>(127 + i / 3 + 2 * (i % 3)));
  }
}

TEST_CASE("Layout: swizzled tiles hold every scale once and zeros elsewhere", "[reference]") {
  constexpr std::size_t kTokens = 131;  // two tiles of rows, the second with three of them
  constexpr std::size_t kGroups = 6;    // two tiles of columns, the second half empty
  Call call = make_call(kOp + "numerics=exact,scale=e8m0,group=32,layout=swizzle128x4", kTokens,
                        kGroups * 32);
  for (std::size_t row = 0; row < kTokens; ++row) {
    for (std::size_t group = 0; group < kGroups; ++group) {
      const int exponent = static_cast<int>(row % 60 + group * 9) - 60;
      call.set(row * kGroups * 32 + group * 32, std::ldexp(448.0F, exponent + 35));
    }
  }
  call.run();
  REQUIRE(call.buffers.s.size() == 2 * 2 * 512);
  std::vector<int> expected(call.buffers.s.size(), 0);
  for (std::size_t row = 0; row < kTokens; ++row) {
    for (std::size_t group = 0; group < kGroups; ++group) {
      // The tile, then 16 bytes a row of 32: the rows 32 apart stand beside one another.
      const std::size_t tile = row / 128 * 2 + group / 4;
      const std::size_t at = tile * 512 + row % 32 * 16 + row / 32 % 4 * 4 + group % 4;
      expected[at] = static_cast<int>(127 + row % 60 + group * 9) - 25;
    }
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    wrong += call.scale_byte(i) == expected[i] ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("Layout: masked swizzled experts fill the tiles they reach and no others",
          "[reference]") {
  Call call = make_call(kOp +
                            "numerics=exact,scale=e8m0,group=32,layout=swizzle128x4,"
                            "schedule=masked",
                        256, 32, {0, 1, 129});
  call.run();
  REQUIRE(call.buffers.s.size() == 3 * 1024);
  const auto count = [&](std::size_t tile, int value) {
    std::size_t found = 0;
    for (std::size_t i = tile * 512; i < (tile + 1) * 512; ++i) {
      found += call.scale_byte(i) == value ? 1 : 0;
    }
    return found;
  };
  constexpr int kZeroGroup = 85;
  CHECK(count(0, kPoison) == 512);
  CHECK(count(1, kPoison) == 512);
  CHECK(count(2, kZeroGroup) == 1);
  CHECK(count(2, 0) == 511);
  CHECK(count(3, kPoison) == 512);
  CHECK(count(4, kZeroGroup) == 128);
  CHECK(count(4, 0) == 384);
  CHECK(count(5, kZeroGroup) == 1);
  CHECK(count(5, 0) == 511);
}

TEST_CASE("Layout: empty work writes nothing", "[reference]") {
  for (const auto& [tokens, hidden] : {std::pair<std::int64_t, std::int64_t>{0, 64},
                                       std::pair<std::int64_t, std::int64_t>{4, 0}}) {
    Call call = make_call(kOp + "group=16,scale=ue8m0,layout=col", tokens, hidden, {}, 2);
    CHECK_NOTHROW(call.run());
    CHECK(std::all_of(call.buffers.q.begin(), call.buffers.q.end(),
                      [](std::byte byte) { return byte == std::byte{kPoison}; }));
  }
  Call masked = make_call(kOp + "schedule=masked,group=16", 4, 16, {0, 0});
  masked.run();
  CHECK(masked.code(0) == kPoison);
}

TEST_CASE("Layout: operands that do not fit the traits are refused by name", "[reference]") {
  const auto refusal = [](const std::string& text, auto&& change) {
    Call call = make_call(text, 2, 32);
    change(call.buffers);
    try {
      call.run();
    } catch (const InvalidArgument& failure) {
      return failure.parameter();
    }
    return std::string();
  };
  using Buffers = io::ProblemBuffers;
  const std::string row = kOp + "group=16";
  CHECK(refusal(row, [](Buffers& b) { b.input_view.dtype = DType::kF16; }) == "input.dtype");
  CHECK(refusal(row, [](Buffers& b) { b.q_view.dtype = DType::kInt8; }) == "output_q.dtype");
  CHECK(refusal(row, [](Buffers& b) { b.s_view.dtype = DType::kInt32; }) == "output_s.dtype");
  CHECK(refusal(row, [](Buffers& b) { b.input_view.ndim = 3; }) == "input.ndim");
  CHECK(refusal(row, [](Buffers& b) { b.input_view.shape[1] = 64; }) == "input.shape[1]");
  CHECK(refusal(row, [](Buffers& b) { b.q_view.shape[0] = 1; }) == "output_q.shape[0]");
  CHECK(refusal(row, [](Buffers& b) { b.q_view.shape[1] = 24; }) == "output_q.shape[1]");
  CHECK(refusal(row, [](Buffers& b) { b.s_view.shape[1] = 3; }) == "output_s.shape[1]");
  CHECK(refusal(row, [](Buffers& b) { b.s_view.strides[1] = 2; }) == "output_s.strides[1]");
  CHECK(refusal(row, [](Buffers& b) { b.input_view.strides[1] = 2; }) == "input.strides[1]");
  CHECK(refusal(row, [](Buffers& b) { b.input_view.data = nullptr; }) == "input.data");
  CHECK(refusal(row + ",layout=col", [](Buffers& b) { b.s_view.strides[0] = 2; }) ==
        "output_s.strides[0]");
  CHECK(refusal(row, [](Buffers& b) {
          b.mask_view = TensorView::contiguous(b.q.data(), DType::kInt32, {1});
        }) == "masked_m.ndim");
}
