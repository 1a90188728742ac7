# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of the bits of results under the dispatcher: they depend on operands and shapes alone, and not on threads, workers,
neighbours in a batch or what was permitted to other calls; types that are not alike are PyTorch's affair; gradients of single samples are
right; memory does not grow with the number of shapes. Skipped without PyTorch."""

import contextlib
import itertools
import subprocess
import sys
import threading
import unittest

try:
    import torch
except ImportError as absent:
    raise unittest.SkipTest("PyTorch is not installed (tools/setup.sh peers)") from absent

from torch.nn import functional

import cubejit.torch as ours

try:
    from torch.func import grad, vmap
except ImportError:
    try:
        from functorch import grad, vmap
    except ImportError:
        vmap = None


def tensor(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def last(t):
    return t.movedim(1, -1).contiguous().movedim(-1, 1)


# x, w, and what torch.convolution takes: stride, padding, dilation, transposed, output_padding, groups.
LAYERS = {
    "conv1d": ((4, 8, 50), (6, 8, 5), ([1], [2], [1], False, [0], 1)),
    "conv2d": ((4, 16, 14, 14), (24, 16, 3, 3), ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)),
    "pointwise": ((4, 96, 9, 9), (40, 96, 1, 1), ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)),
    "depthwise": ((4, 16, 14, 14), (16, 1, 3, 3), ([2, 2], [0, 0], [1, 1], False, [0, 0], 16)),
    "conv3d": ((4, 6, 5, 8, 9), (10, 6, 3, 3, 3), ([1, 1, 1], [0, 0, 0], [2, 2, 2], False, [0, 0, 0], 1)),
    "transposed": ((4, 12, 7, 7), (12, 8, 4, 4), ([2, 2], [0, 0], [1, 1], True, [1, 1], 1)),
}


def passes(name, order, x=None, dy=None):
    """y, dx, dw of a layer; as operators, since PyTorch refuses autograd in what was forked from a process that used it."""
    of_x, of_w, geometry = LAYERS[name]
    x, w = order(tensor(*of_x) if x is None else x), order(tensor(*of_w))
    y = torch.convolution(x, w, None, *geometry)
    dy = tensor(*y.shape, seed=1) if dy is None else dy
    return y, *torch.ops.aten.convolution_backward(dy, x, w, None, *geometry, [True, True, False])[:2]


def bits(name, order):
    return [t.contiguous().numpy().tobytes() for t in passes(name, order)]


ORDERS = {"plain": lambda t: t, "channels last": last}
ALL = list(itertools.product(LAYERS, ORDERS))


def every_bit(_=None):
    with ours.enable("ours"):
        return [bits(name, ORDERS[order]) for name, order in ALL]


class Computes(torch.utils.data.Dataset):
    """Whose items are computed by convolutions, where they are asked for."""

    def __len__(self):
        return len(ALL)

    def __getitem__(self, number):
        name, order = ALL[number]
        with ours.enable("ours"):
            caught = [row["calls"] for row in ours.report().rows if row["passed_on"] is None]
            found = bits(name, ORDERS[order])
            return found, sum(row["calls"] for row in ours.report().rows if row["passed_on"] is None) - sum(caught)


class Bits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ours.report(reset=True)
        cls.wanted = every_bit()
        cls.rows = ours.report().rows

    def same(self, got, words):
        for layer, mine, wanted in zip(ALL, got, self.wanted):
            self.assertEqual([a == b for a, b in zip(mine, wanted)], [True] * 3, (words, layer, "y, dx, dw"))

    def test_all_of_it_is_computed_by_cubejit(self):
        self.assertEqual({row["passed_on"] for row in self.rows}, {None})
        self.assertEqual(sum(row["calls"] for row in self.rows), 2 * len(ALL))

    def test_numbers_of_threads(self):
        before = torch.get_num_threads()
        try:
            for number in (1, 2, 3, 5):
                torch.set_num_threads(number)
                self.same(every_bit(), f"{number} threads")
        finally:
            torch.set_num_threads(before)

    def test_threads_that_compute_at_once(self):
        found = []
        with ours.enable("ours"):
            threads = [threading.Thread(target=lambda: found.append([bits(name, ORDERS[order]) for name, order in ALL])) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len(found), 4)
        for got in found:
            self.same(got, "one of four threads")

    def test_workers_of_every_start_method(self):
        for method, number in (("fork", 2), ("forkserver", 1), ("spawn", 1)):
            loader = torch.utils.data.DataLoader(Computes(), batch_size=None, num_workers=number, multiprocessing_context=method, timeout=600)
            found = list(loader)
            self.assertEqual([caught for _, caught in found], [2] * len(ALL), f"{method}: computed by cubejit")
            self.same([got for got, _ in found], method)

    def test_neighbours_in_a_batch(self):
        """What lies beside an image changes no bit of its results, even if it is no number; nor does its place."""
        for name, order in ALL:
            x = tensor(*LAYERS[name][0])
            with ours.enable("ours"):
                y, dx, _ = passes(name, ORDERS[order], x)
                dy = tensor(*y.shape, seed=1)
                for bad in (float("nan"), float("inf"), 1e38):
                    spoilt, spoilt_dy = x.clone(), dy.clone()
                    spoilt[1:], spoilt_dy[1:] = bad, bad
                    got = passes(name, ORDERS[order], spoilt, spoilt_dy)
                    for mine, wanted in zip(got, (y, dx)):
                        self.assertTrue(torch.equal(mine[0], wanted[0]), (name, order, bad))
                turned = [t.flip(0) for t in passes(name, ORDERS[order], x.flip(0), dy.flip(0))[:2]]
                for mine, wanted in zip(turned, (y, dx)):
                    self.assertTrue(torch.equal(mine, wanted), (name, order, "turned round"))

    def test_permissions_of_other_calls(self):
        """f32 convolutions may be computed with fewer bits where the user says so, and only there."""
        conv = getattr(torch.backends.mkldnn, "conv", None)
        if not hasattr(conv, "fp32_precision"):
            self.skipTest("this PyTorch has no torch.backends.mkldnn.conv.fp32_precision")
        before = conv.fp32_precision
        self.addCleanup(setattr, conv, "fp32_precision", before)
        exact = [t.double() for t in passes("conv2d", last)]
        for said in ("bf16", "tf32", "ieee"):
            conv.fp32_precision = said
            with ours.enable("ours"):
                got = passes("conv2d", last)
            for mine, wanted in zip(got, exact):
                self.assertLessEqual((mine - wanted).abs().max().item(), (1e-5 if said == "ieee" else 2**-6) * wanted.abs().max().item(), said)
        self.same(every_bit(), "after bf16 was permitted")


def outcome(call):
    try:
        y = call()
        return y.dtype, y.shape, y.stride()
    except RuntimeError as error:
        return str(error).splitlines()[0]


class Types(unittest.TestCase):
    def test_operands_of_unequal_types(self):
        """Who is refused by PyTorch is refused in the same words, and who is not gets the same type."""
        kinds = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32)
        for of_x, of_w, of_b in itertools.product(kinds, kinds, (None, *kinds)):
            x, w = tensor(2, 3, 6, 6).to(of_x), tensor(4, 3, 3, 3).to(of_w)
            b = None if of_b is None else tensor(4).to(of_b)
            for cast in (False, True):
                def call():
                    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=cast):  # noqa: B023
                        return functional.conv2d(x, w, b)  # noqa: B023

                wanted = outcome(call)
                for choose in ("ours", "measure"):
                    with ours.enable(choose):
                        got = [outcome(call) for _ in range(2)]
                    if of_x == of_w == of_b == torch.float16 or (of_x, of_w, of_b) == (torch.float16, torch.float16, None):
                        continue  # which PyTorch does not compute everywhere, and cubejit does
                    self.assertEqual(got, [wanted] * 2, (of_x, of_w, of_b, cast, choose))


class Samples(unittest.TestCase):
    @unittest.skipIf(vmap is None, "this PyTorch has no functorch")
    def test_gradients_of_single_samples_of_dilated_conv3d(self):
        for groups, dilation, stride in itertools.product((1, 2), (1, 2, (1, 2, 3)), (1, (2, 1, 1))):
            x, w, b = tensor(5, 4, 6, 7, 8), tensor(6, 4 // groups, 2, 2, 2), tensor(6)

            def loss(w, b, sample):
                return functional.conv3d(sample[None], w, b, stride, 1, dilation, groups).square().sum()  # noqa: B023

            alone = [torch.autograd.grad(loss(w := w.detach().requires_grad_(), b := b.detach().requires_grad_(), sample), (w, b)) for sample in x]
            wanted = [torch.stack(each) for each in zip(*alone)]
            ours.report(reset=True)
            with ours.enable("ours"):
                for _ in range(2):
                    got = vmap(grad(loss, (0, 1)), (None, None, 0))(w.detach(), b.detach(), x)
                    for mine, theirs in zip(got, wanted):
                        self.assertLessEqual((mine - theirs).abs().max().item(), 1e-4 * theirs.abs().max().item(), (groups, dilation, stride))
            self.assertIn("dw", {row["pass"] for row in ours.report().rows if row["passed_on"] is None}, f"{ours.report()}")

    def test_gradients_of_single_samples_of_modules(self):
        try:
            from torch.nn.utils._per_sample_grad import call_for_per_sample_grads
        except ImportError:
            self.skipTest("this PyTorch has no torch.nn.utils._per_sample_grad")
        for layer, shape in ((torch.nn.Conv1d(3, 4, 3, dilation=2), (5, 3, 12)), (torch.nn.Conv2d(4, 6, 3, groups=2, padding=1), (5, 4, 7, 7)),
                             (torch.nn.Conv3d(2, 3, 2, padding=1), (5, 2, 4, 5, 6))):
            found = []
            for enabled in (False, True):
                for p in layer.parameters():
                    p.grad_sample = None
                with ours.enable("ours") if enabled else contextlib.nullcontext():
                    call_for_per_sample_grads(layer)(tensor(*shape)).square().sum().backward()
                found.append([p.grad_sample for p in layer.parameters()])
            for mine, wanted in zip(found[1], found[0]):
                self.assertLessEqual((mine - wanted).abs().max().item(), 1e-4 * wanted.abs().max().item())


GROWTH = """
import os, sys, torch, cubejit.torch as ours
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
layer = torch.nn.Conv1d(16, 16, 5)
def stretch(first, number):
    for length in range(first, first + number):
        layer(torch.ones(1, 16, length, requires_grad=True)).sum().backward()
torch._C._set_mkldnn_enabled(False)  # whose own cache of layers would be counted
with ours.enable("ours", cache_bytes=4 << 20):
    stretch(40, 100)
    before = resident()
    stretch(200, 300)
    print(resident() - before)
    assert len(ours.report().rows) <= 64, len(ours.report().rows)
    assert "no longer kept" in str(ours.report())
"""


class Memory(unittest.TestCase):
    def test_new_lengths_do_not_fill_memory(self):
        done = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, check=False, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(float(done.stdout), 8, "MiB after 300 lengths, of whose layers 4 MiB are kept")


if __name__ == "__main__":
    unittest.main()
