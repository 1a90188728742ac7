# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides that every kind of drawing can fail: a library with a bug that only that kind shows is found by problems of it, and by no others."""

import os
import random
import stat
import sys
import tempfile
import unittest
from unittest import mock

import numpy

import campaign
import command_face
import cubejit
import data
import definition
import draw
import float_mode
import large_face
import post
import python_face
import views

BACKWARD, FORWARD = cubejit.conv_backward, cubejit.conv
LAYER = definition.Convolution(2, 6, 9, (7, 8), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1))
USUAL = {"session": {"threads": 1}, "math": "strict", "mask": (True,) * 3, "results": "made", "threads": 0, "flush": False}


class SeededTest(unittest.TestCase):
    def setUp(self):
        self.campaign = campaign.Campaign(1, None)

    def faults(self, face, kind, options, c=LAYER, count=12, dtypes=None):
        """Of some problems with these options."""
        lines = []
        for seed in range(count):
            try:
                faults, _ = self.campaign._judged(random.Random(seed), numpy.random.default_rng(seed), c, kind, face, options, False)
            except python_face.Refused:
                continue
            lines += faults
        return lines

    def seen(self, bug, face, kind, options, words, backward=True, **more):
        self.assertEqual(self.faults(face, kind, options, **more), [], "without a bug")
        with mock.patch.object(cubejit, "conv_backward" if backward else "conv", bug):
            self.assertRegex("\n".join(self.faults(face, kind, options, **more)), words)

    def test_sums_that_lose_digits(self):
        def less(*arguments, **named):
            dx, dw, db = BACKWARD(*arguments, **named)
            return dx, dw * (1 - 2e-5) if getattr(dw, "dtype", None) == numpy.float32 else dw, db

        c = definition.Convolution(4, 1, 1, (40, 40), (1, 1), (1, 1), (1, 1), (0, 0), (0, 0))
        self.seen(less, "python", "positive", USUAL, r"dw \(f32\)", c=c)

    def test_a_channel_of_another_size(self):
        def mixed(*arguments, **named):
            dx, dw, db = BACKWARD(*arguments, **named)
            if isinstance(dx, numpy.ndarray) and dx.dtype == numpy.float32:
                dx = dx + abs(dx).max() * numpy.float32(2.0**-20)  # as much as the largest channels' rounding
            return dx, dw, db

        self.seen(mixed, "python", "channels", USUAL, r"dx \(f32\)")

    def test_denormals(self):
        def flushing(on):
            def call(*arguments, **named):
                with float_mode.flushing(on, []):
                    return BACKWARD(*arguments, **named)
            return call

        for kind in data.TINY:
            for flush in (False, True):
                with self.subTest(kind=kind, flush=flush):
                    self.seen(flushing(not flush), "python", kind, {**USUAL, "session": {"isa": "avx2"}, "flush": flush}, "wrong")

    def test_an_environment_that_is_not_given_back(self):
        def call(*arguments, **named):
            results = BACKWARD(*arguments, **named)
            float_mode._write(float_mode.word() ^ float_mode.FLUSHES)
            return results

        before = float_mode.word()
        self.seen(call, "python", "whole", {**USUAL, "flush": True}, "the floating-point environment was")
        self.assertEqual(float_mode.word() & ~0x3F, before & ~0x3F)

    def test_views_of_operands(self):
        def dense(*arguments, **named):
            moved = [numpy.roll(a, 1, -1) if isinstance(a, numpy.ndarray) and not (a.flags.c_contiguous or 0 in a.strides) else a
                     for a in arguments]
            return BACKWARD(*moved, **named)

        def first(*arguments, **named):
            return BACKWARD(*(numpy.ascontiguousarray(a) + a.dtype.type(1) if isinstance(a, numpy.ndarray) and 0 in a.strides else a
                              for a in arguments), **named)

        for view in (views.sliced, views.permuted):
            with self.subTest(view.__name__):
                self.seen(dense, "python", "whole", {**USUAL, "view": view}, "wrong")
        self.seen(first, "python", "whole", {**USUAL, "view": views.broadcast}, "wrong")

    # A library that takes them, and writes one element too many.
    def test_views_of_results(self):
        def strided(*arguments, out=None, **named):
            if not all(given is None or isinstance(given, numpy.ndarray) for given in out):
                raise cubejit.InvalidProblem("out has strides (1); it must be dense", "invalid_problem", "problem")
            for given, result in zip(out, BACKWARD(*arguments, **named)):
                if given is not None:
                    given[...] = numpy.asarray(result).astype(given.dtype)
            return out

        def beside(*arguments, out=None, **named):
            strided(*arguments, out=out, **named)
            for given in out:
                if given is not None and given.size:
                    numpy.lib.stride_tricks.as_strided(given, [n + 1 for n in given.shape], given.strides)[tuple(-1 for _ in given.shape)] = 1
            return out

        options = {**USUAL, "results": "view"}
        with mock.patch.object(cubejit, "conv_backward", strided):
            self.assertEqual(self.faults("python", "whole", options), [])
        with mock.patch.object(cubejit, "conv_backward", beside):
            self.assertIn("memory beside dx was written to", "\n".join(self.faults("python", "whole", options)))

    def test_post_ops(self):
        def without_last_bias(*arguments, bias=None, **named):
            if isinstance(bias, numpy.ndarray):
                bias = bias.copy()
                bias[-1] += 1
            return FORWARD(*arguments, bias=bias, **named)

        def maximum(*arguments, activation=None, **named):
            return FORWARD(*arguments, activation="relu" if activation == "leaky_relu:0" else activation, **named)

        options = {**USUAL, "behind": False, "flush": False}
        self.seen(without_last_bias, "forward", "whole", {**options, "post": post.Post(True, True, "clip:-2:5")}, r"y \(", backward=False)
        self.seen(maximum, "forward", "special", {**options, "post": post.Post(activation="leaky_relu:0")}, r"y \(.*= (0.0|-inf)", backward=False,
                  count=60)

    def test_slopes(self):
        def other(*arguments, activation=None, **named):
            return BACKWARD(*arguments, activation="relu" if activation == "leaky_relu:0.25" else activation, **named)

        self.seen(other, "forward", "whole", {**USUAL, "behind": True, "post": post.Post(activation="leaky_relu:0.25")}, "dx .* wrong")

    # A command that reads what fills up blocks: its first result is NaN wherever an input holds one.
    def test_what_fills_up_inputs(self):
        if not os.environ.get("CUBEJIT"):
            self.skipTest("CUBEJIT names no command")
        with tempfile.TemporaryDirectory() as folder:
            command = f"{folder}/cubejit"
            with open(command, "w", encoding="ascii") as file:
                file.write(f"""#!{sys.executable}
import subprocess, sys, numpy
ended = subprocess.run([{os.environ["CUBEJIT"]!r}, *sys.argv[1:]])
files = [(a, b.partition("=")[2]) for a, b in zip(sys.argv, sys.argv[1:]) if a in ("--in", "--out")]
if any(numpy.isnan(numpy.load(name)).any() for how, name in files if how == "--in"):
    for how, name in files:
        if how == "--out":
            result = numpy.load(name)
            result.reshape(-1)[0] = numpy.nan
            numpy.save(name, result)
sys.exit(ended.returncode)
""")
            os.chmod(command, stat.S_IRWXU)
            lies = dict.fromkeys(("dy", "x", "dx", "y"), "ndc1hwc0")
            for passes, ops in ((("dx", "dw", "db"), post.Post()), (("y",), post.Post(True, True, "relu"))):
                options = {**command_face.usual(), "layout": lies, "passes": passes, "post": ops, "dirty": True}
                for name, words in ((os.environ["CUBEJIT"], "^$"), (command, "wrong")):
                    self.campaign.command = name
                    self.assertRegex("\n".join(self.faults("command", "whole", options, count=2)), words)

    def test_large_problems(self):
        def moved(*arguments, **named):
            dx, dw, db = BACKWARD(*arguments, **named)
            dx[tuple(n // 2 for n in dx.shape)] += 1
            return dx, dw, db

        def unwritten(*arguments, **named):
            y = FORWARD(*arguments, **named)
            y[-1, -1, ..., -1] = 0
            return y

        def less(*arguments, **named):
            dx, dw, db = BACKWARD(*arguments, **named)
            return dx, dw, db * numpy.float32(1 + 2e-5)

        c = draw._make(1, 2, 3, (600, 700), (3, 3), padding=1)
        options = {"session": {"threads": 1}, "threads": 0, "flush": False, "views": ["plain", "last", "plain"], "dtype": "f32"}
        self.seen(moved, "large", "whole", options, "not adjoint", c=c, count=1)
        self.seen(unwritten, "large", "whole", options, "not adjoint", c=c, count=1, backward=False)
        self.seen(less, "large", "positive", options, "db", c=c, count=1)

    def test_large_views_hold_their_numbers(self):
        values = numpy.random.default_rng(1).normal(size=(2, 3, 5, 7)).astype(numpy.float32)
        for how in large_face.VIEWS:
            array = large_face.laid(random.Random(1), values, how)
            self.assertEqual(array.shape, values.shape)
            self.assertEqual((array == values).all(), how != "expanded")
            self.assertEqual(array.flags.c_contiguous, how == "plain")

    # Kinds, options and sizes are all drawn by what CI runs.
    def test_what_is_drawn(self):
        drawn = [self.campaign._what(n, random.Random(n)) for n in range(len(self.campaign.edges), len(self.campaign.edges) + 3000)]
        self.assertEqual({kind for _, kind, _, _ in drawn}, set(data.KINDS))
        options = [o for _, _, face, o in drawn if face in ("python", "forward", "large")]
        self.assertGreater(sum(o["flush"] for o in options), 300)
        self.assertGreater(sum(o.get("results") == "view" for o in options), 100)
        self.assertEqual({str(o["post"].activation) for o in options if "post" in o}, set(post.ACTIVATIONS))
        large = [c for c, _, face, _ in drawn if face == "large"]
        self.assertGreater(len(large), 5)
        self.assertTrue(all(1e6 <= max(numpy.prod(c.x_shape), numpy.prod(c.y_shape)) <= 3e7 for c in large))


if __name__ == "__main__":
    unittest.main()
