# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides that the model by which ONNX Runtime is measured is the problem's convolution, and that it says what it does not compute."""
import itertools
import pathlib
import sys
import unittest

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError as absent:
    raise unittest.SkipTest("ONNX Runtime is not installed (tools/setup.sh peers)") from absent

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import peer_onnxruntime

PROBLEM = {"name": "p", "rank": 2, "n": 2, "ci": 4, "co": 6, "groups": 2, "input": [1, 7, 9], "output": [1, 4, 8], "kernel": [1, 3, 2],
           "stride": [1, 2, 1], "dilation": [1, 1, 2], "pad": [0, 0, 2, 0, 0, 1]}


def by_definition(problem, x, w):
    (_, before_h, before_w), (_, stride_h, stride_w), (_, step_h, step_w) = problem["pad"][::2], problem["stride"], problem["dilation"]
    y = numpy.zeros((problem["n"], problem["co"], *problem["output"][1:]), numpy.float32)
    each, outputs = problem["ci"] // problem["groups"], problem["co"] // problem["groups"]
    for c, h, v, r, s in itertools.product(*map(range, (*y.shape[1:], *w.shape[2:]))):
        i, j = h * stride_h + r * step_h - before_h, v * stride_w + s * step_w - before_w
        if 0 <= i < x.shape[2] and 0 <= j < x.shape[3]:
            first = c // outputs * each
            y[:, c, h, v] += x[:, first:first + each, i, j] @ w[c, :, r, s]
    return y


class PeerOnnxruntime(unittest.TestCase):
    def test_the_model_is_the_problems_convolution(self):
        x = numpy.random.default_rng(1).integers(-8, 9, (2, 4, 7, 9)).astype(numpy.float32)
        w = numpy.random.default_rng(2).integers(-8, 9, (6, 2, 3, 2)).astype(numpy.float32)
        expected = by_definition(PROBLEM, x, w)
        with peer_onnxruntime.silence():
            session = onnxruntime.InferenceSession(peer_onnxruntime.model_of(PROBLEM, x, w, expected.shape), peer_onnxruntime.options_of([0], 1),
                                                   providers=["CPUExecutionProvider"])
        numpy.testing.assert_array_equal(session.run(None, {"x": x})[0], expected)

    def test_what_it_does_not_compute_has_a_reason(self):
        prepare = peer_onnxruntime.preparer(peer_onnxruntime.options_of([0], 1))
        for refused in (("dx", "ncdhw", "f32"), ("y", "ndhwc", "f32"), ("y", "ncdhw", "bf16")):
            with self.assertRaises(ValueError):
                prepare(PROBLEM, *refused)
        prepare(PROBLEM, "y", "ncdhw", "f32")()


if __name__ == "__main__":
    unittest.main()
