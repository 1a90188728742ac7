# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how the Python packages become a wheel: CMake builds and installs the library into a folder of its own, and what Python needs of it
lies beside the module. CMAKE_ARGS adds to what CMake is told, CMAKE_BUILD_PARALLEL_LEVEL says how many compilers run.

    pip install --no-build-isolation .            # needs no network
    python3 -m build --no-isolation               # the same as a wheel, in dist/
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
PACKAGES = find_packages("python")


def pybind11():
    """Where CMake finds the interpreter's own, if it has one; else it looks where the system's is."""
    try:
        from pybind11 import get_cmake_dir
        return [f"-Dpybind11_DIR={get_cmake_dir()}"]
    except ImportError:
        return []


class BuildWithCMake(build_ext):
    def run(self):
        if not shutil.which("cmake"):
            sys.exit("cubejit: nothing was built; missing is CMake 3.25 or later: apt-get install cmake, or pip install cmake")
        build = Path(self.build_temp).resolve() / "cmake"
        target = ROOT / "python" if self.inplace else Path(self.build_lib).resolve()
        off = [f"-DCUBEJIT_{part}=OFF" for part in ("TESTS", "BENCH", "EXAMPLES", "LLVM")]
        # The library lies in the package, where the module looks for it.
        places = ["-DCMAKE_INSTALL_LIBDIR=cubejit", "-DCUBEJIT_PYTHON_INSTALL_DIR=.", "-DCUBEJIT_PYTHON=REQUIRED", "-DCUBEJIT_INSTALL=ON"]
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        configured = subprocess.run(
            ["cmake", "-S", ROOT, "-B", build, *generator, "-DCMAKE_BUILD_TYPE=Release", *off, *places, *pybind11(),
             f"-DCUBEJIT_PYTHON_EXECUTABLE={sys.executable}", *shlex.split(os.environ.get("CMAKE_ARGS", ""))])
        if configured.returncode != 0:
            sys.exit("cubejit: nothing was built; the lines above say what CMake misses")
        subprocess.run(["cmake", "--build", build], check=True)
        if subprocess.run(["cmake", "--build", build, "--target", "cubejit_torch", "cubejit_torch_library"]).returncode != 0:
            print("cubejit: there are no kernels in C++ for PyTorch, for the reason above; they are in Python", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            prefix = Path(folder)
            subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
            (target / "cubejit" / "torch").mkdir(parents=True, exist_ok=True)
            modules = list((prefix / "cubejit").glob("_core*.so"))
            if not modules:
                sys.exit("cubejit: CMake installed no cubejit/_core, without which no package is whole")
            for module in modules:
                shutil.copy2(module, target / "cubejit")
            for library in (prefix / "cubejit" / "torch").glob("*.so"):
                shutil.copy2(library, target / "cubejit" / "torch")
            # A wheel holds no links: the library by the name that the module asks for.
            for library in (prefix / "cubejit").glob("libcubejit.so.*"):
                if re.fullmatch(r"libcubejit\.so\.\d+\.\d+", library.name):
                    shutil.copy2(library.resolve(), target / "cubejit" / library.name)
            if (prefix / "bin" / "cubejit").exists():  # CMAKE_ARGS may leave the command out
                (target / "cubejit" / "bin").mkdir(exist_ok=True)
                shutil.copy2(prefix / "bin" / "cubejit", target / "cubejit" / "bin")


def version():
    return re.search(r"project\(cubejit\s+VERSION\s+([\d.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)


setup(version=version(), packages=PACKAGES, package_dir={"": "python"}, ext_modules=[Extension("cubejit._core", [])],
      cmdclass={"build_ext": BuildWithCMake})
