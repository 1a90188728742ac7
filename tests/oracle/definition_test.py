# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides that the definition is one: its gradients are derivatives, they are adjoint to it, and PyTorch's float64 agrees."""

import random
import unittest
from itertools import product

import numpy

import draw
import samples
from definition import Convolution, forward, gradients, magnitudes, terms

try:
    import torch
    from torch.nn import functional
except ImportError:
    torch = None


def whole(dice, shape):
    return dice.integers(-4, 5, shape).astype(float)


def operands(c, dice):
    return whole(dice, c.y_shape), whole(dice, c.x_shape), whole(dice, c.w_shape)


def problems(count, seed):
    dice = random.Random(seed)
    return [*draw.DEGENERATE.values(), *(draw.convolution(dice, 300) for _ in range(count))]


class DefinitionTest(unittest.TestCase):
    def test_known_numbers(self):
        c = Convolution(1, 1, 1, (3,), (2,), (1,), (1,), (1,), (0,))
        self.assertEqual(c.out, (3,))
        x, w, dy = numpy.array([[[1., 2, 3]]]), numpy.array([[[10., 100]]]), numpy.array([[[1., 7, 5]]])
        self.assertEqual(forward(c, x, w).tolist(), [[[100, 210, 320]]])
        dx, dw, db = gradients(c, dy, x, w)
        self.assertEqual((dx.tolist(), dw.tolist(), db.tolist()), ([[[170, 750, 500]]], [[[17, 30]]], [13]))

    # <dy, conv(x, w)> = <dx, x> = <dw, w>, exactly in whole numbers.
    def test_gradients_are_adjoint(self):
        dice = numpy.random.default_rng(1)
        for c in problems(60, 1):
            dy, x, w = operands(c, dice)
            dx, dw, db = gradients(c, dy, x, w)
            self.assertEqual((dx.shape, dw.shape, db.shape), (c.x_shape, c.w_shape, (c.cout,)), c)
            form = (dy * forward(c, x, w)).sum()
            self.assertEqual((dx * x).sum(), form, c)
            self.assertEqual((dw * w).sum(), form, c)
            self.assertTrue((db == dy.sum(axis=(0, *range(2, dy.ndim)))).all(), c)

    # The form is linear in x and in w: a step of 1 in one element changes it by that element's derivative, exactly.
    def test_gradients_are_differences(self):
        dice = numpy.random.default_rng(2)
        for c in problems(40, 2):
            dy, x, w = operands(c, dice)
            dx, dw, _ = gradients(c, dy, x, w)
            form = (dy * forward(c, x, w)).sum()
            for operand, gradient in ((x, dx), (w, dw)):
                if operand.size == 0:
                    continue
                at = tuple(dice.integers(0, n) for n in operand.shape)
                operand[at] += 1
                self.assertEqual((dy * forward(c, x, w)).sum() - form, gradient[at], c)
                operand[at] -= 1

    def test_magnitudes_and_terms_bound_the_sums(self):
        dice = numpy.random.default_rng(3)
        for c in problems(20, 3):
            ones = [numpy.ones(s) for s in (c.y_shape, c.x_shape, c.w_shape)]
            for sums, most in zip((*gradients(c, *ones), forward(c, *ones[1:])), terms(c)):
                self.assertLessEqual(sums.max(initial=0), most, c)
            dy, x, w = operands(c, dice)
            for sums, bound in zip(gradients(c, dy, x, w), magnitudes(c, dy, x, w)):
                self.assertTrue((abs(sums) <= bound).all(), c)

    # Each of them gathers the same terms.
    def test_samples_are_the_definition(self):
        dice, types = numpy.random.default_rng(5), ("f32", "f32", "f32")
        for c in problems(60, 6):
            dy, x, w = operands(c, dice)
            (dx, dw, db), y = gradients(c, dy, x, w), forward(c, x, w)
            sizes = (*magnitudes(c, dy, x, w), forward(c, abs(x), abs(w)))
            found = {"dx": lambda at: samples.data_result(c, at, dy, w, types[:2], False), "dw": lambda at: samples.weight_result(c, at, dy, x, types),
                     "db": lambda at: samples.bias_result(c, at, dy, "f32"), "y": lambda at: samples.data_result(c, at, x, w, types[:2], True)}
            for (name, sample), result, size, most in zip(found.items(), (dx, dw, db, y), sizes, terms(c)):
                for at in [tuple(dice.integers(0, n) for n in result.shape) for _ in range(6 if result.size else 0)]:
                    one = sample(at)
                    self.assertEqual((one[0], one[1]), (result[at], size[at]), (name, at, c))
                    self.assertLessEqual(one[2], most, (name, at, c))

    def test_padding_adds_nothing(self):
        c = Convolution(1, 1, 1, (2,), (3,), (1,), (1,), (1,), (1,))
        dy, x, w = numpy.full(c.y_shape, numpy.inf), numpy.ones(c.x_shape), numpy.ones(c.w_shape)
        self.assertTrue(all((g == numpy.inf).all() for g in gradients(c, dy, x, w)))

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_torch_agrees(self):
        dice = numpy.random.default_rng(4)
        compared = 0
        for c in problems(150, 4):
            if c.batch == 0 or (c.transposed and c.before != c.after):
                continue
            dy, x, w = (torch.from_numpy(a) for a in operands(c, dice))
            x.requires_grad_(), w.requires_grad_()
            rank = len(c.image)
            if c.transposed:
                y = getattr(functional, f"conv_transpose{rank}d")(x, w, None, c.stride, c.before, c.output_padding, c.groups,
                                                                 c.dilation)
            else:
                sides = [s for a in reversed(range(rank)) for s in (c.before[a], c.after[a])]
                y = getattr(functional, f"conv{rank}d")(functional.pad(x, sides), w, None, c.stride, 0, c.dilation, c.groups)
            y.backward(dy)
            self.assertTrue((y.detach().numpy() == forward(c, x.detach(), w.detach())).all(), c)
            dx, dw, _ = gradients(c, dy, x.detach(), w.detach())
            self.assertTrue((x.grad.numpy() == dx).all() and (w.grad.numpy() == dw).all(), c)
            compared += 1
        self.assertGreater(compared, 100)

    # Every kind of problem is drawn.
    def test_what_is_drawn(self):
        dice = random.Random(5)
        drawn = [draw.convolution(dice) for _ in range(400)]
        kinds = {(len(c.image), c.transposed, c.groups > 1) for c in drawn}
        self.assertEqual(kinds, set(product((1, 2, 3), (False, True), (False, True))))
        for kind in (lambda c: c.before != c.after, lambda c: max(c.dilation) > 1, lambda c: max(c.stride) > 1,
                     lambda c: any(c.output_padding), lambda c: c.cin == c.groups > 1,
                     lambda c: any(b >= i for b, i in zip(c.before, c.image))):
            self.assertGreater(sum(map(kind, drawn)), 8)


if __name__ == "__main__":
    unittest.main()
