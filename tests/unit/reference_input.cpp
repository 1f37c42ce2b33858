// SPDX-License-Identifier: Apache-2.0
#include "src/base/sha256.hpp"
#include "src/reference/soft_float.hpp"
#include "tests/support/catch.hpp"

#include <quantjit/error.hpp>
#include <quantjit/reference.hpp>

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

using namespace quantjit;
using namespace quantjit::reference;

namespace {

std::vector<std::uint16_t> generate_16(InputKind kind, DType dtype, std::uint64_t seed,
                                       std::size_t count, std::size_t row_length = 0) {
  std::vector<std::uint16_t> data(count);
  generate(kind, dtype, seed, count, row_length, data.data());
  return data;
}

std::vector<float> generate_32(InputKind kind, std::uint64_t seed, std::size_t count) {
  std::vector<float> data(count);
  generate(kind, DType::kF32, seed, count, 0, data.data());
  return data;
}

}  // namespace

TEST_CASE("Input: kinds have names that parse back", "[reference]") {
  for (const char* name : {"uniform", "bits", "midpoint", "special", "rows", "normal"}) {
    CHECK(to_string(parse_input_kind(name)) == name);
  }
  CHECK_THROWS_AS(parse_input_kind("Uniform"), InvalidArgument);
  CHECK_THROWS_AS(parse_input_kind(""), InvalidArgument);
}

TEST_CASE("Input: an element depends on seed and index alone", "[reference]") {
  for (const InputKind kind : {InputKind::kUniform, InputKind::kBits, InputKind::kMidpoint,
                               InputKind::kSpecial, InputKind::kNormal}) {
    const auto longer = generate_16(kind, DType::kBF16, 7, 5000);
    const auto shorter = generate_16(kind, DType::kBF16, 7, 1234);
    CHECK(std::equal(shorter.begin(), shorter.end(), longer.begin()));
    CHECK(generate_16(kind, DType::kBF16, 8, 5000) != longer);
  }
}

TEST_CASE("Input: uniform changes its power of two every 128 elements", "[reference]") {
  const std::vector<float> data = generate_32(InputKind::kUniform, 3, 128 * 9);
  for (std::size_t run = 0; run < 9; ++run) {
    float largest = 0;
    for (std::size_t i = 0; i < 128; ++i) {
      largest = std::max(largest, std::fabs(data[run * 128 + i]));
    }
    const int exponent = static_cast<int>((run * 7 + 3) % 9) - 4;
    CHECK(largest <= std::ldexp(1.0F, exponent));
    CHECK(largest > std::ldexp(0.9F, exponent));
  }
}

TEST_CASE("Input: bits are finite in every type", "[reference]") {
  std::size_t infinite = 0;
  for (const std::uint16_t bits : generate_16(InputKind::kBits, DType::kBF16, 1, 100000)) {
    infinite += std::isfinite(bf16_to_float(bits)) ? 0 : 1;
  }
  for (const std::uint16_t bits : generate_16(InputKind::kBits, DType::kF16, 1, 100000)) {
    infinite += std::isfinite(f16_to_float(bits)) ? 0 : 1;
  }
  for (const float value : generate_32(InputKind::kBits, 1, 100000)) {
    infinite += std::isfinite(value) ? 0 : 1;
  }
  CHECK(infinite == 0);
}

TEST_CASE("Input: midpoints are ties between two codes", "[reference]") {
  const std::vector<float> data = generate_32(InputKind::kMidpoint, 5, 1280);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (i % 128 == 0) {
      wrong += data[i] == 448.0F ? 0 : 1;
      continue;
    }
    const float magnitude = std::fabs(data[i]);
    const float below = e4m3_to_float(to_e4m3(std::nextafter(magnitude, 0.0F)));
    const float above = e4m3_to_float(to_e4m3(std::nextafter(magnitude, 1000.0F)));
    wrong += below < above && magnitude - below == above - magnitude ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("Input: special runs hold what they are named for", "[reference]") {
  const auto data = generate_16(InputKind::kSpecial, DType::kBF16, 11, 128 * 8);
  const auto run = [&](std::size_t index) { return std::span(data).subspan(index * 128, 128); };
  for (std::size_t i = 0; i < 128; ++i) {
    CHECK(run(0)[i] == 0x0000);
    CHECK((run(1)[i] == 0x7FC0) == (i == 5));
    CHECK((run(2)[i] == 0x7F80) == (i == 10));
    CHECK((run(3)[i] == 0xFF80) == (i == 15));
    CHECK(run(4)[i] <= 0x7F);
    CHECK(run(5)[i] == 0x8000);
    CHECK((run(6)[i] & 0x7FFF) == 0x7F7F);
  }
}

TEST_CASE("Input: rows are special a row at a time", "[reference]") {
  constexpr std::size_t kLength = 20;
  const auto data = generate_16(InputKind::kRows, DType::kF16, 2, kLength * 16, kLength);
  for (std::size_t column = 0; column < kLength; ++column) {
    CHECK(data[0 * kLength + column] == 0x0000);
    CHECK(data[1 * kLength + column] == 0x8000);
    CHECK((data[2 * kLength + column] == 0x7E00) == (column == 10));
    CHECK(data[3 * kLength + column] == 0x7E00);
    CHECK((data[4 * kLength + column] == 0x7C00) == (column == 0));
    CHECK((data[12 * kLength + column] == 0xFC00) == (column == 0));
    CHECK((data[6 * kLength + column] & 0x7FFF) == 0x7BFF);
  }
}

TEST_CASE("Input: normal has mean 0 and deviation 1", "[reference]") {
  const std::vector<float> data = generate_32(InputKind::kNormal, 4, 200000);
  double sum = 0;
  double squares = 0;
  std::size_t beyond_two = 0;
  for (const float value : data) {
    sum += value;
    squares += static_cast<double>(value) * value;
    beyond_two += std::fabs(value) > 2 ? 1 : 0;
  }
  const auto count = static_cast<double>(data.size());
  CHECK(std::fabs(sum / count) < 0.01);
  CHECK(std::fabs(squares / count - 1) < 0.02);
  CHECK(std::fabs(static_cast<double>(beyond_two) / count - 0.0455) < 0.003);
}

TEST_CASE("Input: what is no input type is refused", "[reference]") {
  std::uint32_t data = 0;
  CHECK_THROWS_AS(generate(InputKind::kBits, DType::kE4M3, 0, 1, 1, &data), InvalidArgument);
  CHECK_THROWS_AS(generate(InputKind::kRows, DType::kF32, 0, 1, 0, &data), InvalidArgument);
  CHECK_THROWS_AS(generate(static_cast<InputKind>(99), DType::kF32, 0, 1, 1, &data),
                  InvalidArgument);
}
