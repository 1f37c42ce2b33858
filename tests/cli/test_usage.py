# SPDX-License-Identifier: Apache-2.0
"""Command line, streams, exit codes, and what needs neither NVRTC nor a device."""

import json
import subprocess

from harness import BINARY, COL, NO_DRIVER, ROW, CommandTest


class Usage(CommandTest):
    def test_help_and_version_go_to_standard_output(self):
        for arguments in (["--help"], ["compile", "--help"], ["cache", "--help"], ["--version"], ["version"]):
            result = self.succeeds(*arguments)
            self.assertNotEqual(result.out, "", arguments)
            self.assertEqual(result.err, "", arguments)
        self.assertEqual(self.succeeds("--version").out, self.succeeds("version").out)
        self.assertRegex(self.document("version")["version"], r"^\d+\.\d+\.\d+$")

    def test_misuse_is_status_2_and_one_line(self):
        cases = [
            [],
            ["no-such-command"],
            ["cache"],
            ["cache", "no-such-command"],
            ["compile"],
            ["compile", ROW],
            ["compile", "--arch", "sm_90a"],
            ["compile", ROW, "--arch", "sm_90a", "--emit", "sass"],
            ["compile", ROW, "--arch", "sm_90a", "--no-such-option"],
            ["compile", ROW, ROW, "--arch", "sm_90a"],
            ["run", ROW, "--tokens", "many", "--hidden", "128"],
            ["run", ROW, "--input", "x.npy", "--tokens", "3"],
            ["run", ROW, "--tensor", "x", "--tokens", "3", "--hidden", "128"],
            ["golden"],
        ]
        for arguments in cases:
            self.assert_one_line(self.refuses(*arguments).err)

    def test_misuse_is_a_json_document_too(self):
        result = self.command("compile", "--json")
        self.assertEqual(result.status, 2)
        self.assertIn("message", result.document["error"])
        self.assert_one_line(result.err)
        result = self.command("--json", "compile", "nonsense:", "--arch", "sm_90a")
        self.assertEqual(result.status, 2)
        self.assertEqual(result.document["error"]["type"], "InvalidArgument")

    def test_options_stand_before_or_after_the_command(self):
        before = self.document("traits")
        after = self.succeeds("traits", "--json").document
        self.assertEqual(before, after)

    def test_unwritable_output_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([BINARY, "traits"], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"No space left on device", result.stderr)

    def test_closed_output_is_a_failure(self):
        script = f"exec {BINARY} traits >&-"
        result = subprocess.run(["sh", "-c", script], stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"standard output cannot be written", result.stderr)

    def test_a_reader_that_goes_away_is_no_crash(self):
        with subprocess.Popen([BINARY, "traits", "--enumerate"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            child.stdout.readline()
            child.stdout.close()
            errors = child.stderr.read()
            self.assertEqual(child.wait(), 1)
            self.assertEqual(errors, b"")


class Traits(CommandTest):
    def test_every_canonical_text_is_its_own_canonical_form(self):
        texts = self.succeeds("traits", "--enumerate").out.splitlines()
        self.assertGreater(len(texts), 2000)
        self.assertEqual(len(set(texts)), len(texts))
        self.assertEqual(self.document("traits", "--enumerate")["traits"], texts)
        for text in texts[:: len(texts) // 40]:
            self.assertEqual(self.succeeds("traits", "--check", text).out, text + "\n")

    def test_check_completes_and_orders_keys(self):
        text = self.succeeds("traits", "--check", "per_token_group_quant:layout=col,scale=ue8m0").out.strip()
        self.assertTrue(text.startswith("per_token_group_quant:in=bf16,out=e4m3,group=128,scale=ue8m0,layout=col,"))
        document = self.document("traits", "--check", "per_token_quant:math=fast")
        self.assertEqual(document["math"], "fast")
        self.assertNotIn("math", document["traits"])

    def test_keys_have_values_with_the_default_first(self):
        operations = {operation["op"]: operation for operation in self.document("traits")["ops"]}
        self.assertEqual(set(operations), {"per_token_group_quant", "per_token_quant"})
        for operation in operations.values():
            for key in operation["keys"]:
                self.assertEqual(key["default"], key["values"][0])
        defaults = ",".join(f"{k['key']}={k['default']}" for k in operations["per_token_quant"]["keys"])
        self.assertEqual(self.succeeds("traits", "--check", "per_token_quant").out.strip(), "per_token_quant:" + defaults)

    def test_one_operation_alone(self):
        only = self.succeeds("traits", "per_token_quant").out
        self.assertNotIn("per_token_group_quant:", only)
        for text in self.succeeds("traits", "per_token_quant", "--enumerate").out.splitlines():
            self.assertTrue(text.startswith("per_token_quant:"))
        self.assertIn("per_token_quant", self.refuses("traits", "no_such_op").err)

    def test_bad_texts_name_what_is_allowed(self):
        cases = {
            "no_such_op:in=bf16": "per_token_group_quant",
            "per_token_group_quant:colour=red": "colour",
            "per_token_group_quant:group=48": "128",
            "per_token_group_quant:in=bf16,in=f16": "in",
            "per_token_group_quant: in=bf16": "",
            "per_token_group_quant:out=int8,scale=ue8m0": "scale",
            "per_token_group_quant:in=f32,silu=true": "silu",
            "per_token_group_quant:numerics=vllm,scale=ue8m0": "layout",
            "per_token_group_quant:numerics=sglang_v2,group=256": "group",
            "per_token_group_quant:fill=zero": "fill",
            "per_token_group_quant:numerics=exact,math=fast": "math",
            "per_token_quant:out=int8": "out",
            "per_token_quant:numerics=exact,zero_rows=legacy": "zero_rows",
        }
        for text, named in cases.items():
            result = self.refuses("traits", "--check", text)
            self.assert_one_line(result.err)
            self.assertIn(named, result.err)


class Settings(CommandTest):
    OPTIONS = {
        "--cache-max-size": "QUANTJIT_CACHE_MAX_SIZE",
        "--log-level": "QUANTJIT_LOG_LEVEL",
        "--math": "QUANTJIT_MATH",
        "--code": "QUANTJIT_CODE",
        "--capture-policy": "QUANTJIT_CAPTURE_POLICY",
        "--jit": "QUANTJIT_JIT",
    }

    def test_a_bad_value_is_refused_by_the_name_it_was_given_under(self):
        for option, variable in self.OPTIONS.items():
            result = self.refuses("explain", COL, "--arch", "sm_90a", option, "nonsense")
            self.assertIn(option, result.err)
            result = self.refuses("explain", COL, "--arch", "sm_90a", **{variable: "nonsense"})
            self.assertIn(variable, result.err)

    def test_doctor_tells_where_each_setting_comes_from(self):
        result = self.command("doctor", "--json", "--math", "precise", QUANTJIT_CODE="ptx",
                              QUANTJIT_CUDA_DRIVER=NO_DRIVER)  # fmt: skip
        settings = {setting["name"]: (setting["value"], setting["origin"]) for setting in result.document["settings"]}
        self.assertEqual(settings["QUANTJIT_MATH"], ("precise", "option"))
        self.assertEqual(settings["QUANTJIT_CODE"], ("ptx", "environment"))
        self.assertEqual(settings["QUANTJIT_JIT"], ("on", "default"))
        self.assertEqual(settings["QUANTJIT_CACHE_DIR"], (str(self.cache), "environment"))

    def test_an_option_wins_over_its_variable(self):
        key = self.document("explain", COL, "--arch", "sm_90a", "--math", "precise", QUANTJIT_MATH="fast")["key"]
        self.assertEqual(self.document("explain", COL, "--arch", "sm_90a", "--math", "precise")["key"], key)
        self.assertNotEqual(self.document("explain", COL, "--arch", "sm_90a")["key"], key)

    def test_doctor_fails_where_nothing_can_be_served(self):
        result = self.command("doctor", "--nvrtc", "/nonexistent")
        self.assertEqual(result.status, 1)
        self.assertIn("/nonexistent", result.err)
        result = self.command("doctor", "--jit", "off")
        self.assertEqual(result.status, 1)
        result = self.command("doctor", "--kernel-dir", "/nonexistent")
        self.assertEqual(result.status, 1)

    def test_doctor_finds_what_there_is(self):
        document = self.document("doctor", "--probe", "--cuda-driver", NO_DRIVER)
        self.assertTrue(document["usable"])
        self.assertIn(NO_DRIVER, document["driver"]["problem"])
        self.assertRegex(document["nvrtc"]["version"], r"^\d+\.\d+$")
        self.assertIn("sm_90a", document["nvrtc"]["archs"])
        self.assertRegex(document["nvrtc"]["build_id"], r"^[0-9a-f]{16,}$")
        self.assertEqual(document["probe"]["problem"], "")
        self.assertEqual(document["kernel_sources"], "embedded")
        self.assertEqual([root["path"] for root in document["cache"]["roots"]], [str(self.cache)])
        self.assertEqual(self.entries(), [], "a probe leaves nothing in the cache")

    def test_doctor_does_not_trust_a_root_that_all_may_write(self):
        self.cache.mkdir()
        self.cache.chmod(0o777)
        (root,) = self.document("doctor")["cache"]["roots"]
        self.assertFalse(root["trusted"])
        self.assertNotEqual(root["reason"], "")


class Documents(CommandTest):
    def test_everything_that_succeeds_writes_one_document(self):
        for arguments in (["version"], ["traits"], ["traits", "--enumerate"], ["doctor"], ["cache", "list"],
                          ["cache", "stats"], ["cache", "verify"], ["cache", "evict"], ["cache", "clear"],
                          ["explain", COL, "--arch", "sm_90a"]):  # fmt: skip
            result = self.succeeds(*arguments, "--json")
            json.loads(result.out)
            self.assertEqual(result.err, "", arguments)
