# SPDX-License-Identifier: Apache-2.0
"""run and demo: without a device, and on the simulated one."""

import hashlib
import shutil
import unittest

import tensors
from harness import COL, GOLDEN, NO_DRIVER, ROW, SIMULATOR, SOURCE, CommandTest

GENERATED = ["--tokens", "3", "--hidden", "256"]


class WithoutDevice(CommandTest):
    def test_run_says_so_in_one_line(self):
        result = self.fails("run", ROW, *GENERATED, "--cuda-driver", NO_DRIVER)
        self.assert_one_line(result.err)
        self.assertIn(NO_DRIVER, result.err)
        self.assertEqual(self.entries(), [], "nothing is compiled for a device that is not there")

    def test_golden_says_so_in_one_line(self):
        cases = self.work / "cases.jsonl"
        cases.write_text("")
        self.assert_one_line(self.fails("golden", cases, "--cuda-driver", NO_DRIVER).err)

    def test_devices_that_do_not_exist(self):
        for device in ("tpu", "gpu:", "gpu:x", "gpu:-1", "sim:", "sim:sm_9", "sim:sm_90a,", "sim:sm_90a:", "sim:sm_90a:x",
                       "sim:sm_90a:-1", "sim:sm_90a:0,sm_100a", "cpu", ""):  # fmt: skip
            self.refuses("run", ROW, *GENERATED, "--device", device, "--cuda-driver", NO_DRIVER)

    def test_shapes_that_do_not_fit(self):
        masked = ROW + ",schedule=masked"
        cases = [
            [ROW],
            [ROW, "--tokens", "3"],
            [ROW, "--tokens", "3", "--hidden", "100"],
            [ROW, "--tokens", "-1", "--hidden", "256"],
            [ROW, *GENERATED, "--experts", "2"],
            [ROW, *GENERATED, "--masked-m", "1"],
            [ROW, *GENERATED, "--kind", "nonsense"],
            [masked, *GENERATED],
            [masked, *GENERATED, "--experts", "2", "--masked-m", "1"],
            [masked, *GENERATED, "--experts", "1", "--masked-m", "5000000000"],
            ["per_token_quant", "--tokens", "3", "--hidden", "6"],
        ]
        for arguments in cases:
            self.assert_one_line(self.refuses("run", *arguments, "--cuda-driver", NO_DRIVER).err)

    def test_files_that_do_not_fit(self):
        run = lambda *arguments: ("run", ROW, "--cuda-driver", NO_DRIVER, "--input", *arguments)  # noqa: E731
        self.assertIn("missing.npy", self.fails(*run("missing.npy")).err)
        self.assertIn(".npy", self.refuses(*run("tensor.bin")).err)
        (self.work / "broken.npy").write_bytes(b"\x93NUMPY")
        (self.work / "broken.safetensors").write_bytes(b"\xff" * 16)
        self.fails(*run("broken.npy"))
        self.fails(*run("broken.safetensors"))
        values = tensors.random_floats(256, 1)
        tensors.write_npy(self.work / "f32.npy", "<f4", (1, 256), tensors.as_f32(values))
        self.assertIn("in=f32", self.refuses(*run("f32.npy")).err)
        self.refuses(*run("f32.npy", "--tensor", "x"))
        tensors.write_safetensors(self.work / "two.safetensors", {
            "alpha": ("BF16", [1, 256], tensors.as_bf16(values)),
            "beta": ("F32", [1, 256], tensors.as_f32(values)),
        })  # fmt: skip
        self.assertIn("alpha, beta", self.refuses(*run("two.safetensors")).err)
        self.assertIn("alpha, beta", self.refuses(*run("two.safetensors", "--tensor", "gamma")).err)
        self.assertIn("in=f32", self.refuses(*run("two.safetensors", "--tensor", "beta")).err)


@unittest.skipUnless(SIMULATOR, "no simulated device was built")
class OnSimulatedDevice(CommandTest):
    FIELDS = {"traits", "arch", "device", "q_sha256", "s_sha256", "check", "mismatches"}

    def run_checked(self, *arguments, device="sim"):
        document = self.document("run", *arguments, "--device", device, "--check")
        self.assertLessEqual(self.FIELDS, set(document))
        self.assertEqual((document["check"], document["mismatches"]), ("pass", 0), arguments)
        return document

    def test_what_is_exact_equals_the_reference(self):
        for text in (ROW, COL, "per_token_group_quant:in=f16,out=int8,group=16", "per_token_quant:in=f32",
                     "per_token_group_quant:numerics=vllm,scale=ue8m0,layout=col",
                     "per_token_group_quant:numerics=exact,silu=true,scale=f32_pow2"):  # fmt: skip
            document = self.run_checked(text, *GENERATED, "--kind", "special")
            self.assertEqual((document["device"], document["tolerated"]), ("sim:sm_90a", 0), text)

    def test_other_targets(self):
        for arch in ("sm_90a", "sm_100a", "sm_120a"):
            document = self.run_checked(COL, *GENERATED, device=f"sim:{arch}")
            self.assertEqual((document["arch"], document["device"]), (arch, f"sim:{arch}"))

    def test_one_of_several(self):
        for device, arch in (("sim:sm_100a,sm_90a", "sm_100a"), ("sim:sm_100a,sm_90a:1", "sm_90a"),
                             ("sim:sm_90a,sm_90a,sm_120a:2", "sm_120a")):  # fmt: skip
            document = self.run_checked(COL, *GENERATED, device=device)
            self.assertEqual((document["arch"], document["device"]), (arch, f"sim:{arch}"))
        self.refuses("run", COL, *GENERATED, "--device", "sim:sm_90a,sm_100a:2")

    def test_silu_and_masks(self):
        masked = ["--experts", "3", "--masked-m", "0,3,2"]
        text = COL + ",silu=true,schedule=masked"
        few = self.run_checked(text, *GENERATED, *masked)
        wide = self.run_checked(text, *GENERATED, *masked, "--mask-dtype", "int64", "--expected-m", "2")
        self.assertEqual((few["q_sha256"], few["s_sha256"]), (wide["q_sha256"], wide["s_sha256"]))
        clamped = self.run_checked(text, "--masked-m", "-5,9,2", *GENERATED, "--experts", "3")
        self.assertEqual(clamped["q_sha256"], few["q_sha256"], "rows below 0 and beyond T do not exist")
        every = self.run_checked(text, *GENERATED, "--experts", "3")
        full = self.run_checked(text, *GENERATED, "--experts", "3", "--masked-m", "3,3,3")
        self.assertEqual(every["q_sha256"], full["q_sha256"])
        self.assertNotEqual(every["q_sha256"], few["q_sha256"])

    def test_seed_and_kind_make_other_data(self):
        hashes = {
            self.run_checked(ROW, *GENERATED, "--seed", seed, "--kind", kind)["q_sha256"]
            for seed in (1, 2) for kind in ("uniform", "bits", "normal")
        }  # fmt: skip
        self.assertEqual(len(hashes), 6)

    def test_nothing_to_do_is_fine(self):
        self.run_checked(ROW, "--tokens", "0", "--hidden", "256")
        self.run_checked(ROW, "--tokens", "4", "--hidden", "0")

    def test_a_kernel_that_is_wrong_is_caught(self):
        kernels = self.work / "kernels"
        shutil.copytree(SOURCE / "kernels", kernels)
        converter = kernels / "device" / "convert.cuh"
        text = converter.read_text()
        self.assertIn("cvt.rn.satfinite.e4m3x2.f32 l, %2, %1;", text)
        converter.write_text(text.replace("e4m3x2.f32 l, %2, %1;", "e4m3x2.f32 l, %1, %2;"))
        for traits in (ROW, COL + ",silu=true"):  # one is compared byte by byte, one within a tolerance
            result = self.command("run", traits, *GENERATED, "--device", "sim", "--check", "--json",
                                  "--kernel-dir", kernels)  # fmt: skip
            self.assertEqual(result.status, 1, result)
            self.assertEqual(result.document["check"], "fail")
            self.assertGreater(result.document["mismatches"], 100)
            self.assertRegex(result.err, r"q: \d+ of 768 bytes differ, the first at byte \d+")
        result = self.command("golden", GOLDEN, "--device", "sim", "--kernel-dir", kernels, "--json", "--filter",
                              "^unified/bf16/e4m3/f32_row/g128/uniform/1x128$")  # fmt: skip
        self.assertEqual(result.status, 1)
        self.assertEqual((result.document["passed"], result.document["failed"]), (0, 1))
        self.assertRegex(result.document["failures"][0]["reason"], "q: .* differ")

    def test_without_check_nothing_is_claimed(self):
        self.assertEqual(self.document("run", ROW, *GENERATED, "--device", "sim")["check"], "none")

    def test_a_tensor_is_the_same_from_every_file(self):
        values = tensors.random_floats(2 * 3 * 256, 7)
        bf16, f16, f32 = tensors.as_bf16(values), tensors.as_f16(values), tensors.as_f32(values)
        shape = (2, 3, 256)  # its leading dimensions are taken as 6 tokens
        tensors.write_npy(self.work / "bf16.npy", "<u2", shape, bf16)
        tensors.write_npy(self.work / "f16.npy", "<f2", shape, f16)
        tensors.write_npy(self.work / "f32.npy", "<f4", shape, f32)
        tensors.write_safetensors(self.work / "all.safetensors", {
            "other": ("F32", [1], tensors.as_f32([1.0])),
            "bf16": ("BF16", shape, bf16),
            "f16": ("F16", shape, f16),
            "f32": ("F32", shape, f32),
        })  # fmt: skip
        for dtype in ("bf16", "f16", "f32"):
            text = f"per_token_group_quant:in={dtype},group=64"
            npy = self.run_checked(text, "--input", f"{dtype}.npy")
            packed = self.run_checked(text, "--input", "all.safetensors", "--tensor", dtype)
            self.assertEqual(npy["q"]["shape"], [6, 256])
            self.assertEqual((npy["q_sha256"], npy["s_sha256"]), (packed["q_sha256"], packed["s_sha256"]))

    def test_a_masked_tensor_needs_three_dimensions(self):
        values = tensors.as_bf16(tensors.random_floats(2 * 3 * 256, 8))
        tensors.write_npy(self.work / "flat.npy", "<u2", (6, 256), values)
        tensors.write_npy(self.work / "experts.npy", "<u2", (2, 3, 256), values)
        text = ROW + ",schedule=masked"
        self.refuses("run", text, "--input", "flat.npy", "--device", "sim")
        self.run_checked(text, "--input", "experts.npy", "--masked-m", "2,1")

    def test_dump_holds_what_was_hashed(self):
        document = self.run_checked("per_token_group_quant:group=64", *GENERATED, "--dump", "out")
        out = self.work / "out"
        header, q = tensors.read_npy(out / "q.npy")
        self.assertEqual(header["shape"], (3, 256))
        self.assertEqual(hashlib.sha256(q).hexdigest(), document["q_sha256"])
        header, s = tensors.read_npy(out / "s.npy")
        self.assertEqual((header["descr"], header["shape"]), ("<f4", (3, 4)))
        self.assertEqual(hashlib.sha256(s).hexdigest(), document["s_sha256"])
        packed = tensors.read_safetensors(out / "outputs.safetensors")
        self.assertEqual(packed["q"], ("F8_E4M3", [3, 256], q))
        self.assertEqual(packed["s"], ("F32", [3, 4], s))
        again = self.run_checked("per_token_group_quant:group=64", "--input", "out/input.npy")
        self.assertEqual(again["q_sha256"], document["q_sha256"])

    def test_dump_of_columns_leaves_the_padding_out(self):
        self.run_checked("per_token_group_quant:layout=col", "--tokens", "3", "--hidden", "256", "--dump", "out")
        self.run_checked("per_token_group_quant:layout=row", "--tokens", "3", "--hidden", "256", "--dump", "row")
        column, row = (tensors.read_npy(self.work / folder / "s.npy") for folder in ("out", "row"))
        self.assertEqual(column, row)

    def test_an_unwritable_dump_fails(self):
        (self.work / "file").write_text("")
        self.assertIn("file", self.fails("run", ROW, *GENERATED, "--device", "sim", "--dump", "file").err)

    def test_an_unknown_simulated_target_fails(self):
        # The simulated driver has a line of its own to say.
        result = self.command("run", ROW, *GENERATED, "--device", "sim:sm_199a")
        self.assertEqual((result.status, result.out), (1, ""))
        self.assertIn("quantjit: there is no simulated device of sm_199a", result.err)

    def test_demo_hits_the_disk_the_second_time(self):
        cold = self.document("demo", "--device", "sim")
        self.assertTrue(cold["launched"])
        self.assertEqual((cold["failed"], cold["cached"]), (0, 0))
        self.assertTrue(cold["nvrtc_loaded"])
        warm = self.document("demo", "--device", "sim")
        self.assertEqual((warm["compiled"], warm["cached"]), (0, cold["compiled"]))
        self.assertFalse(warm["nvrtc_loaded"])
        self.assertEqual({kernel["source"] for kernel in warm["kernels"] if kernel["source"]}, {"disk"})
        self.assertEqual({kernel["check"] for kernel in warm["kernels"] if kernel["source"]}, {"pass"})

    def test_demo_takes_the_simulated_device_where_there_is_no_gpu(self):
        # An explicit driver library stands for the one that is not there.
        result = self.succeeds("demo", "--cuda-driver", SIMULATOR)
        self.assertIn("sim:sm_90a", result.out)
