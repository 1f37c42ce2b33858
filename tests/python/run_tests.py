#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one pytest file and counts.

usage: run_tests.py FILE [PYTEST OPTION...]

The last line is "N passed, N failed, N skipped". The exit status is 1 if a test failed or none ran, and 77 if one was
skipped and none failed, so that a file that was not run whole never counts as passed.
"""

import importlib.util
import os
import pathlib
import sys

SKIPPED = 77


class Counter:
    """Counts outcomes as pytest reports them."""

    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed += 1
        elif report.skipped:
            self.skipped += 1
        elif report.when == "call":
            self.passed += 1

    def pytest_collectreport(self, report):
        self.failed += report.failed
        self.skipped += report.skipped


def find_nvrtc():
    """Without a toolkit, the build has libnvrtc beside its programs, where a Python does not look."""
    for library in sorted(pathlib.Path(os.environ.get("BUILD_DIR", "/nonexistent"), "bin").glob("libnvrtc.so.*")):
        os.environ.setdefault("QUANTJIT_NVRTC", str(library))


def main():
    if importlib.util.find_spec("pytest") is None:
        print(f"SKIPPED: {sys.executable} has no pytest; run tools/provision check\n0 passed, 0 failed, 1 skipped")
        return SKIPPED
    import pytest

    find_nvrtc()
    counter = Counter()
    options = ["-p", "no:cacheprovider", "-q", "-rs", *sys.argv[1:]]
    status = pytest.main(options, plugins=[counter])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        counter.failed += counter.failed == 0  # pytest itself failed
    print(f"{counter.passed} passed, {counter.failed} failed, {counter.skipped} skipped")
    if counter.failed or counter.passed + counter.skipped == 0:
        return 1
    return SKIPPED if counter.skipped else 0


if __name__ == "__main__":
    sys.exit(main())
