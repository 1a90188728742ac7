# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked with PyTorch beside: the gradients of aten::convolution_backward on hundreds of random problems, tensors
in and out without copies, and an autograd convolution that trains. Skipped without PyTorch."""

import copy
import os
import random
import threading
import unittest
from unittest import mock

try:
    import torch
except ImportError as absent:
    raise unittest.SkipTest("PyTorch is not installed (tools/setup.sh peers)") from absent

import cubejit
import cubejit.torch as ours
from random_convolution import random_convolution
from torch_exact import Exact

MASKS = [(a, b, c) for a in (True, False) for b in (True, False) for c in (True, False)]


def aten(dy, x, w, geometry, mask):
    """In float64, of the operands as they are."""
    stride, padding, dilation, transposed, output_padding, groups = geometry
    outer = w.shape[1] * groups if transposed else w.shape[0]
    return torch.ops.aten.convolution_backward(dy.double(), x.double(), w.double(), [outer], stride, padding, dilation,
                                               transposed, output_padding, groups, list(mask))


def channels_last(t):
    return t if t.dim() == 3 else t.to(memory_format=torch.channels_last if t.dim() == 4 else torch.channels_last_3d)


def gaps(t):
    wide = t.new_full([2 * n for n in t.shape], 99)
    view = wide[tuple(slice(None, None, 2) for _ in t.shape)]
    view.copy_(t)
    return view


def assert_near(test, mine, theirs, dtype, relative, name):
    """Sums are float32 and rounded once: the error is a part of the largest value."""
    test.assertEqual((mine.dtype, mine.shape), (dtype, theirs.shape), name)
    limit = relative * max(1.0, theirs.abs().max().item())
    test.assertLessEqual((mine.double() - theirs).abs().max().item(), limit, name)


class Peers(unittest.TestCase):
    def compare(self, dtype, count, change, relative):
        chosen = random.Random(count)
        generator = torch.Generator().manual_seed(17)
        for i in range(count):
            c = random_convolution(chosen)
            dy, x, w = (change(torch.randn(s, generator=generator).to(dtype)) for s in (c.dy, c.x, c.w))
            mask = MASKS[i % len(MASKS)]
            got = cubejit.conv_backward(dy, x, w, *c.geometry, mask)
            for name, asked, mine, theirs in zip(("dx", "dw", "db"), mask, got, aten(dy, x, w, c.geometry, mask)):
                self.assertEqual(mine is not None, asked, f"{name} of {c}")
                if not asked:
                    continue
                assert_near(self, mine, theirs, dtype, relative, f"{name} of {c}")

    def test_float32(self):
        self.compare(torch.float32, 300, lambda t: t, 1e-5)

    def test_float32_channels_last(self):
        self.compare(torch.float32, 150, channels_last, 1e-5)

    def test_float32_with_gaps(self):
        self.compare(torch.float32, 100, gaps, 1e-5)

    def test_bfloat16(self):
        self.compare(torch.bfloat16, 200, lambda t: t, 2**-8)

    def test_bfloat16_channels_last(self):
        self.compare(torch.bfloat16, 100, channels_last, 2**-8)

    def test_float16(self):
        self.compare(torch.float16, 150, lambda t: t, 2**-11)


class ForwardPeers(unittest.TestCase):
    def compare(self, dtype, count, change, relative):
        chosen = random.Random(count)
        generator = torch.Generator().manual_seed(19)
        for _ in range(count):
            c = random_convolution(chosen)
            x, w = (change(torch.randn(s, generator=generator).to(dtype)) for s in (c.x, c.w))
            y = cubejit.conv(x, w, *c.geometry)
            stride, padding, dilation, transposed, output_padding, groups = c.geometry
            wanted = torch.ops.aten.convolution(x.double(), w.double(), None, stride, padding, dilation, transposed, output_padding,
                                                groups)
            assert_near(self, y, wanted, dtype, relative, f"{c}")

    def test_float32(self):
        self.compare(torch.float32, 300, lambda t: t, 1e-5)

    def test_float32_channels_last(self):
        self.compare(torch.float32, 150, channels_last, 1e-5)

    def test_float32_with_gaps(self):
        self.compare(torch.float32, 100, gaps, 1e-5)

    def test_bfloat16_channels_last(self):
        self.compare(torch.bfloat16, 150, channels_last, 2**-8)

    def test_float16(self):
        self.compare(torch.float16, 100, lambda t: t, 2**-11)

    def test_results_are_written_in_place(self):
        x, w = torch.randn(1, 3, 5, 5), torch.randn(4, 3, 3, 3)
        y = torch.empty(1, 4, 3, 3)
        self.assertIs(cubejit.conv(x, w, out=y), y)
        torch.testing.assert_close(y, torch.nn.functional.conv2d(x, w))
        with self.assertRaisesRegex(cubejit.InvalidProblem, r"y of out has shape \(1, 4, 2, 3\)"):
            cubejit.conv(x, w, out=torch.empty(1, 4, 2, 3))


class Memory(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.dy, self.x, self.w = torch.randn(2, 4, 9, 9), torch.randn(2, 3, 9, 9), torch.randn(4, 3, 3, 3)

    def test_tensors_out_share_the_memory_computed_into(self):
        array = cubejit.default_session().conv_backward(self.dy, self.x, self.w, 1, 1, 1, False, 0, 1, (True, False, False), "strict",
                                                        (None, None, None))[0]
        first, second = torch.from_dlpack(array), torch.from_dlpack(array)
        self.assertEqual(first.data_ptr(), second.data_ptr())
        first.fill_(3)
        self.assertTrue(bool((second == 3).all()))

    def test_results_are_written_in_place(self):
        dw = torch.zeros(4, 3, 3, 3, dtype=torch.bfloat16)
        dx = torch.zeros(2, 9, 9, 3).permute(0, 3, 1, 2)
        got = cubejit.conv_backward(self.dy, self.x, self.w, padding=1, out=(dx, dw, None))
        self.assertIs(got[0], dx)
        self.assertIs(got[1], dw)
        expected = aten(self.dy, self.x, self.w, ([1, 1], [1, 1], [1, 1], False, [0, 0], 1), (True, True, True))
        torch.testing.assert_close(dx.double(), expected[0], rtol=1e-5, atol=1e-4)
        torch.testing.assert_close(dw.double(), expected[1], rtol=2**-8, atol=2**-8)

    def test_memory_order_is_kept(self):
        dx, dw, _ = cubejit.conv_backward(*(channels_last(t) for t in (self.dy, self.x, self.w)), padding=1)
        self.assertTrue(dx.is_contiguous(memory_format=torch.channels_last))
        self.assertTrue(dw.is_contiguous(memory_format=torch.channels_last))

    def test_tensors_with_history_and_numpy_beside(self):
        self.x.requires_grad_(True)
        dx, dw, db = cubejit.conv_backward(self.dy.numpy(), self.x, self.w.numpy(), padding=1)
        self.assertEqual([type(t).__module__ for t in (dx, dw, db)], ["torch", "numpy", "numpy"])

    def test_other_types_are_refused(self):
        with self.assertRaisesRegex(TypeError, "cubejit computes in float32, float16 and bfloat16"):
            cubejit.conv_backward(self.dy.double(), self.x, self.w, padding=1)


class Autograd(unittest.TestCase):
    def gradients(self, make, x):
        torch.manual_seed(2)
        layer = make()
        x = x.clone().requires_grad_(True)
        y = layer(x)
        torch.manual_seed(3)
        y.backward(torch.randn_like(y))
        return [y, x.grad, *(p.grad for p in layer.parameters())]

    def same(self, mine, theirs, x, tolerance=2e-4):
        with Exact():  # of PyTorch's is y as well, which for transposed convolutions is a gradient
            results = zip(self.gradients(mine, x), self.gradients(theirs, x))
        for got, expected in results:
            torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)

    def test_modules(self):
        for rank in (1, 2, 3):
            x = torch.randn(2, 4, *[9, 8, 7][:rank])
            for arguments in ({"kernel_size": 3}, {"kernel_size": 2, "stride": 2, "padding": 1, "groups": 2},
                              {"kernel_size": 4, "padding": "same"}, {"kernel_size": 3, "padding": "valid", "bias": False},
                              {"kernel_size": 3, "dilation": 2, "padding": 2, "padding_mode": "circular"}):
                for out in (6, 4):
                    self.same(lambda: getattr(ours, f"Conv{rank}d")(4, out, **arguments),
                              lambda: getattr(torch.nn, f"Conv{rank}d")(4, out, **arguments), x)
            for arguments in ({"kernel_size": 3}, {"kernel_size": 3, "stride": 2, "output_padding": 1, "groups": 2}):
                self.same(lambda: getattr(ours, f"ConvTranspose{rank}d")(4, 6, **arguments),
                          lambda: getattr(torch.nn, f"ConvTranspose{rank}d")(4, 6, **arguments), x)

    def test_functions(self):
        x, w, b = torch.randn(2, 4, 9), torch.randn(6, 4, 3), torch.randn(6)
        torch.testing.assert_close(ours.conv1d(x, w, b, 2, 1), torch.nn.functional.conv1d(x, w, b, 2, 1))
        torch.testing.assert_close(ours.conv1d(x[0], w, b), torch.nn.functional.conv1d(x[0], w, b))
        up = torch.randn(4, 3, 3)
        torch.testing.assert_close(ours.conv_transpose1d(x, up, None, 2, 1, 1), torch.nn.functional.conv_transpose1d(x, up, None, 2, 1, 1))

    def test_only_what_is_asked_for_is_computed(self):
        x, w = torch.randn(1, 2, 5, requires_grad=True), torch.randn(3, 2, 3)
        ours.conv1d(x, w).sum().backward()
        self.assertIsNotNone(x.grad)
        self.assertIsNone(w.grad)

    def test_a_network_is_converted_in_place(self):
        network = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.ConvTranspose2d(4, 1, 3))
        keys = list(network.state_dict())
        self.assertIs(ours.use(network), network)
        self.assertIsInstance(network[0], ours.Conv2d)
        self.assertIsInstance(network[2], ours.ConvTranspose2d)
        self.assertEqual(list(network.state_dict()), keys)
        network(torch.randn(1, 1, 6, 6)).sum().backward()
        self.assertIsNotNone(network[0].weight.grad)

    def test_autocast_converts_as_it_does_for_pytorch(self):
        for name in ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d"):
            theirs = getattr(torch.nn, name)(3, 4, 2)
            mine = ours.use(copy.deepcopy(theirs))
            x = torch.randn(2, 3, *[5] * (theirs.weight.dim() - 2))
            results = []
            for model in (theirs, mine):
                with torch.autocast("cpu", torch.bfloat16):
                    y = model(x)
                y.float().square().sum().backward()
                results.append(y)
            self.assertEqual(results[0].dtype, results[1].dtype, name)
            self.assertTrue(torch.equal(*results), name)
            for a, b in zip(theirs.parameters(), mine.parameters()):
                self.assertEqual(a.grad.dtype, b.grad.dtype)
                torch.testing.assert_close(a.grad, b.grad, rtol=5e-2, atol=5e-1)

    def test_what_backward_cannot_compute_is_refused_by_forward(self):
        layer, x = ours.Conv2d(3, 4, 2).double(), torch.randn(1, 3, 5, 5).double()
        with self.assertRaisesRegex(TypeError, "float64.*float32, float16 and bfloat16"):
            layer(x)
        with torch.no_grad():  # no backward will be asked for
            self.assertEqual(layer(x).dtype, torch.float64)
        with self.assertRaisesRegex(ValueError, "3 to 5 axes"):
            ours.convolution(torch.ones(1, 1), torch.ones(1, 1))

    def test_threads_are_those_of_pytorch(self):
        def asked(**environment):
            layer, x = ours.Conv2d(3, 4, 3), torch.randn(1, 3, 5, 5)
            with mock.patch.dict(os.environ, {"CUBEJIT_NUM_THREADS": "", **environment}), \
                    mock.patch.multiple(ours.layers, _sessions={}, _own_threads=0), \
                    mock.patch.object(ours, "conv_backward", wraps=cubejit.conv_backward) as call:
                layer(x).sum().backward()
            return call.call_args.kwargs["threads"]
        usual = torch.get_num_threads()
        self.addCleanup(torch.set_num_threads, usual)
        self.assertEqual(asked(), usual)
        for threads in (1, 3):
            torch.set_num_threads(threads)
            self.assertEqual(asked(), threads)
        self.assertEqual(asked(CUBEJIT_NUM_THREADS="2"), 2)

    def test_gradients_of_gradients_are_refused(self):
        x = torch.randn(1, 2, 5, requires_grad=True)
        (gradient,) = torch.autograd.grad((ours.conv1d(x, torch.randn(3, 2, 3)) ** 2).sum(), x, create_graph=True)
        with self.assertRaises(RuntimeError):
            gradient.sum().backward()

    def test_backward_from_many_threads(self):
        x, w = torch.randn(2, 4, 9, 9), torch.randn(4, 4, 3, 3)
        expected = aten(torch.ones(2, 4, 9, 9), x, w, ([1, 1], [1, 1], [1, 1], False, [0, 0], 1), (False, True, False))[1]
        wrong = []
        def work():
            for _ in range(20):
                own = w.clone().requires_grad_(True)
                ours.conv2d(x, own, None, 1, 1).sum().backward()
                if not torch.allclose(own.grad.double(), expected, rtol=1e-4, atol=1e-4):
                    wrong.append(own.grad)
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertFalse(wrong)


class Flushing(unittest.TestCase):
    """torch.set_flush_denormal() is the calling thread's; a call's other threads follow it."""

    def results(self, flush, threads, openmp):
        session = cubejit.Session(threads=8, openmp=openmp)  # cores that plans are for
        generator = torch.Generator().manual_seed(3)
        x, w, dy = (torch.randn(s, generator=generator) for s in ((1, 64, 100, 60), (64, 64, 3, 3), (1, 64, 100, 60)))
        torch.set_flush_denormal(False)
        tiny, small = w * 1e-39, dy * 1e-39
        torch.set_flush_denormal(flush)
        try:
            y = cubejit.conv(x, tiny, padding=1, session=session, threads=threads)
            dx, _, _ = cubejit.conv_backward(dy, x, tiny, padding=1, output_mask=(True, False, False), session=session, threads=threads)
            _, dw, db = cubejit.conv_backward(small, x, w, padding=1, output_mask=(False, True, True), session=session, threads=threads)
            self.assertEqual(bool(torch.tensor([1e-39]).mul(1.0).item()), not flush, "the caller's own is left as it was")
        finally:
            torch.set_flush_denormal(False)
        return [t.numpy().tobytes() for t in (y, dx, dw, db)]

    def test_flush_denormal_holds_in_every_thread(self):
        if not torch.set_flush_denormal(True):
            self.skipTest("this CPU does not flush")
        torch.set_flush_denormal(False)
        for flush in (True, False):
            want = self.results(flush, 1, False)
            for t in want:
                self.assertEqual(any(byte & 0x7F for byte in t), not flush)
            for threads in (2, 8):
                for openmp in (False, True):
                    self.assertEqual(self.results(flush, threads, openmp), want, f"flush {flush}, {threads} threads")


if __name__ == "__main__":
    unittest.main()
