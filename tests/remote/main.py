#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tests of remote tiers and counts them.

usage: main.py MODULE[.CLASS[.TEST]] ..., with SOURCE_DIR, QUANTJIT_COMMAND, QUANTJIT_LIBRARY and QUANTJIT_FEATURES in the
environment.

The last line is "N passed, N failed, N skipped"; the exit status is 1 if one failed or none ran, and 77 if one was
skipped and none failed.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
SKIPPED = 77


def main():
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    failed = len({case for case, _ in result.failures + result.errors}) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped)
    passed = result.testsRun - failed - skipped
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if failed or passed + skipped == 0:
        return 1
    return SKIPPED if skipped else 0


if __name__ == "__main__":
    sys.exit(main())
