# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of conv_post_ops: results and all gradients are those of PyTorch's separate operators."""

import random
import unittest

try:
    import torch
except ImportError as absent:
    raise unittest.SkipTest("PyTorch is not installed (tools/setup.sh peers)") from absent

from torch.autograd import forward_ad

import cubejit.torch as ours
from cubejit.errors import Error
from random_convolution import random_convolution
from torch_exact import Exact

PARTS = [None, "relu", "leaky_relu:0.1", "clip:-1:2"]


def separate(x, w, bias, geometry, add, activation):
    y = torch.ops.aten.convolution(x, w, bias, *geometry)
    y = y if add is None else y + add
    if activation is None:
        return y
    name, *numbers = activation.split(":")
    function = {"relu": torch.relu, "leaky_relu": torch.nn.functional.leaky_relu, "clip": torch.nn.functional.hardtanh}[name]
    return function(y, *map(float, numbers))


class PostOps(unittest.TestCase):
    def compare(self, dtype, relative, change=lambda t: t):
        chosen, generator = random.Random(5), torch.Generator().manual_seed(6)

        def tensor(shape):
            return change(torch.randn(shape, generator=generator).to(dtype)).requires_grad_()

        for _ in range(60):
            c = random_convolution(chosen)
            if 0 in c.x:
                continue
            stride, padding, dilation, transposed, output_padding, groups = c.geometry
            if len(padding) > len(stride):
                continue
            x, w = tensor(c.x), tensor(c.w)
            shape = torch.ops.aten.convolution(x.double(), w.double(), None, *c.geometry).shape
            bias = torch.randn(shape[1], generator=generator).to(dtype).requires_grad_() if chosen.random() < 0.6 else None
            add = tensor(shape) if chosen.random() < 0.5 else None
            activation = chosen.choice(PARTS)
            leaves = [t for t in (x, w, bias, add) if t is not None]
            y = ours.conv_post_ops(x, w, bias, stride, padding, dilation, groups, add=add, activation=activation, transposed=transposed,
                                   output_padding=output_padding)
            dy = torch.randn(shape, generator=generator).to(dtype)
            wide = [t.detach().double().requires_grad_() for t in leaves]
            of = dict(zip((id(t) for t in leaves), wide))
            wanted = separate(*(of.get(id(t)) for t in (x, w, bias)), c.geometry, of.get(id(add)), activation)
            self.assertEqual(y.dtype, dtype)
            self.near(y, wanted, relative, c)
            # Where the sums differ by rounding, slopes at their corners do: gradients are compared where y is not near one.
            corner = torch.zeros_like(wanted, dtype=torch.bool)
            for at in {None: [], "relu": [0], "leaky_relu:0.1": [0], "clip:-1:2": [-1, 2]}[activation]:
                corner |= (separate(*(of.get(id(t)) for t in (x, w, bias)), c.geometry, of.get(id(add)), None) - at).abs() < 0.05
            dy = dy.masked_fill(corner, 0)
            for got, expected in zip(torch.autograd.grad(y, leaves, dy), torch.autograd.grad(wanted, wide, dy.double())):
                self.near(got, expected, relative, c)

    def near(self, got, wanted, relative, c):
        bound = relative * (1 + wanted.abs().max().item()) * 4
        self.assertLessEqual((got.double() - wanted).abs().max().item(), bound, f"{c}")

    def test_float32(self):
        self.compare(torch.float32, 1e-5)

    def test_float32_channels_last(self):
        def last(t):
            return t.movedim(1, -1).contiguous().movedim(-1, 1) if t.dim() > 2 else t

        self.compare(torch.float32, 1e-5, last)

    def test_bfloat16(self):
        self.compare(torch.bfloat16, 2**-7)

    def test_other_types_are_computed_by_pytorch(self):
        x, w, b = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((2, 3, 6), (4, 3, 3), (4,)))
        call = lambda *t: ours.conv_post_ops(*t, padding=1, activation="leaky_relu:0.2")  # noqa: E731
        self.assertTrue(torch.autograd.gradcheck(call, (x, w, b)))

    def test_bad_arguments_are_named_in_every_type(self):
        own = "bias and add are arguments of their own"
        for dtype in (torch.float32, torch.float64):  # by cubejit, by PyTorch
            x, w = torch.randn(1, 2, 5, dtype=dtype), torch.randn(3, 2, 1, dtype=dtype)
            for arguments, words in (({"activation": "gelu"}, "unknown post-op 'gelu'"), ({"activation": "clip:1"}, "clip"),
                                     ({"activation": "leaky_relu"}, "leaky_relu"), ({"activation": "bias"}, own), ({"activation": "add"}, own),
                                     ({"activation": "bias,relu"}, own), ({"activation": "relu,bias"}, "comes too late"),
                                     ({"bias": torch.ones(2, dtype=dtype)}, "it must be \\(3,\\)"),
                                     ({"add": torch.ones(1, 3, 4, dtype=dtype)}, "add has shape"),
                                     ({"add": torch.ones(1, 3, 1, dtype=dtype)}, "add has shape")):
                with self.subTest(dtype=dtype, **arguments), self.assertRaisesRegex((RuntimeError, Error), words):
                    ours.conv_post_ops(x, w, **arguments)

    def test_what_pytorch_does_around_a_call(self):
        x, w, b = torch.randn(2, 3, 6, 6), torch.randn(4, 3, 3, 3), torch.randn(4)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = ours.conv_post_ops(x, w, b, activation="relu")
            self.assertEqual(y.dtype, torch.nn.functional.conv2d(x, w, b).dtype)
        with forward_ad.dual_level():
            got = forward_ad.unpack_dual(ours.conv_post_ops(forward_ad.make_dual(x, x + 1), w, b)).tangent
        torch.testing.assert_close(got, torch.nn.functional.conv2d(x + 1, w), rtol=1e-4, atol=1e-4)
        for needs in ((False, False, True), (True, True, True)):  # a slope that the sign of y does not tell
            leaves = [t.clone().requires_grad_(need) for t, need in zip((x, w, torch.randn(2, 4, 4, 4)), needs)]
            asked = [t for t in leaves if t.requires_grad]
            with ours.enable("ours"):  # of the separate operators that it is then
                mine = torch.autograd.grad(ours.conv_post_ops(*leaves[:2], add=leaves[2], activation="leaky_relu:-1").sum(), asked)
            with Exact():
                theirs = torch.nn.functional.leaky_relu(torch.nn.functional.conv2d(*leaves[:2]) + leaves[2], -1.0)
                exact = torch.autograd.grad(theirs.sum(), asked)
            for got, wanted in zip(mine, exact):
                torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)
        x, w = torch.ones(()).expand(2, 3, 4, 4, 4), torch.randn(4, 3, 2, 2, 2, requires_grad=True)
        ours.conv_post_ops(x, w).sum().backward()  # dy repeats one element as well
        torch.testing.assert_close(w.grad, torch.full_like(w, 2 * 27.0))
        with self.assertRaisesRegex(TypeError, "padding = 'same'"):
            ours.conv_post_ops(x, w, padding="same")

    def test_gradients_are_pytorchs_where_y_is_no_number(self):
        values = torch.tensor([float("nan"), float("inf"), -float("inf"), -3, 0.5, 3]).view(1, 1, 6)
        for activation in ("relu", "leaky_relu:0.1", "clip:-1:2"):
            gradients = []
            for call in (ours.conv_post_ops, lambda *t, add, activation: separate(*t, None, ([1], [0], [1], False, [0], 1), add, activation)):
                for sign in (torch.tensor(1.0), torch.tensor(-1.0)):  # of no number
                    x, add = (torch.copysign(t, torch.where(t.isnan(), sign, t)).requires_grad_() for t in (values, torch.zeros(1, 1, 6)))
                    y = call(x, torch.ones(1, 1, 1), add=add, activation=activation)
                    gradients += [torch.stack(torch.autograd.grad(y, (x, add), torch.ones_like(y)))]
            if activation.startswith("clip"):  # of no number PyTorch says one thing in vectors, another behind the last one
                gradients = [gradient[..., 1:] for gradient in gradients]
            for gradient in gradients[1:]:
                self.assertTrue(torch.equal(gradient, gradients[0]), f"{activation}: {gradients}")


if __name__ == "__main__":
    unittest.main()
