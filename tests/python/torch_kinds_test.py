# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of the dispatcher's door for everything that PyTorch does to tensors and calls above the CPU: for each kind of tensor,
mode, transform and memory order, results have the values, strides and type that PyTorch's own have. Skipped without PyTorch."""

import contextlib
import copy
import itertools
import json
import os
import subprocess
import sys
import unittest
import warnings
from unittest import mock

try:
    import torch
except ImportError as absent:
    raise unittest.SkipTest("PyTorch is not installed (tools/setup.sh peers)") from absent

from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

import cubejit
import cubejit.torch as ours
from cubejit.torch import choosing, layers
from cubejit.torch.dispatcher import _layers_seen

try:
    import functorch
    import functorch.experimental
except ImportError:
    functorch = None

FUNCTIONS = {(rank, transposed): getattr(functional, f"conv{'_transpose' if transposed else ''}{rank}d")
             for rank in (1, 2, 3) for transposed in (False, True)}


def tensor(*shape, dtype=None):
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float32)
    return made.to(dtype or torch.get_default_dtype())


def negative(*shape):
    """With the negative bit: its memory holds the other sign."""
    made = torch.complex(tensor(*shape), tensor(*shape)).conj().imag
    assert made.is_neg()
    return made


class Named(torch.Tensor):
    """Keeps its type through functions."""


class Wrapped(torch.Tensor):
    """Holds a tensor, and has no memory of its own."""

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(cls, held.size(), strides=held.stride(), dtype=held.dtype)

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        unwrapped = tree_map(lambda t: t.held if isinstance(t, cls) else t, (args, kwargs or {}))
        result = function(*unwrapped[0], **unwrapped[1])
        return tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, result)


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


def gradients(x, w, dy=None, function=functional.conv1d):
    x, w = x.requires_grad_(), w.requires_grad_()
    y = function(x, w)
    return (y.detach(), *torch.autograd.grad(y, (x, w), torch.ones_like(y) if dy is None else dy))


def seen():
    with Seen() as mode:
        gradients(tensor(2, 3, 8), tensor(4, 3, 3))
    return [name for name in mode.names if "convolution" in name or "empty" in name]


def graph_of(call, *inputs):
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(call)(*inputs)
    return [str(node.target) for node in graph.graph.nodes], graph(*inputs)


def traced(mode):
    layer = torch.nn.Conv2d(2, 3, 3)
    layer.weight.data, layer.bias.data = tensor(3, 2, 3, 3), tensor(3)
    with mode():
        module = torch.jit.trace(layer, tensor(1, 2, 6, 6), check_trace=False)
        return [node.kind() for node in module.inlined_graph.nodes()], module(tensor(1, 2, 7, 7))


X, W = tensor(2, 3, 8), tensor(4, 3, 3)


def of_weights(w):
    return functional.conv1d(X.to(w.dtype), w).pow(2).sum()


def batched_gradients():
    x, w = tensor(2, 3, 8).requires_grad_(), tensor(4, 3, 3).requires_grad_()
    return torch.autograd.grad(functional.conv1d(x, w), (x, w), tensor(5, 2, 4, 6), is_grads_batched=True)


def forward_derivative():
    from torch.autograd import forward_ad

    with forward_ad.dual_level():
        dual = functional.conv1d(forward_ad.make_dual(tensor(2, 3, 8), tensor(2, 3, 8)), tensor(4, 3, 3))
        return tuple(t.clone() for t in forward_ad.unpack_dual(dual))


KINDS = {
    "negative x": lambda: gradients(negative(2, 3, 8), tensor(4, 3, 3)),
    "negative w": lambda: gradients(tensor(2, 3, 8), negative(4, 3, 3)),
    "negative dy": lambda: gradients(tensor(2, 3, 8), tensor(4, 3, 3), negative(2, 4, 6)),
    "negative bias": lambda: functional.conv1d(tensor(2, 3, 8), tensor(4, 3, 3), negative(4)),
    "negative, no gradients": lambda: functional.conv1d(negative(2, 3, 8), negative(4, 3, 3)),
    "conjugate": lambda: functional.conv1d(torch.complex(tensor(2, 3, 8), tensor(2, 3, 8)).conj(), tensor(4, 3, 3) + 0j),
    "zero dy": lambda: gradients(tensor(2, 3, 8), tensor(4, 3, 3), torch._efficientzerotensor((2, 4, 6))),
    "zero x": lambda: functional.conv1d(torch._efficientzerotensor((2, 3, 8)), tensor(4, 3, 3)),
    "named subclass": lambda: gradients(tensor(2, 3, 8).as_subclass(Named), tensor(4, 3, 3)),
    "wrapping subclass": lambda: functional.conv1d(Wrapped(tensor(2, 3, 8)), tensor(4, 3, 3)).held,
    "expanded": lambda: gradients(tensor(1, 3, 8).expand(2, 3, 8).detach(), tensor(4, 3, 1).expand(4, 3, 3).detach()),
    "mode": seen,
    "graph": lambda: graph_of(lambda a, b: functional.conv1d(a, b), tensor(2, 3, 8), tensor(4, 3, 3)),
    "graph of gradients": lambda: graph_of(lambda a, b: gradients(a, b)[1:], tensor(2, 3, 8), tensor(4, 3, 3)),
    "trace": lambda: traced(torch.enable_grad),
    "trace without gradients": lambda: traced(torch.no_grad),
    "trace in inference mode": lambda: traced(torch.inference_mode),
    "batched gradients": batched_gradients,
    "jacobian": lambda: torch.autograd.functional.jacobian(lambda w: functional.conv1d(tensor(2, 3, 8), w), tensor(4, 3, 3), vectorize=True),
    "hessian": lambda: torch.autograd.functional.hessian(of_weights, tensor(1, 3, 2)),
    "forward derivative": forward_derivative,
    "deprecated overload": lambda: torch._convolution(tensor(2, 3, 8), tensor(4, 3, 3), None, [1], [0], [1], False, [0], 1, False, False, True, True),
}
if functorch is not None:
    KINDS.update({
        "functorch.grad": lambda: functorch.grad(of_weights)(tensor(4, 3, 3)),
        "functorch.jacrev": lambda: functorch.jacrev(lambda w: functional.conv1d(tensor(1, 3, 8), w))(tensor(4, 3, 3)),
        "functorch.jvp": lambda: functorch.jvp(of_weights, (tensor(4, 3, 3),), (tensor(4, 3, 3),)),
        "functorch.vmap": lambda: functorch.vmap(lambda x: functional.conv1d(x, W.to(x.dtype)))(tensor(5, 2, 3, 8)),
        "functorch.vmap of grad": lambda: functorch.vmap(functorch.grad(of_weights))(tensor(5, 4, 3, 3)),
        "functorch.grad of grad": lambda: functorch.grad(lambda w: functorch.grad(of_weights)(w).pow(2).sum())(tensor(4, 3, 3)),
        "functionalize": lambda: functorch.experimental.functionalize(of_weights)(tensor(4, 3, 3)),
    })


def last(t):
    return t.movedim(1, -1).contiguous().movedim(-1, 1)


def gaps(t):
    wide = t.new_zeros([2 * n for n in t.shape])
    view = wide[tuple(slice(None, None, 2) for _ in t.shape)]
    view.copy_(t)
    return view


def repeated(t):
    """One element in all places: every stride is 0."""
    return t.new_ones(()).expand(t.shape)


ORDERS = {"plain": lambda t: t, "channels last": last, "turned": lambda t: t.transpose(0, 1).contiguous().transpose(0, 1), "gaps": gaps,
          "repeated": repeated}


def convolved(x, w, b):
    return functional.conv2d(x, w, b)


class Meddling(TorchFunctionMode):
    """Makes memory elsewhere and otherwise than it is asked for, and notes what it saw."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen.append(getattr(function, "__name__", str(function)))
        kwargs = dict(kwargs or {})
        if self.seen[-1] in ("empty", "empty_like", "empty_strided"):
            kwargs.setdefault("dtype", torch.float64)
        return function(*args, **kwargs)


def pytorchs(call):
    """What PyTorch gives, and what it gives in float64: oneDNN (torch_exact.py) has no part in that."""
    theirs = call()
    torch.set_default_dtype(torch.float64)
    try:
        return theirs, call()
    finally:
        torch.set_default_dtype(torch.float32)


class Kinds(unittest.TestCase):
    def setUp(self):
        ours.report(reset=True)

    def same(self, got, wanted, words, ours_alone=True):
        """wanted: as pytorchs() gives it. Where PyTorch may have computed some, its errors are allowed."""
        got, wanted, exact = (tree_flatten(results)[0] for results in (got, *wanted))
        self.assertEqual({len(got), len(exact)}, {len(wanted)}, words)
        for mine, theirs, values in zip(got, wanted, exact):
            if not isinstance(theirs, torch.Tensor):
                self.assertEqual(mine, theirs, words)
                continue
            self.assertEqual((type(mine), mine.dtype, mine.shape, mine.stride(), mine.is_neg()),
                             (type(theirs), theirs.dtype, theirs.shape, theirs.stride(), theirs.is_neg()), words)
            if ours_alone or torch.allclose(theirs.to(values.dtype), values, rtol=1e-4, atol=1e-4):
                torch.testing.assert_close(mine, values, rtol=1e-4, atol=1e-4, check_dtype=False, msg=lambda text: f"{words}: {text}")

    def test_every_kind_of_tensor_and_call(self):
        for (name, call), choose in itertools.product(KINDS.items(), ("ours", "measure")):
            with self.subTest(name, choose=choose):
                wanted = pytorchs(call)
                with ours.enable(choose), mock.patch.object(choosing, "GRACE", float("inf")):
                    for _ in range(2 if choose == "ours" else 5):  # first calls of a layer, and turns of being measured, are ways of their own
                        self.same(call(), wanted, name, choose == "ours")
                self.same(call(), wanted, f"{name}, disabled", False)

    def test_kinds_are_computed_and_not_only_passed_on(self):
        for name in ("negative x", "mode", "graph of gradients", "trace in inference mode", "jacobian", "named subclass"):
            ours.report(reset=True)
            with self.subTest(name), ours.enable("ours"):
                KINDS[name]()
                self.assertTrue([row for row in ours.report().rows if row["passed_on"] is None and not row["failed"]], f"{ours.report()}")

    def test_every_memory_order(self):
        sizes = {1: (9,), 2: (7, 6), 3: (5, 4, 6)}
        for (rank, transposed), (name_x, of_x), (name_w, of_w), batch in itertools.product(FUNCTIONS, ORDERS.items(), ORDERS.items(), (1, 2)):
            words = f"{rank}d transposed={transposed} x {name_x} w {name_w} batch {batch}"
            for channels in ((4, 6), (1, 1)):
                x, w = of_x(tensor(batch, channels[0], *sizes[rank])), of_w(tensor(*(channels if transposed else channels[::-1]), *(3,) * rank))
                for of_dy in (ORDERS["plain"], ORDERS["channels last"], ORDERS["repeated"]):
                    def call(x, w):
                        y = FUNCTIONS[rank, transposed](x.requires_grad_(), w.requires_grad_())
                        return y.detach(), *torch.autograd.grad(y, (x, w), of_dy(torch.ones_like(y)))  # noqa: B023

                    wanted = call(x, w), call(x.double(), w.double())
                    with ours.enable("ours"):
                        self.same(call(x, w), wanted, words)
                        self.same(call(x, w), wanted, words)
        computed = [row for row in ours.report().rows if row["passed_on"] is None]
        self.assertGreater(len(computed), 0.7 * len(ours.report().rows))  # a suite of one element is PyTorch's with three axes

    def test_modes_of_functions_see_what_they_see_of_pytorch(self):
        script = torch.jit.script(convolved)

        def call():
            leaves = [tensor(*shape).requires_grad_() for shape in ((2, 3, 5, 5), (4, 3, 3, 3), (4,))]
            with Meddling() as outer, Meddling() as inner:
                y = script(*leaves)
                with_add = ours.conv_post_ops(*leaves, activation="relu")
                y.backward(tensor(*y.shape))
            return [y.detach(), with_add.detach(), *(t.grad for t in leaves)], outer.seen, inner.seen

        (wanted, *seen), (exact, *_) = pytorchs(call)
        for choose in ("ours", "measure", None):
            with ours.enable(choose) if choose else contextlib.nullcontext():
                for _ in range(2):
                    got, *now = call()
                    self.same(got, (wanted, exact), choose, choose == "ours")
                    self.assertEqual(now, seen, choose)

    def test_functions_of_ours_take_negative_bits(self):
        x, w, dy = negative(2, 3, 8), negative(4, 3, 3), negative(2, 4, 6)
        theirs = gradients(x.clone(), w.clone(), dy.clone())
        y, dx, dw = gradients(x.double(), w.double(), dy.double())
        self.same(cubejit.conv(x, w).clone(), (theirs[0], y), "conv")
        for got, wanted in zip(cubejit.conv_backward(dy, x, w), (dx, dw)):
            torch.testing.assert_close(got, wanted, check_dtype=False)
        with self.assertRaisesRegex(TypeError, "is_neg"):
            cubejit.conv(x, w, out=negative(2, 4, 6))
        with self.assertRaisesRegex(TypeError, "_is_zerotensor"):
            cubejit.conv(torch._efficientzerotensor((2, 3, 8)), w)
        for function in (ours.conv1d, ours.conv_post_ops):
            with ours.enable("ours"):
                results = gradients(x.detach(), w.detach(), dy, function)
            for got, wanted in zip(results, (y, dx, dw)):
                torch.testing.assert_close(got, wanted, check_dtype=False)
        for name, call in {"mode": lambda: seen() and ours.conv_post_ops(x, w), "graph": lambda: graph_of(lambda a, b: ours.conv_post_ops(a, b), x, w)[1]}.items():
            torch.testing.assert_close(call(), y, check_dtype=False, msg=name)


class Choice(unittest.TestCase):
    """Who computes, and what is counted of it."""

    def setUp(self):
        ours.report(reset=True)
        self.x, self.w = tensor(1, 3, 8, 8), tensor(4, 3, 3, 3)

    def call(self):
        return functional.conv2d(self.x, self.w)

    def row(self):
        (row,) = ours.report().rows
        return row

    def test_the_mode_of_the_call_decides(self):
        for choose in ("measure", "ours", "measure"):
            with ours.enable(choose):
                self.call()
        self.assertEqual(sorted((row["choose"], row["calls"], row["passed_on"]) for row in ours.report().rows),
                         [("measure", 2, "not measured yet"), ("ours", 1, None)])

    def test_a_run_that_fails_is_pytorchs_for_once(self):
        wanted = self.call()
        for first in (True, False):
            ours.report(reset=True)
            with ours.enable("ours"):
                if not first:
                    self.call()
                    for entry in _layers_seen.passes():
                        _layers_seen.withdraw(entry)  # of kernels in C++, which have not what is patched
                real = layers.Compiled.empty
                with mock.patch.object(layers.Compiled, "empty", side_effect=cubejit.Error("no memory")):
                    torch.testing.assert_close(self.call(), wanted)
                self.assertIs(layers.Compiled.empty, real)
                self.call()
            row = self.row()
            self.assertEqual((row["failed"], row["error"], row["passed_on"]), (1, "no memory", None))
            self.assertIn("1 by PyTorch: no memory", str(ours.report()))

    def test_times_are_of_the_calls_that_were_timed(self):
        with ours.enable("ours"):
            for dtype, first in ((torch.float32, 1), (torch.float64, 0)):
                ours.report(reset=True)
                for _ in range(5):
                    functional.conv_transpose2d(self.x.to(dtype), tensor(3, 4, 3, 3, dtype=dtype), stride=2, output_padding=1)
                row = self.row()
                self.assertEqual((row["calls"], row["timed"]), (5, 5 - first))
                line = str(ours.report()).splitlines()[1]
                self.assertIn(f"{row['ms'] / row['timed']:.3f}", line)
                self.assertIn("op1", line)
                self.assertIn(str(dtype).removeprefix("torch."), line)

    def test_an_environment_that_is_wrong_is_said_once(self):
        program = ("import warnings, torch, cubejit.torch as c\n"
                   "with warnings.catch_warnings(record=True) as seen, c.enable('ours'):\n"
                   "    warnings.simplefilter('always')\n"
                   "    for n in (5, 6): torch.nn.Conv2d(3, 4, 3)(torch.randn(1, 3, n, n))\n"
                   "assert ['CUBEJIT_TUNE' in str(w.message) for w in seen] == [True], [str(w.message) for w in seen]\n")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                              env={**os.environ, "CUBEJIT_TUNE": "sometimes"})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_enabling_while_others_compute(self):
        program = ("import threading, torch, cubejit.torch as c\n"
                   "stop = threading.Event()\n"
                   "def work():\n"
                   "    x = torch.randn(2, 3, 9, 9, requires_grad=True)\n"
                   "    w = torch.randn(4, 3, 3, 3, requires_grad=True)\n"
                   "    while not stop.is_set(): torch.nn.functional.conv2d(x, w).sum().backward()\n"
                   "threads = [threading.Thread(target=work) for _ in range(4)]\n"
                   "for t in threads: t.start()\n"
                   "for _ in range(3000):\n"
                   "    with c.enable('ours'): pass\n"
                   "stop.set()\n"
                   "for t in threads: t.join()\n")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_pytorch_that_is_none_is_said(self):
        for hidden, words in (("None", "no package named torch"), ("types.ModuleType('torch')", "is not that")):
            program = f"import sys, types; sys.modules['torch'] = {hidden}; import cubejit.torch"
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
            self.assertIn(words, done.stderr.splitlines()[-1])
            self.assertIn("ImportError: cubejit.torch needs PyTorch", done.stderr.splitlines()[-1])

    def test_recording_leaves_a_model_alone_and_says_what_is_left_out(self):
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Conv2d(4, 4, 3, bias=False)).train()
        before = {name: value.clone() for name, value in model.state_dict().items()}
        text = ours.record(model, tensor(2, 3, 9, 9))
        self.assertEqual([line.count('"post_ops": "bias"') for line in text.splitlines()], [1, 0])
        self.assertEqual([(p["dtype"], p["layout"]) for p in map(json.loads, text.splitlines())], [("f32", "ncdhw")] * 2)
        last = copy.deepcopy(model).to(memory_format=torch.channels_last)[0]
        (line,) = ours.record(last, tensor(2, 3, 9, 9)).splitlines()
        self.assertEqual(json.loads(line)["layout"], "ncdhw,y=ndhwc,dy=ndhwc,w=ndhwc,dw=ndhwc")
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        (line,) = ours.record(torch.nn.Conv2d(3, 4, 3, stride=[2], padding=[1]), tensor(2, 3, 9, 9)).splitlines()
        self.assertEqual((json.loads(line)["stride"], json.loads(line)["pad"]), ([1, 2, 2], [0, 0, 1, 1, 1, 1]))
        w, b = tensor(4, 3, 3, 3), tensor(4)
        (line,) = ours.record(lambda x: ours.conv_post_ops(x, w, b, activation="relu"), tensor(2, 3, 9, 9)).splitlines()
        self.assertEqual(json.loads(line)["post_ops"], "bias,relu")

    def test_recording_takes_buffers_of_every_kind(self):
        expanded = torch.nn.Conv2d(3, 4, 3)
        expanded.register_buffer("b", torch.zeros(1).expand(4))
        lazy = torch.nn.Sequential(torch.nn.LazyConv2d(4, 3), torch.nn.LazyBatchNorm2d())
        with torch.inference_mode():
            frozen = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).eval()
        for model in (expanded, lazy, frozen):
            self.assertEqual(len(ours.record(model, tensor(2, 3, 9, 9)).splitlines()), 1)
        for inputs, words, net in ((torch.randn(0, 3, 9, 9), "empty", model[:1]), (tensor(2, 3, 9, 9).double(), "float64", copy.deepcopy(model).double())):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                self.assertEqual(ours.record(net, inputs), "")
            self.assertIn(words, str(said[-1].message))


if __name__ == "__main__":
    unittest.main()
