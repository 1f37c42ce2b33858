// SPDX-License-Identifier: Apache-2.0
#include "simulator.hpp"
#include "tests/support/catch.hpp"

using namespace quantjit;
using test::element;
using test::kernel_ptx;
using test::Simulator;

namespace {

/// Runs `body` in one thread; it stores to %d0.
template <class T>
std::vector<T> stored(const std::string& body, std::size_t count, const std::string& before = {},
                      const std::string& target = "sm_90a") {
  Simulator device(kernel_ptx(body, 1, before, "", target));
  const std::uint64_t out = device.filled<T>(count, T{0});
  const auto fault = device.run("run", {1, 1, 1}, {1, 1, 1}, {out});
  INFO((fault ? fault->message : std::string()));
  REQUIRE_FALSE(fault);
  return device.download<T>(out, count);
}

}  // namespace

TEST_CASE("Loads widen by their type, stores narrow", "[sim]") {
  const auto words = stored<std::uint64_t>(
      "mov.u64 %d9, 0xFEDCBA9876543290;\nst.global.u64 [%d0], %d9;\nld.global.u8 %r1, [%d0];\n"
      "ld.global.s8 %r2, [%d0];\nld.global.s16 %d2, [%d0+6];\nld.global.u16 %h1, [%d0+6];\n"
      "cvt.u64.u32 %d3, %r1;\ncvt.u64.u32 %d4, %r2;\nst.global.u64 [%d0+8], %d3;\n"
      "st.global.u64 [%d0+16], %d4;\nst.global.u64 [%d0+24], %d2;\nst.global.u16 [%d0+32], %h1;\n"
      "st.global.u8 [%d0+40], %r2;\nld.global.s32 %d5, [%d0+4];\nst.global.u64 [%d0+48], %d5;",
      7);
  CHECK(words[1] == 0x90);
  CHECK(words[2] == 0xFFFFFF90);
  CHECK(words[3] == 0xFFFFFFFFFFFFFEDC);
  CHECK(words[4] == 0xFEDC);
  CHECK(words[5] == 0x90);
  CHECK(words[6] == 0xFFFFFFFFFEDCBA98);
}

TEST_CASE("Vectors up to 256 bits, sinks, cache hints and 128-bit registers", "[sim]") {
  const std::string fill =
      "mov.u32 %r1, 1;\nmov.u32 %r2, 2;\nmov.u32 %r3, 3;\nmov.u32 %r4, 4;\n"
      "st.global.L1::no_allocate.v4.b32 [%d0], {%r1, %r2, %r3, %r4};\n";
  const auto quad = stored<std::uint32_t>(
      fill +
          "ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r5, _, %r6, %r7}, [%d0];\n"
          "st.global.cs.v2.u32 [%d0+16], {%r7, %r5};\n{\n.reg .b128 q;\n"
          "ld.global.b128 q, [%d0];\nmov.b128 {%d8, %d9}, q;\nmov.b128 q, {%d9, %d8};\n"
          "st.global.b128 [%d0+32], q;\n}\n",
      12);
  CHECK(quad == std::vector<std::uint32_t>{1, 2, 3, 4, 4, 1, 0, 0, 3, 4, 1, 2});
  const std::string wide = fill +
                           "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%d0];\n"
                           "st.global.v8.b32 [%d0+32], {%r8, %r7, %r6, %r5, %r4, %r3, %r2, %r1};\n"
                           "ld.global.v4.b64 {%d8, %d9, %d10, %d11}, [%d0+32];\n"
                           "st.global.v2.b64 [%d0+16], {%d11, %d8};";
  const auto eight = stored<std::uint32_t>(wide, 16, "", "sm_100a");
  CHECK(eight == std::vector<std::uint32_t>{1, 2, 3, 4, 2, 1, 4, 3, 4, 3, 2, 1, 4, 3, 2, 1});
  CHECK_THROWS_AS(Simulator(kernel_ptx(wide, 1)), sim::ParseError);
}

TEST_CASE("Vector packing", "[sim]") {
  const auto words = stored<std::uint64_t>(
      "mov.u64 %d1, 0x4444333322221111;\nmov.b64 {%h1, %h2, %h3, %h4}, %d1;\n"
      "mov.b32 %r1, {%h4, %h1};\nmov.b64 {%r2, _}, %d1;\nmov.b64 %d2, {%r1, %r2};\n"
      "mov.b64 %d3, {%h2, %h2, %h1, %h3};\nmov.b32 {%h5, %h6}, %r2;\n"
      "mov.b64 %d4, {%h6, %h5, %h5, %h6};\nst.global.v2.u64 [%d0], {%d2, %d3};\n"
      "st.global.u64 [%d0+16], %d4;",
      3);
  CHECK(words[0] == 0x2222111111114444);
  CHECK(words[1] == 0x3333111122222222);
  CHECK(words[2] == 0x2222111111112222);
}

TEST_CASE("Module variables, constants and addresses in registers", "[sim]") {
  const std::string variables =
      ".const .align 4 .b8 table[12] = {1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255};\n"
      ".global .align 8 .u64 counter = 40;\n.global .align 4 .f32 third[2] = {0f3EAAAAAB};\n";
  const auto words = stored<std::uint32_t>(
      "mov.u64 %d1, table;\nld.const.u32 %r1, [%d1+4];\nld.const.s32 %r2, [table+8];\n"
      "mov.u64 %d2, counter;\nld.global.u64 %d3, [%d2];\nadd.u64 %d3, %d3, 2;\n"
      "st.global.u64 [counter], %d3;\nld.global.u32 %r3, [counter];\nld.global.u32 %r4, [third];\n"
      "cvta.const.u64 %d4, %d1;\nld.u32 %r5, [%d4];\n"
      "st.global.v4.u32 [%d0], {%r1, %r2, %r3, %r4};\nst.global.u32 [%d0+16], %r5;",
      5, variables);
  CHECK(words == std::vector<std::uint32_t>{2, 0xFFFFFFFF, 42, 0x3EAAAAAB, 1});
}

TEST_CASE("Generic addresses reach shared, local, global and parameter memory", "[sim]") {
  const auto words = stored<std::uint32_t>(
      ".shared .align 4 .b8 tile[16];\n.local .align 4 .b8 depot[16];\nmov.u64 %d1, tile;\n"
      "cvta.shared.u64 %d2, %d1;\nmov.u64 %d3, depot;\ncvta.local.u64 %d4, %d3;\n"
      "st.u32 [%d2+4], 11;\nst.u32 [%d4+8], 22;\nst.u32 [%d0], 33;\nld.shared.u32 %r1, [%d1+4];\n"
      "ld.local.u32 %r2, [%d3+8];\nisspacep.shared %p1, %d2;\nisspacep.global %p2, %d2;\n"
      "isspacep.local %p3, %d4;\nisspacep.global %p4, %d0;\nselp.u32 %r3, 1, 0, %p1;\n"
      "@%p2 add.u32 %r3, %r3, 2;\n@%p3 add.u32 %r3, %r3, 4;\n@%p4 add.u32 %r3, %r3, 8;\n"
      "cvta.to.shared.u64 %d5, %d2;\nld.shared.u32 %r4, [%d5+4];\nmov.b64 %d6, p0;\n"
      "cvta.param.u64 %d7, %d6;\nld.u64 %d8, [%d7];\nsetp.eq.u64 %p5, %d8, %d0;\n"
      "selp.u32 %r5, 1, 0, %p5;\nst.global.u32 [%d0+4], %r1;\nst.global.u32 [%d0+8], %r2;\n"
      "st.global.u32 [%d0+12], %r3;\nst.global.u32 [%d0+16], %r4;\nst.global.u32 [%d0+20], %r5;",
      6);
  CHECK(words == std::vector<std::uint32_t>{33, 11, 22, 13, 11, 1});
}

TEST_CASE("Local memory belongs to its thread", "[sim]") {
  Simulator device(
      kernel_ptx(".local .align 4 .b8 depot[64];\nmov.u64 %d8, depot;\n"
                 "and.b32 %r1, %r0, 15;\n" +
                     element(10, 8, 1) +
                     "st.local.u32 [%d10], %r0;\nbar.sync 0;\n"
                     "ld.local.u32 %r2, [%d10];\n" +
                     element(9, 0, 0) + "st.global.u32 [%d9], %r2;",
                 1));
  const std::uint64_t out = device.filled<std::uint32_t>(64, 0);
  REQUIRE_FALSE(device.run("run", {1, 1, 1}, {64, 1, 1}, {out}));
  const auto words = device.download<std::uint32_t>(out, 64);
  for (std::uint32_t i = 0; i < 64; ++i) {
    CHECK(words[i] == i);
  }
}

TEST_CASE("Atomics: blocks on all workers add up, and old values are unique", "[sim]") {
  Simulator device(
      kernel_ptx("atom.global.add.u32 %r1, [%d0], 1;\nred.global.max.s32 [%d0+4], %r0;\n"
                 "atom.global.inc.u32 %r2, [%d0+8], 6;\n"
                 "red.global.add.f32 [%d0+12], 0f3F000000;\n"
                 "atom.global.or.b32 %r3, [%d0+16], %r0;\n" +
                     element(9, 1, 1) + "st.global.u32 [%d9], 1;",
                 2));
  const std::uint64_t out = device.filled<std::uint32_t>(5, 0);
  const std::uint64_t seen = device.filled<std::uint32_t>(6400, 0);
  sim::GridOptions options;
  options.workers = 4;
  const auto fault = device.run("run", {100, 1, 1}, {64, 1, 1}, {out, seen}, 0, options);
  INFO((fault ? fault->message : std::string()));
  REQUIRE_FALSE(fault);
  const auto words = device.download<std::uint32_t>(out, 5);
  CHECK(words[0] == 6400);
  CHECK(words[1] == 63);
  CHECK(words[2] == 6400 % 7);
  CHECK(words[3] == 0x45480000);  // 3200.0f
  CHECK(words[4] == 63);
  CHECK(device.download<std::uint32_t>(seen, 6400) == std::vector<std::uint32_t>(6400, 1));
}

TEST_CASE("Atomics: compare-and-swap and exchange, in shared memory too", "[sim]") {
  const auto words = stored<std::uint32_t>(
      ".shared .align 4 .b8 tile[8];\nmov.u32 %r1, tile;\nst.shared.u32 [%r1], 5;\n"
      "atom.shared.cas.b32 %r2, [%r1], 5, 9;\natom.shared.cas.b32 %r3, [%r1], 5, 1;\n"
      "atom.shared.exch.b32 %r4, [%r1], 100;\natom.shared.min.s32 %r5, [%r1], -7;\n"
      "ld.shared.u32 %r6, [%r1];\nst.global.v4.u32 [%d0], {%r2, %r3, %r4, %r5};\n"
      "st.global.u32 [%d0+16], %r6;",
      5);
  CHECK(words == std::vector<std::uint32_t>{5, 9, 9, 100, 0xFFFFFFF9});
}

TEST_CASE("Parsing: what is not known stops with its line and text", "[sim]") {
  const auto refused = [](const std::string& instruction, const char* problem) {
    try {
      Simulator device(kernel_ptx(instruction, 0));
      FAIL("accepted: " + instruction);
    } catch (const sim::ParseError& e) {
      CAPTURE(std::string(e.what()));
      CHECK(e.line() == 11);
      CHECK(e.text() == instruction);
      CHECK_THAT(e.what(), test::ContainsSubstring(problem));
    }
  };
  refused("frobnicate.u32 %r1, %r0;", "unknown instruction");
  refused("add.u33 %r1, %r0, 1;", "unknown instruction");
  refused("add.u32 %r1, %r0;", "unknown instruction");
  refused("add.u64 %r1, %r0, 1;", "bits");
  refused("add.u32 %r1, %h0, 1;", "bits");
  refused("ld.global.v3.u32 {%r1, %r2, %r3}, [%d0];", "unknown instruction");
  refused("ld.global.v2.u32 %r1, [%d0];", "wrong length");
  refused("bra NOWHERE;", "unknown label");
  refused("mov.u32 %r1, %nosuch;", "unknown register");
  refused("fma.rn.f32x2 %d1, %d2, %d3, %d4;", "sm_100");
  refused("cvt.rp.satfinite.ue8m0x2.f32 %h1, %r1, %r2;", "sm_100");
  refused("call (%r1), missing, (%r2);", "undefined function");
}
