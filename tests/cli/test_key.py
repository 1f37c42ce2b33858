# SPDX-License-Identifier: Apache-2.0
"""The key of a kernel: what it depends on, and all that it must not depend on. Needs NVRTC."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from harness import BINARY, COL, SOURCE, CommandTest

ODD = "with blank/\"quotes' `x`/缓存 日本語/k\u00e9y"
EXPLAIN = ["explain", COL, "--arch", "sm_90a"]
# Sets the umask and the working directory, then becomes the command.
START = "import os, sys; os.umask(int(sys.argv[1], 8)); os.chdir(sys.argv[2]); os.execv(sys.argv[3], sys.argv[3:])"


class Key(CommandTest):
    def setUp(self):
        super().setUp()
        self.odd = self.work / ODD
        self.odd.mkdir(parents=True)
        self.nvrtc = self.document("doctor")["nvrtc"]["path"]
        if not self.nvrtc:
            self.skipTest("the key has a part for NVRTC, and there is none")
        self.key = self.document(*EXPLAIN)["key"]

    def install(self, prefix):
        """Another copy of the program, as a package manager would put it elsewhere."""
        target = prefix / "bin" / "quantjit"
        target.parent.mkdir(parents=True)
        shutil.copy2(BINARY, target)
        return target

    def start(self, binary=BINARY, umask="022", cwd=None, options=(), **settings):
        environment = {**self.environment, "QUANTJIT_NVRTC": self.nvrtc, **settings}
        environment = {name: value for name, value in environment.items() if value is not None}
        command = [sys.executable, "-c", START, umask, str(cwd or self.work), str(binary), "--json", *EXPLAIN,
                   *map(str, options)]  # fmt: skip
        return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)  # fmt: skip

    def variations(self):
        elsewhere = self.install(self.work / "elsewhere")
        odd = self.install(self.odd / "prefix")
        shutil.copytree(SOURCE / "kernels", self.odd / "kernels")
        shutil.copytree(SOURCE / "kernels", self.work / "kernels")
        for folder in ("kernels", ODD + "/kernels"):
            for path in (self.work / folder).rglob("*.*"):
                os.utime(path, (631152000, 631152000))  # the first moment of 1990
        linked = self.odd / pathlib.Path(self.nvrtc).name
        linked.symlink_to(self.nvrtc)
        return [
            {},
            {"LC_ALL": "C"},
            {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
            {"LC_ALL": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8"},
            {"LC_ALL": "C.UTF-8", "LANGUAGE": "ja"},
            {"cwd": "/"},
            {"cwd": self.odd},
            {"HOME": None},
            {"HOME": "/dev/null/none"},
            {"HOME": str(self.odd), "XDG_CACHE_HOME": str(self.odd / "xdg"), "QUANTJIT_CACHE_DIR": None},
            {"PATH": ""},
            {"PATH": f"{self.odd}:/nonexistent"},
            {"umask": "000"},
            {"umask": "777"},
            {"binary": elsewhere},
            {"binary": odd, "cwd": odd.parent},
            {"QUANTJIT_CACHE_DIR": str(self.odd / "cache")},
            {"options": ["--kernel-dir", self.work / "kernels"]},
            {"options": ["--kernel-dir", self.odd / "kernels"], "binary": odd, "umask": "077"},
            {"QUANTJIT_NVRTC": str(linked), "TZ": "Asia/Tokyo", "USER": "somebody"},
        ]  # fmt: skip

    def test_twenty_processes_that_differ_in_everything_else_have_one_key(self):
        variations = self.variations()
        self.assertEqual(len(variations), 20)
        processes = [self.start(**variation) for variation in variations]
        for variation, process in zip(variations, processes):
            with self.subTest(str(variation)):
                out, err = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 0, err)
                self.assertEqual(json.loads(out)["key"], self.key)

    def test_what_one_installation_compiled_another_one_finds(self):
        compiled = self.document("compile", COL, "--arch", "sm_90a")
        self.assertEqual((compiled["source"], compiled["key"]), ("compiled", self.key))
        process = self.start(binary=self.install(self.odd / "prefix"), cwd=self.odd, LC_ALL="tr_TR.UTF-8")
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err)
        document = json.loads(out)
        self.assertEqual((document["hit"], document["path"]), (True, compiled["path"]))

    def test_another_nvrtc_is_another_key_of_the_same_request(self):
        other = self.work / "libnvrtc.so.99"
        # The build-id is a note in the file; without one the whole content counts. Any other file is another compiler.
        other.write_bytes(b"\x7fELF of another build")
        changed = self.document(*EXPLAIN, QUANTJIT_NVRTC=str(other))["key"]
        self.assertEqual(changed.partition("-")[0], self.key.partition("-")[0])
        self.assertNotEqual(changed.partition("-")[2], self.key.partition("-")[2])
