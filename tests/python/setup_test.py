# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks: does setup.py fail before anything is compiled where what the packages need is missing, and say what that is and where it comes from?"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import setuptools  # noqa: F401
except ImportError:
    raise unittest.SkipTest("python3-setuptools is not installed")

ROOT = Path(__file__).resolve().parents[2]


class Setup(unittest.TestCase):
    def built_without(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(
                [sys.executable, "setup.py", "-q", "build_ext", "--build-temp", folder + "/temp", "--build-lib", folder + "/lib"],
                cwd=ROOT, env={**os.environ, "CMAKE_ARGS": " ".join(arguments)}, text=True, capture_output=True, timeout=120)
            objects = [path for path in Path(folder).rglob("*") if path.suffix in (".o", ".so", ".py")]
        self.assertNotEqual(run.returncode, 0, run.stdout)
        self.assertEqual(objects, [])
        self.assertNotIn("CXX compiler", run.stdout)  # not even looked at
        self.assertIn("cubejit: nothing was built", run.stderr)
        return " ".join(run.stderr.split())

    def test_pybind11(self):
        said = self.built_without("-DCMAKE_DISABLE_FIND_PACKAGE_pybind11=ON")
        self.assertIn("pybind11 2.10 or later: apt-get install pybind11-dev, or pip install pybind11", said)
        self.assertNotIn("libdlpack-dev", said)

    def test_dlpack(self):
        said = self.built_without("-DCMAKE_IGNORE_PATH=/usr/include;/usr/local/include")
        self.assertIn("DLPack's header dlpack/dlpack.h: apt-get install libdlpack-dev", said)

    def test_all_that_is_missing_is_told_at_once(self):
        said = self.built_without("-DCMAKE_DISABLE_FIND_PACKAGE_pybind11=ON", "'-DCMAKE_IGNORE_PATH=/usr/include;/usr/local/include'")
        self.assertIn("pybind11-dev", said)
        self.assertIn("libdlpack-dev", said)


if __name__ == "__main__":
    unittest.main()
