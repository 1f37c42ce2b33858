# SPDX-License-Identifier: Apache-2.0
"""Where the cache is, and is not: every home that a process may have. Needs NVRTC."""

import os
import pathlib
import shutil
import stat
import subprocess
import unittest

from harness import BINARY, COL, CommandTest

COMPILE = ["compile", COL, "--arch", "sm_90a"]


class CacheRoot(CommandTest):
    def compiles(self, warnings, **settings):
        """Compiles with these settings in place of the cache folder, and counts the lines of warnings."""
        self.environment.pop("QUANTJIT_CACHE_DIR", None)
        result = self.succeeds("--json", *COMPILE, **settings)
        self.assertEqual(result.err.count("\n"), warnings, result)
        self.assertEqual(result.document["source"], "compiled")
        return result

    def test_the_home_directory(self):
        path = pathlib.Path(self.compiles(0).document["path"])
        root = self.work / ".cache" / "quantjit"
        self.assertIn(root, path.parents)
        for folder in (root, root / "v1", path.parent):
            self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(self.document(*COMPILE)["source"], "disk")

    def test_the_xdg_directory_with_missing_parents(self):
        home = self.work / "one" / "two"
        path = self.compiles(0, XDG_CACHE_HOME=str(home)).document["path"]
        self.assertTrue(path.startswith(f"{home}/quantjit/v1/"), path)

    def test_a_home_that_cannot_be_written(self):
        result = self.compiles(1, HOME="/proc")
        self.assertEqual(result.document["path"], "")
        self.assertIn("/proc/.cache/quantjit", result.err)

    def test_a_root_that_is_a_file(self):
        file = self.work / "file"
        file.write_text("not a folder")
        result = self.compiles(1, QUANTJIT_CACHE_DIR=str(file))
        self.assertIn("not a directory", result.err)
        self.assertEqual(file.read_text(), "not a folder")

    def test_a_root_that_others_may_write(self):
        root = self.work / "open"
        root.mkdir()
        root.chmod(0o777)
        result = self.compiles(1, QUANTJIT_CACHE_DIR=str(root))
        self.assertIn(str(root), result.err)
        self.assertEqual(list(root.iterdir()), [])

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_a_user_without_home_and_without_an_entry_in_the_user_database(self):
        self.work.chmod(0o755)
        command = shutil.copy2(BINARY, self.work)
        environment = {name: text for name, text in self.environment.items()
                       if name not in ("HOME", "QUANTJIT_CACHE_DIR")}  # fmt: skip
        # Without a toolkit, libnvrtc stands beside the command, and the copy stands elsewhere.
        for beside in pathlib.Path(BINARY).parent.glob("libnvrtc.so.*"):
            environment["QUANTJIT_NVRTC"] = str(beside)
        result = subprocess.run([command, "--json", *COMPILE], env=environment, cwd="/", user=54321, group=54321,
                                extra_groups=[], text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False,
                                timeout=300)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLessEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn('"compiled"', result.stdout)
