# SPDX-License-Identifier: Apache-2.0
"""Entries that stay: pins by key, by descriptor and by manifest. Needs NVRTC."""

import json

from harness import COL, ROW, CommandTest

TOKEN = "per_token_quant"


class Pins(CommandTest):
    def compile(self, traits, arch="sm_90a"):
        return self.document("compile", traits, "--arch", arch)["key"]

    def kept(self):
        """Keys that are still there when all that can be evicted is evicted."""
        self.succeeds("cache", "evict", "--to", "0")
        return {entry["key"] for entry in self.document("cache", "list")["entries"]}

    def test_by_key_and_by_descriptor(self):
        first, second, _ = self.compile(COL), self.compile(ROW), self.compile(TOKEN)
        self.assertEqual(self.document("cache", "pin", first[:16])["pins"], [first])
        pinned = self.document("cache", "pin", ROW, "--arch", "sm_90a")
        self.assertEqual((pinned["keys"], pinned["pins"]), ([second], sorted([first, second])))
        self.assertEqual(self.document("cache", "pin")["pins"], sorted([first, second]))
        self.assertEqual(self.kept(), {first, second})
        self.assertEqual({entry["pinned"] for entry in self.document("cache", "list")["entries"]}, {True})
        self.assertEqual(self.document("cache", "unpin", first)["pins"], [second])
        self.assertEqual(self.document("cache", "unpin", first)["pins"], [second], "twice is no failure")
        self.assertEqual(self.kept(), {second})

    def test_by_manifest_before_there_is_an_entry(self):
        manifest = self.work / "manifest.json"
        manifest.write_text(json.dumps({"quantjit_manifest": 1, "items": [
            {"traits": COL, "archs": ["sm_90a", "sm_100a"]}, {"traits": TOKEN}]}))  # fmt: skip
        self.assertIn("archs", self.refuses("cache", "pin", "--manifest", manifest).err)
        pinned = self.document("cache", "pin", "--manifest", manifest, "--arch", "sm_90a")
        self.assertEqual((len(pinned["keys"]), len(pinned["pins"])), (3, 3))
        keys = {self.compile(COL), self.compile(COL, "sm_100a"), self.compile(TOKEN)}
        self.assertEqual(set(pinned["keys"]), keys)
        self.compile(ROW)
        self.assertEqual(self.kept(), keys)
        self.assertEqual(self.document("cache", "unpin", "--manifest", manifest, "--arch", "sm_90a")["pins"], [])
        self.assertEqual(self.kept(), set())

    def test_without_nvrtc_the_entries_that_are_there_have_keys(self):
        key = self.compile(COL)
        hidden = {"QUANTJIT_NVRTC": "/nonexistent"}
        self.assertEqual(self.document("cache", "pin", COL, "--arch", "sm_90a", **hidden)["pins"], [key])
        self.assertIn("libnvrtc", self.fails("cache", "pin", ROW, "--arch", "sm_90a", **hidden).err)

    def test_what_cannot_be_pinned(self):
        self.assertIn("key", self.refuses("cache", "pin", "nonsense").err)
        self.assertIn("--arch", self.refuses("cache", "pin", COL).err)
        self.refuses("cache", "unpin")
        self.refuses("cache", "pin", COL, "--manifest", "manifest.json")
        result = self.command("cache", "pin", COL, "--arch", "sm_90a", QUANTJIT_CACHE_DIR="/proc/quantjit")
        self.assertEqual((result.status, result.out), (1, ""), result)
        self.assertIn("no cache root", result.err)

    def test_a_dry_run_of_verify_moves_nothing(self):
        self.compile(COL)
        (path,) = self.entries()
        path.write_bytes(path.read_bytes()[:-1])
        report = self.command("--json", "cache", "verify", "--repair", "--dry-run")
        self.assertEqual((report.status, len(report.document["bad"])), (1, 1))
        self.assertEqual(self.entries(), [path])
