// SPDX-License-Identifier: Apache-2.0
#include "simulator.hpp"
#include "tests/support/catch.hpp"

using namespace quantjit;
using test::element;
using test::kernel_ptx;
using test::parameter_block;
using test::Simulator;

namespace {

sim::GridOptions dependent(std::uint64_t seed) {
  sim::GridOptions options;
  options.dependent = true;
  options.seed = seed;
  return options;
}

/// out[i] = in[i] + 1 for one block-sized part a block.
std::string increment(const char* first, const char* after_load) {
  return kernel_ptx(
      "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmad.lo.u32 %r3, %r1, %r2, "
      "%r0;\n" +
          std::string(first) + element(9, 0, 3) + "ld.global.u32 %r4, [%d9];\n" + after_load +
          "add.u32 %r4, %r4, 1;\n" + element(10, 1, 3) +
          "st.global.u32 [%d10], %r4;\ngriddepcontrol.launch_dependents;",
      2);
}

}  // namespace

TEST_CASE("Dependency wait: blocks that started early stop at the wait and finish later", "[sim]") {
  Simulator device(increment("griddepcontrol.wait;\n", ""));
  const std::uint64_t in = device.filled<std::uint32_t>(1024, 5);
  const std::uint64_t out = device.filled<std::uint32_t>(1024, 0);
  sim::Grid grid(device.image(), *device.module().kernel("run"), {32, 1, 1}, {32, 1, 1}, 0,
                 parameter_block({in, out}), device.memory(), dependent(11));
  grid.run_until_dependency_wait(0.5);
  CHECK(device.download<std::uint32_t>(out, 1024) == std::vector<std::uint32_t>(1024, 0));
  device.memory().fill(in, 8, 4, 1024);
  REQUIRE_FALSE(grid.run());
  CHECK(device.download<std::uint32_t>(out, 1024) == std::vector<std::uint32_t>(1024, 9));
  CHECK(grid.early_accesses().empty());
  CHECK(grid.ctas_without_wait() == 0);
  CHECK(grid.launched_dependents());
  CHECK(grid.stats().ctas == 32);
  CHECK(grid.wrote(out + 64, 4));
  CHECK_FALSE(grid.wrote(in, 4096));
}

TEST_CASE("Dependency wait: a missing wait is seen in early accesses and blocks without it",
          "[sim]") {
  Simulator device(increment("", ""));
  const std::uint64_t in = device.filled<std::uint32_t>(128, 5, "activations");
  const std::uint64_t out = device.filled<std::uint32_t>(128, 0);
  sim::Grid grid(device.image(), *device.module().kernel("run"), {4, 1, 1}, {32, 1, 1}, 0,
                 parameter_block({in, out}), device.memory(), dependent(3));
  REQUIRE_FALSE(grid.run());
  CHECK(grid.ctas_without_wait() == 4);
  REQUIRE_FALSE(grid.early_accesses().empty());
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  for (const sim::EarlyAccess& access : grid.early_accesses()) {
    (access.write ? written : read) += access.bytes;
  }
  CHECK(read == 512);
  CHECK(written == 512);
  const sim::Fault fault =
      grid.early_access_fault(grid.early_accesses().front(), "kernel producer");
  CHECK_THAT(fault.message, test::ContainsSubstring("before griddepcontrol.wait"));
  CHECK_THAT(fault.message, test::ContainsSubstring("kernel producer"));
  CHECK_THAT(grid.missing_wait_fault().message,
             test::ContainsSubstring("exits without griddepcontrol.wait"));
}

TEST_CASE("Dependency wait: a read before the wait takes the value of that moment", "[sim]") {
  Simulator device(increment("", "griddepcontrol.wait;\n"));
  const std::uint64_t in = device.filled<std::uint32_t>(64, 5);
  const std::uint64_t out = device.filled<std::uint32_t>(64, 0);
  sim::Grid grid(device.image(), *device.module().kernel("run"), {2, 1, 1}, {32, 1, 1}, 0,
                 parameter_block({in, out}), device.memory(), dependent(5));
  grid.run_until_dependency_wait(1.0);
  device.memory().fill(in, 8, 4, 64);
  REQUIRE_FALSE(grid.run());
  CHECK(grid.ctas_without_wait() == 0);
  CHECK_FALSE(grid.early_accesses().empty());
  const auto words = device.download<std::uint32_t>(out, 64);
  CHECK((words[0] == 6 || words[32] == 6));
}

TEST_CASE("Dependency wait: blocks that exit before it are counted", "[sim]") {
  Simulator device(
      kernel_ptx("mov.u32 %r1, %ctaid.x;\nsetp.ge.u32 %p1, %r1, 6;\n@%p1 exit;\n"
                 "griddepcontrol.wait;",
                 0));
  sim::Grid grid(device.image(), *device.module().kernel("run"), {8, 1, 1}, {32, 1, 1}, 0, {},
                 device.memory(), dependent(1));
  grid.run_until_dependency_wait(1.0);
  REQUIRE_FALSE(grid.run());
  CHECK(grid.ctas_without_wait() == 2);
}

TEST_CASE("Dependency wait: one thread may wait for its block before a barrier", "[sim]") {
  Simulator device(kernel_ptx("setp.eq.u32 %p1, %r0, 0;\n@%p1 griddepcontrol.wait;\nbar.sync 0;\n" +
                                  element(9, 0, 0) + "ld.global.u32 %r4, [%d9];",
                              1));
  const std::uint64_t in = device.filled<std::uint32_t>(128, 5);
  sim::Grid grid(device.image(), *device.module().kernel("run"), {4, 1, 1}, {128, 1, 1}, 0,
                 parameter_block({in}), device.memory(), dependent(2));
  grid.run_until_dependency_wait(1.0);
  REQUIRE_FALSE(grid.run());
  CHECK(grid.early_accesses().empty());
  CHECK(grid.ctas_without_wait() == 0);
}
