# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks: is the package whole, with its command, and does a package that is not say in a sentence what it lacks? Of a wheel also: does it bring
what it links?"""

import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import cubejit

PACKAGE = Path(cubejit.__file__).parent
try:
    WHEEL = metadata.distribution("cubejit")
except metadata.PackageNotFoundError:
    WHEEL = None


def run(*command, **environment):
    return subprocess.run(command, env={**os.environ, **environment}, text=True, capture_output=True, timeout=300)


def python(code, *arguments, **environment):
    return run(sys.executable, "-B", "-W", "always", "-c", code, *arguments, **environment)


class Whole(unittest.TestCase):
    def test_forward_and_gradients(self):
        """Against the definition, tap by tap."""
        random = np.random.default_rng(1)
        x, w, dy = (random.standard_normal(shape).astype(np.float32) for shape in ((2, 5, 9, 8), (7, 5, 3, 3), (2, 7, 9, 8)))
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        y, dw, dpadded = np.zeros_like(dy), np.zeros_like(w), np.zeros_like(padded)
        for i, j in itertools.product(range(3), range(3)):
            window = np.s_[:, :, i:i + 9, j:j + 8]
            y += np.einsum("oc,nchw->nohw", w[:, :, i, j], padded[window])
            dw[:, :, i, j] = np.einsum("nohw,nchw->oc", dy, padded[window])
            dpadded[window] += np.einsum("oc,nohw->nchw", w[:, :, i, j], dy)
        np.testing.assert_allclose(cubejit.conv(x, w, padding=1), y, rtol=1e-4, atol=1e-4)
        for ours, theirs in zip(cubejit.conv_backward(dy, x, w, padding=1), (dpadded[:, :, 1:-1, 1:-1], dw, dy.sum((0, 2, 3)))):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)

    def test_records_are_kept(self):
        problem = cubejit.Problem((1, 16, 8, 8), (16, 16, 3, 3), padding=1)
        with tempfile.TemporaryDirectory() as folder:
            store = folder + "/records.db"
            cubejit.tune(problem, ["dx"], seconds=0.2, store=store)
            self.assertEqual(Path(store).read_bytes()[:15], b"SQLite format 3")

    @unittest.skipUnless((PACKAGE / "bin" / "cubejit").exists(), "built without the command")
    def test_command(self):
        module = run(sys.executable, "-m", "cubejit", "targets")
        self.assertEqual(module.returncode, 0, module.stderr)
        self.assertIn("avx2", module.stdout)
        self.assertIn(cubejit.__version__, run(sys.executable, "-m", "cubejit", "--version").stdout)
        self.assertEqual(run(sys.executable, "-m", "cubejit", "tragets").returncode, 2)
        if WHEEL is not None:
            installed = run(Path(sys.executable).parent / "cubejit", "targets")
            self.assertEqual((installed.returncode, installed.stdout), (0, module.stdout), installed.stderr)

    @unittest.skipUnless(find_spec("torch"), "no PyTorch")
    def test_torch(self):
        ran = python("""
import torch, cubejit.torch
x, layer = torch.randn(2, 5, 9, 8), torch.nn.Conv2d(5, 7, 3, padding=1)
def step():
    layer.zero_grad()
    y = layer(x)
    y.square().sum().backward()
    return [y.detach(), *(p.grad.clone() for p in layer.parameters())]
theirs = step()
with cubejit.torch.enable("ours"):
    ours = step()
for a, b in zip(ours, theirs):
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
print({row["passed_on"] for row in cubejit.torch.report().rows})
""")
        self.assertEqual((ran.returncode, ran.stdout), (0, "{None}\n"), ran.stderr)


@unittest.skipUnless(WHEEL, "no wheel is installed")
class Wheel(unittest.TestCase):
    def test_version(self):
        self.assertEqual(WHEEL.version, cubejit.__version__)

    def test_what_is_linked_is_inside(self):
        """A wheel for other systems (tools/wheel.sh) is asked: nothing comes from the system but the C and C++ libraries."""
        inside = PACKAGE.parent / "cubejit.libs"
        if not inside.exists():
            self.skipTest("the wheel is for this system")
        with open("/proc/self/maps", encoding="utf-8") as maps:
            loaded = {line.split()[-1] for line in maps if re.search(r"lib(tbb|sqlite3|cubejit)\b.*\.so", line)}
        self.assertEqual({Path(path).name.partition(".")[0].partition("-")[0] for path in loaded}, {"libtbb", "libsqlite3", "libcubejit"})
        for path in loaded:
            self.assertTrue(Path(path).is_relative_to(PACKAGE) or Path(path).is_relative_to(inside), path)
        licences = {Path(file).name for file in WHEEL.files if "licenses" in Path(file).parts}
        for library in inside.iterdir():
            name = re.match("lib[a-z]+", library.name).group()
            self.assertTrue([text for text in licences if text.startswith(name)], f"the licence of {library.name}, of {licences}")


@unittest.skipUnless(shutil.which("qemu-x86_64"), "qemu-user is not installed")
class OldProcessor(unittest.TestCase):
    def test_without_avx2(self):
        """The package is imported, and what needs code says why there is none."""
        ran = run("qemu-x86_64", "-cpu", "Nehalem", sys.executable, "-B", "-c", "import cubejit\n"
                  "try: cubejit.tune(cubejit.Problem((1, 4, 4, 4), (4, 4, 1, 1)), ['dx'], seconds=0.1)\n"
                  "except cubejit.Error as e: print(type(e).__name__, e)")
        self.assertEqual((ran.returncode, len(ran.stdout.splitlines())), (0, 1), ran.stdout + ran.stderr)
        self.assertRegex(ran.stdout, "^Unsupported .* cannot run avx2 code")


class FreeThreaded(unittest.TestCase):
    def test_is_refused_with_the_python_to_use_instead(self):
        """Before the module, which would give such a Python its lock back, is looked for."""
        ran = python("import sys; sys.abiflags = 't'; sys.modules['cubejit._core'] = None; import cubejit")
        one = "python%d.%d" % sys.version_info[:2]
        self.assertEqual((ran.returncode, ran.stderr.splitlines()[-1]),
                         (1, f"ImportError: cubejit does not run in free-threaded Python ({one}t), which has no global interpreter lock; use {one}"))


class NotWhole(unittest.TestCase):
    """A copy of the package, from which something was taken."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        shutil.copytree(PACKAGE, self.folder / "cubejit", ignore=shutil.ignore_patterns("__pycache__", "bin"))
        if (PACKAGE.parent / "cubejit.libs").exists():
            shutil.copytree(PACKAGE.parent / "cubejit.libs", self.folder / "cubejit.libs")

    def imported(self, **environment):
        ran = python("import sys; sys.path.insert(0, sys.argv[1]); import cubejit", str(self.folder), **environment)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        return ran.stderr.splitlines()[-1]

    def test_module_of_another_python(self):
        module = next((self.folder / "cubejit").glob("_core*"))
        module.rename(module.with_name("_core.cpython-37m-x86_64-linux-gnu.so"))
        said = self.imported()
        self.assertIn(f"ImportError: cubejit at {self.folder}/cubejit is built for cpython-37m-x86_64-linux-gnu, and this is "
                      f"{sys.implementation.cache_tag}", said)

    def test_command_left_out(self):
        ran = python("import sys; sys.path.insert(0, sys.argv[1]); import runpy; runpy.run_module('cubejit', run_name='__main__')", str(self.folder))
        self.assertEqual((ran.returncode, ran.stderr), (1, f"cubejit: the package at {self.folder}/cubejit was built without the command\n"))

    def test_two_copies_in_one_process(self):
        """Each computes; PyTorch is not in it."""
        ran = python("""
import sys, numpy as np, cubejit as first
for name in [name for name in sys.modules if name.partition(".")[0] == "cubejit"]:
    del sys.modules[name]
sys.path.insert(0, sys.argv[1])
import cubejit as second
assert first.__file__ != second.__file__
x, w = np.ones((1, 3, 5, 5), np.float32), np.ones((2, 3, 3, 3), np.float32)
print(np.array_equal(first.conv(x, w), second.conv(x, w)))
""", str(self.folder))
        self.assertEqual((ran.returncode, ran.stdout), (0, "True\n"), ran.stderr)


if __name__ == "__main__":
    unittest.main()
