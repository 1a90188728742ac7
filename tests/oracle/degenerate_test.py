# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides that problems with hardly a term go through what a session does beside computing: plans, code, dumps, tuning, chips' reports."""

import os
import tempfile
import unittest

import numpy

import cubejit
import data
import draw
import judge
from definition import gradients


def problem_of(c, **formats):
    return cubejit.Problem(c.x_shape, c.w_shape, stride=list(c.stride), dilation=list(c.dilation), groups=c.groups,
                           padding=[side for pair in zip(c.before, c.after) for side in pair], transposed=c.transposed,
                           output_padding=list(c.output_padding) if c.transposed else 0, **formats)


class DegenerateTest(unittest.TestCase):
    def each(self):
        for name, c in draw.DEGENERATE.items():
            with self.subTest(name):
                yield c

    def test_plans_and_code(self):
        session = cubejit.Session(threads=2)
        for c in self.each():
            for dtype in ("f32", "f16", "bf16", "hf32"):
                for layout in ("ncdhw", "ndhwc", "ndc1hwc0"):
                    problem = problem_of(c, dtype=dtype, layout=layout)
                    self.assertEqual((problem.x_shape, problem.y_shape), (c.x_shape, c.y_shape))
                    session.compile(problem, ["dx", "dw", "db"])
                for gradient in ("dx", "dw", "db"):
                    planned = cubejit.plan(problem, gradient, explain=True, session=session)
                    self.assertTrue(any(not found["refused_by"] for found in planned["candidates"]) or gradient == "db")

    def test_dumps(self):
        session = cubejit.Session(threads=1)
        for c in self.each():
            with tempfile.TemporaryDirectory() as folder:
                for path in cubejit.dump(problem_of(c), folder, ["dx", "dw", "db"], session=session):
                    self.assertTrue(os.listdir(path))

    # A chip says what it cannot do; what it does, it reports.
    def test_reports(self):
        session, reported = cubejit.Session(threads=1, machine="ascend910b2"), 0
        for c in self.each():
            for gradient in ("dx", "dw", "db"):
                try:
                    report = session.report(problem_of(c, dtype="f16"), gradient)
                except cubejit.Unsupported as limit:
                    self.assertRegex(str(limit), "on ascend910b2")
                    continue
                self.assertGreaterEqual(report["predicted_cycles"], 0)
                reported += 1
        self.assertGreater(reported, 30)

    # A plan that was tuned for one of them computes it.
    def test_tuning(self):
        dice = numpy.random.default_rng(1)
        for c in self.each():
            with tempfile.TemporaryDirectory() as folder:
                session = cubejit.Session(threads=1, tune="missing", tune_seconds=0.01, store=f"{folder}/plans.db")
                read = data.operands(dice, "whole", (c.y_shape, c.x_shape, c.w_shape), ("f32",) * 3)
                results = cubejit.conv_backward(
                    *(a.astype(numpy.float32) for a in read), stride=list(c.stride), dilation=list(c.dilation), groups=c.groups,
                    padding=[side for pair in zip(c.before, c.after) for side in pair], transposed=c.transposed,
                    output_padding=list(c.output_padding) if c.transposed else 0, session=session)
                for result, sums in zip(results, gradients(c, *read)):
                    self.assertIsNone(judge.exact(result.astype(float), sums, "f32"), c)


if __name__ == "__main__":
    unittest.main()
