# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of the packages tbe.tvm and tbe.dsl: the document's example as it is written, its result element by
element, groups masked and raw, and an exception that names every broken rule."""

import unittest
from pathlib import Path

import numpy as np

import cubejit
from tbe import dsl, tvm

EXAMPLE = Path(__file__).parents[2] / "examples" / "tbe" / "documented_example.py"


def blocked(plain):
    """NCDHW to NDC1HWC0, float16."""
    n, c, d, h, w = plain.shape
    padded = np.zeros((n, -(-c // 16) * 16, d, h, w), np.float16)
    padded[:, :c] = plain
    return np.ascontiguousarray(padded.reshape(n, -1, 16, d, h, w).transpose(0, 3, 1, 4, 5, 2))


def weight_gradient(x, dy, kernel, stride, pads, dilation=(1, 1, 1)):
    """Every pair of channels, whatever their groups: [cout][cin][kd][kh][kw]."""
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), pads[0:2], pads[2:4], pads[4:6]])
    out = np.zeros((dy.shape[1], x.shape[1], *kernel))
    for tap in np.ndindex(*kernel):
        at = tuple(slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in zip(tap, dilation, stride, dy.shape[2:]))
        out[(slice(None), slice(None), *tap)] = np.einsum("nodhw,nidhw->oi", dy.astype(np.float64), wide[(..., *at)])
    return out


def fractal(dw, g, groups, raw):
    """The documented order (real group, kd, c1, kh, kw), co1, co0, c0 of [cout][cin][kd][kh][kw]."""
    cout, cin, *kernel = dw.shape
    if not raw:
        same = (np.arange(cout) // (cout // groups))[:, None] == (np.arange(cin) // (cin // groups))[None]
        dw = dw * same[..., None, None, None]
    whole = np.zeros((g["real_g"] * g["cout_g"], g["real_g"] * g["cin1_g"] * 16, *kernel))
    whole[:cout, :cin] = dw
    parts = []
    for group in range(g["real_g"]):
        rows = slice(group * g["cout_g"], (group + 1) * g["cout_g"])
        columns = slice(group * g["cin1_g"] * 16, (group + 1) * g["cin1_g"] * 16)
        part = whole[rows, columns].reshape(g["cout_g"], g["cin1_g"], 16, *kernel)
        parts.append(part.transpose(3, 1, 4, 5, 0, 2))
    return np.stack(parts).reshape(-1, g["cout_g"] // 16, 16, 16)


class Example(unittest.TestCase):
    def test_the_document_s_example_runs_as_written(self):
        names = {}
        exec(compile(EXAMPLE.read_text(encoding="utf-8"), str(EXAMPLE), "exec"), names)
        dedw = names["dedw"]
        self.assertEqual((dedw.shape, dedw.dtype, dedw.name), ((18, 1, 16, 16), "float32", names["kernel_name"]))
        generator = np.random.default_rng(3)
        x = generator.integers(-3, 4, size=(16, 16, 8, 72, 72)).astype(np.float16)
        dy = generator.integers(-1, 2, size=(16, 16, 4, 36, 36)).astype(np.float16)
        operator = dsl.build(dsl.auto_schedule(dedw), {"name": names["kernel_name"],
                                                       "tensor_list": [names["fmap"], names["dedy"], dedw]})
        result = operator(blocked(x), blocked(dy))
        self.assertIsInstance(result, np.ndarray)
        self.assertEqual(result.dtype, np.float32)
        expected = weight_gradient(x, dy, (2, 3, 3), (2, 2, 2), (0, 0, 0, 1, 0, 1))
        np.testing.assert_array_equal(result, fractal(expected, names["group_dict"], 1, raw=False))


class Groups(unittest.TestCase):
    CASES = [(16, 16, 1), (3, 64, 1), (32, 64, 2), (96, 48, 3), (20, 20, 20), (40, 40, 5), (12, 12, 4), (24, 36, 3), (78, 28, 2),
             (72, 48, 3)]

    def call(self, cin, cout, inner, **more):
        self.fmap = tvm.placeholder((2, 3, -(-cin // 16), 6, 5, 16), name="fmap", dtype="float16")
        self.dedy = tvm.placeholder((2, 3, -(-cout // 16), 3, 5, 16), name="dedy", dtype="float16")
        return dsl.conv3d_backprop_filter(
            x=self.fmap, out_backprop=self.dedy, filter_size=[cout, 2, inner, 2, 3],
            para_dict={"strides": [1, 2, 1], "pads": [0, 1, 0, 0, 1, 1], "res_dtype": "float32", **more})

    def test_masked_and_raw(self):
        generator = np.random.default_rng(4)
        for cin, cout, groups in self.CASES:
            x = generator.integers(-3, 4, size=(2, cin, 3, 6, 5)).astype(np.float16)
            dy = generator.integers(-3, 4, size=(2, cout, 3, 3, 5)).astype(np.float16)
            dw = weight_gradient(x, dy, (2, 2, 3), (1, 2, 1), (0, 1, 0, 0, 1, 1))
            g = dsl.group_dict(cin, cout, groups)
            for kind in ("masked", "raw"):
                for more in ({"groups": groups}, {"group_dict": g}):
                    result = self.call(cin, cout, cin // groups, group_result=kind, **more)
                    got = dsl.build(result)(blocked(x), blocked(dy))
                    np.testing.assert_array_equal(got, fractal(dw, g, groups, kind == "raw"), f"{cin, cout, groups, kind}")

    def test_arrays_in_the_order_of_tensor_list(self):
        result = self.call(16, 16, 16)
        x, dy = np.ones(self.fmap.shape, np.float16), np.ones(self.dedy.shape, np.float16)
        operator = dsl.build(result, {"name": "k", "tensor_list": [self.dedy, result, self.fmap]})
        out = np.full(result.shape, 7, np.float32)
        self.assertIs(operator(dy, out, x), out)
        np.testing.assert_array_equal(out, dsl.build(result)(x, dy))
        np.testing.assert_array_equal(out, operator(dy, x))

    def test_strided_arrays(self):
        result = self.call(16, 16, 16)
        generator = np.random.default_rng(9)
        x = generator.standard_normal((*self.fmap.shape[:-1], 32)).astype(np.float16)[..., ::2]
        dy = generator.standard_normal(self.dedy.shape).astype(np.float16)
        operator = dsl.build(result)
        np.testing.assert_array_equal(operator(x, dy), operator(x.copy(), dy))


class Wrong(unittest.TestCase):
    def setUp(self):
        self.fmap = tvm.placeholder((1, 2, 1, 6, 6, 16), name="fmap", dtype="float16")
        self.dedy = tvm.placeholder((1, 2, 1, 6, 6, 16), name="dedy", dtype="float16")
        self.para = {"strides": [1, 1, 1], "pads": [0, 0, 1, 1, 1, 1], "dilations": [1, 1, 1, 1, 1]}

    def call(self, **changes):
        para = {**self.para, **changes}
        return dsl.conv3d_backprop_filter(self.fmap, self.dedy, [16, 1, 16, 3, 3], para)

    def refused(self, *rules, **changes):
        with self.assertRaises(cubejit.InvalidProblem) as caught:
            self.call(**changes)
        for rule in rules:
            self.assertIn(rule, str(caught.exception))

    def test_every_rule_at_once(self):
        self.refused("strides H = 64", "pads front = 1 must be less than the dilated filter, 1", "res_dtype is int8",
                     "kernel_name", strides=[1, 64, 1], pads=[1, 0, 1, 1, 1, 1], res_dtype="int8", kernel_name="a-b")
        self.refused("strides has 2 values", "pads has 3 values", "dilations has 4", strides=[1, 1], pads=[0, 0, 0],
                     dilations=[1] * 4)

    def test_keys(self):
        self.refused("para_dict has an unknown key 'stride'", stride=[1, 1, 1])
        with self.assertRaisesRegex(cubejit.InvalidProblem, "para_dict has no strides\npara_dict has no pads"):
            dsl.conv3d_backprop_filter(self.fmap, self.dedy, [16, 1, 16, 3, 3], {})
        self.refused("group_dict has no mag_factor", "group_dict has no cout_ori", "unknown key 'x'",
                     group_dict={"real_g": 1, "cin1_g": 1, "cout_g": 16, "cin_ori": 16, "x": 1})
        self.refused("group_dict real_g = 3; the formula gives 1", group_dict={**dsl.group_dict(16, 16, 1), "real_g": 3})
        self.refused("group_result is 'mask'", group_result="mask")
        with self.assertRaises(cubejit.Unsupported):
            self.call(soc="ascend0")

    def test_types_of_arguments(self):
        with self.assertRaises(TypeError):
            self.call(strides=["a", "b", "c"])
        with self.assertRaises(TypeError):
            dsl.conv3d_backprop_filter(np.zeros(1), self.dedy, [16, 1, 16, 3, 3], self.para)
        with self.assertRaises(TypeError):
            tvm.placeholder((1, 2.5))
        with self.assertRaises(ValueError):
            tvm.placeholder((1, 0))

    def test_the_call_stands_alone(self):
        result = self.call()
        with self.assertRaisesRegex(cubejit.InvalidProblem, "placeholders only"):
            dsl.conv3d_backprop_filter(result, self.dedy, [16, 1, 16, 3, 3], self.para)
        with self.assertRaises(cubejit.InvalidProblem):
            dsl.auto_schedule(self.fmap)

    def test_arrays_that_are_not_their_placeholders(self):
        result = self.call()
        operator = dsl.build(result)
        x, dy = np.zeros(self.fmap.shape, np.float16), np.zeros(self.dedy.shape, np.float16)
        for arrays, words in (((x.astype(np.float32), dy), "fmap is float32; its placeholder is float16"),
                              ((x, dy[:, :1]), "dedy has shape (1, 1, 1, 6, 6, 16); its placeholder has (1, 2, 1"),
                              ((x, dy, np.zeros(result.shape, np.float16)), "is float16; its placeholder is float32")):
            with self.assertRaises(cubejit.InvalidProblem) as caught:
                operator(*arrays)
            self.assertIn(words, str(caught.exception))
        with self.assertRaisesRegex(TypeError, "takes the arrays fmap, dedy"):
            operator(x)
        for config in ({"tensor_list": [self.fmap, self.dedy]}, {"tensors": 1},
                       {"tensor_list": [self.fmap, self.fmap, result]}):
            with self.assertRaises(cubejit.InvalidProblem):
                dsl.build(result, config)

    def test_the_formula_refuses(self):
        with self.assertRaisesRegex(cubejit.InvalidProblem, "fmap_c = 10 is not divisible by groups = 3"):
            dsl.group_dict(10, 9, 3)


if __name__ == "__main__":
    unittest.main()
