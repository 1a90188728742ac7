# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides that a judge sees what is wrong: right results pass, and each with one wrong number, one term less or another rounding fails."""

import os
import random
import signal
import subprocess
import sys
import unittest

import numpy

import data
import draw
import float_mode
import judge
import layouts
import views
from definition import Convolution, gradients, magnitudes, terms

LAYER = Convolution(2, 3, 4, (5, 6), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1))


def found(kind, dtype, seed=1, c=LAYER):
    """Operands, and gradients as a library would compute them: sums of float32."""
    dice = numpy.random.default_rng(seed)
    read = data.operands(dice, kind, (c.y_shape, c.x_shape, c.w_shape), (dtype,) * 3)
    with numpy.errstate(all="ignore"):
        results = [data.decode(data.encode(g.astype(numpy.float32).astype(float), dtype), dtype) for g in gradients(c, *read)]
    return read, results


class JudgeTest(unittest.TestCase):
    def test_right_results_pass(self):
        for dtype in data.STORED:
            for kind in sorted(set(data.KINDS)):
                read, results = found(kind, dtype)
                sums, sizes = gradients(LAYER, *read), magnitudes(LAYER, *read)
                for i, result in enumerate(results):
                    wrong = judge.near(result, sums[i], sizes[i], terms(LAYER)[i], dtype) if kind in data.ROUNDED else \
                        judge.exact(result, sums[i], dtype)
                    self.assertIsNone(wrong, (dtype, kind))

    def test_one_wrong_number_fails(self):
        for dtype in data.STORED:
            read, results = found("whole", dtype)
            for result, sums in zip(results, gradients(LAYER, *read)):
                result.reshape(-1)[-1] = data.decode(data.encode(sums.reshape(-1)[-1:] + 1, dtype), dtype)[0]
                if (result != sums).any():
                    self.assertIn("1 of", judge.exact(result, sums, dtype))

    def test_special_numbers_must_be_where_they_are(self):
        sums = numpy.array([1.0, numpy.nan, numpy.inf, -numpy.inf, 0.0])
        self.assertIsNone(judge.exact(numpy.array([1.0, numpy.nan, numpy.inf, -numpy.inf, -0.0]), sums, "f32"))
        for i, other in enumerate((numpy.nan, 0.0, 65504.0, numpy.inf, 2.0**-149)):
            result = sums.copy()
            result[i] = other
            self.assertIn("1 of 5", judge.exact(result, sums, "f32"))
            self.assertEqual(judge.exact(result, sums, "f32", cube=True) is None, bool(numpy.isnan(other)))

    def test_a_term_less_fails(self):
        for dtype in data.STORED:
            read, _ = found("normal", dtype)
            sums, sizes = gradients(LAYER, *read), magnitudes(LAYER, *read)
            less = [a.copy() for a in read]
            less[2][0, 0, 0, 0] = 0
            short = gradients(LAYER, *less)[0]
            self.assertIsNotNone(judge.near(short, sums[0], sizes[0], terms(LAYER)[0], dtype))
            less[0][0, 0, 2, 2] = 0
            for i in (1, 2):
                self.assertIsNotNone(judge.near(gradients(LAYER, *less)[i], sums[i], sizes[i], terms(LAYER)[i], dtype))

    def test_relaxed_results_are_judged_by_norms(self):
        read, results = found("normal", "f32")
        sums, sizes = gradients(LAYER, *read), magnitudes(LAYER, *read)
        self.assertIsNone(judge.near(results[0], sums[0], sizes[0], 36, "f32", "relaxed"))
        for wrong in (results[0] * (1 + 5e-5), results[0] + numpy.eye(6)[:5] * abs(sums[0]).max() * 1e-3, results[0] * numpy.nan):
            self.assertIsNotNone(judge.near(wrong, sums[0], sizes[0], 36, "f32", "relaxed"))

    def test_operands_that_are_rounded_lose_no_more_than_that(self):
        read, results = found("normal", "f32")
        sums, sizes = gradients(LAYER, *read), magnitudes(LAYER, *read)
        rounded = gradients(LAYER, *(data.decode(data.encode(a, "bf16"), "bf16") for a in read))
        self.assertIsNone(judge.near(rounded[0], sums[0], sizes[0], 36, "f32", "bf16"))
        self.assertIsNotNone(judge.near(rounded[0], sums[0], sizes[0], 36, "f32", "strict"))
        self.assertIsNotNone(judge.near(rounded[0] + sizes[0] * 2.0**-6, sums[0], sizes[0], 36, "f32", "bf16"))

    def test_infinity_is_not_near(self):
        self.assertIsNotNone(judge.near(numpy.array([numpy.inf]), numpy.ones(1), numpy.ones(1), 1, "f16"))


class NumbersTest(unittest.TestCase):
    def test_rounding_to_bf16_is_one_rounding(self):
        tie = 1 + 2.0**-8
        cases = {1.0: 1.0, tie: 1.0, tie + 2.0**-7: 1 + 2.0**-6, tie + 2.0**-40: 1 + 2.0**-7, tie - 2.0**-40: 1.0,
                 -tie - 2.0**-40: -1 - 2.0**-7, 2.0**-134: 0.0, 3 * 2.0**-134: 2.0**-132, 2.0**-134 + 2.0**-170: 2.0**-133,
                 2.0**128: numpy.inf, -numpy.inf: -numpy.inf}
        for value, wanted in cases.items():
            self.assertEqual(data.decode(data.encode(numpy.array([value]), "bf16"), "bf16")[0], wanted, value)
        self.assertTrue(numpy.isnan(data.decode(data.encode(numpy.array([numpy.nan]), "bf16"), "bf16")[0]))

    def test_every_stored_number_comes_back(self):
        bits = numpy.arange(1 << 16, dtype=numpy.uint16)
        for dtype, stored in (("bf16", bits), ("f16", bits.view(numpy.float16))):
            values = data.decode(stored, dtype)
            again = data.decode(data.encode(values, dtype), dtype)
            self.assertTrue(((again == values) | numpy.isnan(values) & numpy.isnan(again)).all())

    def test_every_nan_is_one(self):
        values = numpy.array([1.0, numpy.nan, -numpy.inf, *[numpy.nan] * 60])
        for dtype in data.STORED:
            stored = data.operand(values, dtype, random.Random(1))
            self.assertTrue((numpy.isnan(data.decode(stored, dtype)) == numpy.isnan(values)).all())
            self.assertGreater(len(set(stored.view(numpy.uint32 if dtype == "f32" else numpy.uint16).tolist())), 6)

    # Operands are numbers of their type, and hold what the kind says.
    def test_kinds(self):
        dice = numpy.random.default_rng(1)
        for kind in sorted(set(data.KINDS)):
            for dtype in data.STORED:
                arrays = [a for _ in range(20) for a in data.operands(dice, kind, ((3, 4),) * 3, (dtype,) * 3)]
                for a in arrays:
                    self.assertIsNone(judge.exact(a, a, dtype), (kind, dtype))
                some = numpy.array(arrays)
                self.assertEqual(bool(numpy.isnan(some).any() and numpy.isinf(some).any()), kind == "special")
                normal = {"f32": 2.0**-126, "f16": 2.0**-14, "bf16": 2.0**-126}[dtype]
                if kind not in ("normal", "channels"):  # which may have some of f16
                    self.assertEqual(bool((abs(some[some != 0]) < normal).any()), kind in ("denormal", "scaled", "dusty"))
                if kind == "positive":
                    self.assertGreater(some.min(), 0)
                if kind == "channels":
                    self.assertGreater(abs(some).max(), 500 * numpy.median(abs(some)) if dtype != "f16" else 30 * numpy.median(abs(some)))

    def test_positive_sums_are_held_to_1e_5(self):
        sums, sizes = numpy.array([1e6]), numpy.array([1e6])
        self.assertIsNone(judge.near(sums * (1 + 9e-6), sums, sizes, 10**7, "f32", relative=1e-5))
        self.assertIsNotNone(judge.near(sums * (1 + 2e-5), sums, sizes, 10**7, "f32", relative=1e-5))
        self.assertIsNone(judge.near(sums * (1 + 2e-5), sums, sizes, 10**7, "f32"))

    def test_what_is_too_large_is_infinity(self):
        for dtype, most in (("f16", 65520.0), ("f32", 2.0**128)):
            for sums, passes in ((most, True), (most * 0.9, False), (-most, False)):
                wrong = judge.near(numpy.array([numpy.inf]), numpy.array([sums]), numpy.array([most]), 3, dtype)
                self.assertEqual(wrong is None, passes, (dtype, sums))

    def test_flushed_denormals_are_zero(self):
        sums = numpy.array([2.0**-127, 2.0**-126, -2.0**-140])
        self.assertIsNone(judge.exact(sums, sums, "f32"))
        self.assertIsNone(judge.exact(numpy.array([0, 2.0**-126, 0]), sums, "f32", flush=True))
        self.assertIn("2 of 3", judge.exact(sums, sums, "f32", flush=True))
        self.assertEqual(data.flushed(numpy.array([2.0**-24]), "f16")[0], 2.0**-24)

    def test_the_thread_flushes(self):
        tiny, faults = numpy.full(64, 2.0**-130, numpy.float32), []
        for on in (True, False, True):
            with float_mode.flushing(on, faults):
                self.assertEqual((tiny * numpy.float32(1)).any(), not on)
        self.assertEqual(faults, [])
        self.assertTrue((tiny * numpy.float32(1)).all())
        with float_mode.flushing(True, faults):
            float_mode._write(float_mode.word() & ~float_mode.FLUSHES)
        self.assertEqual(len(faults), 1)


class LayoutsTest(unittest.TestCase):
    def test_what_goes_in_comes_back(self):
        for shape in ((2, 3, 4), (2, 17, 3, 4), (1, 9, 2, 3, 4), (33, 40, 1, 2, 2)):
            array = numpy.random.default_rng(1).random(shape).astype(numpy.float32)
            for layout in ("ncdhw", "ndhwc", "ndc1hwc0", "fractal_z_3d"):
                there = layouts.into(array, layout, "f32")
                self.assertTrue((layouts.back(there, layout, shape) == array).all())

    def test_known_orders(self):
        array = numpy.arange(2 * 9 * 3).reshape(2, 9, 1, 3)
        blocks = layouts.into(array, "ndc1hwc0", "f32")
        self.assertEqual((blocks.shape, blocks[1, 1, 0, 2, 0], blocks[1, 1, 0, 2, 1]), ((2, 2, 1, 3, 8), array[1, 8, 0, 2], 0))
        fractal = layouts.into(array, "fractal_z_3d", "f32")
        self.assertEqual((fractal.shape, fractal[3 + 2, 0, 1, 0], fractal[2, 0, 1, 7]),
                         ((2 * 3, 1, 16, 8), array[1, 8, 0, 2], array[1, 7, 0, 2]))

    def test_what_fills_up_inputs_may_be_anything(self):
        for dtype, ones in (("f32", numpy.ones((2, 9, 3), numpy.float32)), ("bf16", numpy.full((2, 9, 3), 0x3F80, numpy.uint16))):
            for layout in ("ndc1hwc0", "ndc1hwc16", "fractal_z_3d"):
                there = layouts.into(ones, layout, dtype, dirty=True)
                nans = numpy.isnan(data.decode(there, dtype)).sum()
                self.assertEqual((nans > 0, there.size - nans), (True, ones.size))
                self.assertTrue((layouts.into(ones, layout, dtype) == 0).sum() == nans)
        self.assertEqual(layouts.into(numpy.ones((2, 9, 3), numpy.float32), "ndc1hwc16", "f32").shape[-1], 16)

    def test_what_fills_up_must_be_zero(self):
        there = layouts.into(numpy.ones((1, 3, 4), numpy.float32), "ndc1hwc0", "f32")
        there[0, 0, 0, 1, 5] = numpy.nan
        self.assertIsNone(layouts.back(there, "ndc1hwc0", (1, 3, 4)))
        self.assertIsNotNone(layouts.back(there, "ndc1hwc0", (1, 3, 4), cube=True))
        there[0, 0, 0, 2, 6] = 1
        self.assertIsNone(layouts.back(there, "ndc1hwc0", (1, 3, 4), cube=True))


class ViewsTest(unittest.TestCase):
    def test_views_lie_as_their_names_say(self):
        dice = random.Random(1)
        seen = {view: set() for view in views.ALL}
        for dtype in data.STORED:
            for _ in range(30):
                numbers = numpy.random.default_rng(dice.randrange(1000))
                values = data.encode(numbers.integers(-9, 9, (2, 3, 4, 5)).astype(float), dtype)
                for view in views.ALL:
                    array = view(dice, values)
                    self.assertEqual((array.shape, array.dtype), (values.shape, values.dtype))
                    self.assertFalse(numpy.isnan(data.decode(array, dtype)).any())
                    if view not in (views.broadcast, views.overlapping):
                        self.assertTrue((array == values).all())
                    seen[view] |= {"negative"} if min(array.strides) < 0 else set()
                    seen[view] |= {"zero"} if min(array.strides) == 0 else set()
                    seen[view] |= set() if array.flags.aligned else {"unaligned"}
                    seen[view] |= set() if array.flags.writeable else {"read-only"}
        self.assertEqual(seen[views.backwards], {"negative"})
        self.assertLessEqual({"zero", "read-only"}, seen[views.broadcast])
        self.assertIn("unaligned", seen[views.unaligned])
        self.assertIn("read-only", seen[views.read_only])
        self.assertEqual(seen[views.plain], set())

    def test_what_is_beside_a_guarded_array_ends_the_process(self):
        for at_end, beside in ((True, "32"), (False, "-1")):
            code = f"import guard, numpy; a = guard.memory(32, numpy.float32, {at_end}); a[...] = 1; assert a.sum() == 32; " \
                   f"b = a.ctypes.data + 4 * {beside}; print('here', flush=True); " \
                   "import ctypes; ctypes.c_float.from_address(b).value"
            ended = subprocess.run([sys.executable, "-B", "-c", code], cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True,
                                   text=True)
            self.assertEqual((ended.returncode, ended.stdout), (-signal.SIGSEGV, "here\n"), ended.stderr)

    def test_arrays_of_one_memory(self):
        shapes, shared = ((2, 3), (4, 5), (1, 6)), 0
        for seed in range(20):
            arrays = views.of_one_memory(random.Random(seed), [numpy.full(s, i, numpy.float32) for i, s in enumerate(shapes)])
            self.assertEqual(tuple(a.shape for a in arrays), shapes)
            shared += numpy.shares_memory(arrays[0], arrays[1])
        self.assertGreater(shared, 5)

    def test_edges_can_be_laid_anyhow(self):
        dice = random.Random(2)
        for c in draw.DEGENERATE.values():
            for shape in (c.x_shape, c.w_shape, c.y_shape):
                for view in views.ALL:
                    self.assertEqual(view(dice, numpy.zeros(shape, numpy.float32)).shape, shape)


if __name__ == "__main__":
    unittest.main()
