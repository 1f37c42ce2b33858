// SPDX-License-Identifier: Apache-2.0
// The reciprocal of the H200 and what is built on it, against the recorded files and against
// double.
#include "arith_approx.hpp"
#include "instruction_table.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace quantjit;
using sim::bits_of;
using sim::float_of;

namespace {

std::vector<char> content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::uint32_t at(float (*f)(float), std::uint32_t x) {
  return bits_of(f(float_of(x)));
}

float reciprocal(float x) {
  return sim::rcp_approx_ftz(x);
}

}  // namespace

TEST_CASE("Approximations: rcp.approx.ftz follows the recorded table over all mantissas", "[sim]") {
  const std::vector<char> table = content_of(QUANTJIT_TABLE_DIR "/sm90_rcp_approx_delta.2bit");
  REQUIRE(table.size() == 1U << 21);
  std::size_t counts[4] = {};
  std::size_t wrong = 0;
  for (std::uint32_t m = 0; m < 1U << 23; ++m) {
    const int code = (static_cast<unsigned char>(table[m / 4]) >> (2 * (m % 4))) & 3;
    ++counts[code];
    const double exact = 1.0 / static_cast<double>(float_of(m | 0x3F800000));
    const float rounded = static_cast<float>(exact);
    const int delta = code == 2 ? -1 : code;
    const std::uint32_t want = bits_of(rounded) + static_cast<std::uint32_t>(delta);
    wrong += at(reciprocal, m | 0x3F800000) == want ? 0 : 1;
    wrong += at(reciprocal, m | 0xC2800000) == ((want | 0x80000000) - (6U << 23)) ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(counts[0] == 7280086);
  CHECK(counts[1] == 733799);
  CHECK(counts[2] == 374723);
  CHECK(counts[3] == 0);
}

TEST_CASE("Approximations: rcp.approx at the ends of the range", "[sim]") {
  CHECK(at(reciprocal, 0x00000000) == 0x7F800000);
  CHECK(at(reciprocal, 0x80000000) == 0xFF800000);
  CHECK(at(reciprocal, 0x00000001) == 0x7F800000);
  CHECK(at(reciprocal, 0x807FFFFF) == 0xFF800000);
  CHECK(at(reciprocal, 0x7F800000) == 0);
  CHECK(at(reciprocal, 0xFF800000) == 0x80000000);
  CHECK(at(reciprocal, 0x7FC00001) == 0x7FFFFFFF);
  CHECK(at(reciprocal, 0x7E800000) == 0x00800000);  // 2^126: the last normal result
  CHECK(at(reciprocal, 0x7E800001) == 0);
  CHECK(at(reciprocal, 0xFF000000) == 0x80000000);
  CHECK(at(reciprocal, 0x00800000) == 0x7E800000);
  CHECK(bits_of(sim::rcp_approx(float_of(0x7F000000))) == 0x00400000);  // subnormal without ftz
  CHECK(bits_of(sim::rcp_approx(float_of(0x00400000))) == 0x7F000000);
}

TEST_CASE("Approximations: recorded quotients under fast math", "[sim]") {
  const std::vector<char> bytes = content_of(QUANTJIT_GOLDEN_DIR "/sm90_reciprocals.f32");
  REQUIRE(bytes.size() == 1024 * 6 * 4);
  constexpr auto kMul = &sim::mul_f32<sim::Round::kNearest, true, false>;
  std::size_t wrong = 0;
  for (std::uint32_t m = 0; m < 1024; ++m) {
    float row[6];
    std::memcpy(row, bytes.data() + m * sizeof row, sizeof row);
    const float x = 1.0F + static_cast<float>(m) / 1024.0F;
    const float scale = kMul(x, 1.0F / 448.0F);
    const float want[6] = {scale,
                           sim::div_approx_f32<true>(1.0F, scale),
                           sim::div_approx_f32<true>(448.0F, x),
                           sim::div_approx_f32<true>(127.0F, x),
                           scale,
                           kMul(x, 1.0F / 127.0F)};
    for (int c = 0; c < 6; ++c) {
      wrong += bits_of(row[c]) == bits_of(want[c]) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("Approximations: div.approx is zero for the largest divisors, div.full is not", "[sim]") {
  const float huge = float_of(0x7E800001);
  CHECK(sim::div_approx_f32<true>(1e30F, huge) == 0.0F);
  CHECK(std::isnan(sim::div_approx_f32<true>(INFINITY, huge)));
  CHECK(std::fabs(sim::div_full_f32<true>(1e38F, huge) - 1e38F / huge) < 1e-6F);
  CHECK(sim::div_full_f32<false>(float_of(0x00000100), float_of(0x00000080)) == 2.0F);
}

TEST_CASE("Approximations: the others are rounded from double", "[sim]") {
  const auto values = test::operands('f', 99, 200000);
  std::size_t wrong = 0;
  for (const std::uint64_t value : values) {
    const float x = float_of(static_cast<std::uint32_t>(value));
    const float r = sim::through_double<false, &sim::exp2_double>(x);
    const double want = std::exp2(static_cast<double>(x));
    wrong += std::isnan(want) ? !std::isnan(r) : r != static_cast<float>(want);
  }
  CHECK(wrong == 0);
  CHECK(sim::through_double<true, &sim::exp2_double>(float_of(0x80000001)) == 1.0F);
  CHECK(sim::through_double<true, &sim::exp2_double>(-127.0F) == 0.0F);
  CHECK(sim::through_double<false, &sim::exp2_double>(-127.0F) == float_of(0x00400000));
  CHECK(sim::through_double<true, &sim::rsqrt_double>(-0.0F) == -INFINITY);
  CHECK(std::isnan(sim::through_double<true, &sim::log2_double>(-1.0F)));
}
