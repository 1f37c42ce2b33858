// SPDX-License-Identifier: Apache-2.0
// The kernels of the driver tests. All take (in, out, count); a thread's element is its global
// index.
#include "driver_support.hpp"

namespace quantjit::simtest {

namespace {

/// Computes in %rd3 and %rd4 the addresses of the thread's element in `in` and `out`; threads past
/// `count` go to `done`.
constexpr const char* kFront = R"(
  .reg .pred %p<3>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [p0];
  ld.param.u64 %rd2, [p1];
  ld.param.u32 %r1, [p2];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  mul.wide.u32 %rd5, %r5, 4;
  add.u64 %rd3, %rd1, %rd5;
  add.u64 %rd4, %rd2, %rd5;
  setp.ge.u32 %p1, %r5, %r1;
)";

constexpr const char* kCopyPlusOne = R"(
  @%p1 bra done;
  ld.global.u32 %r6, [%rd3];
  add.u32 %r6, %r6, 1;
  st.global.u32 [%rd4], %r6;
)";

constexpr const char* kBack = R"(
done:
  ret;
)";

std::string kernel(const std::string& name, const std::string& body) {
  return ".visible .entry " + name + "(.param .u64 p0, .param .u64 p1, .param .u32 p2)\n{" +
         kFront + body + kBack + "}\n";
}

}  // namespace

std::string test_ptx(const std::string& target) {
  const std::string wait = "  griddepcontrol.wait;\n";
  const std::string trigger = "  griddepcontrol.launch_dependents;\n";
  std::string text = ".version 8.0\n.target " + target + "\n.address_size 64\n";
  text += kernel("step", kCopyPlusOne);
  // Correct dependent kernels: the second lets its successor start before its own wait.
  text += kernel("step_waits", wait + kCopyPlusOne + trigger);
  text += kernel("step_triggers_first", trigger + wait + kCopyPlusOne);
  // Planted bugs.
  text += kernel("step_never_waits", kCopyPlusOne);
  text += kernel("step_reads_early", R"(
  @%p1 bra done;
  ld.global.u32 %r6, [%rd3];
  griddepcontrol.wait;
  add.u32 %r6, %r6, 1;
  st.global.u32 [%rd4], %r6;
)");
  text += kernel("step_writes_early", R"(
  @%p1 bra done;
  st.global.u32 [%rd3], %r5;
  griddepcontrol.wait;
)");
  text += kernel("step_exits_early", R"(
  setp.eq.u32 %p2, %r2, 1;
  @%p2 bra done;
  griddepcontrol.wait;
)" + std::string(kCopyPlusOne));
  // Faults.
  text += kernel("past_the_end", R"(
  @%p1 bra done;
  st.global.u32 [%rd4+4], %r5;
)");
  text += kernel("misaligned", R"(
  @%p1 bra done;
  st.global.u32 [%rd4+1], %r5;
)");
  text += kernel("traps", "  trap;\n");
  text += kernel("endless", "again:\n  bra again;\n");
  // The thread's element of `out` through dynamic shared memory, mirrored within the block.
  text += ".extern .shared .align 16 .b8 dynamic[];\n";
  text += kernel("mirror", R"(
  mov.u32 %r7, dynamic;
  mul.lo.u32 %r8, %r4, 4;
  add.u32 %r8, %r7, %r8;
  ld.global.u32 %r6, [%rd3];
  st.shared.u32 [%r8], %r6;
  bar.sync 0;
  sub.u32 %r9, %r3, %r4;
  sub.u32 %r9, %r9, 1;
  mul.lo.u32 %r9, %r9, 4;
  add.u32 %r9, %r7, %r9;
  ld.shared.u32 %r6, [%r9];
  st.global.u32 [%rd4], %r6;
)");
  return text;
}

}  // namespace quantjit::simtest
