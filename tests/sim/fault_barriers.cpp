// SPDX-License-Identifier: Apache-2.0
#include "simulator.hpp"
#include "tests/support/catch.hpp"

using namespace quantjit;
using sim::FaultKind;
using test::element;
using test::kernel_ptx;
using test::Simulator;

TEST_CASE("Barriers: a barrier in divergent code of one warp is found", "[sim]") {
  Simulator device(kernel_ptx("setp.lt.u32 %p1, %r0, 7;\n@!%p1 bra SKIP;\nbar.sync 0;\nSKIP:", 0));
  const auto fault = device.run("run", {1, 1, 1}, {32, 1, 1}, {});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kBarrier);
  CHECK(fault->thread.x == 7);
  CHECK(fault->ptx_text == "bar.sync 0;");
}

TEST_CASE("Barriers: a barrier that one warp skips is found when they meet elsewhere", "[sim]") {
  Simulator device(
      kernel_ptx("setp.lt.u32 %p1, %r0, 32;\n@!%p1 bra SKIP;\nbar.sync 0;\nSKIP:\n"
                 "bar.sync 0;",
                 0));
  const auto fault = device.run("run", {1, 1, 1}, {64, 1, 1}, {});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kBarrier);
}

TEST_CASE("Barriers: two barriers that wait for each other are found", "[sim]") {
  Simulator device(
      kernel_ptx("setp.lt.u32 %p1, %r0, 32;\n@%p1 bra ONE;\nbar.sync 1;\nbra DONE;\n"
                 "ONE:\nbar.sync 2;\nDONE:",
                 0));
  const auto fault = device.run("run", {1, 1, 1}, {64, 1, 1}, {});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kBarrier);
}

TEST_CASE("Barriers: threads that have exited are not waited for", "[sim]") {
  Simulator device(kernel_ptx("setp.ge.u32 %p1, %r0, 40;\n@%p1 exit;\nbar.sync 0;\n" +
                                  element(9, 0, 0) + "st.global.u32 [%d9], 1;",
                              1));
  const std::uint64_t out = device.filled<std::uint32_t>(96, 0);
  REQUIRE_FALSE(device.run("run", {1, 1, 1}, {96, 1, 1}, {out}));
  const auto words = device.download<std::uint32_t>(out, 96);
  for (std::uint32_t i = 0; i < 96; ++i) {
    CHECK(words[i] == (i < 40 ? 1U : 0U));
  }
}

TEST_CASE("Barriers: named barriers for part of the block", "[sim]") {
  Simulator device(
      kernel_ptx("setp.lt.u32 %p1, %r0, 64;\n@!%p1 bra DONE;\nbar.sync 3, 64;\nDONE:", 0));
  CHECK_FALSE(device.run("run", {1, 1, 1}, {128, 1, 1}, {}));
}

TEST_CASE("Barriers: bar.red combines a predicate over the block", "[sim]") {
  Simulator device(
      kernel_ptx("setp.lt.u32 %p1, %r0, 40;\nbar.red.popc.u32 %r1, 0, %p1;\n"
                 "bar.red.or.pred %p2, 0, !%p1;\nbar.red.and.pred %p3, 0, %p1;\n"
                 "selp.u32 %r2, 100, 0, %p2;\nselp.u32 %r3, 1000, 0, %p3;\n"
                 "add.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, %r3;\n" +
                     element(9, 0, 0) + "st.global.u32 [%d9], %r1;",
                 1));
  const std::uint64_t out = device.filled<std::uint32_t>(64, 0);
  REQUIRE_FALSE(device.run("run", {1, 1, 1}, {64, 1, 1}, {out}));
  CHECK(device.download<std::uint32_t>(out, 64) == std::vector<std::uint32_t>(64, 140));
}

TEST_CASE("Warp operations: a shuffle from an inactive lane is found", "[sim]") {
  Simulator device(
      kernel_ptx("setp.lt.u32 %p1, %r0, 16;\n@!%p1 bra SKIP;\n"
                 "shfl.sync.bfly.b32 %r1, %r0, 16, 31, 0xFFFF;\nSKIP:",
                 0));
  const auto fault = device.run("run", {1, 1, 1}, {32, 1, 1}, {});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kInactiveLane);
  CHECK_THAT(fault->message, test::ContainsSubstring("shuffles from lane 16"));
}

TEST_CASE("Warp operations: a member mask must name active lanes and the lane itself", "[sim]") {
  Simulator names_absent(
      kernel_ptx("setp.lt.u32 %p1, %r0, 16;\n@!%p1 bra SKIP;\n"
                 "shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;\nSKIP:",
                 0));
  auto fault = names_absent.run("run", {1, 1, 1}, {32, 1, 1}, {});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kInactiveLane);
  Simulator leaves_out(kernel_ptx("redux.sync.add.s32 %r1, %r0, 0xFFFE;", 0));
  fault = leaves_out.run("run", {1, 1, 1}, {16, 1, 1}, {});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kInactiveLane);
  CHECK(fault->thread.x == 0);
}

TEST_CASE("Launches: geometry that the kernel cannot take is refused", "[sim]") {
  Simulator device(kernel_ptx("", 1, "", ".reqntid 64, 1, 1"));
  CHECK_THROWS_AS(device.run("run", {1, 1, 1}, {32, 1, 1}, {0}), sim::FaultError);
  CHECK_THROWS_AS(device.run("run", {0, 1, 1}, {64, 1, 1}, {0}), sim::FaultError);
  CHECK_THROWS_AS(device.run("run", {1, 1, 1}, {64, 1, 1}, {}), sim::FaultError);
  CHECK_THROWS_AS(device.run("run", {1, 1, 1}, {64, 1, 1}, {0}, 300000), sim::FaultError);
  CHECK_FALSE(device.run("run", {1, 1, 1}, {64, 1, 1}, {0}));
}

TEST_CASE("Launches: an endless loop ends at the instruction limit", "[sim]") {
  Simulator device(kernel_ptx("LOOP:\nbra LOOP;", 0));
  sim::GridOptions options;
  options.lane_instruction_limit = 10'000'000;
  const auto fault = device.run("run", {1, 1, 1}, {32, 1, 1}, {}, 0, options);
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kTimeout);
}
