# SPDX-License-Identifier: Apache-2.0
"""What an engine asked for beside what a manifest would prewarm."""

import json

from harness import COL, ROW, CommandTest


class Coverage(CommandTest):
    def write_manifest(self, *items):
        path = self.work / "manifest.json"
        path.write_text(json.dumps({"quantjit_manifest": 1, "items": list(items)}))
        return str(path)

    def write_trace(self, *pairs, name="trace"):
        path = self.work / name
        lines = [json.dumps({"quantjit_trace": 1, "arch": arch, "traits": traits}) for traits, arch in pairs]
        path.write_text("".join(line + "\n" for line in lines))
        return str(path)

    def canonical(self, traits):
        return self.document("traits", "--check", traits)["traits"]

    def test_says_what_would_miss_and_what_is_unused(self):
        trace = self.write_trace((COL, "sm_90a"), (ROW, "sm_90a"), (ROW, "sm_100a"), (ROW, "sm_90a"))
        manifest = self.write_manifest(
            {"traits": COL, "archs": ["sm_90a", "sm_100a"]}, {"traits": ROW, "archs": ["sm_100a"], "notes": "decode"}
        )
        result = self.command("coverage", "--trace", trace, "--manifest", manifest)
        self.assertEqual(result.status, 1)
        self.assertIn(f"miss sm_90a {self.canonical(ROW)}\n", result.out)
        self.assertIn("2 of 3 requests covered, 1 would miss, 1 of the manifest unused", result.out)
        result = self.command("coverage", "--trace", trace, "--manifest", manifest, "--json")
        self.assertEqual(result.status, 1)
        self.assertEqual(
            json.loads(result.out),
            {
                "requested": 3,
                "covered": 2,
                "missing": [{"traits": self.canonical(ROW), "arch": "sm_90a"}],
                "unused": [{"traits": self.canonical(COL), "arch": "sm_100a"}],
                "torn": 0,
            },
        )

    def test_exit_status_is_zero_if_nothing_would_miss(self):
        trace = self.write_trace((COL, "sm_90a"))
        manifest = self.write_manifest({"traits": COL})
        document = self.document("coverage", "--trace", trace, "--manifest", manifest)
        self.assertEqual((document["requested"], document["covered"], document["missing"]), (1, 1, []))
        self.assertEqual(self.document("coverage", "--trace", self.write_trace(), "--manifest", manifest)["requested"], 0)

    def test_modes_that_resolve_alike_are_one_kernel(self):
        trace = self.write_trace((COL, "sm_90a"), (COL + ",math=fast", "sm_90a"))
        manifest = self.write_manifest({"traits": COL + ",math=fast", "archs": ["sm_90a"]})
        self.assertEqual(self.document("coverage", "--trace", trace, "--manifest", manifest)["requested"], 1)
        result = self.command("coverage", "--trace", trace, "--manifest", manifest, "--math", "precise", "--json")
        self.assertEqual((result.status, json.loads(result.out)["requested"]), (1, 2))

    def test_archs_of_the_command_line_stand_in_for_the_recorded_ones(self):
        trace = self.write_trace((COL, "sm_90a"), (ROW, "sm_100a"))
        manifest = self.write_manifest({"traits": COL}, {"traits": ROW, "archs": ["sm_120a"]})
        result = self.command("coverage", "--trace", trace, "--manifest", manifest, "--arch", "sm_120a,sm_103a", "--json")
        document = json.loads(result.out)
        self.assertEqual((result.status, document["requested"]), (1, 4))
        self.assertEqual(document["missing"], [{"traits": self.canonical(ROW), "arch": "sm_103a"}])

    def test_several_traces_and_one_that_a_crash_cut_off(self):
        first = self.write_trace((COL, "sm_90a"), name="first")
        second = self.write_trace((ROW, "sm_90a"), (COL, "sm_90a"), name="second")
        with open(second, "a") as file:
            file.write('{"quantjit_trace":1,"arch":"sm_9')
        manifest = self.write_manifest({"traits": COL}, {"traits": ROW})
        result = self.succeeds("coverage", "--trace", first, "--trace", second, "--manifest", manifest)
        self.assertIn("2 of 2 requests covered", result.out)
        self.assertIn("cut off", result.err)

    def test_what_cannot_be_read_is_a_usage_error_with_its_place(self):
        trace = self.write_trace((COL, "sm_90a"))
        manifest = self.write_manifest({"traits": COL}, {"traits": "per_token_quant:group=3"})
        self.assertIn("items[1]", self.refuses("coverage", "--trace", trace, "--manifest", manifest).err)
        self.assertIn("nothere", self.refuses("coverage", "--trace", trace, "--manifest", "nothere").err)
        self.refuses("coverage", "--trace", trace)
        self.refuses("coverage", "--manifest", manifest)
        good = self.write_manifest({"traits": COL})
        self.assertIn("line 1", self.refuses("coverage", "--trace", good, "--manifest", good).err)
        self.refuses("coverage", "--trace", trace, "--manifest", good, "--arch", "sm_80")

    def test_a_run_that_is_recorded_and_prewarmed_is_covered(self):
        trace = str(self.work / "trace")
        self.succeeds("compile", COL, "--arch", "sm_90a", QUANTJIT_RECORD=trace)
        self.succeeds("compile", ROW, "--arch", "sm_100a", "--record", trace)
        manifest = self.write_manifest({"traits": COL, "archs": ["sm_90a"]}, {"traits": ROW, "archs": ["sm_100a"]})
        document = self.document("coverage", "--trace", trace, "--manifest", manifest)
        self.assertEqual((document["requested"], document["covered"]), (2, 2))
