// SPDX-License-Identifier: Apache-2.0
#include "simulator.hpp"
#include "tests/support/catch.hpp"

using namespace quantjit;
using sim::FaultKind;
using test::element;
using test::kernel_ptx;
using test::Simulator;

namespace {

/// Each thread writes tile[tid] and reads its neighbour's word, with `between` in the middle.
std::string exchange(const std::string& between) {
  return kernel_ptx(
      ".shared .align 4 .b8 tile[256];\nmov.u32 %r1, tile;\n"
      "mad.lo.u32 %r2, %r0, 4, %r1;\nst.shared.u32 [%r2], %r0;\n" +
          between +
          "xor.b32 %r3, %r0, 33;\nmad.lo.u32 %r4, %r3, 4, %r1;\n"
          "ld.shared.u32 %r5, [%r4];\n" +
          element(9, 0, 0) + "st.global.u32 [%d9], %r5;",
      1);
}

}  // namespace

TEST_CASE("Races: a missing barrier between shared store and load is found", "[sim]") {
  Simulator device(exchange(""));
  const std::uint64_t out = device.filled<std::uint32_t>(64, 0);
  const auto fault = device.run("run", {1, 1, 1}, {64, 1, 1}, {out});
  REQUIRE(fault);
  // Warp 0 runs first and would read what warp 1 has not written.
  CHECK((fault->kind == FaultKind::kUninitializedRead || fault->kind == FaultKind::kRace));
  CHECK_THAT(fault->ptx_text, test::ContainsSubstring("ld.shared"));
}

TEST_CASE("Races: the same kernel with its barrier passes", "[sim]") {
  Simulator device(exchange("bar.sync 0;\n"));
  const std::uint64_t out = device.filled<std::uint32_t>(64, 0);
  REQUIRE_FALSE(device.run("run", {1, 1, 1}, {64, 1, 1}, {out}));
  const auto words = device.download<std::uint32_t>(out, 64);
  for (std::uint32_t i = 0; i < 64; ++i) {
    CHECK(words[i] == (i ^ 33));
  }
}

TEST_CASE("Races: a loop that rewrites shared memory needs a second barrier", "[sim]") {
  const auto body = [](const char* second) {
    return kernel_ptx(std::string(".shared .align 4 .b8 tile[256];\nmov.u32 %r1, tile;\n"
                                  "mad.lo.u32 %r2, %r0, 4, %r1;\nxor.b32 %r3, %r0, 32;\n"
                                  "mad.lo.u32 %r4, %r3, 4, %r1;\nmov.u32 %r6, 0;\n"
                                  "LOOP:\nadd.u32 %r7, %r6, %r0;\nst.shared.u32 [%r2], %r7;\n"
                                  "bar.sync 0;\nld.shared.u32 %r5, [%r4];\n") +
                          second +
                          "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, 4;\n@%p1 bra LOOP;\n",
                      0);
  };
  Simulator wrong(body(""));
  const auto fault = wrong.run("run", {1, 1, 1}, {64, 1, 1}, {});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kRace);
  Simulator right(body("bar.sync 0;\n"));
  CHECK_FALSE(right.run("run", {1, 1, 1}, {64, 1, 1}, {}));
}

TEST_CASE("Races: bar.warp.sync orders the lanes of a warp, nothing else does", "[sim]") {
  const auto body = [](const char* between) {
    return kernel_ptx(std::string(".shared .align 4 .b8 tile[128];\nmov.u32 %r1, tile;\n"
                                  "mad.lo.u32 %r2, %r0, 4, %r1;\nst.shared.u32 [%r2], %r0;\n") +
                          between +
                          "xor.b32 %r3, %r0, 1;\nmad.lo.u32 %r4, %r3, 4, %r1;\n"
                          "ld.shared.u32 %r5, [%r4];",
                      0);
  };
  Simulator wrong(body(""));
  const auto fault = wrong.run("run", {1, 1, 1}, {32, 1, 1}, {});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kRace);
  Simulator right(body("bar.warp.sync -1;\n"));
  CHECK_FALSE(right.run("run", {1, 1, 1}, {32, 1, 1}, {}));
}

TEST_CASE("Races: threads of two blocks store different bytes to one address", "[sim]") {
  Simulator device(kernel_ptx("mov.u32 %r1, %ctaid.x;\nst.global.u32 [%d0+4], %r1;", 1));
  const std::uint64_t out = device.filled<std::uint32_t>(4, 0, "sum");
  const auto fault = device.run("run", {2, 1, 1}, {1, 1, 1}, {out});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kRace);
  CHECK_THAT(fault->allocation, test::ContainsSubstring("sum"));
  CHECK_THAT(fault->message, test::ContainsSubstring("of block ("));
}

TEST_CASE("Races: duplicate stores of equal bytes are harmless", "[sim]") {
  Simulator device(kernel_ptx("st.global.u32 [%d0+4], 77;\nst.global.v2.u32 [%d0+8], {1, 2};", 1));
  const std::uint64_t out = device.filled<std::uint32_t>(4, 0);
  REQUIRE_FALSE(device.run("run", {64, 1, 1}, {64, 1, 1}, {out}));
  CHECK(device.download<std::uint32_t>(out, 4) == std::vector<std::uint32_t>{0, 77, 1, 2});
}

TEST_CASE("Races: threads of one block that store to one address need a barrier", "[sim]") {
  const auto body = [](const char* between) {
    return kernel_ptx(std::string("setp.eq.u32 %p1, %r0, 0;\nsetp.eq.u32 %p2, %r0, 40;\n"
                                  "@%p1 st.global.u64 [%d0], 1;\n") +
                          between + "@%p2 st.global.u64 [%d0], 2;",
                      1);
  };
  Simulator wrong(body(""));
  std::uint64_t out = wrong.filled<std::uint64_t>(2, 0);
  const auto fault = wrong.run("run", {1, 1, 1}, {64, 1, 1}, {out});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kRace);
  Simulator right(body("bar.sync 0;\n"));
  out = right.filled<std::uint64_t>(2, 0);
  CHECK_FALSE(right.run("run", {1, 1, 1}, {64, 1, 1}, {out}));
}

TEST_CASE("Races: neighbouring bytes and halves of a word may have different writers", "[sim]") {
  Simulator device(
      kernel_ptx("mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\n"
                 "mad.lo.u32 %r3, %r1, %r2, %r0;\ncvt.u64.u32 %d8, %r3;\n"
                 "add.u64 %d9, %d0, %d8;\nst.global.u8 [%d9], %r3;\n"
                 "shl.b64 %d8, %d8, 2;\nadd.u64 %d9, %d1, %d8;\n"
                 "st.global.u32 [%d9], %r3;",
                 2));
  const std::uint64_t bytes = device.filled<std::uint8_t>(1024, 0xA5);
  const std::uint64_t words = device.filled<std::uint32_t>(1024, 0);
  for (int launch = 0; launch < 3; ++launch) {
    REQUIRE_FALSE(device.run("run", {32, 1, 1}, {32, 1, 1}, {bytes, words}));
  }
  const auto got = device.download<std::uint8_t>(bytes, 1024);
  for (std::uint32_t i = 0; i < 1024; ++i) {
    REQUIRE(got[i] == (i & 0xFF));
  }
}

TEST_CASE("Races: a vector store over bytes that another thread stored is found", "[sim]") {
  Simulator device(
      kernel_ptx("setp.eq.u32 %p1, %r0, 3;\nsetp.eq.u32 %p2, %r0, 9;\n"
                 "@%p1 st.global.u8 [%d0+5], 1;\n"
                 "@%p2 st.global.v4.u32 [%d0], {0, 0, 0, 0};",
                 1));
  const std::uint64_t out = device.filled<std::uint32_t>(8, 0);
  const auto fault = device.run("run", {1, 1, 1}, {32, 1, 1}, {out});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kRace);
  CHECK(fault->address == out + 5);
}

TEST_CASE("Races: launches one after the other are ordered", "[sim]") {
  Simulator device(kernel_ptx("cvt.u32.u64 %r1, %d1;\nst.global.u32 [%d0], %r1;", 2));
  const std::uint64_t out = device.filled<std::uint32_t>(4, 0);
  CHECK_FALSE(device.run("run", {4, 1, 1}, {1, 1, 1}, {out, 1}));
  CHECK_FALSE(device.run("run", {4, 1, 1}, {1, 1, 1}, {out, 2}));
  CHECK(device.download<std::uint32_t>(out, 1)[0] == 2);
}
