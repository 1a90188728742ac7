# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of conv's post-ops: y is what NumPy makes of the sums, for every activation, memory order and type, and operands that
do not fit are refused with everything that is wrong."""

import random
import unittest

import numpy as np

import cubejit
from random_convolution import random_convolution

ACTIVATIONS = {
    None: lambda v: v,
    "relu": lambda v: np.maximum(v, 0),
    "leaky_relu:0.25": lambda v: np.where(v > 0, v, v * 0.25),
    "clip:-2:5": lambda v: np.clip(v, -2, 5),
}


def whole(generator, shape, dtype):
    return generator.integers(-3, 4, size=shape).astype(dtype)


def channels_last(array):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


class PostOps(unittest.TestCase):
    def setUp(self):
        self.generator = np.random.default_rng(9)

    # PyTorch's formulas: a slope of 0 makes NaN of -infinity.
    def test_infinities_and_nans(self):
        sums = np.float32([[[np.inf, -np.inf, np.nan, 0, -0.0, 1.5, -1.5, 3e38, -3e38, 1e-38, -1e-38]]])
        wanted = {"relu": np.where(sums < 0, 0, sums), "clip:-2:5": np.clip(sums, -2, 5),
                  **{f"leaky_relu:{a}": None for a in (0, 0.25, 3, -0.5)}}
        with np.errstate(all="ignore"):
            for activation in wanted:
                if activation.startswith("leaky"):
                    wanted[activation] = np.where(sums > 0, sums, sums * np.float32(activation.split(":")[1]))
        sessions = [cubejit.Session(threads=1, backend=b) for b in ("xbyak", "interpreter", "tile_interpreter")]
        for session in sessions:
            for channels in (1, 9):  # by vectors of channels, and of pixels
                x = np.repeat(sums, channels, axis=1)
                w = np.ones((channels, 1, 1), np.float32)
                for activation, y in wanted.items():
                    with self.subTest(activation=activation, channels=channels):
                        found = cubejit.conv(x, w, groups=channels, activation=activation, session=session)
                        np.testing.assert_array_equal(found, np.repeat(y, channels, axis=1))

    def test_y_is_finished_as_numpy_does_it(self):
        chosen = random.Random(3)
        for number in range(120):
            c = random_convolution(chosen)
            dtype = np.float16 if number % 4 == 3 else np.float32
            x, w = whole(self.generator, c.x, dtype), whole(self.generator, c.w, dtype)
            if number % 2:
                x = channels_last(x)
            # Sums in f32: those of f16 are rounded once, behind the post-ops.
            y = cubejit.conv(x.astype(np.float32), w.astype(np.float32), *c.geometry)
            channels = y.shape[1]
            b = whole(self.generator, (channels,), dtype) if chosen.random() < 0.7 else None
            z = whole(self.generator, y.shape, dtype) if chosen.random() < 0.5 else None
            if z is not None and chosen.random() < 0.5:
                z = channels_last(z)
            name = chosen.choice(list(ACTIVATIONS))
            expected = y.copy()
            if b is not None:
                expected += b.astype(np.float32).reshape([-1] + [1] * (y.ndim - 2))
            if z is not None:
                expected += z
            expected = ACTIVATIONS[name](expected).astype(dtype)
            got = cubejit.conv(x, w, *c.geometry, bias=b, add=z, activation=name)
            self.assertEqual(got.dtype, dtype)
            np.testing.assert_array_equal(got, expected, f"{c} {name} {b is not None} {z is not None}")
            if z is not None and z.size > 1:
                self.assertEqual(got.strides, z.strides)

    def test_gradients_are_those_of_the_whole(self):
        chosen = random.Random(4)
        slopes = {"relu": lambda y: y > 0, "leaky_relu:0.25": lambda y: np.where(y > 0, 1, 0.25), "clip:-2:5": lambda y: (y > -2) & (y < 5)}
        for number in range(60):
            c = random_convolution(chosen)
            dy, x, w, y = (whole(self.generator, shape, np.float32) for shape in (c.dy, c.x, c.w, c.dy))
            if number % 2:
                dy, y = channels_last(dy), channels_last(y)
            name = chosen.choice(list(slopes))
            expected = cubejit.conv_backward((dy * slopes[name](y)).astype(np.float32), x, w, *c.geometry)
            for got, wanted in zip(cubejit.conv_backward(dy, x, w, *c.geometry, y=y, activation=name), expected):
                np.testing.assert_array_equal(got, wanted, f"{c} {name}")

    def test_slopes_that_cannot_be_read_are_named(self):
        dy, x, w = np.ones((2, 3, 5, 4), np.float32), np.ones((2, 2, 5, 4), np.float32), np.ones((3, 2, 1, 1), np.float32)
        for arguments, words in (({"activation": "relu"}, "y is missing"), ({"y": dy}, "without an activation"),
                                 ({"y": dy[:1], "activation": "relu"}, r"y has shape (1, 3, 5, 4)"),
                                 ({"y": channels_last(dy), "activation": "relu"}, "they must lie alike"),
                                 ({"y": dy, "activation": "leaky_relu:-1"}, "a negative slope cannot be read off y")):
            with self.assertRaises(cubejit.Error) as caught:
                cubejit.conv_backward(dy, x, w, **arguments)
            self.assertIn(words, str(caught.exception))

    def test_relu_keeps_nan_and_infinities(self):
        x = np.array([np.nan, np.inf, -np.inf, -1, 2], np.float32).reshape(1, 1, 5)
        got = cubejit.conv(x, np.ones((1, 1, 1), np.float32), activation="relu")
        np.testing.assert_array_equal(got.ravel(), [np.nan, np.inf, 0, 0, 2])

    def test_what_does_not_fit_is_named(self):
        x, w = np.ones((1, 2, 5), np.float32), np.ones((3, 2, 1), np.float32)
        for arguments, words in (
                ({"bias": np.ones(2, np.float32)}, ["bias has shape (2); it must be (3)"]),
                ({"bias": np.ones(3, np.float16)}, ["bias is f16; it must be f32"]),
                ({"bias": np.ones(6, np.float32)[::2]}, ["bias has strides (2)"]),
                ({"add": np.ones((1, 3, 4), np.float32)}, ["add has shape (1, 3, 4); it must be (1, 3, 5)"]),
                ({"add": np.ones((1, 3, 10), np.float32)[:, :, ::2], "bias": np.ones((3, 1), np.float32)},
                 ["add has strides", "bias has shape (3, 1)"]),
                ({"activation": "gelu"}, ["unknown post-op 'gelu'", "leaky_relu:SLOPE"]),
                ({"activation": "bias"}, ["are arguments of their own"]),
                ({"activation": "clip:3:2"}, ["the lower limit is above the upper one"])):
            with self.assertRaises(cubejit.InvalidProblem) as caught:
                cubejit.conv(x, w, **arguments)
            for word in words:
                self.assertIn(word, str(caught.exception))

    def test_what_is_added_cannot_be_the_result(self):
        x, w = np.ones((1, 2, 5), np.float32), np.ones((3, 2, 1), np.float32)
        y = np.zeros((1, 3, 5), np.float32)
        with self.assertRaises(cubejit.InvalidProblem) as caught:
            cubejit.conv(x, w, add=y, out=y)
        self.assertIn("y and z overlap", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
