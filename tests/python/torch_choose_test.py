# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks of who computes what: does finding out take no more than its share, whatever shapes come, by a clock that is counted and not read; is
memory bounded; is a wrong measurement put right; are bits the same in every process; do PyTorch's permissions hold? Skipped without PyTorch."""

import contextlib
import os
import random
import subprocess
import sys
import unittest
from unittest import mock

try:
    import torch
except ImportError as absent:
    raise unittest.SkipTest("PyTorch is not installed (tools/setup.sh peers)") from absent

from torch.nn import functional

import cubejit
import cubejit.torch as ours
from cubejit.torch import choosing, layers
from cubejit.torch.dispatcher import _layers_seen

GEOMETRY = ((1,), (1,), (1,), False, (0,), 1)


class Shape:
    """A layer that is not there: what a call takes by either side, seconds; noise: factors of ours' next calls."""

    def __init__(self, length, theirs, ours, compiling=0.02, size=300 << 10, channels=8, choose="measure"):
        self.key = ("y", (choose, "strict"), GEOMETRY, (1, channels, length), (channels * length, length, 1), torch.float32, (8, channels, 3),
                    (3 * channels, 3, 1), torch.float32)
        self.theirs, self.ours, self.compiling, self.size = theirs, ours, compiling, size
        self.noise = []
        self.fails = False


class Counted:
    """Layers whose clock counts what shapes take."""

    def __init__(self, limit=1 << 30):
        self.now, self.compiled, self.events, self.last = 0.0, 0, [], {}
        self.layers = choosing.Layers(limit)
        self.layers.publish = lambda entry: self.said("publish", entry)
        self.layers.withdraw = lambda entry: self.said("withdraw", entry)

    def said(self, what, entry):
        """What is published again is as it was."""
        event = what, entry.by
        if self.last.get(entry.key) != event:
            self.last[entry.key] = event
            self.events.append(event)

    def call(self, shape):
        def took(seconds, result):
            self.now += seconds
            return result

        def compiled(lies):
            self.compiled += 1
            layer = took(shape.compiling, mock.Mock(bytes=shape.size))
            layer.algorithm.return_value = "direct"
            return layer

        def by_ours(layer):
            if shape.fails:
                raise cubejit.Error("no memory")
            return took(shape.ours * (shape.noise.pop(0) if shape.noise else 1), "ours")

        entry = self.layers.find(shape.key)
        with mock.patch.object(choosing, "clock", lambda: self.now):
            return self.layers.run(entry, choosing.Work(compiled, lambda result: {}, by_ours, lambda: took(shape.theirs, "theirs"))), entry

    def calls(self, shape, number):
        for _ in range(number):
            result, entry = self.call(shape)
        return result, entry


class Share(unittest.TestCase):
    """What measuring costs."""

    def test_shapes_that_never_come_back_are_pytorchs(self):
        counted = Counted()
        for length in range(400):
            counted.calls(Shape(length, theirs=0.01, ours=0.001), choosing.PATIENCE)
        self.assertEqual((counted.compiled, counted.layers.spent), (0, 0))
        self.assertAlmostEqual(counted.now, 400 * 0.01 * choosing.PATIENCE)

    def test_no_stream_takes_more_than_its_share(self):
        for seed in range(20):
            rng = random.Random(seed)
            counted, stock = Counted(), 0.0
            slower = rng.choice((0.2, 1.0, 5.0, 50.0))
            for length in range(400):
                shape = Shape(length, theirs=10 ** rng.uniform(-4, -1), ours=0, compiling=10 ** rng.uniform(-3, -1))
                shape.ours = shape.theirs * slower * rng.uniform(0.8, 1.2)
                times = rng.choice((1, 3, 10, 40))
                counted.calls(shape, times)
                stock += times * shape.theirs
            dearest = 0.1 + 5 * 0.1 * slower  # what was begun within the share is ended
            self.assertLess(counted.now, 1.05 * stock + choosing.GRACE + dearest, f"seed {seed}")

    def test_what_repeats_is_measured_and_goes_to_the_faster_one(self):
        counted = Counted()
        fast, slow = Shape(100, theirs=0.01, ours=0.004), Shape(200, theirs=0.01, ours=0.015)
        for _ in range(20):
            results = counted.call(fast)[0], counted.call(slow)[0]
        self.assertEqual(results, ("ours", "theirs"))
        (_, first), (_, second) = counted.call(fast), counted.call(slow)
        self.assertEqual((first.passed_on, second.passed_on), (None, "PyTorch is faster"))
        self.assertAlmostEqual(first.ours_seconds / first.theirs_seconds, 0.4)
        self.assertIsNone(second.layer)  # its memory is free
        self.assertEqual(counted.events, [("publish", "cubejit"), ("publish", "PyTorch")])

    def test_savings_pay_for_more(self):
        counted = Counted()
        with mock.patch.object(choosing, "GRACE", 0.03):
            for _ in range(30):
                for length in range(30):
                    counted.call(Shape(length, theirs=0.01, ours=0.001, channels=length))
        self.assertEqual(counted.compiled, 30)  # 5 % of PyTorch's 9 s alone would pay for 22

    def test_kinds_that_always_lost_are_waited_for_longer(self):
        counted = Counted()
        for length in range(50, 50 + choosing.FEW_LEARNED):
            counted.calls(Shape(length, theirs=0.01, ours=0.03), 12)
        before = counted.compiled
        counted.calls(Shape(99, theirs=0.01, ours=0.03), choosing.LONG_PATIENCE)
        self.assertEqual(counted.compiled, before)
        counted.calls(Shape(99, theirs=0.01, ours=0.03), 1)
        self.assertEqual(counted.compiled, before + 1)

    def test_by_rule_nothing_is_waited_for(self):
        for choose in ("ours", "reproducible"):
            counted = Counted()
            results = [counted.call(Shape(100, theirs=0.01, ours=0.05, choose=choose))[0] for _ in range(5)]
            self.assertEqual((results, counted.compiled), (["ours"] * 5, 1))


class Disturbed(unittest.TestCase):
    def test_rounds_that_differ_are_repeated(self):
        counted, shape = Counted(), Shape(100, theirs=0.01, ours=0.008)
        shape.noise = [1, 1.9, 1.2, 1.9, 1]  # warming up, then what somebody else's work did to two of them
        _, entry = counted.calls(shape, 20)
        self.assertEqual(entry.by, "cubejit")
        self.assertGreater(entry.ours.number, choosing.ROUNDS)

    def test_a_wrong_decision_is_put_right(self):
        counted, shape = Counted(), Shape(100, theirs=0.01, ours=0.012)
        _, entry = counted.calls(shape, 20)
        self.assertEqual(entry.by, "PyTorch")
        shape.theirs = 0.03  # fewer threads, say
        _, entry = counted.calls(shape, 4 * choosing.WINDOW)
        self.assertEqual(entry.by, "cubejit")
        self.assertEqual(counted.events, [("publish", "PyTorch"), ("withdraw", "PyTorch"), ("publish", "cubejit")])
        shape.ours = 0.2
        _, entry = counted.calls(shape, 16 * choosing.WINDOW)
        self.assertEqual(entry.by, "PyTorch")

    def test_what_fits_is_left_alone(self):
        counted, shape = Counted(), Shape(100, theirs=0.01, ours=0.008)
        counted.calls(shape, 1000)
        self.assertEqual((counted.compiled, counted.events), (1, [("publish", "cubejit")]))

    def test_runs_that_fail_are_no_samples(self):
        counted, shape = Counted(), Shape(100, theirs=0.01, ours=0.001)
        shape.fails = True
        result, entry = counted.calls(shape, 10)
        self.assertEqual((result, entry.by, entry.ours.number), ("theirs", None, 0))
        shape.fails = False
        self.assertEqual(counted.calls(shape, 10)[1].by, "cubejit")


class Memory(unittest.TestCase):
    def test_layers_are_forgotten_in_bytes(self):
        limit = 4 << 20
        for choose in ("measure", "ours"):
            counted = Counted(limit)
            for length in range(200):
                _, entry = counted.calls(Shape(length, theirs=1.0, ours=0.1, choose=choose), 12)
                self.assertIsNotNone(entry.layer)
                self.assertLessEqual(counted.layers.bytes, limit)
            kept = counted.layers.passes()
            self.assertEqual(counted.layers.bytes, sum(entry.bytes for entry in kept))
            self.assertEqual(counted.layers.forgotten[0], 200 - len(kept))
            self.assertEqual(sum(event[0] == "withdraw" for event in counted.events), 200 - len(kept))

    def test_shapes_that_are_only_known_are_forgotten_too(self):
        counted = Counted(1 << 20)
        for length in range(3000):
            counted.call(Shape(length, theirs=0.01, ours=0.1))
            self.assertLessEqual(counted.layers.bytes, 1 << 20)
        self.assertGreater(len(counted.layers.passes()), 200)

    def test_layers_in_use_do_not_drive_each_other_out(self):
        counted = Counted(4 << 20)
        shapes = [Shape(length, theirs=0.1, ours=0.01, size=1 << 20) for length in range(8)]
        for _ in range(100):
            for shape in shapes:
                counted.call(shape)
        self.assertLessEqual(counted.compiled, 8)
        self.assertEqual(counted.layers.forgotten[0], 0)
        self.assertEqual({entry.passed_on for entry in counted.layers.passes()}, {None, "no room in cache_bytes"})
        for length in range(100, 104):  # when they are no longer in use they make room
            counted.calls(Shape(length, theirs=0.1, ours=0.01, size=1 << 20), 20)
        self.assertGreater(counted.layers.forgotten[0], 0)

    def test_the_argument_is_the_bound(self):
        self.addCleanup(ours.report, reset=True)
        ours.report(reset=True)
        with ours.enable("ours", cache_bytes=1 << 20):
            for length in range(20, 60):
                functional.conv1d(torch.randn(1, 8, length), torch.randn(8, 8, 3))
                self.assertLessEqual(_layers_seen.bytes, 1 << 20)
            self.assertTrue(ours.report().forgotten[0])
            for wrong in (0, -1, "64M", 1.5):
                with self.assertRaisesRegex(ValueError, "cache_bytes"):
                    ours.enable(cache_bytes=wrong)

    def test_a_layer_says_what_it_keeps(self):
        layer = layers.Compiled(["dx", "dw", "db"], torch.randn(2, 16, 40), torch.randn(8, 16, 3), torch.randn(2, 8, 38), ("ours", "strict"), GEOMETRY[:1] + ((0,),) + GEOMETRY[2:], "")
        self.assertTrue(50 << 10 < layer.bytes < 4 << 20, layer.bytes)


BITS = """
import hashlib, os, sys, torch, cubejit.torch as c
how, threads = sys.argv[1], int(sys.argv[2])
torch.manual_seed(0)
torch.set_num_threads(threads)
def work():
    seen = hashlib.sha256()
    for make, shape in ((torch.nn.Conv1d, (3, 16, 300)), (torch.nn.Conv2d, (5, 16, 30, 20)), (torch.nn.Conv3d, (2, 16, 9, 10, 11))):
        for dtype in (torch.float32, torch.bfloat16):
            layer, x = make(16, 24, 3, padding=1).to(dtype), torch.randn(shape).to(dtype).requires_grad_()
            for _ in range(3):
                y = layer(x)
                gradients = torch.autograd.grad(y.square().sum(), (x, *layer.parameters()))
                for t in (y.detach(), *gradients): seen.update(t.float().contiguous().numpy().tobytes())
    return seen.hexdigest()
if how == "deterministic":
    torch.use_deterministic_algorithms(True)
    c.enable()
else:
    c.enable(reproducible=True)
if "fork" in sys.argv[3:]:
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, work().encode()); os._exit(0)
    print(os.read(read, 64).decode())
else:
    print(work())
assert {row["choose"] for row in c.report().rows} <= {"reproducible"}
"""


class Reproducible(unittest.TestCase):
    def test_bits_are_the_same_in_every_process(self):
        seen = {}
        for how, threads, extra, environment in (("deterministic", 1, (), {}), ("reproducible", 2, (), {}), ("reproducible", 3, (), {"OMP_NUM_THREADS": "1"}),
                                                 ("reproducible", 1, (), {"CUBEJIT_NUM_THREADS": "2"}), ("deterministic", 2, ("fork",), {}),
                                                 ("reproducible", 2, (), {"CUBEJIT_TUNE": "use", "OMP_NUM_THREADS": "2"})):
            done = subprocess.run([sys.executable, "-c", BITS, how, str(threads), *extra], capture_output=True, text=True, check=False,
                                  env={**os.environ, **environment})
            self.assertEqual(done.returncode, 0, done.stderr)
            seen.setdefault(done.stdout, []).append((how, threads, environment))
        self.assertEqual(len(seen), 1, seen)

    def test_neighbours_in_a_batch_change_nothing(self):
        torch.manual_seed(0)
        w, image = torch.randn(24, 16, 3, 3), torch.randn(16, 30, 20)
        with ours.enable(reproducible=True):
            results = set()
            for position, batch in ((0, 5), (3, 5), (4, 5), (0, 1), (1, 2), (30, 64)):
                x = torch.randn(batch, 16, 30, 20)
                x[position] = image
                x.requires_grad_()
                y = functional.conv2d(x, w, padding=1)
                (dx,) = torch.autograd.grad((y * y).sum(), x)
                results.add((y[position].detach().numpy().tobytes(), dx[position].numpy().tobytes()))
        self.assertEqual(len(results), 1)

    def test_a_run_that_fails_is_an_error(self):
        ours.report(reset=True)
        x, w = torch.randn(1, 3, 8), torch.randn(4, 3, 3)
        with ours.enable(reproducible=True):
            functional.conv1d(x, w)
            for entry in _layers_seen.passes():
                _layers_seen.withdraw(entry)  # of kernels in C++, which have not what is patched
            with mock.patch.object(layers.Compiled, "empty", side_effect=cubejit.Error("no memory")):
                with self.assertRaisesRegex(RuntimeError, "no memory"):
                    functional.conv1d(x, w)

    def test_what_contradicts_itself_is_refused(self):
        with self.assertRaisesRegex(ValueError, "by the clock"):
            ours.enable("measure", reproducible=True)


@contextlib.contextmanager
def precision(conv=None, matmul=None):
    before = torch.get_float32_matmul_precision()
    try:
        if matmul is not None:
            torch.set_float32_matmul_precision(matmul)
        if conv is not None:
            torch.backends.mkldnn.conv.fp32_precision = conv
        yield
    finally:
        torch.set_float32_matmul_precision(before)
        if conv is not None:
            torch.backends.mkldnn.conv.fp32_precision = "none"


def math_of_a_call(dtype=torch.float32, **said):
    ours.report(reset=True)
    with ours.enable("ours", **said):
        functional.conv2d(torch.randn(1, 32, 28, 28).to(dtype), torch.randn(32, 32, 3, 3).to(dtype), padding=1)
    (row,) = ours.report().rows
    return row["math"]


class Permissions(unittest.TestCase):
    def test_matrix_products(self):
        for said, math in (("highest", "strict"), ("high", "relaxed"), ("medium", "bf16")):
            with precision(matmul=said):
                self.assertEqual(math_of_a_call(), math, said)
                self.assertEqual(math_of_a_call(torch.bfloat16), "strict", said)
                self.assertEqual((math_of_a_call(math="strict"), math_of_a_call(math="relaxed")), ("strict", "relaxed"))

    @unittest.skipUnless(hasattr(torch.backends.mkldnn, "conv"), "PyTorch before 2.9")
    def test_convolutions(self):
        for conv, matmul, math in (("ieee", "highest", "strict"), ("ieee", "medium", "strict"), ("tf32", "highest", "relaxed"),
                                   ("bf16", "highest", "bf16"), ("none", "high", "relaxed"), ("none", "highest", "strict")):
            with precision(conv, matmul):
                self.assertEqual(math_of_a_call(), math, (conv, matmul))

    def test_each_call_by_what_holds_when_it_is_made(self):
        ours.report(reset=True)
        x, w = torch.randn(1, 32, 28, 28, requires_grad=True), torch.randn(32, 32, 3, 3)
        with ours.enable("ours"):
            with precision(matmul="high"):
                y = functional.conv2d(x, w, padding=1)
            y.sum().backward()
        self.assertEqual({(row["pass"], row["math"]) for row in ours.report().rows}, {("y", "relaxed"), ("dx", "strict")})
        self.assertIn("relaxed", str(ours.report()))

    def test_results_are_right_and_other_functions_follow(self):
        x, w, asked = torch.randn(2, 32, 28, 28), torch.randn(32, 32, 3, 3), []
        wanted = functional.conv2d(x.double(), w.double(), padding=1)
        session = layers.session()

        class Asked:
            def layer(self, *arguments, **named):
                asked.append(named["math"])
                return session.layer(*arguments, **named)

        for math in ("strict", "relaxed"):
            ours.report(reset=True)
            with ours.enable("ours", math=math), mock.patch.object(layers, "session", lambda reproducible: Asked()):
                for result in (functional.conv2d(x, w, padding=1), ours.conv_post_ops(x, w, padding=1, activation="clip:-1e9:1e9")):
                    self.assertLess(((result - wanted).norm() / wanted.norm()).item(), 2e-5)
        self.assertEqual(asked, ["strict", "strict", "relaxed", "relaxed"])

    def test_other_words_are_refused_by_name(self):
        for word in ("keep", "fast", ""):
            with self.assertRaisesRegex(ValueError, f"math = '{word}' is not known; there are 'strict', 'relaxed'"):
                ours.enable(math=word)


if __name__ == "__main__":
    unittest.main()
