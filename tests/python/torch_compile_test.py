# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of graphs that PyTorch compiles: their convolutions come to cubejit, forward and backward, with the strides that the
compiler asserts and the values of eager mode, whenever enable() came; and what goes past is what the documentation says. Skipped without
PyTorch 2.6; what needs a C++ compiler is skipped without one."""

import contextlib
import copy
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError as absent:
    raise unittest.SkipTest("PyTorch is not installed (tools/setup.sh peers)") from absent

if not hasattr(torch, "compile") or not hasattr(torch.library, "opcheck"):
    raise unittest.SkipTest(f"PyTorch {torch.__version__} has no torch.compile or no torch.library.opcheck")

import torch._dynamo
import torch._inductor.config
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

import cubejit.torch as ours
from cubejit.torch import graphs


def headers():
    """Inductor's generated code includes ATen's."""
    from torch.utils.cpp_extension import include_paths
    return any(os.path.exists(os.path.join(folder, "ATen", "ATen.h")) for folder in include_paths())


HAS_COMPILER = shutil.which("g++") is not None and headers()
COMPILER = unittest.skipUnless(HAS_COMPILER, "inductor needs g++ and ATen's headers (Debian: g++, libtorch-dev)")
BACKENDS = ("aot_eager", *(("inductor",) if HAS_COMPILER else ()))


def tensor(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def caught():
    rows = [row for row in ours.report().rows if row["passed_on"] is None and not row["failed"]]
    return sum(row["calls"] for row in rows if row["pass"] == "y"), sum(row["calls"] for row in rows if row["pass"] != "y")


class Net(torch.nn.Module):
    """Convolutions of every rank in one graph, since each graph is compiled for long: images of one pixel, padded outputs, a permuted input
    whose last axis was one, weights that are no parameters: a buffer, and one that is computed."""

    FORWARD = 7

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.plane = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.grow = torch.nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1)
        self.gate = torch.nn.Conv2d(4, 4, 1)
        self.line = torch.nn.Conv1d(1, 4, 3)
        self.volume = torch.nn.Conv3d(4, 2, (1, 3, 3))
        self.register_buffer("smooth", torch.ones(4, 1, 3, 3) / 9)
        self.scale = torch.nn.Parameter(tensor(2, 2, 1, 1, 1))

    def forward(self, x):
        y = self.grow(torch.relu(self.plane(x)))
        y = y * torch.sigmoid(self.gate(y.mean((2, 3), keepdim=True)))
        y = functional.conv2d(y, self.smooth, padding=1, groups=4)
        line = self.line(y.flatten(1)[:, :9, None].permute(0, 2, 1))
        volume = self.volume(y.unsqueeze(2))
        return functional.conv3d(volume, self.scale / self.scale.norm()) + line.mean()


def step(function, net, x):
    net.zero_grad()
    x = x.detach().requires_grad_()
    y = function(x)
    y.square().mean().backward()
    return [y.detach(), x.grad, *(p.grad.clone() for p in net.parameters())]


class Compiled(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        ours.report(reset=True)
        self.assertFalse(ours.enabled())

    def same(self, got, wanted):
        self.assertEqual(len(got), len(wanted))
        for mine, theirs in zip(got, wanted):
            self.assertEqual(mine.shape, theirs.shape)
            self.assertLessEqual((mine - theirs).abs().max().item(), 1e-4 * max(1.0, theirs.abs().max().item()))

    def test_a_training_step_is_caught_whole(self):
        """Compiled while cubejit is enabled, run with and without it."""
        for backend in BACKENDS:
            net, x = Net(), tensor(2, 3, 10, 12).to(memory_format=torch.channels_last)
            exact = copy.deepcopy(net).double()
            wanted = step(exact, exact, x.double())  # not PyTorch's own f32, since some of 2.6's gradients are wrong
            compiled = torch.compile(net, backend=backend, fullgraph=True)
            with self.subTest(backend), ours.enable("ours"):
                self.same(step(compiled, net, x), wanted)
                ours.report(reset=True)
                self.same(step(compiled, net, x), wanted)
                self.assertEqual(caught(), (Net.FORWARD, Net.FORWARD), f"{ours.report()}")
            ours.report(reset=True)
            step(compiled, net, x)
            self.assertEqual(caught(), (0, 0))

    @COMPILER
    def test_a_graph_that_was_compiled_before(self):
        """The strides that it asserts were predicted without cubejit; then with other lengths, whose graph is dynamic."""
        conv = torch.nn.Sequential(torch.nn.Conv1d(3, 5, 3), torch.nn.Conv1d(5, 2, 1)).to(torch.bfloat16)
        compiled = torch.compile(conv)
        inputs = [tensor(2, 3, length, dtype=torch.bfloat16) for length in (9, 12, 15)]
        with torch.no_grad():
            for x in inputs:
                compiled(x)
            with ours.enable("ours"):
                found = [compiled(x) for x in inputs]
            self.assertEqual(caught()[0], 6)
            conv.double()
            for mine, x in zip(found, inputs):  # not PyTorch's own, since 2.6 computes some of bfloat16 wrongly
                torch.testing.assert_close(mine.double(), conv(x.double()), rtol=2**-6, atol=2**-6)

    @COMPILER
    def test_threads_that_change_before_compiling(self):
        """What PyTorch predicts of a 1x1x1 convolution depends on its number of threads."""
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        x, w = (tensor(*shape).to(memory_format=torch.channels_last_3d) for shape in ((2, 4, 5, 5, 5), (6, 4, 1, 1, 1)))
        for first, then in ((1, 2), (2, 1)):
            torch._dynamo.reset()
            torch.set_num_threads(first)
            with ours.enable("ours"):
                wanted = functional.conv3d(x, w)
            torch.set_num_threads(then)
            with FakeTensorMode() as mode:
                predicted = functional.conv3d(mode.from_tensor(x), mode.from_tensor(w)).stride()
            if predicted != functional.conv3d(x, w).stride():
                self.skipTest(f"PyTorch {torch.__version__} predicts other strides than its own kernel's")
            with ours.enable("ours"):
                self.same([torch.compile(functional.conv3d)(x, w)], [wanted])

    @COMPILER
    def test_results_without_elements(self):
        """Whatever PyTorch does, raising or an empty tensor, it does with cubejit enabled."""
        for module, x in ((torch.nn.ConvTranspose2d(1, 1, 2, padding=1), tensor(1, 1, 1, 1)), (torch.nn.Conv2d(3, 4, 3), torch.empty(0, 3, 5, 5))):
            for backend in ("aot_eager", "inductor"):
                found = []
                for enabled in (False, True):
                    torch._dynamo.reset()
                    compiled = torch.compile(lambda t: torch.sigmoid(module(t)), backend=backend)  # noqa: B023
                    with ours.enable("ours") if enabled else contextlib.nullcontext(), torch.no_grad():
                        try:
                            y = compiled(x)
                            found.append((y.shape, y.stride()))
                        except Exception as error:
                            found.append(type(error))
                self.assertEqual(found[0], found[1], (str(module), backend))

    @COMPILER
    def test_frozen_graphs_pass_by_unless_onednn_is_off_when_the_first_is_compiled(self):
        """They call oneDNN's own operators, with weights in its own order (docs/howto/use_from_python.md). The first one decides for a process."""
        for onednn, wanted in ((True, 0), (False, 2)):
            done = subprocess.run([sys.executable, "-W", "ignore", "-c", FROZEN.format(onednn=onednn)], capture_output=True, text=True, check=False,
                                  timeout=600)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(int(done.stdout.splitlines()[0]), wanted, done.stdout)
            self.assertEqual("2 convolutions of frozen graphs" in done.stdout, onednn, done.stdout)

    @COMPILER
    def test_a_package_calls_cubejit_from_python(self):
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.ConvTranspose2d(4, 2, 2, stride=2)).eval()
        x = tensor(1, 3, 9, 9)
        wanted = model(x).detach()
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            path = torch._inductor.aoti_compile_and_package(torch.export.export(model, (x,)), package_path=os.path.join(folder, "model.pt2"))
            package = torch._inductor.aoti_load_package(path)
            self.same([package(x)], [wanted])
            with ours.enable("ours"):
                self.same([package(x)], [wanted])
                self.assertEqual(caught()[0], 2, f"{ours.report()}")


FROZEN = """
import torch, torch._inductor.config, cubejit.torch as ours
model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 1)).eval()
x = torch.randn(1, 3, 9, 9)
with torch._inductor.config.patch(freezing=True), torch.no_grad(), ours.enable("ours"):
    wanted, compiled = model(x), torch.compile(model)
    with torch.backends.mkldnn.flags(enabled={onednn}):
        compiled(x)
    ours.report(reset=True)
    assert (compiled(x) - wanted).abs().max() < 1e-4
    print(sum(row["calls"] for row in ours.report().rows))
    print(ours.report())
"""


def with_autocast(x, w, b):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return (ours.conv_post_ops(x, w, b, padding=1, activation="relu") + ours.conv2d(x, w, b, padding=1)).float()


class WholeGraphs(unittest.TestCase):
    """Functions of our own in graphs without a break: values, gradients and strides are those without a compiler. PyTorch computes of 16 output
    channels: of fewer, oneDNN 3.7 errs in dX (torch_exact.py)."""

    X, W, B, Z = tensor(2, 4, 8, 9), tensor(6, 4, 3, 3), tensor(6), tensor(2, 6, 8, 9)
    FUNCTIONS = {
        "all post-ops": (lambda x, w, b, z: ours.conv_post_ops(x, w, b, padding=1, add=z, activation="relu"), X, W, B, Z),
        "a slope": (lambda x, w, b: ours.conv_post_ops(x, w, b, stride=(1, 2), activation="leaky_relu:0.1"), X, W, B),
        "a slope that PyTorch computes": (lambda x, w, b: ours.conv_post_ops(x, w, b, activation="leaky_relu:-0.1"), X, tensor(16, 4, 3, 3),
                                          tensor(16)),
        "bounds": (lambda x, w: ours.conv_post_ops(x, w, activation="clip:-1:1"), X.to(torch.bfloat16), W.to(torch.bfloat16)),
        "a residual alone": (lambda x, w, z: ours.conv_post_ops(x, w, padding=1, add=z), X, W, Z),
        "channels last": (lambda x, w: ours.conv_post_ops(x, w, activation="relu"), X.to(memory_format=torch.channels_last), W),
        "float64": (lambda x, w: ours.conv_post_ops(x, w, activation="relu"), X.double(), W.double()),
        "conv1d": (lambda x, w: ours.conv1d(x, w), tensor(2, 4, 9), tensor(3, 4, 3)),
        "conv2d": (lambda x, w, b: ours.conv2d(x, w, b, padding="same"), X, W, B),
        "conv_transpose3d": (lambda x, w: ours.conv_transpose3d(x, w, stride=2), tensor(2, 4, 3, 4, 5), tensor(4, 3, 3, 2, 2)),
        "autocast": (with_autocast, X, W, B),
    }

    def test_are_what_the_functions_are(self):
        for (name, (function, *operands)), backend in itertools.product(self.FUNCTIONS.items(), BACKENDS):
            with self.subTest(name, backend=backend):
                torch._dynamo.reset()
                results = []
                for called in (function, torch.compile(function, fullgraph=True, backend=backend)):
                    leaves = [t.detach().clone().requires_grad_() for t in operands]
                    y = called(*leaves)
                    y.backward(tensor(*y.shape, dtype=y.dtype))
                    results.append([y.detach(), *(t.grad for t in leaves)])
                self.assertEqual(results[0][0].stride(), results[1][0].stride())
                for eager, compiled in zip(*results):
                    self.assertEqual(eager.dtype, compiled.dtype)
                    rounding = 2**-6 if name in ("bounds", "autocast") else 1e-4
                    torch.testing.assert_close(compiled, eager, rtol=rounding, atol=rounding * max(1.0, eager.abs().max().item()))

    def test_operators_are_whole(self):
        geometry = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
        for x in (self.X, self.X.to(memory_format=torch.channels_last)):
            x, w, b, z = (t.clone().requires_grad_() for t in (x, self.W, self.B, self.Z))
            torch.library.opcheck(graphs.conv_post_ops, (x, w, b, z, "relu", *geometry))
            torch.library.opcheck(graphs.convolution, (x, w, b, *geometry))
            torch.library.opcheck(graphs.conv_gradients, ("dx,dw,db", self.Z, x.detach(), w.detach(), self.Z, "relu", *geometry))

    def test_modules_of_changing_sizes(self):
        net = torch.nn.Sequential(ours.Conv2d(4, 8, 3, padding=1), torch.nn.ReLU(), ours.ConvTranspose2d(8, 4, 2, 2))
        torch._dynamo.reset()
        compiled = torch.compile(net, fullgraph=True, backend=BACKENDS[-1])
        for size in (5, 6, 7):
            x = tensor(2, 4, size, size)
            torch.testing.assert_close(compiled(x), net(x), rtol=1e-4, atol=1e-4)
            compiled(x).sum().backward()

    def test_what_is_wrong_is_said(self):
        torch._dynamo.reset()
        for words, call in {"relu6": lambda x, w: ours.conv_post_ops(x, w, activation="relu6"),
                            "it must be": lambda x, w: ours.conv_post_ops(x, w, add=x)}.items():
            with self.assertRaisesRegex(Exception, words):
                torch.compile(call, fullgraph=True, backend="aot_eager")(self.X, self.W)


class Checked(unittest.TestCase):
    """torch.library.opcheck of what is registered: schemas, fake tensors and gradients, with static and with changing shapes."""

    def test_operators(self):
        checks = ("test_schema", "test_faketensor", "test_aot_dispatch_static", "test_aot_dispatch_dynamic")
        cases = [((2, 3, 9), (4, 3, 3), False, [0]), ((2, 4, 7, 6), (4, 3, 3, 3), True, [1, 1]), ((2, 3, 4, 5, 6), (4, 3, 1, 3, 3), False, [0, 0, 0])]
        with ours.enable("ours"):
            for of_x, of_w, transposed, extra in cases:
                rank = len(extra)
                w = tensor(*of_w).requires_grad_()
                geometry = ([2] * rank, [1 if n > 1 else 0 for n in of_w[2:]], [1] * rank, transposed, extra, 1)
                for order in (lambda t: t, lambda t: t.movedim(1, -1).contiguous().movedim(-1, 1)):
                    x = order(tensor(*of_x)).requires_grad_()
                    ours.report(reset=True)
                    torch.library.opcheck(torch.ops.aten.convolution.default, (x, w, None, *geometry), test_utils=checks)
                    dy = torch.ones_like(torch.ops.aten.convolution(x, w, None, *geometry)).detach()
                    arguments = (dy, x.detach(), w.detach(), None, *geometry, [True, True, False])
                    torch.library.opcheck(torch.ops.aten.convolution_backward.default, arguments, test_utils=checks)
                    self.assertGreater(min(caught()), 0)


if __name__ == "__main__":
    unittest.main()
