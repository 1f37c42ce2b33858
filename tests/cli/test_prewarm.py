# SPDX-License-Identifier: Apache-2.0
"""Compiling ahead: from trait texts, manifests, traces and models; crashes, signals and progress."""

import json
import os
import pathlib
import pty
import shutil
import signal
import subprocess
import time
import unittest

from harness import BINARY, SOURCE, FakeCompilerTest

MODELS = SOURCE / "tests" / "data" / "models"


def group(number, **keys):
    more = "".join(f",{key}={value}" for key, value in keys.items())
    return f"per_token_group_quant:group={number}{more}"


class PrewarmTest(FakeCompilerTest):
    """prewarm with the compiler of the tests."""

    def prewarm(self, *arguments, status=0, **settings):
        result = self.command("prewarm", *arguments, "--json", **settings)
        self.assertEqual(result.status, status, result)
        document = result.document
        failed = len(document["failed"])
        if not document["cancelled"]:
            self.assertEqual(document["requested"], document["hits"] + document["compiled"] + failed, document)
        return document

    def counts(self, document):
        return document["requested"], document["hits"], document["compiled"], len(document["failed"])

    def litter(self):
        """What a process that was ended in the middle of its work would leave behind."""
        files = [path for path in self.cache.rglob("*") if path.is_file()]
        return [path for path in files if "tmp" in path.name or "lease" in path.name or path.name.startswith(".")]


class Lists(PrewarmTest):
    FIELDS = {"requested", "hits", "compiled", "failed", "seconds"}

    def test_compiles_each_pair_once(self):
        texts = [group(64), group(32), "per_token_quant", "per_token_group_quant:scale=f32,group=64"]
        first = self.prewarm(*texts, "--arch", "sm_90a,sm_100a", "-j", "2")
        self.assertLessEqual(self.FIELDS, set(first))
        self.assertEqual(self.counts(first), (6, 0, 6, 0))
        self.assertEqual(len(self.entries()), 6)
        second = self.prewarm(*texts, "--arch", "sm_90a,sm_100a")
        self.assertEqual(self.counts(second), (6, 6, 0, 0))
        more = self.prewarm(group(16), group(64), "--arch", "sm_90a")
        self.assertEqual(self.counts(more), (2, 1, 1, 0))

    def test_hits_need_no_compiler(self):
        self.prewarm(group(64), "--arch", "sm_90a")
        for settings in ({"QUANTJIT_JIT": "off"}, {"QUANTJIT_NVRTC": "/nonexistent"}):
            self.assertEqual(self.counts(self.prewarm(group(64), "--arch", "sm_90a", **settings)), (1, 1, 0, 0))
        missing = self.prewarm(group(64), group(32), "--arch", "sm_90a", status=1, QUANTJIT_JIT="off")
        self.assertEqual(self.counts(missing), (2, 1, 0, 1))
        self.assertIn("group=32", missing["failed"][0]["traits"])
        self.assertEqual(len(self.entries()), 1)

    def test_failures_are_listed_and_the_rest_is_kept(self):
        # The compiler of the tests knows no sm_120.
        for isolate in ([], ["--isolate"]):
            document = self.prewarm(group(64), "--arch", "sm_90a,sm_120a", *isolate, status=1)
            self.assertEqual(document["requested"], 2)
            self.assertEqual(len(document["failed"]), 1)
            failure = document["failed"][0]
            self.assertEqual(failure["arch"], "sm_120a")
            self.assertTrue(failure["traits"].startswith("per_token_group_quant:in=bf16,out=e4m3,group=64"))
            self.assertIn("does not know this target", failure["error"])
            self.assertNotIn("\n", failure["error"])
            self.assertEqual(len(self.entries()), 1)
        text = self.command("prewarm", group(64), "--arch", "sm_120a")
        self.assertEqual(text.status, 1)
        self.assertIn("FAILED per_token_group_quant:", text.out)
        self.assertIn("sm_120a", text.out)

    def test_math_modes_are_kernels_of_their_own(self):
        document = self.prewarm(group(64), group(64, math="precise"), "--arch", "sm_90a")
        self.assertEqual(self.counts(document), (2, 0, 2, 0))

    def test_a_manifest(self):
        manifest = self.work / "manifest.json"
        items = [{"traits": group(64), "archs": ["sm_90a", "sm_100a"]}, {"traits": "per_token_quant"}]
        manifest.write_text(json.dumps({"quantjit_manifest": 1, "items": items}))
        self.assertEqual(self.counts(self.prewarm("--manifest", manifest, "--arch", "sm_90a")), (3, 0, 3, 0))
        self.assertIn("items[1]", self.refuses("prewarm", "--manifest", manifest).err)
        manifest.write_text("{")
        self.refuses("prewarm", "--manifest", manifest, "--arch", "sm_90a")

    def test_a_trace(self):
        trace = self.work / "trace"
        text = self.succeeds("traits", "--check", group(64)).out.strip()
        record = json.dumps({"quantjit_trace": 1, "arch": "sm_90a", "traits": text}) + "\n"
        trace.write_text(record * 3)
        self.assertEqual(self.counts(self.prewarm("--from-trace", trace)), (1, 0, 1, 0))
        self.assertEqual(self.counts(self.prewarm("--from-trace", trace, "--arch", "sm_100a,sm_90a")), (2, 1, 1, 0))

    def test_a_thousand_entries_are_compiled_once(self):
        texts = self.succeeds("traits", "--enumerate").out.splitlines()
        archs = ["sm_90a"]
        chosen = texts[:: len(texts) // 1000][:1000]
        manifest = self.work / "manifest.json"
        items = [{"traits": text, "archs": archs} for text in chosen]
        manifest.write_text(json.dumps({"quantjit_manifest": 1, "items": items}))
        self.assertEqual(self.counts(self.prewarm("--manifest", manifest)), (1000, 0, 1000, 0))
        again = self.prewarm("--manifest", manifest)
        self.assertEqual(self.counts(again), (1000, 1000, 0, 0))
        isolated = self.prewarm("--manifest", manifest, "--isolate")
        self.assertEqual(self.counts(isolated), (1000, 1000, 0, 0))

    def test_misuse(self):
        manifest = self.work / "manifest.json"
        manifest.write_text('{"quantjit_manifest": 1, "items": []}')
        for arguments in (
            [],
            ["--arch", "sm_90a"],
            [group(64)],
            [group(64), "--arch", "nonsense"],
            ["nonsense:", "--arch", "sm_90a"],
            [group(64), "--manifest", manifest, "--arch", "sm_90a"],
            [group(64), "--arch", "sm_90a", "-j", "-1"],
            [group(64), "--arch", "sm_90a", "--tp", "8"],
            [group(64), "--arch", "sm_90a", "--superset"],
        ):
            self.assert_one_line(self.refuses("prewarm", *arguments).err)
        self.assertEqual(self.entries(), [])
        self.assertNotIn("worker", self.succeeds("--help").out)


class Crashes(PrewarmTest):
    def test_a_compiler_that_aborts_costs_one_kernel(self):
        texts = [group(number, **{"in": dtype}) for number in (16, 32, 64, 128, 256) for dtype in ("bf16", "f16")]
        for jobs in ("1", "3"):
            shutil.rmtree(self.cache, ignore_errors=True)
            document = self.prewarm(*texts, "--arch", "sm_90a", "--isolate", "-j", jobs, status=1,
                                    QUANTJIT_FAKE_ABORT="_flat<1, 3, 64,")  # fmt: skip
            self.assertEqual(self.counts(document), (10, 0, 9, 1))
            failure = document["failed"][0]
            self.assertIn("in=f16,out=e4m3,group=64", failure["traits"])
            self.assertIn("signal 6 (SIGABRT)", failure["error"])
            self.assertEqual(len(self.entries()), 9)
            self.assertEqual(self.litter(), [])
        self.assertEqual(self.counts(self.prewarm(*texts, "--arch", "sm_90a")), (10, 9, 1, 0))
        self.assertEqual(self.litter(), [])

    def test_a_compiler_that_always_aborts_fails_all_and_ends(self):
        texts = [group(number) for number in (16, 32, 64, 128)]
        document = self.prewarm(*texts, "--arch", "sm_90a", "--isolate", "-j", "2", status=1,
                                QUANTJIT_FAKE_ABORT="per_token_group_quant")  # fmt: skip
        self.assertEqual(self.counts(document), (4, 0, 0, 4))


class Signals(PrewarmTest):
    TEXTS = [group(number, **{"in": dtype, "layout": layout})
             for number in (16, 32, 64, 128) for dtype in ("bf16", "f16", "f32") for layout in ("row", "col")]  # fmt: skip

    def begun(self):
        path = pathlib.Path(str(self.hold) + ".begun")
        return path.stat().st_size if path.exists() else 0

    def interrupt(self, number, *arguments, to_group=False):
        """Interrupts a prewarm while exactly two of its compiles are under way; its result."""
        self.hold.touch()
        pathlib.Path(str(self.hold) + ".begun").unlink(missing_ok=True)
        environment = {**self.environment, "QUANTJIT_FAKE_HOLD": str(self.hold)}
        with subprocess.Popen(
            [BINARY, "prewarm", "--json", *self.TEXTS, "--arch", "sm_90a", "-j", "2", *arguments], env=environment,
            cwd=self.work, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        ) as child:  # fmt: skip
            while self.begun() < 2:
                self.assertIsNone(child.poll(), "it ended before it had begun")
                time.sleep(0.01)
            if to_group:
                os.killpg(child.pid, number)
            else:
                child.send_signal(number)
            self.hold.unlink()
            out, err = child.communicate(timeout=120)
        return child.returncode, json.loads(out), err

    def check(self, number, *arguments, **how):
        shutil.rmtree(self.cache, ignore_errors=True)
        status, document, err = self.interrupt(number, *arguments, **how)
        self.assertEqual(status, 128 + number, err)
        self.assertTrue(document["cancelled"])
        self.assertEqual(document["requested"], len(self.TEXTS))
        # The signal may be seen only after one more was begun.
        self.assertLess(document["compiled"], len(self.TEXTS))
        self.assertGreaterEqual(document["compiled"], 2)
        self.assertEqual(document["failed"], [])
        self.assertEqual(len(self.entries()), document["compiled"], "what was begun is finished and kept")
        self.assertIn(f"{document['compiled']} of {len(self.TEXTS)}", err)
        self.assertEqual(self.litter(), [])
        rest = self.prewarm(*self.TEXTS, "--arch", "sm_90a")
        self.assertEqual(rest["hits"], document["compiled"])
        self.assertEqual(rest["hits"] + rest["compiled"], len(self.TEXTS))

    def test_an_interrupt_ends_it_in_order(self):
        self.check(signal.SIGINT)
        self.check(signal.SIGTERM)

    def test_an_interrupt_of_the_whole_group_leaves_workers_their_work(self):
        self.check(signal.SIGINT, "--isolate", to_group=True)
        self.check(signal.SIGTERM, "--isolate", to_group=True)
        self.check(signal.SIGTERM, "--isolate")


class Progress(PrewarmTest):
    TEXTS = [group(number, layout=layout) for number in (16, 32, 64, 128, 256) for layout in ("row", "col")]

    def test_plain_lines_where_there_is_no_terminal(self):
        result = self.succeeds("prewarm", *self.TEXTS, "--arch", "sm_90a")
        self.assertNotIn("\r", result.err)
        self.assertNotIn("\033", result.err)
        lines = result.err.splitlines()
        self.assertEqual(len(lines), 10, "a line for each tenth")
        self.assertTrue(lines[-1].startswith("quantjit: prewarm: 10 of 10"), lines[-1])
        self.assertRegex(lines[4], r"^quantjit: prewarm: 5 of 10, \d+\.\d/s, \d+:\d\d left$")
        self.assertIn("requested 10, hits 0, compiled 10, failed 0", result.out)

    def test_a_bar_on_a_terminal(self):
        try:
            leader, follower = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal can be had here: {error}")
        try:
            completed = subprocess.run(
                [BINARY, "prewarm", *self.TEXTS, "--arch", "sm_90a"], env=self.environment, cwd=self.work,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=follower, check=False, timeout=120,
            )  # fmt: skip
            os.close(follower)
            follower = -1
            shown = b""
            while True:
                try:
                    part = os.read(leader, 4096)
                except OSError:  # the other side is closed
                    break
                if not part:
                    break
                shown += part
        finally:
            os.close(leader)
            if follower >= 0:
                os.close(follower)
        self.assertEqual(completed.returncode, 0)
        self.assertIn(b"\r\x1b[K[########################] 10 of 10", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), "the bar is removed at the end")
        self.assertNotIn(b"\n", shown)


class Models(PrewarmTest):
    def model(self, name, *arguments, status=0, archs="sm_90a", **settings):
        return self.prewarm("--model", MODELS / f"{name}.json", "--arch", archs, *arguments, status=status, **settings)

    def test_the_kernels_of_a_model_are_compiled(self):
        document = self.model("deepseek-v3", "--tp", 8, archs="sm_90a,sm_100a")
        self.assertEqual(self.counts(document), (5, 0, 5, 0))
        self.assertIsNone(document["refusal"])
        self.assertEqual(document["warnings"], [])
        sites = {(site["arch"], site["name"]): site for site in document["sites"]}
        down = sites["sm_100a", "mlp.down_proj"]
        self.assertEqual((down["k"], down["groups"]), (2304, 18))
        self.assertEqual(len(sites["sm_100a", "moe in"]["traits"]), 2)
        self.assertTrue(any("FlashInfer" in what for what in document["not_covered"]))
        compiled = {entry["traits"] for entry in map(self.inspect, self.entries())}
        self.assertEqual(compiled, {text for model in document["models"] for text in model["traits"]})
        self.assertEqual(self.counts(self.model("deepseek-v3", "--tp", 8, archs="sm_90a,sm_100a")), (5, 5, 0, 0))

    def inspect(self, path):
        return self.document("cache", "inspect", path.stem)

    def test_every_flag_reaches_the_derivation(self):
        def traits(*arguments, archs="sm_90a", name="deepseek-v3"):
            document = self.model(name, *arguments, archs=archs)
            return {text.split(",silu")[0].split("group=128,")[1] + (" masked" if "masked" in text else "")
                    for text in document["models"][0]["traits"] if "group=128" in text}  # fmt: skip

        col, row, masked = "scale=f32,layout=col", "scale=f32,layout=row", "scale=f32,layout=col masked"
        self.assertEqual(traits("--tp", 8), {col, row})
        self.assertEqual(traits("--tp", 8, "--ep", 8, "--a2a", "deepep"), {col, row, masked})
        self.assertEqual(traits("--tp", 8, "--moe-runner", "deep_gemm"), {col, row, masked})
        self.assertEqual(traits("--tp", 8, "--no-deepgemm"), {row})
        self.assertEqual(traits("--tp", 8, "--fp8-gemm-backend", "triton"), {row})
        self.assertEqual(traits("--tp", 8, "--superset"), {col, row, masked})
        self.assertEqual(traits("--tp", 8, "--dtype", "float16"), {row})
        self.assertIn("scale=f32_pow2,layout=col", traits("--engine", "vllm", "--tp", 8))
        attention = self.model("deepseek-v3", "--tp", 8, "--attn-tp", 2)
        self.assertEqual(next(site["k"] for site in attention["sites"] if site["name"] == "o_proj"), 8192)
        dense = self.model("llama-3.1-70b-bf16", "--quantization", "fp8", "--tp", 8)
        self.assertTrue(dense["models"][0]["traits"][0].startswith("per_token_quant:"))
        apart = self.model("deepseek-v3", "--tp", 8, "--no-shared-fusion")
        self.assertIn("shared.down_proj", {site["name"] for site in apart["sites"]})
        parallel = self.model("deepseek-v3", "--tp", 8, "--moe-dp", 2)
        self.assertEqual(next(site["k"] for site in parallel["sites"] if site["name"] == "moe down in"), 512)

    def test_models_that_need_nothing_say_so(self):
        for name in ("llama-3.1-70b-bf16", "gpt-oss-120b-mxfp4", "llama-3.1-405b-fp8-static-tensor"):
            self.assertEqual(self.counts(self.model(name, "--tp", 8)), (0, 0, 0, 0))
            result = self.succeeds("prewarm", "--model", MODELS / f"{name}.json", "--arch", "sm_90a")
            self.assertIn("needs no kernel of this library", result.out)
        self.assertIn("mxfp4 not covered", self.model("gpt-oss-120b-mxfp4", "--tp", 8)["not_covered"])
        self.assertEqual(self.entries(), [])

    def test_a_quantization_file_beside_the_config_is_found(self):
        document = self.model("llama-3.1-70b-fp8-modelopt", "--tp", 8)
        self.assertIn("hf_quant_config.json", document["models"][0]["reason"])
        folder = self.work / "model"
        folder.mkdir()
        shutil.copy(MODELS / "llama-3.1-70b-fp8-modelopt.json", folder / "config.json")
        without = self.prewarm("--model", folder, "--arch", "sm_90a")
        self.assertTrue(any("hf_quant_config.json" in warning for warning in without["warnings"]))
        shutil.copy(MODELS / "llama-3.1-70b-fp8-modelopt.hf_quant_config.json", folder / "hf_quant_config.json")
        self.assertEqual(self.prewarm("--model", folder, "--arch", "sm_90a")["warnings"], [])

    def test_a_refusal_names_its_reason_and_compiles_nothing(self):
        document = self.model("qwen3-235b-a22b-fp8", "--tp", 8, status=1)
        self.assertEqual(document["refusal"], "MoE intermediate per rank 192 is not a multiple of 128")
        self.assertEqual(self.counts(document), (0, 0, 0, 0))
        both = self.model("qwen3-235b-a22b-fp8", "--tp", 8, archs="sm_90a,sm_100a", status=1)
        self.assertEqual(both["refusal"], "sm_90a: MoE intermediate per rank 192 is not a multiple of 128")
        self.assertEqual(self.counts(both), (3, 0, 3, 0))
        self.assertIn("refused", self.command("prewarm", "--model", MODELS / "qwen3-235b-a22b-fp8.json", "--tp", 8,
                                              "--arch", "sm_90a").err)  # fmt: skip

    def test_bad_configs_and_flags(self):
        self.assertIn("nothing.json", self.fails("prewarm", "--model", "nothing.json", "--arch", "sm_90a").err)
        config = self.work / "config.json"
        for text in ("", "[]", "{", "[" * 100000, '{"architectures": 3}'):
            config.write_text(text)
            self.assert_one_line(self.refuses("prewarm", "--model", config, "--arch", "sm_90a").err)
        good = MODELS / "deepseek-v3.json"
        for flags in (["--tp", "0"], ["--tp", "-8"], ["--tp", "many"], ["--tp", "99999999999999999999"], ["--ep", "0"],
                      ["--attn-tp", "0"], ["--attn-tp", "3"], ["--moe-dp", "0"], ["--engine", "trt"],
                      ["--a2a", "pigeon"], ["--moe-runner", "x"], ["--fp8-gemm-backend", "x"], ["--dtype", "int4"]):  # fmt: skip
            self.assert_one_line(self.refuses("prewarm", "--model", good, "--arch", "sm_90a", *flags).err)
        self.refuses("prewarm", "--model", good)


if __name__ == "__main__":
    unittest.main()
