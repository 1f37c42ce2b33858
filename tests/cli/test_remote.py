# SPDX-License-Identifier: Apache-2.0
"""Remote tiers as the command uses and shows them, with a directory as the tier."""

import pathlib
import unittest

from test_prewarm import PrewarmTest, group

TRAITS = [group(32), group(64), group(128), "per_token_quant"]


class Remote(PrewarmTest):
    def setUp(self):
        super().setUp()
        self.share = self.work / "share"
        self.share.mkdir()
        self.url = f"file://{self.share}"

    def machine(self, name):
        return {"QUANTJIT_CACHE_DIR": str(self.work / name)}

    def entries(self):
        return sorted(path for path in self.share.rglob("*") if path.is_file() and not path.name.endswith("-latest"))

    def test_what_one_machine_prewarms_the_next_one_takes(self):
        for isolate in ([], ["--isolate"]):
            with self.subTest(isolate=isolate):
                for path in self.entries():
                    path.unlink()
                arguments = [*TRAITS, "--arch", "sm_90a", "-j", 2, "--remote", self.url, *isolate]
                first = self.prewarm(*arguments, **self.machine(f"first{len(isolate)}"))
                self.assertEqual(self.counts(first), (4, 0, 4, 0))
                self.assertEqual(first["remote"], {"taken": 0, "stored": 4, "not_stored": 0})
                self.assertEqual(len(self.entries()), 4)
                second = self.prewarm(*arguments, **self.machine(f"second{len(isolate)}"))
                self.assertEqual(self.counts(second), (4, 4, 0, 0))
                self.assertEqual(second["remote"], {"taken": 4, "stored": 0, "not_stored": 0})
        third = self.prewarm(*TRAITS, "--arch", "sm_90a", **self.machine("third"))
        self.assertEqual(third["compiled"], 4)
        self.assertNotIn("remote", third)
        text = self.succeeds("prewarm", *TRAITS, "--arch", "sm_90a", "--remote", self.url, **self.machine("fourth")).out
        self.assertIn("remote tiers: 4 taken, 0 stored, 0 not stored", text)

    def test_compile_says_where_it_comes_from(self):
        arguments = ["compile", "per_token_quant", "--arch", "sm_90a", "--remote", self.url]
        sources = [self.document(*arguments, **self.machine(name))["source"] for name in ("first", "second", "second")]
        self.assertEqual(sources, ["compiled", "remote", "disk"])
        hidden = {**self.machine("third"), "QUANTJIT_NVRTC": "/nonexistent/libnvrtc.so"}
        document = self.document(*arguments, **hidden)
        self.assertEqual(document["source"], "remote")
        self.assertFalse(document["toolchain_match"])
        self.assertTrue(pathlib.Path(document["path"]).is_file())
        off = self.document("--jit", "off", *arguments, **self.machine("fourth"))
        self.assertEqual(off["source"], "remote")

    def test_a_damaged_entry_is_compiled_and_replaced(self):
        arguments = ["compile", "per_token_quant", "--arch", "sm_90a", "--remote", self.url]
        self.succeeds(*arguments, **self.machine("first"))
        (entry,) = self.entries()
        good = entry.read_bytes()
        entry.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
        result = self.command("--json", *arguments, **self.machine("second"))
        self.assertEqual(result.document["source"], "compiled")
        self.assertIn("its checksum does not match", result.err)
        self.assertEqual(self.document(*arguments, **self.machine("third"))["source"], "remote")

    def test_doctor_shows_the_tiers_and_no_secret(self):
        missing = f"file://{self.work}/not-there?readonly=1"
        remote = f"{self.url} {missing} redis://user:top-secret@127.0.0.1:1/0"
        result = self.command("doctor", QUANTJIT_REMOTE=remote)
        document = self.command("doctor", "--json", QUANTJIT_REMOTE=remote).document
        self.assertNotIn("top-secret", result.out + result.err + str(document))
        tiers = {tier["label"]: tier for tier in document["remote"]}
        self.assertTrue(tiers[self.url]["reachable"])
        self.assertTrue(tiers[self.url]["writable"])
        self.assertFalse(tiers["redis://127.0.0.1:1"]["reachable"])
        self.assertEqual(len(tiers["redis://127.0.0.1:1"]["problems"]), 1)
        self.assertIn(f"{self.url}: answers, reads and writes", result.out)
        setting = next(one for one in document["settings"] if one["name"] == "QUANTJIT_REMOTE")
        self.assertEqual((setting["value"], setting["origin"]), ("(set)", "environment"))

    def test_wrong_tiers_are_refused_without_their_secrets(self):
        for option, url in (("no_such", "redis://user:top-secret@cache?no_such=1"), ("scheme", "gopher://host")):
            result = self.refuses("doctor", "--remote", url)
            self.assertIn(option, result.err)
            self.assertIn("--remote", result.err)
            self.assertNotIn("top-secret", result.err)


if __name__ == "__main__":
    unittest.main()
