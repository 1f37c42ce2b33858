// SPDX-License-Identifier: Apache-2.0
// How far simulated SiLU is from an H200's: ex2.approx is correctly rounded here and within an ulp
// or so there. All 65,536 gates of both 16-bit types, against the recorded results.
#include "simulator.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

using namespace quantjit;

namespace {

constexpr std::size_t kGates = 65536;

std::vector<std::uint16_t> recorded(const std::string& dtype) {
  std::vector<std::uint16_t> table(kGates);
  std::ifstream file(std::string(QUANTJIT_TABLE_DIR) + "/sm90_silu_" + dtype + ".u16",
                     std::ios::binary);
  file.read(reinterpret_cast<char*>(table.data()), kGates * 2);
  REQUIRE(file.gcount() == kGates * 2);
  return table;
}

/// gate * rcp.approx(1 + ex2.approx(-gate * log2 e)) with flushing, rounded to the type: fast math
/// on sm_90.
std::string silu_ptx(const std::string& dtype) {
  const std::string to_float = dtype == "bf16" ? "shl.b32 %r3, %r1, 16;\nmov.b32 %r4, %r3;\n"
                                               : "cvt.u16.u32 %h0, %r1;\ncvt.f32.f16 %r4, %h0;\n";
  const std::string to_bits = "cvt.rn." + dtype + ".f32 %h1, %r8;\n";
  return test::kernel_ptx("mov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r1, %r2, 256, %r0;\n" + to_float +
                              "mul.rn.ftz.f32 %r5, %r4, 0fBFB8AA3B;\n"
                              "ex2.approx.ftz.f32 %r6, %r5;\n"
                              "add.rn.ftz.f32 %r6, %r6, 0f3F800000;\n"
                              "rcp.approx.ftz.f32 %r7, %r6;\n"
                              "mul.rn.ftz.f32 %r8, %r4, %r7;\n" +
                              to_bits + "mad.wide.u32 %d1, %r1, 2, %d0;\nst.global.b16 [%d1], %h1;",
                          1);
}

/// Position of a finite value among all of its type, so that neighbours differ by one.
std::int32_t ordinal(std::uint16_t bits) {
  const std::int32_t magnitude = bits & 0x7FFF;
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

void compare(const std::string& dtype, std::int32_t infinity) {
  const std::vector<std::uint16_t> wanted = recorded(dtype);
  test::Simulator device(silu_ptx(dtype));
  const std::uint64_t out = device.filled<std::uint16_t>(kGates, 0xA5A5);
  REQUIRE_FALSE(device.run("run", {kGates / 256, 1, 1}, {256, 1, 1}, {out}));
  const auto found = device.download<std::uint16_t>(out, kGates);
  std::size_t equal = 0;
  std::int32_t farthest = 0;
  for (std::size_t gate = 0; gate < kGates; ++gate) {
    const bool wanted_nan = (wanted[gate] & 0x7FFF) > infinity;
    REQUIRE(wanted_nan == ((found[gate] & 0x7FFF) > infinity));
    if (!wanted_nan) {
      equal += wanted[gate] == found[gate] ? 1U : 0U;
      farthest = std::max(farthest, std::abs(ordinal(wanted[gate]) - ordinal(found[gate])));
    } else {
      ++equal;
    }
  }
  std::printf("SiLU of %s: %zu of %zu gates as on an H200, none further than %d ulp\n",
              dtype.c_str(), equal, kGates, farthest);
  CHECK(farthest <= 1);
  CHECK(equal + 64 >= kGates);
}

}  // namespace

TEST_CASE("SiLU: at most the last bit of the activation differs from an H200's", "[sim]") {
  compare("bf16", 0x7F80);
  compare("f16", 0x7C00);
}
