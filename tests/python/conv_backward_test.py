# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of conv_backward on NumPy's arrays: exact on whole numbers for every geometry, strides and types kept,
results where they are wanted, and an exception that names what is wrong."""

import pickle
import random
import subprocess
import sys
import unittest

import numpy as np

import cubejit
from random_convolution import Convolution, random_convolution, reference


def whole_numbers(generator, shape, dtype=np.float32):
    return generator.integers(-3, 4, size=shape).astype(dtype)


def operands(generator, c, dtype=np.float32):
    return tuple(whole_numbers(generator, shape, dtype) for shape in (c.dy, c.x, c.w))


PLAIN = Convolution((2, 6, 7, 8), (4, 6, 3, 3), (2, 4, 7, 8), [1, 1], [1, 1], [1, 1], False, [0, 0], 1)


class Results(unittest.TestCase):
    def setUp(self):
        self.generator = np.random.default_rng(5)

    def check(self, c, arrays, results):
        for name, got, expected in zip(("dx", "dw", "db"), results, reference(c, *arrays)):
            self.assertIsInstance(got, np.ndarray)
            np.testing.assert_array_equal(got, expected.astype(got.dtype), f"{name} of {c}")

    def test_random_problems_equal_the_reference(self):
        chosen = random.Random(11)
        for _ in range(150):
            c = random_convolution(chosen)
            arrays = operands(self.generator, c)
            self.check(c, arrays, cubejit.conv_backward(*arrays, *c.geometry))

    def test_half_arrays_give_half_gradients(self):
        arrays = operands(self.generator, PLAIN, np.float16)
        results = cubejit.conv_backward(*arrays, *PLAIN.geometry)
        self.assertEqual([r.dtype for r in results], [np.float16] * 3)
        self.check(PLAIN, arrays, results)

    def test_types_may_differ(self):
        dy, x, w = operands(self.generator, PLAIN)
        results = cubejit.conv_backward(dy, x.astype(np.float16), w, *PLAIN.geometry)
        self.assertEqual([r.dtype for r in results], [np.float16, np.float32, np.float32])
        self.check(PLAIN, (dy, x, w), results)

    def test_the_mask_says_what_is_computed(self):
        arrays = operands(self.generator, PLAIN)
        expected = reference(PLAIN, *arrays)
        for mask in np.ndindex(2, 2, 2):
            results = cubejit.conv_backward(*arrays, *PLAIN.geometry, mask)
            for asked, got, value in zip(mask, results, expected):
                self.assertEqual(got is not None, bool(asked))
                if asked:
                    np.testing.assert_array_equal(got, value)

    def test_scalars_and_defaults(self):
        dy, x, w = operands(self.generator, PLAIN)
        self.check(PLAIN, (dy, x, w), cubejit.conv_backward(dy, x, w, padding=1))
        self.check(PLAIN, (dy, x, w), cubejit.conv_backward(dy, x, w, [1], [1], [1]))

    def test_padding_before_and_after(self):
        dy, x, w = operands(self.generator, PLAIN)
        results = cubejit.conv_backward(dy[:, :, :-1], x, w, padding=[1, 0, 1, 1])
        wide = np.pad(x, [(0, 0), (0, 0), (1, 0), (1, 1)])
        whole = Convolution(wide.shape, w.shape, (2, 4, 6, 8), [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
        dx, dw, db = reference(whole, dy[:, :, :-1], wide, w)
        for got, expected in zip(results, (dx[:, :, 1:, 1:-1], dw, db)):
            np.testing.assert_array_equal(got, expected)

    def test_an_empty_batch_gives_empty_and_zero(self):
        dy, x, w = operands(self.generator, PLAIN)
        dx, dw, db = cubejit.conv_backward(dy[:0], x[:0], w, padding=1)
        self.assertEqual(dx.shape, (0, 6, 7, 8))
        self.assertFalse(dw.any() or db.any())

    def test_hf32_rounds_operands(self):
        dy, x, w = (self.generator.standard_normal(s).astype(np.float32) for s in (PLAIN.dy, PLAIN.x, PLAIN.w))
        def rounded(a):  # to 11 significant bits, ties away from zero
            return ((a.view(np.uint32) + np.uint32(1 << 11)) & np.uint32(0xFFFFF000)).view(np.float32)
        exact = cubejit.conv_backward(rounded(dy), rounded(x), rounded(w), padding=1)
        hf32 = cubejit.conv_backward(dy, x, w, padding=1, math="hf32")
        for got, expected in zip(hf32[:2], exact[:2]):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
        self.assertFalse(np.array_equal(hf32[1], cubejit.conv_backward(dy, x, w, padding=1)[1]))

    def test_relaxed_math_is_close_and_takes_other_sums(self):
        generator = np.random.default_rng(8)
        dy, x = (generator.standard_normal((2, 64, 24, 24), np.float32) for _ in range(2))
        w = generator.standard_normal((64, 64, 3, 3), np.float32)
        strict = cubejit.conv_backward(dy, x, w, padding=1)
        relaxed = cubejit.conv_backward(dy, x, w, padding=1, math="relaxed")
        for got, expected in zip(relaxed[:2], strict[:2]):
            self.assertLess(np.linalg.norm(got - expected), 2e-5 * np.linalg.norm(expected))
            self.assertFalse(np.array_equal(got, expected))


class Memory(unittest.TestCase):
    def setUp(self):
        self.generator = np.random.default_rng(6)
        self.arrays = operands(self.generator, PLAIN)
        self.expected = reference(PLAIN, *self.arrays)

    def check(self, results):
        for got, expected in zip(results, self.expected):
            np.testing.assert_array_equal(got, expected)

    def strided(self, change):
        return tuple(change(a) for a in self.arrays)

    def test_channels_last_stays_channels_last(self):
        results = cubejit.conv_backward(*self.strided(lambda a: a.transpose(0, 2, 3, 1).copy().transpose(0, 3, 1, 2)), padding=1)
        self.check(results)
        self.assertEqual(np.argmin(results[0].strides), 1)
        self.assertEqual(np.argmin(results[1].strides), 1)

    def test_views_with_gaps(self):
        def spread(a):
            wide = np.full([2 * n for n in a.shape], 99, np.float32)
            wide[tuple(slice(None, None, 2) for _ in a.shape)] = a
            return wide[tuple(slice(None, None, 2) for _ in a.shape)]
        self.check(cubejit.conv_backward(*self.strided(spread), padding=1))

    def test_transposed_views(self):
        self.check(cubejit.conv_backward(*self.strided(lambda a: np.ascontiguousarray(a.T).T), padding=1))

    def test_negative_strides(self):
        self.check(cubejit.conv_backward(*self.strided(lambda a: a[::-1, :, ::-1].copy()[::-1, :, ::-1]), padding=1))

    def test_broadcast_views(self):
        for shape in (PLAIN, Convolution((2, 3, 5), (2, 3, 2), (2, 2, 4), [1], [0], [1], False, [0], 1)):
            arrays = [np.broadcast_to(np.float32(2), s) for s in (shape.dy, shape.x, shape.w)]
            for got, expected in zip(cubejit.conv_backward(*arrays, *shape.geometry), reference(shape, *arrays)):
                np.testing.assert_array_equal(got, expected)

    def test_one_element_is_all_of_a_volume(self):
        # Strides of 0 along all five axes, which NumPy's other broadcasts here are not.
        c = Convolution((2, 3, 4, 5, 6), (4, 3, 2, 2, 2), (2, 4, 3, 4, 5), [1] * 3, [0] * 3, [1] * 3, False, [0] * 3, 1)
        arrays = operands(self.generator, c)
        for which in range(3):
            mixed = [np.broadcast_to(np.float32(2), a.shape) if i == which else a for i, a in enumerate(arrays)]
            for got, expected in zip(cubejit.conv_backward(*mixed, *c.geometry), reference(c, *mixed)):
                np.testing.assert_array_equal(got, expected)

    def test_operands_that_no_pass_reads_are_not_looked_at(self):
        for mask, unread in (((True, False, False), 1), ((False, True, False), 2), ((False, False, True), 1)):
            arrays = list(self.arrays)
            arrays[unread] = np.lib.stride_tricks.as_strided(np.empty(1, np.float32), arrays[unread].shape, (0, -4, 1 << 50, 4))
            results = cubejit.conv_backward(*arrays, *PLAIN.geometry, mask)
            for asked, got, expected in zip(mask, results, self.expected):
                if asked:
                    np.testing.assert_array_equal(got, expected)

    def test_columns_of_a_large_image(self):
        generator = np.random.default_rng(9)
        x = whole_numbers(generator, (1, 4, 1100, 2200))[..., ::2]
        w = whole_numbers(generator, (4, 4, 3, 3))
        dense = np.ascontiguousarray(x)
        np.testing.assert_array_equal(cubejit.conv(x, w, padding=1), cubejit.conv(dense, w, padding=1))
        for got, expected in zip(cubejit.conv_backward(x, x, w, padding=1), cubejit.conv_backward(dense, dense, w, padding=1)):
            np.testing.assert_array_equal(got, expected)

    def test_read_only_operands(self):
        for a in self.arrays:
            a.flags.writeable = False
        self.check(cubejit.conv_backward(*self.arrays, padding=1))

    def test_memoryviews_are_arrays(self):
        results = cubejit.conv_backward(*(memoryview(a) for a in self.arrays), padding=1)
        self.check(np.asarray(r) for r in results)

    def test_classes_of_the_users_give_arrays_of_numpy(self):
        class Mine(np.ndarray):
            pass

        arrays = operands(np.random.default_rng(5), PLAIN)
        for got, wanted in zip(cubejit.conv_backward(*(a.view(Mine) for a in arrays), *PLAIN.geometry), reference(PLAIN, *arrays)):
            self.assertIsInstance(got, np.ndarray)
            np.testing.assert_array_equal(got, wanted)

    def test_a_thread_that_computes_while_python_ends(self):
        program = ("import threading, time, numpy as np, cubejit\na, b = np.ones((1, 2, 9, 9), 'f'), np.ones((3, 2, 3, 3), 'f')\n"
                   "def loop():\n    while True:\n        cubejit.conv(a, b)\n"
                   "cubejit.conv(a, b)\nfor _ in range(3):\n    threading.Thread(target=loop, daemon=True).start()\ntime.sleep(0.1)\n")
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_results_of_our_own_are_operands(self):
        dx = cubejit.conv_backward(*(memoryview(a) for a in self.arrays), padding=1)[0]
        self.assertIsInstance(dx, cubejit.Array)
        again = cubejit.conv_backward(self.arrays[0], dx, self.arrays[2], padding=1, output_mask=(False, True, False))[1]
        expected = reference(PLAIN, self.arrays[0], self.expected[0], self.arrays[2])[1]
        np.testing.assert_array_equal(again, expected)
        self.assertEqual((dx.shape, dx.dtype), (PLAIN.x, "float32"))

    def test_dlpack_shares_memory(self):
        dx = cubejit.conv_backward(*(memoryview(a) for a in self.arrays), padding=1)[0]
        self.assertEqual(np.from_dlpack(dx).ctypes.data, np.asarray(dx).ctypes.data)

    def test_results_go_where_they_are_wanted(self):
        dx = np.full(PLAIN.x, 7, np.float32)
        dw = np.full((4, 3, 3, 6), 7, np.float16).transpose(0, 3, 1, 2)
        results = cubejit.conv_backward(*self.arrays, padding=1, out=(dx, dw, None))
        self.assertIs(results[0], dx)
        self.assertIs(results[1], dw)
        self.check(results)

    def test_memory_is_given_back(self):
        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * 4096
        dy, x, w = (np.ones(s, np.float32) for s in ((1, 8, 128, 128), (1, 8, 128, 128), (8, 8, 3, 3)))
        for round_ in range(260):
            if round_ == 60:
                before = resident()
            cubejit.conv_backward(dy, x, w, padding=1)
        self.assertLess(resident() - before, 32 << 20)  # a leak of dx alone would be 100 MiB


class Wrong(unittest.TestCase):
    def setUp(self):
        self.dy, self.x, self.w = (np.zeros(s, np.float32) for s in (PLAIN.dy, PLAIN.x, PLAIN.w))

    def refused(self, words, *arrays, error=cubejit.InvalidProblem, **arguments):
        with self.assertRaises(error) as caught:
            cubejit.conv_backward(*(arrays or (self.dy, self.x, self.w)), **{"padding": 1, **arguments})
        for word in [words] if isinstance(words, str) else words:
            self.assertIn(word, str(caught.exception))
        return caught.exception

    def test_every_broken_rule_is_named(self):
        self.refused(["out.h = 7", "it must be 4", "out.w = 8 does not"], stride=2)
        self.refused(["stride.h = 0 must be at least 1", "dilation.w = -1"], stride=[0, 1], dilation=[1, -1])
        self.refused(["dy has batch 1, x has 2", "dy has 3 channels"], self.dy[:1, :3], self.x, self.w)
        self.refused("x has 6 channels, but w of shape (4, 6, 3, 3) with groups = 2 takes 12", groups=2)
        self.refused("groups = 0 must be at least 1", groups=0)
        self.refused("stride has 3 values; it must have 1 or 2", stride=[1, 1, 1])
        self.refused("x has shape (6, 7); it must have 3, 4 or 5 axes", self.dy, np.zeros((6, 7), np.float32), self.w)
        self.refused("they must be as many", self.dy, self.x[0], self.w)
        self.refused("with output_padding = 0 its axis 2 must be 13", self.dy, self.x[:, :4], self.w, transposed=True, stride=2)
        self.refused("pad_before.h = -1", padding=[-1, 1])
        self.refused("output_mask has 2 values", output_mask=(True, False))
        self.refused("unknown math 'fp16'", math="fp16")

    def test_results_that_do_not_fit(self):
        dx = np.zeros(PLAIN.x, np.float32)
        self.refused("dx of out has shape (2, 6, 7, 7); it must be (2, 6, 7, 8)", out=(dx[..., :-1], None, None))
        wide = np.zeros((2, 6, 7, 16), np.float32)
        self.refused("results must be dense", out=(wide[..., ::2], None, None))
        dx.flags.writeable = False
        self.refused("dx of out is read-only", out=(dx, None, None))
        self.refused("out has 1 values", out=(None,))
        self.refused("overlap", out=(self.x, None, None))

    def test_what_is_no_array(self):
        self.refused("an array with the buffer protocol or __dlpack__ is needed", self.dy, [[1.0]], self.w, error=TypeError)
        self.refused("x: is <class 'NoneType'>", self.dy, None, self.w, error=TypeError)
        self.refused("elements of format 'd'", self.dy.astype(np.float64), self.x, self.w, error=TypeError)
        self.refused("elements of format '>f'", self.dy.astype(">f4"), self.x, self.w, error=TypeError)
        self.refused("float32, float16 and bfloat16", self.dy, self.x.astype(np.int32), self.w, error=TypeError)
        packed = np.zeros(5, np.dtype([("a", "i1"), ("b", "f4")]))["b"].reshape(1, 1, 5)
        self.refused("not a number of elements", packed, packed, packed, error=TypeError)

    def test_views_larger_than_memory(self):
        for shape in ((1 << 30, 4, 1 << 20), (1 << 20, 4, 1, 1 << 10, 1 << 20)):
            huge, w = np.broadcast_to(np.float32(1), shape), np.zeros((4, 4) + (1,) * (len(shape) - 2), np.float32)
            self.refused([], huge, huge, w, padding=0, error=(cubejit.InvalidProblem, MemoryError))

    def test_values_of_the_wrong_kind(self):
        self.refused([], stride="1", error=TypeError)
        self.refused([], groups=1.5, error=TypeError)

    def test_errors_say_whose_fault_and_travel(self):
        error = self.refused("out.h", stride=2)
        self.assertEqual((error.code, error.stage), ("invalid_problem", "problem"))
        self.assertIsInstance(error, (cubejit.Error, ValueError))
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((str(again), again.code), (str(error), error.code))


if __name__ == "__main__":
    unittest.main()
