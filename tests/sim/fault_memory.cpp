// SPDX-License-Identifier: Apache-2.0
#include "simulator.hpp"
#include "tests/support/catch.hpp"

using namespace quantjit;
using sim::Fault;
using sim::FaultKind;
using test::element;
using test::kernel_ptx;
using test::Simulator;

namespace {

/// Every thread stores its index to out[tid], one 32-bit word each.
const char* const kStore = "st.global.u32 [%d9], %r0;";

}  // namespace

TEST_CASE("Memory checks: an off-by-one store is found and named", "[sim]") {
  Simulator device(kernel_ptx(element(9, 0, 0) + kStore, 1));
  const std::uint64_t out = device.filled<std::uint32_t>(63, 0, "scales");
  const auto fault = device.run("run", {1, 1, 1}, {64, 1, 1}, {out});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kOutOfBounds);
  CHECK(fault->kernel == "run");
  CHECK(fault->block == sim::Dim3{0, 0, 0});
  CHECK(fault->thread == sim::Dim3{63, 0, 0});
  CHECK(fault->ptx_text == kStore);
  CHECK(fault->ptx_line > 0);
  CHECK(fault->address == out + 63 * 4);
  CHECK_THAT(fault->allocation, test::ContainsSubstring("0 bytes past the end of scales"));
  CHECK_THAT(fault->message, test::ContainsSubstring("writes 4 bytes out of bounds"));
}

TEST_CASE("Memory checks: a read before the start of an allocation is found", "[sim]") {
  Simulator device(kernel_ptx("ld.global.u32 %r1, [%d0+-4];", 1));
  const std::uint64_t in = device.filled<std::uint32_t>(8, 0);
  const auto fault = device.run("run", {1, 1, 1}, {1, 1, 1}, {in});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kOutOfBounds);
  CHECK_THAT(fault->allocation, test::ContainsSubstring("4 bytes before"));
}

TEST_CASE("Memory checks: device memory nobody wrote is not read", "[sim]") {
  Simulator device(kernel_ptx(element(9, 0, 0) + "ld.global.u32 %r1, [%d9];", 1));
  const std::uint64_t in = device.memory().allocate(64 * 4, "input");
  device.memory().fill(in, 7, 4, 40);
  const auto fault = device.run("run", {1, 1, 1}, {64, 1, 1}, {in});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kUninitializedRead);
  CHECK(fault->thread.x == 40);
  CHECK(device.memory().initialized(in, 160));
  CHECK_FALSE(device.memory().initialized(in, 161));
}

TEST_CASE("Memory checks: a kernel's stores initialize, byte by byte", "[sim]") {
  Simulator device(kernel_ptx("add.u64 %d9, %d0, 3;\nst.global.u8 [%d9], %h1;", 1));
  const std::uint64_t out = device.memory().allocate(16);
  CHECK_FALSE(device.run("run", {1, 1, 1}, {1, 1, 1}, {out}));
  CHECK(device.memory().initialized(out + 3, 1));
  CHECK_FALSE(device.memory().initialized(out + 2, 1));
  CHECK_FALSE(device.memory().initialized(out + 4, 1));
}

TEST_CASE("Memory checks: copies between devices' allocations carry initializedness", "[sim]") {
  sim::Memory memory(1 << 20);
  const std::uint64_t a = memory.allocate(64);
  const std::uint64_t b = memory.allocate(64);
  REQUIRE(memory.fill(a + 8, 1, 1, 9));
  REQUIRE(memory.copy(b + 1, a, 32));
  CHECK(memory.initialized(b + 9, 9));
  CHECK_FALSE(memory.initialized(b + 8, 1));
  CHECK_FALSE(memory.initialized(b + 18, 1));
}

TEST_CASE("Memory checks: freed memory is recognised", "[sim]") {
  Simulator device(kernel_ptx("ld.global.u32 %r1, [%d0+8];", 1));
  const std::uint64_t in = device.filled<std::uint32_t>(8, 0, "stale");
  REQUIRE(device.memory().free(in));
  const std::uint64_t other = device.filled<std::uint32_t>(8, 0);
  CHECK(other != in);
  const auto fault = device.run("run", {1, 1, 1}, {1, 1, 1}, {in});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kFreedMemory);
  CHECK_THAT(fault->allocation, test::ContainsSubstring("freed stale"));
}

TEST_CASE("Memory checks: a misaligned vector load is found", "[sim]") {
  Simulator device(kernel_ptx("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d0+8];", 1));
  const std::uint64_t in = device.filled<std::uint32_t>(64, 0);
  const auto fault = device.run("run", {1, 1, 1}, {1, 1, 1}, {in});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kMisaligned);
  CHECK(fault->address == in + 8);
}

TEST_CASE("Memory checks: constant memory cannot be stored to", "[sim]") {
  Simulator device(kernel_ptx("mov.u64 %d9, table;\nst.global.u32 [%d9], %r0;", 0,
                              ".const .align 4 .u32 table = 5;\n"));
  const auto fault = device.run("run", {1, 1, 1}, {1, 1, 1}, {});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kReadOnly);
}

TEST_CASE("Memory checks: a trap is reported with its place", "[sim]") {
  Simulator device(kernel_ptx("setp.eq.u32 %p1, %r0, 5;\n@%p1 trap;", 0));
  const auto fault = device.run("run", {3, 1, 1}, {32, 1, 1}, {});
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::kTrap);
  CHECK(fault->thread.x == 5);
}

TEST_CASE("Memory checks: allocations of many gigabytes cost what is touched", "[sim]") {
  Simulator device(
      kernel_ptx("st.global.u32 [%d0], 1;\nadd.u64 %d9, %d0, 6442450944;\n"
                 "st.global.u32 [%d9], 2;",
                 1));
  const std::uint64_t bytes = std::uint64_t{6} * 1024 * 1024 * 1024 + 4;
  const std::uint64_t out = device.memory().allocate(bytes, "large");
  REQUIRE(out != 0);
  const auto fault = device.run("run", {1, 1, 1}, {1, 1, 1}, {out});
  REQUIRE_FALSE(fault);
  CHECK(device.download<std::uint32_t>(out + bytes - 4, 1)[0] == 2);
  CHECK(device.memory().free(out));
  CHECK(device.memory().used() == 0);
}

TEST_CASE("Memory checks: the capacity is a limit", "[sim]") {
  sim::Memory memory(1000);
  const std::uint64_t a = memory.allocate(600);
  CHECK(a != 0);
  CHECK(memory.allocate(600) == 0);
  CHECK(memory.free(a));
  CHECK(memory.allocate(600) != 0);
}

TEST_CASE("Memory checks: local and shared memory have bounds too", "[sim]") {
  Simulator local(
      kernel_ptx(".local .align 4 .b8 depot[16];\nmov.u64 %d9, depot;\n"
                 "st.local.u32 [%d9+16], %r0;",
                 0));
  const auto stray = local.run("run", {1, 1, 1}, {1, 1, 1}, {});
  REQUIRE(stray);
  CHECK(stray->kind == FaultKind::kOutOfBounds);

  Simulator shared(
      kernel_ptx(".shared .align 4 .b8 tile[128];\nmov.u32 %r1, tile;\n"
                 "mad.lo.u32 %r1, %r0, 4, %r1;\nst.shared.u32 [%r1+4], %r0;",
                 0));
  const auto beyond = shared.run("run", {1, 1, 1}, {32, 1, 1}, {});
  REQUIRE(beyond);
  CHECK(beyond->kind == FaultKind::kOutOfBounds);
  CHECK(beyond->thread.x == 31);
}
