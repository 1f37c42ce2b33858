# SPDX-License-Identifier: Apache-2.0
"""Recorded cases: through the CPU reference and on the simulated device."""

import json
import unittest

from harness import GOLDEN, NO_DRIVER, SIMULATOR, CommandTest


class Golden(CommandTest):
    def setUp(self):
        super().setUp()
        self.cases = self.work / "cases.jsonl"

    def select(self, wanted, change=None):
        """Writes the recorded cases that `wanted` chooses, each changed by `change`; their number."""
        lines = []
        for line in GOLDEN.read_text().splitlines():
            case = json.loads(line)
            if wanted(case):
                if change:
                    change(case)
                lines.append(json.dumps(case))
        self.cases.write_text("\n".join(lines) + "\n")
        return len(lines)

    @staticmethod
    def small(case):
        return (case["experts"] or 1) * case["tokens"] * case["hidden"] <= 2048

    def last_line(self, result):
        return result.out.splitlines()[-1]

    def test_the_reference_gives_the_recorded_bytes(self):
        count = self.select(self.small)
        self.assertGreater(count, 50)
        result = self.succeeds("golden", self.cases, "--device", "cpu")
        self.assertEqual(result.out, f"{count} passed, 0 failed, 0 skipped\n")
        document = self.document("golden", self.cases, "--device", "cpu", "-j", "1")
        self.assertEqual((document["passed"], document["failed"], document["skipped"]), (count, 0, 0))

    def test_a_filter_selects_by_name(self):
        self.select(self.small)
        wanted = sum("f16/" in json.loads(line)["name"] for line in self.cases.read_text().splitlines())
        self.assertEqual(self.document("golden", self.cases, "--device", "cpu", "--filter", "f16/")["passed"], wanted)
        self.assertEqual(self.command("golden", self.cases, "--device", "cpu", "--filter", "no such").status, 1)
        self.refuses("golden", self.cases, "--device", "cpu", "--filter", "[")

    def test_other_bytes_fail_and_are_named(self):
        def spoil(case):
            case["q_sha256"] = "0" * 64
            first = case["q_b64"][0] if case["q_b64"] else ""
            if first:
                case["q_b64"] = ("A" if first != "A" else "B") + case["q_b64"][1:]

        self.select(lambda case: case["name"].startswith("unified/bf16/e4m3/f32_row/g16/uniform/1x128"), spoil)
        result = self.command("golden", self.cases, "--device", "cpu")
        self.assertEqual(result.status, 1)
        self.assertTrue(self.last_line(result).startswith("0 passed, 1 failed"), result)
        self.assertIn("FAILED unified/bf16/e4m3/f32_row/g16/uniform/1x128", result.out)
        self.assertIn("first", result.out)

    def test_files_that_are_no_cases(self):
        self.fails("golden", self.work / "missing.jsonl", "--device", "cpu")
        self.cases.write_text("{}\n")
        self.assertIn("line 1", self.fails("golden", self.cases, "--device", "cpu").err)
        self.cases.write_text("")
        self.assertEqual(self.command("golden", self.cases, "--device", "cpu").status, 1, "no case is no success")

    def test_without_a_device(self):
        self.select(self.small)
        self.assert_one_line(self.fails("golden", self.cases, "--cuda-driver", NO_DRIVER).err)

    @unittest.skipUnless(SIMULATOR, "no simulated device was built")
    def test_the_simulated_device_gives_the_recorded_bytes(self):
        count = self.select(lambda case: self.small(case) and not case["silu"])
        self.assertGreater(count, 40)
        document = self.document("golden", self.cases, "--device", "sim")
        self.assertEqual((document["failures"], document["skips"]), ([], []))
        self.assertEqual((document["passed"], document["within_tolerance"]), (count, 0))

    @unittest.skipUnless(SIMULATOR, "no simulated device was built")
    def test_simulated_silu_is_within_its_tolerance(self):
        count = self.select(lambda case: case["silu"] and case["tokens"] * case["hidden"] <= 8192)
        self.assertGreater(count, 5)
        document = self.document("golden", self.cases, "--device", "sim")
        self.assertEqual((document["failures"], document["skips"]), ([], []))
        self.assertEqual(document["passed"], count)
