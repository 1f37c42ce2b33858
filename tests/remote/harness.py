# SPDX-License-Identifier: Apache-2.0
"""What the tests of remote tiers share: machines, which are caches of their own, and the servers between them."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from servers import find

SOURCE = pathlib.Path(os.environ["SOURCE_DIR"])
COMMAND = os.environ["QUANTJIT_COMMAND"]
FEATURES = set(os.environ.get("QUANTJIT_FEATURES", "").split(","))
sys.path.insert(0, str(SOURCE / "tools" / "python"))

# Without a toolkit, the build has libnvrtc beside its programs, where a service of this process does not look.
for _library in sorted(pathlib.Path(COMMAND).resolve().parent.glob("libnvrtc.so.*")):
    os.environ.setdefault("QUANTJIT_NVRTC", str(_library))

NO_COMPILER = "/nonexistent/libnvrtc.so"
ARCH = "sm_90a"
# Kernels that differ: each is one compile.
DESCRIPTORS = [
    f"per_token_group_quant:group={group},scale={scale},layout={layout}"
    for group in (16, 32, 64, 128)
    for scale, layout in (("f32", "row"), ("f32", "col"), ("ue8m0", "col"))
] + ["per_token_quant", "per_token_quant:in=f16", "per_token_quant:in=f32"]


class Process:
    """A command that runs, and in the end its outcome."""

    def __init__(self, arguments, environment, folder):
        self.running = subprocess.Popen(
            [COMMAND, *map(str, arguments)], env=environment, cwd=folder, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def document(self, test, seconds=300):
        out, err = self.running.communicate(timeout=seconds)
        test.assertEqual(self.running.returncode, 0, f"stdout: {out}\nstderr: {err}")
        return json.loads(out)


class RemoteTest(unittest.TestCase):
    """A test with a folder of its own, an environment without any setting of the caller's, and servers that end."""

    needs = ()  # of all its tests, see need()

    def need(self, *names):
        """Skips the test unless there are these features of the build (in capitals) and programs."""
        missing = [name for name in names if not (name in FEATURES if name.isupper() else find(name))]
        if missing:
            self.skipTest(f"there is no {', '.join(missing)}")

    def setUp(self):
        self.need(*self.needs)
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="quantjit-remote-"))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("QUANTJIT_")}
        self.environment["HOME"] = str(self.work)
        self.environment.pop("XDG_CACHE_HOME", None)
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            self.environment.pop(name, None)

    def serve(self, server):
        """Starts a server, if it is one that has to be started, and ends it with the test."""
        self.addCleanup(server.stop)
        return server.start() if hasattr(server, "start") else server

    def root(self, machine):
        """The cache of a machine."""
        folder = self.work / machine
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def start(self, machine, *arguments, **settings):
        environment = {**self.environment, "QUANTJIT_CACHE_DIR": str(self.root(machine)), **settings}
        return Process(["--json", *arguments], environment, self.work)

    def document(self, machine, *arguments, **settings):
        return self.start(machine, *arguments, **settings).document(self)
