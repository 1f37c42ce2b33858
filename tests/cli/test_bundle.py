# SPDX-License-Identifier: Apache-2.0
"""Bundles: exported from a cache, imported into another, and used in place."""

import json
import os
import shutil
import stat
import subprocess
import unittest

from harness import COL, ROW, SIMULATOR, CommandTest

TOKEN = "per_token_quant:in=bf16"
SEALED = {"QUANTJIT_JIT": "off", "QUANTJIT_NVRTC": "/nonexistent"}


class BundleTest(CommandTest):
    """A cache of three entries: two descriptors for sm_90a, one of them for sm_100a too."""

    FEATURE = "bundles"

    def setUp(self):
        super().setUp()
        features = self.command("doctor", "--json").document["features"]
        if not {feature["name"]: feature["available"] for feature in features}[self.FEATURE]:
            self.skipTest(f"this build has no {self.FEATURE}")
        self.bundle = self.work / "kernels.qjb"

    def fill(self):
        for traits, arch in ((COL, "sm_90a"), (COL, "sm_100a"), (TOKEN, "sm_90a")):
            self.succeeds("compile", traits, "--arch", arch)

    def export(self, *arguments):
        return self.document("bundle", "export", "--out", self.bundle, *arguments)

    def on(self, *roots):
        """The environment of a machine with these roots, no compiler, and errors alone in its log."""
        return {**SEALED, "QUANTJIT_CACHE_DIR": ":".join(map(str, roots)), "QUANTJIT_LOG_LEVEL": "error"}

    def files(self):
        # On a machine with a GPU its driver keeps a cache of its own in the home.
        return sorted(path.name for path in self.work.iterdir() if path.name != ".nv")


class Bundle(BundleTest):
    def test_goes_from_one_cache_to_another_and_serves_without_a_compiler(self):
        self.fill()
        exported = self.export("--all")
        self.assertEqual(exported["entries"], 3)
        self.assertEqual(exported["archs"], ["sm_100a", "sm_90a"])
        self.assertEqual(exported["bytes"], self.bundle.stat().st_size)
        self.assertEqual(exported["unpacked_bytes"], sum(path.stat().st_size for path in self.entries()))
        self.assertLess(exported["bytes"], exported["unpacked_bytes"])
        self.assertEqual((exported["missing"], exported["signature"], exported["signer"]), ([], "none", ""))
        self.assertEqual(stat.S_IMODE(self.bundle.stat().st_mode), 0o644)
        other = self.on(self.work / "other")
        imported = self.document("bundle", "import", self.bundle, **other)
        self.assertEqual((imported["imported"], imported["already_there"], imported["failed"]), (3, 0, []))
        self.assertEqual(imported["root"], str(self.work / "other"))
        self.assertEqual(imported["index_sha256"], exported["index_sha256"])
        for path in self.entries():
            copy = self.work / "other" / path.relative_to(self.cache)
            self.assertEqual(copy.read_bytes(), path.read_bytes(), "entries are handed on as they are")
            self.assertEqual(stat.S_IMODE(copy.stat().st_mode), 0o600)
        served = self.document("compile", COL, "--arch", "sm_90a", **other)
        self.assertEqual((served["source"], served["toolchain_match"]), ("disk", False))
        self.assertIn("in no cache tier", self.fails("compile", ROW, "--arch", "sm_90a", **other).err)
        again = self.document("bundle", "import", self.bundle, **other)
        self.assertEqual((again["imported"], again["already_there"], again["failed"]), (0, 3, []))

    def test_the_same_entries_give_the_same_bytes(self):
        self.fill()
        self.export("--all")
        first = self.bundle.read_bytes()
        other = self.on(self.work / "other")
        self.succeeds("bundle", "import", self.bundle, **other)
        self.succeeds("bundle", "export", "--out", self.bundle, "--all", **other)
        self.assertEqual(self.bundle.read_bytes(), first)
        self.assertEqual(self.files(), ["cache", "kernels.qjb", "other"], "nothing is left behind")

    def test_lists_and_verifies(self):
        self.fill()
        self.export("--all")
        listed = self.document("bundle", "list", self.bundle)
        cached = self.document("cache", "list")["entries"]
        fields = ("key", "traits", "arch", "math", "code", "bytes")
        self.assertEqual([{name: item[name] for name in fields} for item in listed["items"]],
                         [{name: item[name] for name in fields} for item in cached])  # fmt: skip
        self.assertEqual(listed["format"], 1)
        text = self.succeeds("bundle", "list", self.bundle).out
        self.assertEqual(text.count("\n"), 4)
        self.assertIn("not signed", text)
        verified = self.document("bundle", "verify", self.bundle, "--arch", "sm_90a,sm_100a")
        self.assertEqual((verified["bad"], verified["entries"]), ([], 3))
        link = self.work / "link.qjb"
        link.symlink_to(self.bundle)
        self.assertEqual(self.document("bundle", "verify", link)["entries"], 3)

    def test_exports_a_manifest_whole_or_not_at_all(self):
        self.fill()
        manifest = self.work / "manifest.json"
        items = [{"traits": COL, "archs": ["sm_90a", "sm_100a"]}, {"traits": TOKEN}]
        manifest.write_text(json.dumps({"quantjit_manifest": 1, "items": items}))
        exported = self.export("--manifest", manifest, "--arch", "sm_90a")
        self.assertEqual((exported["entries"], exported["missing"]), (3, []))
        before = self.bundle.read_bytes()
        items[1]["archs"] = ["sm_90a", "sm_120a"]
        items.append({"traits": ROW, "archs": ["sm_90a"]})
        manifest.write_text(json.dumps({"quantjit_manifest": 1, "items": items}))
        result = self.command("--json", "bundle", "export", "--out", self.bundle, "--manifest", manifest)
        self.assertEqual(result.status, 1, result)
        self.assertEqual(sorted(item["arch"] for item in result.document["missing"]), ["sm_120a", "sm_90a"])
        self.assertIn("cache lacks 2 entries", result.err)
        self.assertIn(f"quantjit prewarm --manifest {manifest}", result.err)
        self.assertIn("per_token_quant:in=bf16", result.err)
        self.assertIn("for sm_120a", result.err)
        self.assertEqual(self.bundle.read_bytes(), before, "the old file is left")
        self.assertEqual(self.files(), ["cache", "kernels.qjb", "manifest.json"])

    def test_exports_trait_texts_and_what_a_model_needs(self):
        self.fill()
        self.assertEqual(self.export(COL, "--arch", "sm_90a,sm_100a")["entries"], 2)
        self.assertIn("the same trait texts", self.fails("bundle", "export", "--out", self.bundle, ROW, "--arch", "sm_90a").err)
        config = self.work / "config.json"
        shape = {"hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
                 "head_dim": 128, "num_hidden_layers": 2, "torch_dtype": "bfloat16", "vocab_size": 128256,
                 "architectures": ["LlamaForCausalLM"], "model_type": "llama"}  # fmt: skip
        config.write_text(json.dumps({**shape, "quantization_config": {
            "quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}}))  # fmt: skip
        model = ["--model", config, "--tp", "2", "--arch", "sm_90a"]
        self.assertIn("the same options of the model", self.fails("bundle", "export", "--out", self.work / "m.qjb", *model).err)
        warmed = self.document("prewarm", *model)
        self.assertGreater(warmed["compiled"] + warmed["hits"], 0)
        exported = self.document("bundle", "export", "--out", self.work / "m.qjb", *model)
        self.assertEqual((exported["entries"], exported["missing"]), (warmed["requested"], []))
        config.write_text(json.dumps(shape))
        self.assertFalse((self.work / "n.qjb").exists())
        self.assertIn("no kernel is needed", self.fails("bundle", "export", "--out", self.work / "n.qjb", *model).err)

    def test_targets_narrow_all_and_import(self):
        self.fill()
        self.assertEqual(self.export("--all", "--arch", "sm_100a")["archs"], ["sm_100a"])
        self.assertEqual(self.export("--all", "--arch", "sm_100a,sm_90a")["entries"], 3)
        missing = self.fails("bundle", "export", "--out", self.work / "no.qjb", "--all", "--arch", "sm_90a,sm_103a")
        self.assertIn("anything for sm_103a", missing.err)
        self.assertFalse((self.work / "no.qjb").exists())
        other = self.on(self.work / "other")
        refused = self.fails("bundle", "import", self.bundle, "--arch", "sm_120a", **other)
        self.assertIn("holds nothing for sm_120a, only for sm_100a, sm_90a", refused.err)
        self.assert_one_line(refused.err)
        self.assertFalse((self.work / "other").exists())
        self.assertEqual(self.document("bundle", "import", self.bundle, "--arch", "sm_90a", **other)["imported"], 2)
        self.fails("bundle", "verify", self.bundle, "--arch", "sm_120a")

    def test_damage_of_any_kind_is_one_message_and_imports_nothing(self):
        self.fill()
        self.export("--all")
        good = self.bundle.read_bytes()
        other = self.on(self.work / "other")

        def damaged(content, reason):
            self.bundle.write_bytes(content)
            result = self.fails("bundle", "import", self.bundle, **other)
            self.assertIn(reason, result.err)
            self.assertIn(str(self.bundle), result.err)
            self.assert_one_line(result.err)
            self.assertFalse((self.work / "other").exists(), "nothing was imported")

        damaged(b"", "it is empty")
        damaged(b"PK\x03\x04 something else", "does not begin like a bundle")
        damaged(good[:-1], "it is cut off")
        damaged(good[: len(good) // 2], "it is cut off")
        damaged(good + b"\n", "something follows it")
        damaged(good[:8] + b"\x02" + good[9:], "format version 2, which is newer")
        damaged(good[:8] + b"\x00" + good[9:], "format version 0, which is older")
        damaged(good[:50] + b"\xff" + good[51:], "its header was changed")
        damaged(good[:-5] + bytes([good[-5] ^ 1]) + good[-4:], "its index was changed")
        changed = good[:400] + bytes([good[400] ^ 1]) + good[401:]
        damaged(changed, "1 of its 3 entries are bad")
        verified = self.command("--json", "bundle", "verify", self.bundle)
        self.assertEqual(verified.status, 1)
        self.assertEqual([bad["error"] for bad in verified.document["bad"]], ["its bytes were changed"])
        self.assertIn("ENOENT", self.fails("bundle", "import", self.work / "none.qjb").err)
        self.assertIn("not a regular file", self.fails("bundle", "list", self.work).err)
        os.mkfifo(self.work / "pipe.qjb")
        self.assertIn("not a regular file", self.fails("bundle", "list", self.work / "pipe.qjb").err)

    def test_refuses_what_makes_no_sense(self):
        self.refuses("bundle")
        self.refuses("bundle", "export", "--all")
        self.refuses("bundle", "export", "--out", self.bundle)
        self.refuses("bundle", "export", "--out", self.bundle, COL)
        self.refuses("bundle", "export", "--out", self.bundle, COL, "--all")
        self.refuses("bundle", "export", "--out", self.bundle, "--all", "--arch", "nonsense")
        self.refuses("bundle", "import")
        self.assertIn("empty", self.fails("bundle", "export", "--out", self.bundle, "--all").err)
        self.fill()
        self.assertIn("ENOENT", self.fails("bundle", "export", "--out", "/nonexistent/k.qjb", "--all").err)
        self.export("--all")
        limited = self.fails("bundle", "import", self.bundle, "--cache-max-size", "100K", **self.on(self.work / "other"))
        self.assertIn("QUANTJIT_CACHE_MAX_SIZE", limited.err)
        nowhere = self.fails("bundle", "import", self.bundle, **self.on(self.bundle))
        self.assertIn("no cache root can be written", nowhere.err)
        self.assertFalse((self.work / "other").exists())

    def test_a_damaged_entry_is_not_exported(self):
        self.fill()
        path = self.entries()[1]
        good = path.read_bytes()
        for damaged, reason in ((good[:-1] + bytes([good[-1] ^ 1]), "checksum"), (b"", "shorter")):
            path.write_bytes(damaged)
            result = self.fails("bundle", "export", "--out", self.bundle, "--all")
            self.assertIn(path.name, result.err)
            self.assertIn(reason, result.err)
            self.assertEqual(self.files(), ["cache"])


class BundleInPlace(BundleTest):
    def test_serves_and_fills_the_root_above_it(self):
        self.fill()
        self.export("--all")
        content = self.bundle.read_bytes()
        machine = self.on(self.work / "root", self.bundle)
        first = self.document("compile", COL, "--arch", "sm_90a", **machine)
        self.assertEqual(first["source"], "disk")
        self.assertTrue(first["path"].startswith(f"{self.bundle}/v1/"), first["path"])
        second = self.document("compile", COL, "--arch", "sm_90a", **machine)
        self.assertTrue(second["path"].startswith(f"{self.work / 'root'}/v1/"), second["path"])
        explained = self.document("explain", TOKEN, "--arch", "sm_90a", **machine)
        self.assertTrue(explained["hit"])
        self.assertFalse(self.document("explain", ROW, "--arch", "sm_90a", **machine)["hit"])
        stats = self.document("cache", "stats", **machine)
        self.assertEqual(stats["entries"], 5)
        self.assertEqual([root["bundle"] for root in stats["roots"]], [False, True])
        self.assertEqual([root["writable"] for root in stats["roots"]], [True, False])
        self.assertTrue(stats["roots"][1]["trusted"])
        self.assertIn("a bundle", self.succeeds("cache", "stats", **machine).out)
        self.assertEqual(len(self.document("cache", "list", **machine)["entries"]), 5)
        self.assertEqual(self.document("cache", "verify", **machine)["checked"], 5)
        inspected = self.document("cache", "inspect", TOKEN, "--arch", "sm_90a", **machine)
        self.assertEqual(inspected["traits"].partition(":")[0], "per_token_quant")
        self.document("cache", "clear", **machine)
        self.assertEqual(self.bundle.read_bytes(), content)

    def test_serves_alone(self):
        self.fill()
        self.export("--all")
        machine = self.on(self.bundle)
        self.assertEqual(self.document("compile", COL, "--arch", "sm_100a", **machine)["source"], "disk")
        result = self.fails("compile", ROW, "--arch", "sm_90a", **machine)
        self.assertIn("nearest", result.err)
        self.assertEqual(self.files(), ["cache", "kernels.qjb"], "nothing is made beside it")

    def test_one_that_cannot_be_used_is_passed_over_and_named(self):
        self.fill()
        self.export("--all")
        self.bundle.write_bytes(self.bundle.read_bytes()[:-1])
        machine = {"QUANTJIT_CACHE_DIR": f"{self.bundle}:{self.work / 'none.qjb'}:{self.work / 'root'}"}
        result = self.succeeds("--json", "compile", COL, "--arch", "sm_90a", **machine)
        self.assertEqual(result.document["source"], "compiled")
        self.assertIn("it is cut off", result.err)
        self.assertIn("there is no bundle", result.err)
        self.assertFalse((self.work / "none.qjb").exists())
        roots = self.document("cache", "stats", **machine)["roots"]
        self.assertEqual([root["trusted"] for root in roots], [False, False, True])
        os.chmod(self.bundle, 0o666)
        self.assertIn("writable by others", self.document("cache", "stats", **machine)["roots"][0]["reason"])


@unittest.skipUnless(SIMULATOR, "there is no simulated device")
class BundleOnSimulatedDevice(BundleTest):
    def test_kernels_run_from_a_bundle_alone(self):
        for traits in (COL, TOKEN):
            self.succeeds("compile", traits, "--arch", "sm_90a", "--emit", "ptx")
        self.export("--all")
        self.succeeds("bundle", "import", self.bundle, **self.on(self.work / "other"))
        for roots in ([self.bundle], [self.work / "other"], [self.work / "root", self.bundle]):
            for traits in (COL, TOKEN):
                run = self.document("run", traits, "--tokens", "3", "--hidden", "256", "--device", "sim:sm_90a", "--check",
                                    **self.on(*roots))  # fmt: skip
                self.assertEqual(run["check"], "pass", roots)
            self.fails("run", ROW, "--tokens", "3", "--hidden", "256", "--device", "sim:sm_90a", **self.on(*roots))


@unittest.skipUnless(shutil.which("openssl"), "keys are made by the openssl command")
class BundleSignature(BundleTest):
    FEATURE = "signatures"

    def setUp(self):
        super().setUp()
        for name in ("mine", "other"):
            private, public = self.work / f"{name}.pem", self.work / f"{name}.pub"
            for command in (["genpkey", "-algorithm", "ed25519", "-out", private],
                            ["pkey", "-in", private, "-pubout", "-out", public]):  # fmt: skip
                subprocess.run(["openssl", *command], check=True, capture_output=True)
        self.fill()

    def test_only_the_right_key_opens_it(self):
        exported = self.export("--all", "--sign", self.work / "mine.pem")
        self.assertEqual(exported["signature"], "consistent")
        self.assertRegex(exported["signer"], "^[0-9a-f]{64}$")
        for command in ("verify", "import"):
            document = self.document("bundle", command, self.bundle, "--verify-key", self.work / "mine.pub")
            self.assertEqual(document["signature"], "trusted")
            refused = self.fails("bundle", command, self.bundle, "--verify-key", self.work / "other.pub")
            self.assertIn("signed by another key, " + exported["signer"], refused.err)
            self.refuses("bundle", command, self.bundle, "--verify-key", self.work / "mine.pem")
            self.refuses("bundle", command, self.bundle, "--verify-key", self.work / "none.pub")
        self.assertIn("signed by", self.succeeds("bundle", "list", self.bundle).out)
        self.export("--all")
        refused = self.fails("bundle", "import", self.bundle, "--verify-key", self.work / "mine.pub",
                             **self.on(self.work / "other"))  # fmt: skip
        self.assertIn("it is not signed", refused.err)
        self.assertFalse((self.work / "other").exists())

    def test_openssl_verifies_what_was_signed(self):
        self.export("--all", "--sign", self.work / "mine.pem")
        content = self.bundle.read_bytes()
        (self.work / "message").write_bytes(content[:96])
        (self.work / "signature").write_bytes(content[136:200])
        result = subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", self.work / "mine.pub", "-rawin",
             "-in", self.work / "message", "-sigfile", self.work / "signature"],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)

    def test_a_key_that_cannot_sign_writes_nothing(self):
        for key in ("mine.pub", "none.pem"):
            self.refuses("bundle", "export", "--out", self.bundle, "--all", "--sign", self.work / key)
        self.assertFalse(self.bundle.exists())
        self.assertEqual([name for name in self.files() if name.startswith(".tmp")], [])
