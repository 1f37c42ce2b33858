// SPDX-License-Identifier: Apache-2.0
#include "simulator.hpp"
#include "tests/support/catch.hpp"

using namespace quantjit;
using test::element;
using test::kernel_ptx;
using test::Simulator;

namespace {

/// Runs one block of 32 threads that leave their result in %r1.
std::vector<std::uint32_t> results(const std::string& body, const std::string& before = {},
                                   std::uint32_t threads = 32,
                                   const std::string& target = "sm_90a") {
  Simulator device(
      kernel_ptx(body + element(9, 0, 0) + "st.global.u32 [%d9], %r1;", 1, before, "", target));
  const std::uint64_t out = device.filled<std::uint32_t>(threads, 0xDEAD);
  const auto fault = device.run("run", {1, 1, 1}, {threads, 1, 1}, {out});
  INFO((fault ? fault->message : std::string()));
  REQUIRE_FALSE(fault);
  return device.download<std::uint32_t>(out, threads);
}

}  // namespace

TEST_CASE("Control flow: both sides of a branch run and come together again", "[sim]") {
  const auto words = results(
      "and.b32 %r2, %r0, 1;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra EVEN;\nmul.lo.u32 %r1, %r0, 3;\n"
      "bra JOIN;\nEVEN:\nadd.u32 %r1, %r0, 100;\nJOIN:\nactivemask.b32 %r3;\n"
      "add.u32 %r1, %r1, %r3;\nadd.u32 %r1, %r1, 1;\n");
  for (std::uint32_t i = 0; i < 32; ++i) {
    CHECK(words[i] == (i % 2 == 0 ? i + 100 : i * 3));  // the active mask is all ones: plus -1 + 1
  }
}

TEST_CASE("Control flow: loops with a different trip count in every lane", "[sim]") {
  const auto words = results(
      "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nLOOP:\nsetp.ge.u32 %p1, %r2, %r0;\n@%p1 bra DONE;\n"
      "add.u32 %r2, %r2, 1;\nand.b32 %r3, %r2, 3;\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra LOOP;\n"
      "add.u32 %r1, %r1, %r2;\nbra LOOP;\nDONE:\nvote.sync.ballot.b32 %r4, 1, -1;\n"
      "not.b32 %r4, %r4;\nadd.u32 %r1, %r1, %r4;\n");
  for (std::uint32_t i = 0; i < 32; ++i) {
    std::uint32_t sum = 0;
    for (std::uint32_t k = 1; k <= i; ++k) {
      sum += k % 4 == 0 ? 0 : k;
    }
    CHECK(words[i] == sum);
  }
}

TEST_CASE("Control flow: nested divergence, breaks and early exits", "[sim]") {
  const auto words = results(
      "mov.u32 %r1, 7;\nsetp.eq.u32 %p1, %r0, 31;\n@%p1 bra LAST;\nsetp.lt.u32 %p2, %r0, 16;\n"
      "@%p2 bra LOW;\nand.b32 %r2, %r0, 1;\nsetp.eq.u32 %p3, %r2, 1;\n@%p3 bra ODD;\n"
      "add.u32 %r1, %r1, 10;\nbra AFTER;\nODD:\nadd.u32 %r1, %r1, 20;\nAFTER:\n"
      "add.u32 %r1, %r1, 100;\nbra DONE;\nLOW:\nsetp.eq.u32 %p4, %r0, 3;\n@%p4 bra DONE;\n"
      "mul.lo.u32 %r1, %r1, %r0;\nbra DONE;\nLAST:\nmov.u32 %r1, 1;\nDONE:\n");
  for (std::uint32_t i = 0; i < 31; ++i) {
    const std::uint32_t low = i == 3 ? 7 : 7 * i;
    CHECK(words[i] == (i < 16 ? low : (i % 2 == 1 ? 127 : 117)));
  }
  CHECK(words[31] == 1);
}

TEST_CASE("Control flow: brx.idx sends every lane to its own target", "[sim]") {
  const auto words = results(
      "and.b32 %r2, %r0, 3;\nts: .branchtargets A, B, C, D;\nbrx.idx %r2, ts;\n"
      "A:\nmov.u32 %r1, 10;\nbra DONE;\nB:\nmov.u32 %r1, 20;\nbra DONE;\nC:\nmov.u32 %r1, 30;\n"
      "D:\nmov.u32 %r1, 40;\nDONE:\n");
  const std::uint32_t expected[] = {10, 20, 40, 40};
  for (std::uint32_t i = 0; i < 32; ++i) {
    CHECK(words[i] == expected[i % 4]);
  }
}

TEST_CASE("Control flow: a brx.idx inside a loop diverges anew in every iteration", "[sim]") {
  const auto words = results(
      "mov.u32 %r1, 0;\nmov.u32 %r3, 0;\nts: .branchtargets A, B, C;\nLOOP:\n"
      "add.u32 %r2, %r0, %r3;\nrem.u32 %r2, %r2, 3;\nbrx.idx %r2, ts;\n"
      "A:\nadd.u32 %r1, %r1, 1;\nbra NEXT;\nB:\nadd.u32 %r1, %r1, 10;\nbra NEXT;\n"
      "C:\nadd.u32 %r1, %r1, 100;\nNEXT:\nadd.u32 %r3, %r3, 1;\nsetp.le.u32 %p1, %r3, %r0;\n"
      "@%p1 bra LOOP;\n");
  for (std::uint32_t i = 0; i < 32; ++i) {
    std::uint32_t sum = 0;
    const std::uint32_t add[] = {1, 10, 100};
    for (std::uint32_t k = 0; k <= i; ++k) {
      sum += add[(i + k) % 3];
    }
    CHECK(words[i] == sum);
  }
}

TEST_CASE("Calls: parameters in memory, results, and divergent callers", "[sim]") {
  const std::string function =
      ".func (.param .b32 result) twice(.param .b32 a, .param .align 8 .b8 pair[16])\n{\n"
      ".reg .b32 %x<4>;\n.reg .pred %q;\nld.param.u32 %x0, [a];\nld.param.u32 %x1, [pair+8];\n"
      "setp.gt.u32 %q, %x0, 20;\n@%q bra BIG;\nadd.u32 %x2, %x0, %x1;\n"
      "st.param.b32 [result+0], %x2;\nret;\nBIG:\nsub.u32 %x2, %x1, %x0;\n"
      "st.param.b32 [result+0], %x2;\nret;\n}\n";
  const auto words = results(
      "mov.u32 %r1, 5;\nsetp.lt.u32 %p1, %r0, 28;\n@!%p1 bra SKIP;\n{\n.param .b32 param0;\n"
      "st.param.b32 [param0+0], %r0;\n.param .align 8 .b8 param1[16];\n"
      "st.param.b32 [param1+8], 1000;\n.param .b32 retval0;\n"
      "call.uni (retval0), twice, (param0, param1);\nld.param.b32 %r1, [retval0+0];\n}\nSKIP:\n",
      function);
  for (std::uint32_t i = 0; i < 32; ++i) {
    CHECK(words[i] == (i >= 28 ? 5 : (i > 20 ? 1000 - i : 1000 + i)));
  }
}

TEST_CASE("Calls: register parameters, guarded calls and calls within calls", "[sim]") {
  const std::string functions =
      ".func (.reg .b32 y) inner(.reg .b32 x)\n{\nmul.lo.u32 y, x, x;\nret;\n}\n"
      ".func (.reg .b32 y) outer(.reg .b32 x)\n{\n.reg .b32 %t;\ncall (%t), inner, (x);\n"
      "add.u32 y, %t, 1;\nret;\n}\n";
  const auto words = results(
      "mov.u32 %r1, 3;\nand.b32 %r2, %r0, 1;\nsetp.eq.u32 %p1, %r2, 1;\n"
      "@%p1 call (%r1), outer, (%r0);\n",
      functions);
  for (std::uint32_t i = 0; i < 32; ++i) {
    CHECK(words[i] == (i % 2 == 1 ? i * i + 1 : 3));
  }
}

TEST_CASE("Control flow: instructions in braces have names of their own", "[sim]") {
  const auto words = results(
      "mov.u32 %r1, %r0;\n{\n.reg .pred p;\n.reg .b32 x;\nsetp.lt.u32 p, %r0, 4;\n@p bra SKIP;\n"
      "mov.u32 x, 9;\nmov.u32 %r1, x;\nSKIP:\n}\n{\n.reg .b64 x;\nbra SKIP;\nmov.u32 %r1, 0;\n"
      "SKIP:\n}\n");
  for (std::uint32_t i = 0; i < 32; ++i) {
    CHECK(words[i] == (i < 4 ? i : 9));
  }
}

TEST_CASE("Launches: 1024 threads, three dimensions, dynamic shared memory", "[sim]") {
  const std::string body =
      "mov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.z;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %ntid.y;\n"
      "mad.lo.u32 %r5, %r2, %r4, %r1;\nmad.lo.u32 %r5, %r5, %r3, %r0;\n"  // linear thread
      "mov.u32 %r6, dyn;\nmad.lo.u32 %r7, %r5, 4, %r6;\nst.shared.u32 [%r7], %r5;\nbar.sync 0;\n"
      "xor.b32 %r8, %r5, 1023;\nmad.lo.u32 %r7, %r8, 4, %r6;\nld.shared.u32 %r9, [%r7];\n"
      "mov.u32 %r10, %ctaid.z;\nmov.u32 %r11, %nctaid.y;\nmov.u32 %r12, %ctaid.y;\n"
      "mad.lo.u32 %r10, %r10, %r11, %r12;\nmov.u32 %r11, %nctaid.x;\nmov.u32 %r12, %ctaid.x;\n"
      "mad.lo.u32 %r10, %r10, %r11, %r12;\nmad.lo.u32 %r13, %r10, 1024, %r5;\n" +
      element(9, 0, 13) + "mad.lo.u32 %r9, %r10, 10000, %r9;\nst.global.u32 [%d9], %r9;";
  Simulator device(kernel_ptx(body, 1, ".extern .shared .align 16 .b8 dyn[];\n"));
  const std::uint64_t out = device.filled<std::uint32_t>(24 * 1024, 0);
  const auto fault = device.run("run", {2, 3, 4}, {16, 8, 8}, {out}, 4096);
  INFO((fault ? fault->message : std::string()));
  REQUIRE_FALSE(fault);
  const auto words = device.download<std::uint32_t>(out, 24 * 1024);
  for (std::uint32_t i = 0; i < words.size(); ++i) {
    REQUIRE(words[i] == i / 1024 * 10000 + (i % 1024 ^ 1023));
  }
}

TEST_CASE("Launches: the result does not depend on the number of workers", "[sim]") {
  Simulator device(
      kernel_ptx("mov.u32 %r1, %ctaid.x;\nmad.lo.u32 %r2, %r1, 32, %r0;\n"
                 "mul.lo.u32 %r3, %r2, 2654435761;\n" +
                     element(9, 0, 2) + "st.global.u32 [%d9], %r3;",
                 1));
  std::vector<std::vector<std::uint32_t>> outputs;
  for (const unsigned workers : {1U, 2U, 5U}) {
    sim::GridOptions options;
    options.workers = workers;
    const std::uint64_t out = device.filled<std::uint32_t>(3200, 0);
    REQUIRE_FALSE(device.run("run", {100, 1, 1}, {32, 1, 1}, {out}, 0, options));
    outputs.push_back(device.download<std::uint32_t>(out, 3200));
  }
  CHECK(outputs[0] == outputs[1]);
  CHECK(outputs[0] == outputs[2]);
}
