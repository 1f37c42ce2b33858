# SPDX-License-Identifier: Apache-2.0
"""Compiling, the cache behind it, and what explains and maintains it. Needs NVRTC."""

import shutil

from harness import COL, NO_DRIVER, ROW, SOURCE, CommandTest


class Compile(CommandTest):
    FIELDS = {"traits", "arch", "key", "source", "compile_ms", "total_ms", "cubin_bytes", "math", "nvrtc", "path",
              "entry_points"}  # fmt: skip

    def test_compiles_once_and_hits_without_nvrtc(self):
        cold = self.document("compile", COL, "--arch", "sm_90a")
        self.assertLessEqual(self.FIELDS, set(cold))
        self.assertEqual(cold["source"], "compiled")
        self.assertEqual(cold["arch"], "sm_90a")
        self.assertEqual(cold["math"], "fast")
        self.assertGreater(cold["compile_ms"], 0)
        self.assertGreaterEqual(cold["total_ms"], cold["compile_ms"])
        self.assertGreater(cold["cubin_bytes"], 1000)
        self.assertRegex(cold["key"], r"^[0-9a-f]{64}-[0-9a-f]{16}$")
        self.assertEqual([cold["path"]], [str(path) for path in self.entries()])
        for entry in cold["entry_points"]:
            self.assertLessEqual({"name", "registers", "spill_bytes", "shared_bytes"}, set(entry))
            self.assertGreater(entry["registers"], 0)
        for settings in ({}, {"QUANTJIT_NVRTC": "/nonexistent"}, {"QUANTJIT_JIT": "off"}):
            warm = self.document("compile", COL, "--arch", "sm_90a", **settings)
            self.assertEqual(warm["source"], "disk", settings)
            for field in ("key", "path", "entry_points", "cubin_bytes", "compile_ms"):
                self.assertEqual(warm[field], cold[field])
            self.assertEqual(warm["toolchain_match"], settings.get("QUANTJIT_NVRTC") is None)

    def test_math_and_arch_make_other_keys(self):
        keys = {
            self.document("compile", COL, "--arch", "sm_90a")["key"],
            self.document("compile", COL, "--arch", "sm_90a", "--math", "precise")["key"],
            self.document("compile", COL, "--arch", "sm_100a")["key"],
            self.document("compile", COL, "--arch", "sm_90a", "--emit", "ptx")["key"],
        }
        self.assertEqual(len(keys), 4)
        self.assertEqual(len(self.entries()), 4)
        self.assertEqual(self.document("compile", COL, "--arch", "sm_100a")["math"], "precise")

    def test_writes_the_code_it_was_asked_for(self):
        self.succeeds("compile", COL, "--arch", "sm_90a", "-o", "kernel.cubin")
        self.assertTrue((self.work / "kernel.cubin").read_bytes().startswith(b"\x7fELF"))
        document = self.document("compile", COL, "--arch", "sm_90a", "--emit", "ptx", "-o", "kernel.ptx")
        ptx = (self.work / "kernel.ptx").read_bytes()
        self.assertIn(b".target sm_90a", ptx)
        self.assertEqual(len(ptx), document["cubin_bytes"])
        self.assertEqual(self.succeeds("compile", COL, "--arch", "sm_90a", "--emit", "ptx", "-o", "-").out.encode(), ptx)
        self.assertIn("/nonexistent", self.fails("compile", COL, "--arch", "sm_90a", "-o", "/nonexistent/k.cubin").err)
        self.refuses("compile", COL, "--arch", "sm_90a", "-o", "-", "--math", "nonsense")
        self.assertEqual(self.command("compile", COL, "--arch", "sm_90a", "-o", "-", "--json").status, 2)

    def test_no_cache_reads_and_writes_nothing(self):
        self.assertEqual(self.document("compile", COL, "--arch", "sm_90a", "--no-cache")["source"], "compiled")
        self.assertEqual(self.entries(), [])
        self.succeeds("compile", COL, "--arch", "sm_90a")
        document = self.document("compile", COL, "--arch", "sm_90a", "--no-cache")
        self.assertEqual((document["source"], document["path"]), ("compiled", ""))

    def test_targets_that_do_not_exist(self):
        self.assertIn("sm_9", self.refuses("compile", COL, "--arch", "sm_9").err)
        self.assertIn("nonsense", self.refuses("compile", COL, "--arch", "nonsense").err)
        unknown = self.fails("compile", COL, "--arch", "sm_199a").err
        self.assertIn("sm_199a", unknown)
        self.assertIn("sm_90a", unknown, "the message lists what NVRTC knows")
        self.assertEqual(self.entries(), [])

    def test_without_a_compiler_a_miss_fails(self):
        self.assertIn("/nonexistent", self.fails("compile", COL, "--arch", "sm_90a", "--nvrtc", "/nonexistent").err)
        self.succeeds("compile", ROW, "--arch", "sm_90a")
        for switch in (["--jit", "off"], ["--no-jit"]):
            result = self.fails("compile", COL, "--arch", "sm_90a", *switch)
            self.assertIn("nearest", result.err)
            self.assert_one_line(result.err)

    def test_a_broken_nvrtc_is_named(self):
        broken = self.work / "libnvrtc.so.13"
        broken.write_bytes(b"not a library")
        result = self.fails("compile", COL, "--arch", "sm_90a", "--nvrtc", broken)
        self.assertIn(str(broken), result.err)
        self.assertEqual(self.entries(), [])


class KernelDirectory(CommandTest):
    def setUp(self):
        super().setUp()
        self.kernels = self.work / "kernels"
        shutil.copytree(SOURCE / "kernels", self.kernels)
        self.source = self.kernels / "per_token_group_quant.cuh"

    def compile(self):
        return self.document("compile", COL, "--arch", "sm_90a", "--kernel-dir", self.kernels)

    def test_an_edit_is_a_new_key_and_nothing_else_is(self):
        first = self.compile()
        self.assertEqual(self.document("compile", COL, "--arch", "sm_90a")["source"], "disk",
                         "the same sources have the same key wherever they are")  # fmt: skip
        self.source.write_text(self.source.read_text() + "// a comment\n")
        second = self.compile()
        self.assertEqual(second["source"], "compiled")
        self.assertNotEqual(second["key"], first["key"])
        explanation = self.document("explain", COL, "--arch", "sm_90a", "--jit", "off")
        self.assertTrue(explanation["hit"])

    def test_an_error_shows_the_log_and_caches_nothing(self):
        lines = self.source.read_text().splitlines()
        self.source.write_text("\n".join([*lines, "int broken = no_such_name;", ""]))
        result = self.fails("compile", COL, "--arch", "sm_90a", "--kernel-dir", self.kernels)
        self.assertIn("no_such_name", result.err)
        self.assertIn(f"per_token_group_quant.cuh({len(lines) + 1})", result.err)
        self.assertEqual(self.entries(), [])
        missing = self.command("compile", COL, "--arch", "sm_90a", "--kernel-dir", self.work / "nothing")
        self.assertNotEqual(missing.status, 0)
        self.assertIn("nothing", missing.err)


class Explain(CommandTest):
    def test_hit_miss_and_nearest(self):
        empty = self.document("explain", COL, "--arch", "sm_90a")
        self.assertEqual((empty["hit"], empty["nearest"]), (False, None))
        compiled = self.document("compile", COL, "--arch", "sm_90a")
        self.assertEqual(compiled["key"], empty["key"])
        hit = self.document("explain", COL, "--arch", "sm_90a")
        self.assertEqual((hit["hit"], hit["key"], hit["path"]), (True, compiled["key"], compiled["path"]))
        miss = self.document("explain", COL + ",pdl=false", "--arch", "sm_90a")
        self.assertFalse(miss["hit"])
        self.assertEqual(miss["nearest"]["key"], compiled["key"])
        differs = {d["field"]: (d["wanted"], d["found"]) for d in miss["nearest"]["differs"]}
        self.assertEqual(differs["traits.pdl"], ("false", "true"))
        self.assertIn("miss", self.succeeds("explain", COL, "--arch", "sm_100a").out)
        self.assertIn("arch 6:sm_90a", hit["key_text"])


class Cache(CommandTest):
    def setUp(self):
        super().setUp()
        self.compiled = self.document("compile", COL, "--arch", "sm_90a")
        self.file = self.entries()[0]

    def test_list_stats_and_inspect(self):
        (entry,) = self.document("cache", "list")["entries"]
        self.assertEqual((entry["key"], entry["traits"], entry["arch"]),
                         (self.compiled["key"], self.compiled["traits"], "sm_90a"))  # fmt: skip
        self.assertEqual(entry["bytes"], self.file.stat().st_size)
        stats = self.document("cache", "stats")
        self.assertEqual((stats["entries"], stats["bytes"]), (1, self.file.stat().st_size))
        self.assertEqual(stats["counters"]["published"], 1)
        (root,) = stats["roots"]
        self.assertEqual((root["path"], root["writable"], root["trusted"]), (str(self.cache), True, True))
        for subject in ([self.compiled["key"]], [self.compiled["key"][:16]], [COL, "--arch", "sm_90a"]):
            found = self.document("cache", "inspect", *subject)
            self.assertEqual(found["path"], str(self.file))
            self.assertEqual(found["traits"], self.compiled["traits"])
            self.assertEqual(found["entry_points"], self.compiled["entry_points"])
            self.assertEqual(found["nvrtc_version"], self.compiled["nvrtc"])

    def test_inspect_of_what_is_not_there(self):
        self.refuses("cache", "inspect", "nonsense")
        self.assertIn("--arch", self.refuses("cache", "inspect", COL).err)
        self.fails("cache", "inspect", "a" * 64 + "-" + "b" * 16)
        self.fails("cache", "inspect", ROW, "--arch", "sm_90a")

    def damage(self, kind):
        data = bytearray(self.file.read_bytes())
        if kind == "flipped":
            data[len(data) // 2] ^= 1
        elif kind == "truncated":
            del data[len(data) // 2 :]
        elif kind == "empty":
            data.clear()
        else:
            data += b"more"
        self.file.write_bytes(data)

    def test_damage_is_found_and_rebuilt(self):
        for kind in ("flipped", "truncated", "empty", "longer"):
            with self.subTest(kind):
                self.damage(kind)
                report = self.command("cache", "verify", "--json")
                self.assertEqual(report.status, 1)
                self.assertEqual([bad["path"] for bad in report.document["bad"]], [str(self.file)])
                self.assertNotEqual(report.document["bad"][0]["reason"], "")
                rebuilt = self.succeeds("compile", COL, "--arch", "sm_90a", "--json")
                self.assertEqual(rebuilt.document["source"], "compiled")
                self.assert_one_line(rebuilt.err)  # one warning
                self.assertEqual(self.document("compile", COL, "--arch", "sm_90a")["source"], "disk")
                verified = self.document("cache", "verify")
                self.assertEqual((verified["checked"], verified["bad"]), (1, []))

    def test_another_kernels_entry_is_no_hit(self):
        other = self.document("compile", ROW, "--arch", "sm_90a")
        shutil.copyfile(other["path"], self.compiled["path"])
        rebuilt = self.document("compile", COL, "--arch", "sm_90a")
        self.assertEqual((rebuilt["source"], rebuilt["key"]), ("compiled", self.compiled["key"]))

    def test_verify_can_move_damage_aside(self):
        self.damage("flipped")
        self.succeeds("cache", "verify", "--repair")
        self.assertFalse(self.file.exists())
        self.assertEqual(self.document("cache", "verify")["bad"], [])

    def test_evict_and_clear(self):
        self.succeeds("compile", ROW, "--arch", "sm_90a")
        planned = self.document("cache", "evict", "--to", "0", "--dry-run")
        self.assertEqual((planned["entries"], planned["dry_run"]), (2, True))
        self.assertEqual(len(self.entries()), 2)
        self.assertEqual(self.document("cache", "evict")["entries"], 0, "far below the limit")
        largest = max(path.stat().st_size for path in self.entries())
        self.assertEqual(self.document("cache", "evict", "--to", largest)["entries"], 1)
        self.assertEqual(len(self.entries()), 1)
        self.refuses("cache", "evict", "--to", "lots")
        self.assertEqual(self.document("cache", "clear", "--dry-run")["entries"], 1)
        self.assertEqual(self.document("cache", "clear")["entries"], 1)
        self.assertEqual(self.entries(), [])

    def test_a_second_layer_is_read(self):
        upper = self.work / "upper"
        document = self.document("compile", COL, "--arch", "sm_90a", "--cache-dir", f"{upper}:{self.cache}")
        self.assertEqual(document["source"], "disk")


class CompileOnlyDemo(CommandTest):
    def test_without_a_device_it_compiles_for_both_generations(self):
        arguments = ["demo", "--json", "--cuda-driver", NO_DRIVER]
        cold = self.succeeds(*arguments)
        document = cold.document
        self.assertFalse(document["launched"])
        self.assertEqual({kernel["arch"] for kernel in document["kernels"]}, {"sm_90a", "sm_100a"})
        self.assertEqual(document["compiled"], len(document["kernels"]))
        self.assertTrue(document["nvrtc_loaded"])
        self.assertIn(NO_DRIVER, cold.err)
        warm = self.document(*arguments)
        self.assertEqual((warm["compiled"], warm["cached"]), (0, len(warm["kernels"])))
        self.assertFalse(warm["nvrtc_loaded"])
        self.assertIn("Nothing was launched", self.succeeds("demo", "--cuda-driver", NO_DRIVER).out)
