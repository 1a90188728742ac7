# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks: do setup.py and CMake fail before anything is compiled where what they need is missing, and say what that is and where it comes from?"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@unittest.skipUnless(find_spec("setuptools"), "python3-setuptools is not installed")
class Setup(unittest.TestCase):
    def built(self, environment):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(
                [sys.executable, "setup.py", "-q", "build_ext", "--build-temp", folder + "/temp", "--build-lib", folder + "/lib"],
                cwd=ROOT, env={**os.environ, **environment}, text=True, capture_output=True, timeout=600)
            objects = [path for path in Path(folder).rglob("*") if path.suffix in (".o", ".so", ".py")]
        self.assertNotEqual(run.returncode, 0, run.stdout)
        self.assertEqual(objects, [])
        self.assertIn("cubejit: nothing was built", run.stderr)
        return run.stdout, " ".join(run.stderr.split())

    def built_without(self, *arguments):
        log, said = self.built({"CMAKE_ARGS": " ".join(arguments)})
        self.assertNotIn("CXX compiler", log)  # not even looked at
        return said

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

    def test_libraries(self):
        _, said = self.built({"CMAKE_ARGS": "-DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON"})
        self.assertIn("apt-get install libtbb-dev", said)

    def test_command(self):
        _, said = self.built({"CMAKE_ARGS": "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON"})
        self.assertIn("CLI11 for the command, which -DCUBEJIT_TOOLS=OFF leaves out: apt-get install libcli11-dev", said)

    def test_headers_of_another_python_need_its_suffix(self):
        said = self.built_without("-DCUBEJIT_PYTHON_HEADERS=/usr/include")
        self.assertIn("CUBEJIT_PYTHON_HEADERS and CUBEJIT_PYTHON_SUFFIX are of one Python; give both or neither", said)

    def test_cmake_itself(self):
        _, said = self.built({"PATH": "/nowhere"})
        self.assertIn("CMake 3.25 or later: apt-get install cmake, or pip install cmake", said)


@unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
class Configured(unittest.TestCase):
    def configured_without(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run(["cmake", "-S", ROOT, "-B", folder, *arguments], text=True, capture_output=True, timeout=600)
        self.assertNotEqual(run.returncode, 0, run.stdout)
        return " ".join(run.stderr.split())

    def test_all_packages_that_are_missing_are_told_at_once(self):
        packages = {"TBB": "libtbb-dev", "SQLite3": "libsqlite3-dev", "nlohmann_json": "nlohmann-json3-dev", "LLVM": "llvm-19-dev",
                    "CLI11": "libcli11-dev", "fmt": "libfmt-dev", "GTest": "libgtest-dev libgmock-dev"}
        said = self.configured_without("-DCMAKE_IGNORE_PATH=/usr/include;/usr/local/include",
                                       *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in packages))
        for package in [*packages.values(), "libxbyak-dev"]:
            self.assertIn("apt-get install " + package, said)

    def test_what_is_not_built_is_not_missed(self):
        said = self.configured_without("-DCUBEJIT_TOOLS=OFF", "-DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_TBB=ON")
        self.assertNotIn("libcli11-dev", said)


if __name__ == "__main__":
    unittest.main()
