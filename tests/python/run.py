# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how one file of tests is run by ctest: run.py FILE. Ends with 77 (skipped) if every test was skipped, with 1 if there
are none."""

import os
import sys
import unittest


def main(path):
    folder, name = os.path.split(os.path.abspath(path))
    sys.path.insert(0, folder)
    try:
        suite = unittest.defaultTestLoader.loadTestsFromName(name.removesuffix(".py"))
    except unittest.SkipTest as absent:
        print(f"{name}: skipped, {absent}", file=sys.stderr)
        return 77
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    if not result.wasSuccessful() or result.testsRun == 0:
        return 1
    return 77 if len(result.skipped) == result.testsRun else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
