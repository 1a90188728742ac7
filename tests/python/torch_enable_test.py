# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of the dispatcher's door: every way to call a convolution is caught or passed on and counted, results and
gradients are PyTorch's up to rounding, and PyTorch is itself again afterwards. Skipped without PyTorch."""

import copy
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

try:
    import torch
except ImportError as absent:
    raise unittest.SkipTest("PyTorch is not installed (tools/setup.sh peers)") from absent

from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import cubejit.torch as ours
from cubejit.torch import choosing
from torch_exact import Exact


def close(a, b, relative=2e-5):
    return (a.double() - b.double()).abs().max().item() <= relative * max(1.0, b.double().abs().max().item())


def rows(**wanted):
    return [row for row in ours.report().rows if all(row[key] == value for key, value in wanted.items())]


class Door(unittest.TestCase):
    """Everything runs with cubejit chosen wherever it computes the type, and is compared with what PyTorch computes, exactly."""

    def setUp(self):
        ours.report(reset=True)

    def tearDown(self):
        self.assertFalse(ours.enabled())

    def expect(self, call, *leaves, relative=2e-5, passes=("y", "dx+dw")):
        """call() gives a tensor of what requires gradients in `leaves`."""
        def step(whose):
            for leaf in leaves:
                leaf.grad = None
            torch.manual_seed(1)
            with whose:
                y = call()
                (y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y)).sum().backward()
            return [y.detach(), *(leaf.grad for leaf in leaves)]

        for theirs, wanted, mine in zip(step(torch.enable_grad()), step(Exact()), step(ours.enable("ours"))):
            self.assertEqual((mine.dtype, mine.shape), (theirs.dtype, theirs.shape))
            self.assertTrue(close(mine, wanted, relative))
        for name in passes:
            self.assertTrue(rows(**{"pass": name, "passed_on": None}), f"{name} was not caught:\n{ours.report()}")

    def test_modules_of_every_rank(self):
        torch.manual_seed(0)
        for layer, shape in ((nn.Conv1d(4, 6, 3, padding=1), (2, 4, 9)), (nn.Conv2d(4, 6, 3, stride=2), (2, 4, 9, 8)),
                             (nn.Conv3d(4, 6, 3, dilation=2), (2, 4, 6, 7, 8)), (nn.ConvTranspose1d(4, 6, 3, stride=2), (2, 4, 9)),
                             (nn.ConvTranspose2d(4, 6, 3, output_padding=1, stride=2), (2, 4, 9, 8)),
                             (nn.ConvTranspose3d(4, 6, 2), (2, 4, 5, 6, 7)), (nn.Conv2d(4, 8, 3, groups=4, bias=False), (1, 4, 8, 8))):
            x = torch.randn(shape, requires_grad=True)
            with self.subTest(layer=str(layer)):
                ours.report(reset=True)
                passes = ("y", "dx+dw" if layer.bias is None else "dx+dw+db")
                self.expect(lambda: layer(x), x, *layer.parameters(), passes=passes)

    def test_functions_padding_by_name_and_no_batch(self):
        x, w = torch.randn(2, 3, 8, 8, requires_grad=True), torch.randn(5, 3, 4, 4, requires_grad=True)
        self.expect(lambda: functional.conv2d(x, w, padding="same"), x, w)
        single = torch.randn(3, 8, 8, requires_grad=True)
        self.expect(lambda: functional.conv2d(single, w), single, w)
        self.expect(lambda: torch.convolution(x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1), x, w)

    def test_subclasses_and_parametrised_modules(self):
        class Mine(nn.Conv2d):
            def forward(self, x):
                return super().forward(x) + 1

        layer = nn.utils.parametrizations.orthogonal(Mine(4, 6, 3, bias=False))
        x = torch.randn(2, 4, 8, 8, requires_grad=True)
        self.expect(lambda: layer(x), x, relative=1e-4)
        normed = nn.utils.weight_norm(nn.Conv1d(4, 6, 3, bias=False))
        x1 = torch.randn(2, 4, 8, requires_grad=True)
        self.expect(lambda: normed(x1), x1, *normed.parameters())

    def test_checkpoints_scripts_traces_and_graphs(self):
        layer = nn.Conv2d(3, 4, 3, bias=False)
        x = torch.randn(2, 3, 8, 8, requires_grad=True)
        for name, module in (("checkpoint", lambda t: checkpoint(layer, t)), ("script", torch.jit.script(layer)),
                             ("trace", torch.jit.trace(layer, x)), ("fx", torch.fx.symbolic_trace(layer))):
            with self.subTest(name):
                ours.report(reset=True)
                self.expect(lambda: module(x), x, *layer.parameters())
        with ours.enable("ours"):
            traced = torch.jit.trace(layer, x)
        self.assertIn("aten::_convolution", str(traced.graph))
        self.assertTrue(close(traced(x), layer(x)))

    def test_autocast_and_channels_last(self):
        layer = nn.Conv2d(16, 16, 3, padding=1, bias=False).to(memory_format=torch.channels_last)
        x = torch.randn(2, 16, 12, 12).to(memory_format=torch.channels_last).requires_grad_()

        def cast():
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return layer(x).float()

        def gradients(call):
            x.grad = layer.weight.grad = None
            y = call()
            (y * torch.linspace(-1, 1, y.numel()).view_as(y)).sum().backward()
            return y.detach(), x.grad, layer.weight.grad

        with Exact():
            exact = gradients(lambda: layer(x))
        with ours.enable("ours"):
            for mine, wanted in zip(gradients(cast), exact):
                self.assertTrue(close(mine, wanted, 2**-7))
        self.assertTrue(rows(dtype="bfloat16", passed_on=None))
        with ours.enable("ours"):
            self.assertTrue(layer(x).is_contiguous(memory_format=torch.channels_last))

    def test_without_gradients_and_in_inference_mode(self):
        layer, x = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8)
        wanted = layer(x).detach()
        for mode in (torch.no_grad, torch.inference_mode):
            ours.report(reset=True)
            with ours.enable("ours"), mode():
                self.assertTrue(close(layer(x), wanted))
            self.assertEqual([row["calls"] for row in rows(**{"pass": "y", "passed_on": None})], [1])

    def test_only_what_is_asked_for_is_computed(self):
        x, w = torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3, requires_grad=True)
        self.expect(lambda: functional.conv2d(x, w), w, passes=("y", "dw"))
        x.requires_grad_()
        self.expect(lambda: functional.conv2d(x, w.detach()), x, passes=("y", "dx"))

    def test_types_that_are_not_computed_are_passed_on_and_right(self):
        for transposed in (False, True):
            layer = (nn.ConvTranspose2d if transposed else nn.Conv2d)(2, 3, 3).double()
            with ours.enable("ours"):
                x = torch.randn(1, 2, 5, 5, dtype=torch.float64, requires_grad=True)
                self.assertTrue(torch.autograd.gradcheck(layer, (x,)))
                self.assertTrue(torch.autograd.gradgradcheck(layer, (x,)))
        self.assertTrue(rows(**{"pass": "y", "passed_on": "float64"}))

    def test_gradients_of_gradients(self):
        x, w = torch.randn(1, 2, 6, 6, requires_grad=True), torch.randn(3, 2, 3, 3, requires_grad=True)

        def penalty():
            y = functional.conv2d(x, w)
            (dx,) = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
            return torch.autograd.grad(dx.pow(2).sum(), (x, w))

        with Exact():
            wanted = penalty()
        with ours.enable("ours"):
            got = penalty()
        for a, b in zip(got, wanted):
            self.assertTrue(close(a, b, 1e-4))

    def test_forward_derivatives(self):
        from torch.autograd import forward_ad

        x, w, t = torch.randn(1, 2, 6, 6), torch.randn(3, 2, 3, 3), torch.randn(1, 2, 6, 6)

        def tangent():
            with forward_ad.dual_level():
                return forward_ad.unpack_dual(functional.conv2d(forward_ad.make_dual(x, t), w)).tangent.clone()

        with Exact():
            wanted = tangent()
        with ours.enable("ours"):
            self.assertTrue(close(tangent(), wanted))

    def test_bad_shapes_are_refused_as_pytorch_refuses_them(self):
        layer = nn.Conv2d(3, 4, 3)
        messages = []
        for enabled in (False, True):
            with ours.enable("ours") if enabled else torch.no_grad():
                for bad in (torch.randn(1, 2, 8, 8), torch.randn(1, 3, 2, 2), torch.randn(3, 8)):
                    with self.assertRaises(RuntimeError) as caught:
                        layer(bad)
                    messages.append(str(caught.exception).splitlines()[0])
        self.assertEqual(messages[:3], messages[3:])

    def test_empty_batches(self):
        layer, x = nn.Conv2d(3, 4, 3), torch.randn(0, 3, 8, 8, requires_grad=True)
        with ours.enable("ours"):
            y = layer(x)
            y.sum().backward()
        self.assertEqual((y.shape, x.grad.shape, layer.weight.grad.abs().sum().item()), ((0, 4, 6, 6), x.shape, 0.0))

    def test_measuring_chooses_the_faster_one_and_says_so(self):
        layer, x = nn.Conv2d(8, 8, 3), torch.randn(1, 8, 16, 16)
        with ours.enable(), mock.patch.object(choosing, "GRACE", float("inf")):
            for _ in range(30):
                layer(x)
        (row,) = rows(**{"pass": "y"})
        self.assertEqual(row["calls"], 30)
        faster = row["ours_ms"] <= row["torch_ms"]
        self.assertEqual(row["passed_on"], None if faster else "PyTorch is faster")
        self.assertIn("w 8x8x3x3", str(ours.report()))

    def test_enabling_is_undone_once(self):
        with ours.enable("ours"):
            with ours.enable():
                self.assertTrue(ours.enabled())
            self.assertTrue(ours.enabled())
        self.assertFalse(ours.enabled())
        ours.disable()
        with self.assertRaises(ValueError):
            ours.enable("guess")

    def test_a_graph_outlives_disabling(self):
        layer, x = nn.Conv2d(3, 4, 3, bias=False), torch.randn(1, 3, 8, 8, requires_grad=True)
        with Exact():
            layer(x).sum().backward()
        wanted, x.grad = x.grad, None
        with ours.enable("ours"):
            y = layer(x)
        gc.collect()
        y.sum().backward()
        self.assertTrue(close(x.grad, wanted))

    def test_many_threads(self):
        layer, x = nn.Conv2d(3, 4, 3), torch.randn(2, 3, 9, 9)
        wanted, failed = layer(x).detach(), []

        def work():
            for _ in range(20):
                if not close(layer(x).detach(), wanted):
                    failed.append(1)

        with ours.enable("ours"):
            threads = [threading.Thread(target=work) for _ in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual(failed, [])

    def test_forked_workers(self):
        layer, x = nn.Conv2d(3, 4, 3), torch.randn(2, 3, 9, 9)
        with ours.enable("ours"):
            wanted = layer(x).detach()
            child = os.fork()
            if child == 0:
                os._exit(0 if close(layer(x).detach(), wanted) else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_model_becomes_a_suite(self):
        model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Conv2d(4, 4, 3, padding=1, groups=2))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "suite.jsonl")
            text = ours.record(model, torch.randn(2, 3, 16, 16), path)
            lines = [json.loads(line) for line in text.splitlines()]
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), text)
        self.assertEqual([(p["ci"], p["co"], p["output"], p.get("transposed", False)) for p in lines],
                         [(3, 8, [1, 8, 8], False), (8, 4, [1, 16, 16], True), (4, 4, [1, 16, 16], False)])

    def test_training_follows_pytorch(self):
        torch.manual_seed(3)
        model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(200, 4))
        x, target = torch.randn(8, 1, 14, 14), torch.randint(0, 4, (8,))
        curves = []
        for enabled in (False, True):
            net = copy.deepcopy(model)
            optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
            losses = []
            with ours.enable("ours") if enabled else Exact():
                for _ in range(12):
                    optimiser.zero_grad()
                    loss = functional.cross_entropy(net(x), target)
                    loss.backward()
                    optimiser.step()
                    losses.append(loss.item())
            curves.append(losses)
        for a, b in zip(*curves):
            self.assertAlmostEqual(a, b, places=4)
        self.assertLess(curves[1][-1], curves[1][0])


class OneLine(unittest.TestCase):
    def test_importing_enables(self):
        program = ("import torch, cubejit.torch.enable, cubejit.torch as c\n"
                   "assert c.enabled()\n"
                   "torch.nn.Conv2d(3, 4, 3)(torch.randn(1, 3, 8, 8)).sum().backward()\n"
                   "assert len(c.report().rows) == 2, c.report()\n"
                   "c.disable()\n"
                   "with c.enable('ours'): assert c.enabled()\n"
                   "assert not c.enabled()\n")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
