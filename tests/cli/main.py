#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tests of the command and counts them.

usage: main.py [MODULE[.CLASS[.TEST]] ...], with SOURCE_DIR and QUANTJIT_COMMAND in the environment, and with
SIMULATED_DEVICE where there is one.

The last line is "N passed, N failed, N skipped"; the exit status is 1 if one failed or none ran.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
MODULES = ["test_bundle", "test_usage", "test_compile", "test_key", "test_root", "test_pins", "test_prewarm", "test_remote", "test_coverage", "test_serve", "test_serve_clients", "test_profile", "test_device", "test_golden"]


def main():
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:] or MODULES)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    failed = len({case for case, _ in result.failures + result.errors}) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    passed = result.testsRun - failed - skipped
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if failed == 0 and passed + skipped > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
