# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of libcubejit_torch.so: a process without Python runs a package of AOTInductor with an operator of ours in it, with the
values of eager mode; cubejit computes PyTorch's own convolutions when it is told to; and beside the Python package the library changes
nothing. Skipped where it was not built (PyTorch before 2.6, or no headers) and without a C++ compiler."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import torch
except ImportError as absent:
    raise unittest.SkipTest("PyTorch is not installed (tools/setup.sh peers)") from absent

import cubejit.torch as ours

LIBRARY = Path(ours.__file__).with_name("libcubejit_torch.so")
if not LIBRARY.exists() or shutil.which("g++") is None:
    raise unittest.SkipTest("there is no libcubejit_torch.so, which needs the headers of PyTorch 2.6 or later, or no g++")

from torch.utils.cpp_extension import include_paths

# PROGRAM PACKAGE RESULT [LIBRARY]: runs the package on an input of its own four times and writes the bytes of each result.
PROGRAM = r"""
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <cstdio>

int main(int count, char** arguments) {
  if (count > 3 && dlopen(arguments[3], RTLD_NOW) == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  const c10::InferenceMode inference;
  torch::inductor::AOTIModelPackageLoader package(arguments[1]);
  const at::Tensor x = at::arange(2 * 3 * 6 * 7 * 8, at::kFloat).sin().reshape({2, 3, 6, 7, 8});
  std::FILE* file = std::fopen(arguments[2], "wb");
  for (int run = 0; run < 4; ++run) {
    const at::Tensor y = package.run({x}).at(0).contiguous();
    std::fwrite(y.const_data_ptr(), 1, y.nbytes(), file);
  }
  return std::fclose(file);
}
"""


class Net(torch.nn.Module):
    """Two convolutions of PyTorch, and two of ours with what follows them; what is added lies in another order than the result."""

    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Conv3d(3, 8, 3, padding=1), torch.nn.ConvTranspose3d(8, 4, 2, stride=2)
        self.inner = torch.nn.Parameter(torch.randn(8, 8, 3, 3, 3) / 15)
        self.bias = torch.nn.Parameter(torch.randn(8))

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = ours.conv_post_ops(x, self.inner, self.bias, padding=1, add=x.transpose(3, 4).contiguous().transpose(3, 4), activation="leaky_relu:0.1")
        x = ours.conv_post_ops(x, self.inner, None, padding=1, activation="clip:-1:2")
        return self.last(x)


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        torch.manual_seed(0)
        x = torch.arange(2 * 3 * 6 * 7 * 8, dtype=torch.float32).sin().reshape(2, 3, 6, 7, 8)
        with torch.no_grad():
            model = Net().eval()
            cls.wanted = model(x)
            torch._inductor.aoti_compile_and_package(torch.export.export(model, (x,)), package_path=str(cls.folder / "net.pt2"))
        (cls.folder / "program.cpp").write_text(PROGRAM, encoding="utf-8")
        libraries = os.path.join(torch.__path__[0], "lib")
        subprocess.run(["g++", "-std=c++20", "-w", *(f"-I{folder}" for folder in include_paths()), str(cls.folder / "program.cpp"), f"-L{libraries}",
                        f"-Wl,-rpath,{libraries}", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10", "-o", str(cls.folder / "program")],
                       check=True, timeout=600)

    def run_program(self, *library, **environment):
        """The process, and how many runs cubejit had in it."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        done = subprocess.run([str(self.folder / "program"), str(self.folder / "net.pt2"), str(self.folder / "y"), *map(str, library)],
                              env={**os.environ, "CUBEJIT_VERBOSE": "profile", "CUBEJIT_VERBOSE_FILE": str(log), **environment},
                              capture_output=True, text=True, check=False, timeout=600)
        return done, log.read_text(encoding="utf-8").count("event=run") if log.exists() else 0

    def computes(self, runs, **environment):
        """What the process, which has the library, writes to standard error."""
        done, had = self.run_program(LIBRARY, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        results = torch.frombuffer(bytearray((self.folder / "y").read_bytes()), dtype=torch.float32).reshape(4, *self.wanted.shape)
        for result in results:
            self.assertLessEqual((result - self.wanted).abs().max().item(), 2e-5)
        self.assertEqual(had, runs)
        return done.stderr

    def test_without_the_library_the_operators_are_missing(self):
        done, _ = self.run_program()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("cubejit::conv_post_ops", done.stderr)

    def test_operators_are_computed_by_cubejit(self):
        self.assertEqual(self.computes(4 * 2), "")

    def test_convolutions_are_cubejits_when_it_is_told_so(self):
        self.assertEqual(self.computes(4 * 4, CUBEJIT_TORCH="ours"), "")

    def test_what_is_not_understood_is_said_and_pytorch_computes(self):
        said = self.computes(4 * 2, CUBEJIT_TORCH="yours")
        self.assertIn("CUBEJIT_TORCH = 'yours'; it can be ours, or not be set", said)
        said = self.computes(0, CUBEJIT_TORCH="ours", CUBEJIT_MAX_ISA="avx1024")
        self.assertEqual(said.count("cubejit computes nothing, PyTorch everything: "), 1, said)

    def test_beside_the_package_it_changes_nothing(self):
        both = [f"torch.ops.load_library({str(LIBRARY)!r})", "import cubejit.torch as ours"]
        for order in (both, both[::-1]):
            program = "\n".join(["import torch", *order, BESIDE])
            done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "CUBEJIT_TORCH": ""}, capture_output=True, text=True,
                                  check=False, timeout=600)
            self.assertEqual((done.returncode, done.stderr), (0, ""), order)


BESIDE = """
x, w = torch.randn(2, 4, 8, 8), torch.randn(16, 4, 3, 3, requires_grad=True)
def net(x, w):
    return ours.conv_post_ops(x, w, padding=1, activation="relu") + ours.conv2d(x, w, padding=1)
with ours.enable("ours"):
    wanted = net(x, w)
    y = torch.compile(net, fullgraph=True, backend="aot_eager")(x, w)
assert torch.allclose(y, wanted, atol=1e-5)
(dw,), (expected,) = (torch.autograd.grad(result.sum(), w) for result in (y, wanted))
assert torch.allclose(dw, expected, atol=1e-3)
assert ours.report().kernels == "C++", ours.report()
"""
