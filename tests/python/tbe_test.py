# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of the packages tbe and te: the documents' examples as they are written, results element by element against
their definition, groups masked and raw, build's keys, and an exception that names every broken rule."""

import contextlib
import io
import math
import unittest
from pathlib import Path

import numpy as np

import cubejit
import te
from tbe import dsl, tvm
from tbe import platform as tbe_platform

EXAMPLES = Path(__file__).parents[2] / "examples" / "tbe"


def example(call):
    """What the document's example of a call defines."""
    names, path = {}, EXAMPLES / f"documented_{call}.py"
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names


def blocked(values):
    """NCDHW to NDC1HWC0, float16."""
    n, c, d, h, w = values.shape
    padded = np.zeros((n, -(-c // 16) * 16, d, h, w), np.float16)
    padded[:, :c] = values
    return np.ascontiguousarray(padded.reshape(n, -1, 16, d, h, w).transpose(0, 3, 1, 4, 5, 2))


def weight_gradient(x, dy, kernel, stride, pads, dilation=(1, 1, 1)):
    """Every pair of channels, whatever their groups: [cout][cin][kd][kh][kw]."""
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), pads[0:2], pads[2:4], pads[4:6]])
    out = np.zeros((dy.shape[1], x.shape[1], *kernel))
    for tap in np.ndindex(*kernel):
        at = tuple(slice(t * d, t * d + s * (n - 1) + 1, s) for t, d, s, n in zip(tap, dilation, stride, dy.shape[2:]))
        out[(slice(None), slice(None), *tap)] = np.einsum("nodhw,nidhw->oi", dy.astype(np.float64), wide[(..., *at)])
    return out


def input_gradient(dy, w, groups, shape, stride, pads, dilation):
    """w [cout][cin/groups][kd][kh][kw], shape of x: the sum over every output that an input took part in."""
    n, cin, *space = shape
    inner, outer = cin // groups, w.shape[0] // groups
    wide = np.zeros((n, cin, *(e + a + b for e, a, b in zip(space, pads[0::2], pads[1::2]))))
    for tap in np.ndindex(*w.shape[2:]):
        at = tuple(slice(t * d, t * d + s * (e - 1) + 1, s) for t, d, s, e in zip(tap, dilation, stride, dy.shape[2:]))
        for g in range(groups):
            rows = slice(g * outer, (g + 1) * outer)
            part = np.einsum("nodhw,oi->nidhw", dy[:, rows].astype(np.float64), w[(rows, slice(None), *tap)].astype(np.float64))
            wide[(slice(None), slice(g * inner, (g + 1) * inner), *at)] += part
    return wide[(..., *(slice(b, b + e) for b, e in zip(pads[0::2], space)))]


def block_diagonal(w, groups):
    """[cout][cin/groups][...] to [cout][cin][...], zeros between groups."""
    cout, inner = w.shape[:2]
    whole = np.zeros((cout, inner * groups, *w.shape[2:]), w.dtype)
    for o in range(cout):
        group = o // (cout // groups)
        whole[o, group * inner:(group + 1) * inner] = w[o]
    return whole


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


def integers(generator, shape, most=3):
    return generator.integers(-most, most + 1, size=shape).astype(np.float16)


def squeezed(array, flat):
    """Without the depth of NDC1HWC0 if the call has none."""
    return array[:, 0] if flat else array


class Examples(unittest.TestCase):
    def built(self, names, operands, result):
        """As the documents schedule and build."""
        with tvm.target.cce():
            schedule = dsl.auto_schedule(result)
            config = {"name": names["kernel_name"], "tensor_list": [*operands, result], "bool_storage_as_1bit": True}
            return dsl.build(schedule, config)

    def test_conv3d_backprop_filter(self):
        names = example("conv3d_backprop_filter")
        dedw = names["dedw"]
        self.assertEqual((dedw.shape, dedw.dtype, dedw.name), ((18, 1, 16, 16), "float32", names["kernel_name"]))
        generator = np.random.default_rng(3)
        x, dy = integers(generator, (16, 16, 8, 72, 72)), integers(generator, (16, 16, 4, 36, 36), 1)
        result = self.built(names, [names["fmap"], names["dedy"]], dedw)(blocked(x), blocked(dy))
        self.assertIsInstance(result, np.ndarray)
        self.assertEqual(result.dtype, np.float32)
        expected = weight_gradient(x, dy, (2, 3, 3), (2, 2, 2), (0, 0, 0, 1, 0, 1))
        np.testing.assert_array_equal(result, fractal(expected, names["group_dict"], 1, raw=False))

    def test_conv3d_backprop_input(self):
        names = example("conv3d_backprop_input")
        dedx = names["dedx"]
        self.assertEqual((dedx.shape, dedx.dtype, dedx.name), ((1, 4, 8, 30, 44, 16), "float16", names["kernel_name"]))
        generator = np.random.default_rng(4)
        w, dy = integers(generator, (256, 128, 2, 2, 2), 1), integers(generator, (1, 256, 2, 15, 22), 1)
        filters = fractal(w, names["group_dict"], 1, raw=False).astype(np.float16)
        result = self.built(names, [names["filters"], names["dedy"]], dedx)(filters, blocked(dy))
        self.assertEqual(result.dtype, np.float16)
        expected = input_gradient(dy, w, 1, (1, 128, 4, 30, 44), (2, 2, 2), (0,) * 6, (1, 1, 1))
        np.testing.assert_array_equal(result, blocked(expected))

    def test_conv2d_backprop_filter(self):
        names = example("conv2d_backprop_filter")
        result = names["filter_backprop"]
        self.assertEqual((result.shape, result.dtype), ((1, 1, 16, 16), "float32"))
        generator = np.random.default_rng(5)
        x, dy = integers(generator, (1, 16, 1, 7, 7)), integers(generator, (1, 16, 1, 7, 7))
        got = self.built(names, [names["fmap"], names["out_backprop"]], result)(blocked(x)[:, 0], blocked(dy)[:, 0])
        expected = weight_gradient(x, dy, (1, 1, 1), (1, 1, 1), (0,) * 6)
        np.testing.assert_array_equal(got, fractal(expected, dsl.group_dict(16, 16, 1), 1, raw=False))

    def test_conv2d_backprop_input(self):
        names = example("conv2d_backprop_input")
        result = names["input_backprop"]
        self.assertEqual((result.shape, result.dtype), ((1, 1, 7, 7, 16), "float32"))
        generator = np.random.default_rng(6)
        w, dy = integers(generator, (16, 16, 1, 1, 1)), integers(generator, (1, 16, 1, 7, 7))
        filters = fractal(w, dsl.group_dict(16, 16, 1), 1, raw=False).astype(np.float16)
        got = self.built(names, [names["filters"], names["out_backprop"]], result)(filters, blocked(dy)[:, 0])
        self.assertEqual(got.dtype, np.float32)
        expected = input_gradient(dy, w, 1, (1, 16, 1, 7, 7), (1, 1, 1), (0,) * 6, (1, 1, 1))
        np.testing.assert_array_equal(got, blocked(expected)[:, 0])

    def test_older_names(self):
        self.assertIs(te.lang.cce.conv3d_dw, dsl.conv3d_backprop_filter)
        self.assertIs(te.lang.cce.cce_build_code, dsl.build)
        self.assertIs(te.tvm, tvm)
        from tbe.common.platform import C0_SIZE
        self.assertEqual(C0_SIZE, 16)
        self.assertEqual(te.platform.C0_SIZE, 16)


class Platform(unittest.TestCase):
    def tearDown(self):
        tbe_platform.set_current_compile_soc_info("ascend910a")

    def test_sizes(self):
        self.assertEqual(tbe_platform.C0_SIZE, 16)
        self.assertEqual(tbe_platform.CUBE_MKN["float16"]["mac"][1], 16)

    def test_the_part_of_calls_that_name_none(self):
        # 16 pixels of dy and the rows of x they touch: 255 rows of 4,096 pixels take more than any L1 has.
        fmap = tvm.placeholder((1, 1, 512, 4096, 16), name="fmap", dtype="float16")
        dedy = tvm.placeholder((1, 1, 258, 4096, 16), name="dedy", dtype="float16")

        def call(**more):
            dsl.conv2d_backprop_filter(fmap, dedy, [16, 16, 255, 1], {"strides": [1, 1], "padding": [0] * 4, **more})

        tbe_platform.set_current_compile_soc_info("Ascend310P3")
        with self.assertRaisesRegex(cubejit.Error, "L1"):
            call()
        call(soc="")
        tbe_platform.set_current_compile_soc_info("")
        call()
        with self.assertRaisesRegex(cubejit.Unsupported, "Ascend910A"):
            tbe_platform.set_current_compile_soc_info("Ascend910AA")


class RandomProblems(unittest.TestCase):
    """The four calls on problems of every kind: groups, strides, dilations, paddings that differ on each side."""

    def problem(self, generator, depth):
        groups = int(generator.choice([1, 2, 3, 5, 16]))
        cin, cout = (groups * int(generator.integers(1, 20)) for _ in range(2))
        shape, axes = {"cin": cin, "cout": cout, "groups": groups, "n": int(generator.integers(1, 3))}, []
        for axis in range(3):
            kernel, dilation, stride = (int(generator.integers(1, most)) for most in (4, 3, 4))
            reach = (kernel - 1) * dilation + 1
            before, after = (int(generator.integers(0, reach)) for _ in range(2))
            out = int(generator.integers(2, 5))
            extent = (out - 1) * stride + reach - before - after + int(generator.integers(0, stride))
            if axis == 0 and not depth:
                axes.append((1, 1, 1, 1, 0, 0, 1))
            elif extent < 1:
                axes.append((kernel, 1, 1, out + kernel - 1, 0, 0, out))
            else:
                axes.append((kernel, dilation, stride, extent, before, after, out))
        shape["kernel"], shape["dilation"], shape["stride"], shape["in"], before, after, shape["out"] = (list(v) for v in zip(*axes))
        shape["pads"] = [pad for pair in zip(before, after) for pad in pair]
        return shape

    def para(self, p, depth, **more):
        para = {"strides": p["stride"][1 - depth:], "dilations": p["dilation"][1 - depth:], "kernel_name": "k", **more}
        return {**para, "pads" if depth else "padding": p["pads"][2 * (1 - depth):]}

    def placeholder(self, p, channels, space, depth):
        shape = (p["n"], *space[:depth], -(-channels // 16), *space[1:], 16)
        return tvm.placeholder(shape, name="activation", dtype="float16")

    def extend_dict(self, cin, cout, groups):
        """As conv2d_backprop_input's document computes it of the weights' shape."""
        dx, dy = cin // groups, cout // groups
        together = min(math.lcm(math.lcm(dx, 16) // dx, math.lcm(dy, 16) // dy), groups)
        return {"groups": groups, "g_extend": -(-groups // together), "multiple_extend": together,
                "dx_c1_extend": -(-together * dx // 16), "dy_c1_extend": -(-together * dy // 16), "dx_c_ori": dx, "dy_c_ori": dy,
                "filter_batch_ori": dy, "filter_c_ori": dx, "filter_ori_format": "NCHW"}

    def test_filter_gradients(self):
        generator = np.random.default_rng(11)
        for depth in (0, 1):
            for _ in range(12):
                p = self.problem(generator, depth)
                cin, cout, groups = p["cin"], p["cout"], p["groups"]
                x, dy = integers(generator, (p["n"], cin, *p["in"])), integers(generator, (p["n"], cout, *p["out"]))
                operands = self.placeholder(p, cin, p["in"], depth), self.placeholder(p, cout, p["out"], depth)
                k, g = p["kernel"], dsl.group_dict(cin, cout, groups)
                if depth:
                    result = dsl.conv3d_backprop_filter(*operands, [cout, k[0], cin // groups, *k[1:]],
                                                        self.para(p, 1, group_dict=g))
                else:
                    result = dsl.conv2d_backprop_filter(*operands, [cout, cin // groups, *k[1:]], self.para(p, 0, groups=groups))
                got = dsl.build(result)(squeezed(blocked(x), not depth), squeezed(blocked(dy), not depth))
                dw = weight_gradient(x, dy, k, p["stride"], p["pads"], p["dilation"])
                np.testing.assert_array_equal(got, fractal(dw, g, groups, raw=False), f"{depth} {p}")

    def test_input_gradients(self):
        generator = np.random.default_rng(12)
        for depth in (0, 1):
            for _ in range(12):
                p = self.problem(generator, depth)
                cin, cout, groups = p["cin"], p["cout"], p["groups"]
                w, dy = integers(generator, (cout, cin // groups, *p["kernel"])), integers(generator, (p["n"], cout, *p["out"]))
                g = dsl.group_dict(cin, cout, groups)
                filters = fractal(block_diagonal(w, groups), g, groups, raw=False).astype(np.float16)
                operands = (tvm.placeholder(filters.shape, name="filter", dtype="float16"),
                            self.placeholder(p, cout, p["out"], depth))
                k = p["kernel"]
                if depth:
                    result = dsl.conv3d_backprop_input(*operands, [cout, cin // groups, *k], [p["n"], *p["in"], cin],
                                                       self.para(p, 1, group_dict=g))
                else:
                    result = dsl.conv2d_backprop_input(*operands, [cout, cin // groups, *k[1:]], [p["n"], cin, *p["in"][1:]],
                                                       self.para(p, 0, group_dict=self.extend_dict(cin, cout, groups)))
                got = dsl.build(result)(filters, squeezed(blocked(dy), not depth))
                dx = input_gradient(dy, w, groups, (p["n"], cin, *p["in"]), p["stride"], p["pads"], p["dilation"])
                np.testing.assert_array_equal(got, squeezed(blocked(dx), not depth), f"{depth} {p}")


class Build(unittest.TestCase):
    def setUp(self):
        fmap = tvm.placeholder((1, 1, 6, 6, 16), name="fmap", dtype="float16")
        dedy = tvm.placeholder((1, 1, 6, 6, 16), name="dedy", dtype="float16")
        self.result = dsl.conv2d_backprop_filter(fmap, dedy, [16, 16, 3, 3], {"strides": [1, 1], "padding": [1] * 4})
        self.arrays = np.ones(fmap.shape, np.float16), np.ones(dedy.shape, np.float16)

    def printed(self, **config):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            operator = dsl.build(dsl.auto_schedule([self.result], option=None), config)
        return operator, out.getvalue()

    def test_print_ir(self):
        operator, text = self.printed(print_ir=True)
        self.assertRegex(text, r"kernel")
        self.assertEqual(operator(*self.arrays)[4, 0, 0, 0], 36)
        self.assertEqual(self.printed(print_ir=False)[1], "")
        self.assertEqual(self.printed()[1], "")

    def test_need_build(self):
        session = cubejit.Session()
        operator = dsl.build(self.result, {"need_build": False, "name": "later"}, session)
        self.assertEqual(operator.name, "later")
        with self.assertRaisesRegex(cubejit.InvalidProblem, "later was not built: need_build is False"):
            operator(*self.arrays)
        self.assertEqual(dsl.build(self.result, {"need_build": True})(*self.arrays)[4, 0, 0, 0], 36)

    def test_keys_without_effect(self):
        config = {"bool_storage_as_1bit": False, "kernel_meta_parent_dir": "nowhere", "tbe_debug_level": 2}
        self.assertEqual(dsl.build(self.result, config)(*self.arrays)[4, 0, 0, 0], 36)
        self.assertFalse(Path("nowhere").exists())

    def test_what_is_refused(self):
        for config, words in (({"tensorlist": []}, "config_map has an unknown key 'tensorlist'; the nearest is tensor_list"),
                              ({"qq": 1}, "unknown key 'qq'; there are print_ir, need_build, name"),
                              ({"name": "1st"}, "name '1st' must be at most 200 letters"),
                              ({"name": "n" * 201}, "at most 200"),
                              ({"name": "a-b"}, "name 'a-b'")):
            with self.assertRaises(cubejit.InvalidProblem) as caught:
                dsl.build(self.result, config)
            self.assertIn(words, str(caught.exception))
        self.assertEqual(dsl.build(self.result, {"name": "n" * 200}).name, "n" * 200)


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
        self.refused("para_dict has an unknown key 'stride'; the nearest is strides", stride=[1, 1, 1])
        self.refused("para_dict has an unknown key 'padding'; there are strides, ", padding=[0] * 4)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "para_dict has no strides\npara_dict has no pads"):
            dsl.conv3d_backprop_filter(self.fmap, self.dedy, [16, 1, 16, 3, 3], {})
        self.refused("group_dict has no mag_factor", "group_dict has no cout_ori", "unknown key 'x'",
                     group_dict={"real_g": 1, "cin1_g": 1, "cout_g": 16, "cin_ori": 16, "x": 1})
        self.refused("group_dict real_g = 3; the formula gives 1", group_dict={**dsl.group_dict(16, 16, 1), "real_g": 3})
        self.refused("group_result is 'mask'", group_result="mask")
        with self.assertRaises(cubejit.Unsupported):
            self.call(soc="ascend0")

    def test_input_gradients(self):
        filters = tvm.placeholder((9, 1, 16, 16), name="filters", dtype="float16")
        dedy = tvm.placeholder((1, 1, 6, 6, 16), name="dedy", dtype="float16")
        para = {"strides": [1, 1], "padding": [1] * 4}
        for changes, words in (({"offset_x": 2}, "offset_x = 2 must be 0"), ({"offset_w": 1}, "offset_w = 1 must be None"),
                               ({"group_dict": {"filter_ori_format": "HWCN"}}, "filter_ori_format is 'HWCN'; it must be NCHW"),
                               ({"group_dict": {"groups": 1}}, "group_dict has no g_extend"),
                               ({"group_dict": {"real_g": 1}}, "group_dict has an unknown key 'real_g'"),
                               ({"group_result": "raw"}, "unknown key 'group_result'"),
                               ({"res_dtype": "int32"}, "res_dtype is int32; it must be float16 or float32")):
            with self.assertRaises(cubejit.InvalidProblem) as caught:
                dsl.conv2d_backprop_input(filters, dedy, [16, 16, 3, 3], [1, 16, 6, 6], {**para, **changes})
            self.assertIn(words, str(caught.exception))
        with self.assertRaisesRegex(cubejit.InvalidProblem, "input_sizes has 3 values"):
            dsl.conv2d_backprop_input(filters, dedy, [16, 16, 3, 3], [1, 16, 6], para)
        with self.assertRaisesRegex(TypeError, "filters is list; it must be a tensor of tvm.placeholder"):
            dsl.conv2d_backprop_input([1], dedy, [16, 16, 3, 3], [1, 16, 6, 6], para)

    def test_types_of_arguments(self):
        with self.assertRaisesRegex(TypeError, "nothing that strides may be"):
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
