# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command share: running it in a clean environment, and looking at what it says."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["SOURCE_DIR"])
BINARY = os.environ["QUANTJIT_COMMAND"]
# Empty where no simulated device was built; its tests are then skipped, and counted as that.
SIMULATOR = os.environ.get("SIMULATED_DEVICE", "")
GOLDEN = SOURCE / "tests" / "golden" / "h200_cases.jsonl"
NO_DRIVER = "/nonexistent/libcuda.so.1"
# A compiler that makes empty kernels, and stops or crashes when it is told to. Empty where it was not built.
FAKE_NVRTC = os.environ.get("FAKE_NVRTC", "")
FAKE_BUILTINS = os.environ.get("FAKE_BUILTINS", "")

ROW = "per_token_group_quant:scale=f32,layout=row"
COL = "per_token_group_quant:scale=ue8m0,layout=col"


class Result:
    """One run of the command."""

    def __init__(self, completed):
        self.status = completed.returncode
        self.out = completed.stdout
        self.err = completed.stderr

    @property
    def document(self):
        return json.loads(self.out)

    def __str__(self):
        return f"status {self.status}\nstdout: {self.out}\nstderr: {self.err}"


class CommandTest(unittest.TestCase):
    """A test with folders of its own and an environment without any setting of the caller's."""

    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="quantjit-cli-"))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.cache = self.work / "cache"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("QUANTJIT_")}
        self.environment.update(HOME=str(self.work), QUANTJIT_CACHE_DIR=str(self.cache))
        self.environment.pop("XDG_CACHE_HOME", None)

    def command(self, *arguments, **settings):
        """Runs the command; keyword arguments are environment variables."""
        return Result(
            subprocess.run(
                [BINARY, *map(str, arguments)], env={**self.environment, **settings}, cwd=self.work, text=True,
                stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300,
            )
        )  # fmt: skip

    def succeeds(self, *arguments, **settings):
        result = self.command(*arguments, **settings)
        self.assertEqual(result.status, 0, result)
        return result

    def document(self, *arguments, **settings):
        """The JSON document of a run that succeeds."""
        return self.succeeds("--json", *arguments, **settings).document

    def fails(self, *arguments, **settings):
        """A run that fails: status 1, nothing but messages on standard error."""
        return self.refuse_with(1, *arguments, **settings)

    def refuses(self, *arguments, **settings):
        """A run that is refused as misuse."""
        return self.refuse_with(2, *arguments, **settings)

    def refuse_with(self, status, *arguments, **settings):
        result = self.command(*arguments, **settings)
        self.assertEqual(result.status, status, result)
        self.assertEqual(result.out, "", "data on standard output of a run that failed")
        self.assertTrue(result.err.startswith("quantjit: "), result)
        return result

    def assert_one_line(self, text):
        self.assertEqual(text.count("\n"), 1, f"more or less than one line: {text!r}")
        self.assertTrue(text.endswith("\n"), text)

    def entries(self):
        """The files of the cache."""
        return sorted(self.cache.glob("v1/*/*.qjc"))


class FakeCompilerTest(CommandTest):
    """A test with the compiler of the tests, which waits where `hold` says so."""

    def setUp(self):
        super().setUp()
        if not FAKE_NVRTC:
            self.skipTest("the compiler of the tests was not built")
        nvrtc = self.work / "nvrtc"
        nvrtc.mkdir()
        shutil.copy(FAKE_NVRTC, nvrtc / "libnvrtc.so.13")
        shutil.copy(FAKE_BUILTINS, nvrtc / "libnvrtc-builtins.so.13.78")
        self.hold = self.work / "hold"
        self.environment.update(QUANTJIT_NVRTC=str(nvrtc / "libnvrtc.so.13"), QUANTJIT_CODE="ptx")
