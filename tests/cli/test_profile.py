# SPDX-License-Identifier: Apache-2.0
"""Ranges that a profiler sees, through a library that stands for one."""

import os

from harness import ROW, SIMULATOR, CommandTest

# Empty where the command was built without NVTX.
PROFILER = os.environ.get("NVTX_INJECTION", "")
SHAPE = ("--tokens", "4", "--hidden", "256")


class Ranges(CommandTest):
    def setUp(self):
        super().setUp()
        if not PROFILER:
            self.skipTest("built without NVTX")
        self.seen = self.work / "ranges"

    def lines(self):
        return self.seen.read_text().splitlines() if self.seen.exists() else []

    def profiled(self, *arguments):
        self.seen.unlink(missing_ok=True)
        self.succeeds(*arguments, NVTX_INJECTION64_PATH=PROFILER, QUANTJIT_NVTX_LOG=str(self.seen))
        lines = self.lines()
        self.assertEqual(lines.count("domain quantjit"), 1 if lines else 0)
        ranges = [line for line in lines if line.startswith(("+", "-"))]
        # One thread at a time here: each range ends before the next one begins.
        self.assertEqual([line for line in ranges if line.startswith("-")], ["- 0"] * (len(ranges) // 2))
        return [line.removeprefix("+ 0 ") for line in ranges if line.startswith("+")]

    def test_a_compile_is_a_range_and_a_hit_is_none(self):
        self.assertEqual([name.split(":")[0] for name in self.profiled("compile", ROW, "--arch", "sm_90a")],
                         ["compile per_token_group_quant"])  # fmt: skip
        self.assertEqual(self.profiled("compile", ROW, "--arch", "sm_90a"), [])

    def test_compile_load_and_launch(self):
        if not SIMULATOR:
            self.skipTest("no simulated device was built")
        names = self.profiled("run", ROW, *SHAPE, "--device", "sim")
        self.assertEqual([name.split(":")[0] for name in names],
                         ["compile per_token_group_quant", "load per_token_group_quant",
                          "launch per_token_group_quant"])  # fmt: skip
        names = self.profiled("run", ROW, *SHAPE, "--device", "sim")
        self.assertEqual([name.split(" ")[0] for name in names], ["load", "launch"])

    def test_without_a_profiler_nobody_is_told(self):
        self.succeeds("compile", ROW, "--arch", "sm_90a", QUANTJIT_NVTX_LOG=str(self.seen))
        self.assertEqual(self.lines(), [])

    def test_a_profiler_that_cannot_be_loaded_stops_nothing(self):
        self.succeeds("compile", ROW, "--arch", "sm_90a", NVTX_INJECTION64_PATH="/nonexistent/profiler.so")
