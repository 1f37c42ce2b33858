// SPDX-License-Identifier: Apache-2.0
#include "simulator.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cmath>

using namespace quantjit;
using test::element;
using test::kernel_ptx;
using test::Simulator;

namespace {

std::vector<std::uint32_t> results(const std::string& body, std::uint32_t threads = 32,
                                   const std::string& target = "sm_90a") {
  Simulator device(
      kernel_ptx(body + element(9, 0, 0) + "st.global.u32 [%d9], %r1;", 1, "", "", target));
  const std::uint64_t out = device.filled<std::uint32_t>(threads, 0xDEAD);
  const auto fault = device.run("run", {1, 1, 1}, {threads, 1, 1}, {out});
  INFO((fault ? fault->message : std::string()));
  REQUIRE_FALSE(fault);
  return device.download<std::uint32_t>(out, threads);
}

std::uint32_t bits(float x) {
  std::uint32_t u = 0;
  std::memcpy(&u, &x, sizeof u);
  return u;
}

}  // namespace

TEST_CASE("Shuffles: all four modes, whole warps and segments", "[sim]") {
  const auto up =
      results("shfl.sync.up.b32 %r1|%p1, %r0, 3, 0, -1;\n@!%p1 add.u32 %r1, %r1, 100;\n");
  const auto down =
      results("shfl.sync.down.b32 %r1|%p1, %r0, 3, 31, -1;\n@!%p1 add.u32 %r1, %r1, 100;\n");
  const auto butterfly = results("shfl.sync.bfly.b32 %r1, %r0, 5, 31, -1;\n");
  const auto index = results("xor.b32 %r2, %r0, 31;\nshfl.sync.idx.b32 %r1, %r0, %r2, 31, -1;\n");
  // Segments of 8 lanes: the mask in bits 8 to 12 of c is 0x18.
  const auto segments = results("shfl.sync.down.b32 %r1, %r0, 2, 6175, -1;\n");
  const auto broadcast = results("shfl.sync.idx.b32 %r1, %r0, 3, 6175, -1;\n");
  for (std::uint32_t i = 0; i < 32; ++i) {
    CHECK(up[i] == (i < 3 ? i + 100 : i - 3));
    CHECK(down[i] == (i > 28 ? i + 100 : i + 3));
    CHECK(butterfly[i] == (i ^ 5));
    CHECK(index[i] == 31 - i);
    CHECK(segments[i] == (i % 8 > 5 ? i : i + 2));
    CHECK(broadcast[i] == i / 8 * 8 + 3);
  }
}

TEST_CASE("Shuffles: groups of lanes with a member mask of their own", "[sim]") {
  const auto words = results(
      "and.b32 %r2, %r0, 24;\nmov.u32 %r3, 255;\nshl.b32 %r3, %r3, %r2;\n"
      "shfl.sync.bfly.b32 %r4, %r0, 4, 6175, %r3;\nmax.u32 %r1, %r0, %r4;\n"
      "shfl.sync.bfly.b32 %r4, %r1, 2, 6175, %r3;\nmax.u32 %r1, %r1, %r4;\n"
      "shfl.sync.bfly.b32 %r4, %r1, 1, 6175, %r3;\nmax.u32 %r1, %r1, %r4;\n");
  for (std::uint32_t i = 0; i < 32; ++i) {
    CHECK(words[i] == i / 8 * 8 + 7);
  }
}

TEST_CASE("Votes, matches and elections", "[sim]") {
  const auto ballot = results(
      "and.b32 %r2, %r0, 3;\nsetp.eq.u32 %p1, %r2, 1;\n"
      "vote.sync.ballot.b32 %r1, %p1, -1;\n");
  CHECK(ballot == std::vector<std::uint32_t>(32, 0x22222222));
  const auto any = results(
      "setp.eq.u32 %p1, %r0, 9;\nvote.sync.any.pred %p2, %p1, -1;\n"
      "vote.sync.all.pred %p3, %p1, -1;\nvote.sync.uni.pred %p4, !%p3, -1;\n"
      "selp.u32 %r1, 1, 0, %p2;\n@%p3 add.u32 %r1, %r1, 2;\n"
      "@%p4 add.u32 %r1, %r1, 4;\n");
  CHECK(any == std::vector<std::uint32_t>(32, 5));
  const auto match = results("and.b32 %r2, %r0, 1;\nmatch.any.sync.b32 %r1, %r2, -1;\n");
  const auto all = results(
      "mov.u32 %r2, 7;\nmatch.all.sync.b32 %r1|%p1, %r2, -1;\n"
      "@!%p1 mov.u32 %r1, 0;\n");
  const auto elected = results("elect.sync %r2|%p1, -1;\nselp.u32 %r1, 100, %r2, %p1;\n");
  for (std::uint32_t i = 0; i < 32; ++i) {
    CHECK(match[i] == (i % 2 == 0 ? 0x55555555U : 0xAAAAAAAAU));
    CHECK(all[i] == 0xFFFFFFFF);
    CHECK(elected[i] == (i == 0 ? 100 : 0));
  }
}

TEST_CASE("redux.sync over integers, and over floats on sm_100a", "[sim]") {
  CHECK(results("redux.sync.add.u32 %r1, %r0, -1;\n")[7] == 496);
  CHECK(results("redux.sync.max.s32 %r1, %r0, -1;\n")[0] == 31);
  CHECK(results("sub.s32 %r2, 3, %r0;\nredux.sync.min.s32 %r1, %r2, -1;\n")[0] == 0xFFFFFFE4);
  CHECK(results("redux.sync.xor.b32 %r1, %r0, -1;\n", 31)[3] == 31);
  const std::string values = "cvt.rn.f32.u32 %r2, %r0;\nsub.f32 %r2, 0f41200000, %r2;\n";
  const auto max = results(values + "redux.sync.max.f32 %r1, %r2, -1;\n", 32, "sm_100a");
  const auto magnitude = results(values + "redux.sync.max.abs.f32 %r1, %r2, -1;\n", 32, "sm_100a");
  const std::string with_nan = values + "setp.eq.u32 %p1, %r0, 4;\n@%p1 mov.b32 %r2, 0x7FC00000;\n";
  const auto skipped = results(with_nan + "redux.sync.min.f32 %r1, %r2, -1;\n", 32, "sm_100a");
  const auto kept = results(with_nan + "redux.sync.min.NaN.f32 %r1, %r2, -1;\n", 32, "sm_100a");
  CHECK(max[5] == bits(10.0F));
  CHECK(magnitude[5] == bits(21.0F));
  CHECK(skipped[5] == bits(-21.0F));
  CHECK(kept[5] == 0x7FFFFFFF);
}

TEST_CASE("Special registers", "[sim]") {
  const auto lanes = results(
      "mov.u32 %r1, %laneid;\nmov.u32 %r2, %warpid;\n"
      "mad.lo.u32 %r1, %r2, 100, %r1;\nmov.u32 %r3, %lanemask_lt;\n"
      "popc.b32 %r4, %r3;\nmad.lo.u32 %r1, %r4, 1000, %r1;\n",
      96);
  for (std::uint32_t i = 0; i < 96; ++i) {
    CHECK(lanes[i] == i % 32 + i / 32 * 100 + i % 32 * 1000);
  }
  CHECK(results("mov.u32 %r1, %ntid.x;\nadd.u32 %r1, %r1, %nctaid.x;\n", 40)[0] == 41);
}

TEST_CASE("f32x2 arithmetic is for sm_100 and later", "[sim]") {
  const std::string body =
      "mov.b64 %d8, {0f3F800000, 0f40000000};\n"
      "fma.rn.f32x2 %d8, %d8, %d8, %d8;\nmov.b64 {%r2, %r1}, %d8;\n";
  CHECK(results(body, 1, "sm_100a")[0] == bits(6.0F));
  CHECK_THROWS_AS(Simulator(kernel_ptx(body, 0, "", "", "sm_90a")), sim::ParseError);
}
