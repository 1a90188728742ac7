# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks: is an argument of the wrong kind, or a number out of range, told by its name, with what was given and what would be right, at every entry?"""

import re
import tempfile
import unittest
import warnings

try:
    import numpy
except ImportError:
    raise unittest.SkipTest("python3-numpy is not installed")

import cubejit

X = numpy.ones((1, 2, 5), numpy.float32)
W = numpy.ones((3, 2, 3), numpy.float32)
DY = numpy.ones((1, 3, 3), numpy.float32)
PROBLEM = cubejit.Problem((1, 2, 5), (3, 2, 3))
WHOLE = re.escape("a whole number from -2^63 to 2^63 - 1")


class Arguments(unittest.TestCase):
    def refused(self, words, call, *args, **kwargs):
        with self.assertRaisesRegex(TypeError, words) as caught:
            call(*args, **kwargs)
        self.assertNotIn("incompatible function arguments", str(caught.exception))
        self.assertNotIn("incompatible constructor arguments", str(caught.exception))

    def each(self, call, *args, values):
        for name, wrong in values.items():
            for value, words in wrong:
                with self.subTest(name=name, value=value):
                    self.refused(rf"^{name} = {re.escape(repr(value))} \(\w+\) must be {words}", call, *args, **{name: value})

    GEOMETRY = {
        name: [(1.5, WHOLE + ", or a list of them"), ("2", WHOLE), ([1.5], WHOLE), (2**70, WHOLE), (None, WHOLE), ((1, 2**64), WHOLE)]
        for name in ("stride", "padding", "dilation", "output_padding")}
    GEOMETRY["groups"] = [(1.5, WHOLE), ("2", WHOLE), ([1], WHOLE), (2**63, WHOLE)]
    GEOMETRY["transposed"] = [("no", "True or False")]
    CALL = {"threads": [(1.5, re.escape("a whole number from -2^31 to 2^31 - 1")), (2**40, "a whole number")],
            "math": [(1, "a string"), (None, "a string")], "activation": [(5, "a string"), (["relu"], "a string")],
            "session": [("s", "a Session"), (0, "a Session")]}

    def test_conv(self):
        self.each(cubejit.conv, X, W, values={**self.GEOMETRY, **self.CALL})

    def test_conv_backward(self):
        self.each(cubejit.conv_backward, DY, X, W, values={
            **self.GEOMETRY, **self.CALL, "output_mask": [(5, "3 values"), ("yes", "3 values"), (("x", 1, 1), "3 values, each True or False")],
            "out": [(5, "3 values")]})

    def test_problem(self):
        self.each(cubejit.Problem, (1, 2, 5), (3, 2, 3), values={
            **self.GEOMETRY, "dtype": [(32, "a string"), (numpy.float32, "a string")], "layout": [(None, "a string")],
            "formats": [("f32", "a dict from a string to a pair"), ({"w": "f32"}, "a dict")]})
        self.refused(r"^x = 5 \(int\) must be a list, each a whole number", cubejit.Problem, 5, (3, 2, 3))
        self.refused(r"^x = \(1, 2.5, 3\) \(tuple\) must be a list", cubejit.Problem, (1, 2.5, 3), (3, 2, 3))

    def test_sessions(self):
        self.each(cubejit.Session, values={
            "threads": [(1.5, "a whole number"), ("2", "a whole number")], "isa": [(2, "a string, or None")], "tune_seconds": [("2", "a number, or None")],
            "mem_limit": [(1.5, "a whole number"), (2**63, "a whole number"), ("64M", "a whole number")], "elide_copies": [("no", "True or False")],
            "machine": [(910, "a string, or None")]})
        self.refused("unexpected keyword argument 'thread'", cubejit.Session, thread=2)
        for name, value in (("threads", -5), ("mem_limit", -1), ("tune_seconds", -1.0), ("tune_seconds", float("nan"))):
            with self.subTest(name=name, value=value), self.assertRaisesRegex(cubejit.InvalidProblem, str(value)):
                cubejit.Session(**{name: value})
        session = cubejit.Session()
        self.refused(r"^problem = \(1, 2\) \(tuple\) must be a Problem", session.plan, (1, 2), "dx")
        self.refused(r"^passes = 'dx' \(str\) must be a list, each a string", session.compile, PROBLEM, "dx")

    def test_several_are_told_at_once(self):
        with self.assertRaises(TypeError) as caught:
            cubejit.conv(X, W, stride=1.5, groups="two")
        self.assertEqual([line.split(" ")[0] for line in str(caught.exception).splitlines()], ["stride", "groups"])

    def test_plan_dump_and_tune(self):
        self.each(cubejit.plan, PROBLEM, values={"pass_": [(1, "a string")], "explain": [("yes", "True or False")]})
        self.refused(r"^problem = 'p' \(str\) must be a Problem", cubejit.plan, "p")
        for passes in ("dx", 5, [1]):
            self.refused(r"^passes = ", cubejit.plan_call, PROBLEM, passes)
            self.refused(r"^passes = ", cubejit.dump, PROBLEM, "/nowhere", passes)
        self.refused(r"^passes = 'dx'", cubejit.tune, PROBLEM, "dx")
        self.refused(r"^seconds = '2' \(str\) must be a number", cubejit.tune, PROBLEM, seconds="2")
        for seconds in (0, -1, float("nan"), float("inf")):
            with self.assertRaisesRegex(cubejit.InvalidProblem, "seconds = "):
                cubejit.tune(PROBLEM, seconds=seconds)

    # pybind11 would answer with all signatures there are.
    def test_names_of_arguments(self):
        make, session = cubejit.Problem, cubejit.Session()
        self.refused(r"^Problem\(\) has no argument 'strides'; the nearest is stride; there are x, w, stride, ", make, (1, 2, 5), (3, 2, 3), strides=2)
        self.refused(r"^Problem\(\) has no argument 'pad'; .*\nProblem\(\) lacks its argument 'w'$", make, (1, 2, 5), pad=1)
        self.refused(r"^Problem\(\) takes 2 arguments without a name; it was given 3$", make, (1, 2, 5), (3, 2, 3), 1)
        self.refused(r"^Problem\(\) was given 'x' twice$", make, (1, 2, 5), (3, 2, 3), x=(1, 2, 5))
        self.refused(r"^Problem\(\) lacks its argument 'x'\nProblem\(\) lacks its argument 'w'$", make)
        self.refused(r"^compile\(\) has no argument 'pass_'; the nearest is passes; .*\ncompile\(\) lacks its argument 'passes'$",
                     session.compile, PROBLEM, pass_="dx")
        for call, wrong in ((session.plan, {"pass_": "dx", "explan": True}), (session.report, {"traces": True}),
                            (session.plan_call, {"passes": ["dx"], "problems": 1}), (session.dump, {"directory": "/nowhere", "stage": "all"})):
            name = list(wrong)[-1]
            self.refused(rf"^{call.__name__}\(\) has no argument '{name}'; the nearest is ", call, PROBLEM, **wrong)

    def test_old_names_of_arguments_are_taken_and_warned_of(self):
        session, chip = cubejit.Session(), cubejit.Session(machine="toy")
        with tempfile.TemporaryDirectory() as folder:
            for call, args, old, now, value in (
                    (cubejit.plan, [], "gradient", "pass_", "dw"), (session.plan, [], "gradient", "pass_", "dw"),
                    (cubejit.plan_call, [], "gradients", "passes", ["dw"]), (session.plan_call, [], "gradients", "passes", ["dw"]),
                    (cubejit.dump, [folder], "gradients", "passes", ["dw"]), (session.dump, [folder], "gradients", "passes", ["dw"]),
                    (session.compile, [], "gradients", "passes", ["dw"]), (chip.report, [], "gradient", "pass_", "dw")):
                with self.subTest(call=call, old=old):
                    problem = cubejit.Problem((1, 2, 5), (3, 2, 3), dtype="f16") if call == chip.report else PROBLEM
                    expected = call(problem, *args, **{now: value})
                    with self.assertWarnsRegex(DeprecationWarning, rf"^{call.__name__}\({old}=\) is called {now}= now$") as caught:
                        self.assertEqual(call(problem, *args, **{old: value}), expected)
                    self.assertEqual(caught.filename, __file__)
                    with self.assertRaisesRegex(TypeError, old):
                        call(problem, *args, **{now: value, old: value})
                    with warnings.catch_warnings():
                        warnings.simplefilter("error")
                        self.assertRaises(DeprecationWarning, call, problem, *args, **{old: value})

    def test_words_of_arguments(self):
        for call in (lambda **a: cubejit.conv(X, W, **a), lambda **a: cubejit.conv_backward(DY, X, W, **a)):
            for word, near in (("relaxd", "relaxed"), ("hf23", "hf32"), ("fast", "relaxed"), ("keep", "strict"), ("exact", "strict")):
                with self.subTest(word=word), self.assertRaisesRegex(
                        cubejit.InvalidProblem, f"unknown math '{word}'; the nearest is {near}; there are strict, relaxed, bf16, hf32, hf32_low"):
                    call(math=word)
        for name, word, near in (("backend", "xbiak", "xbyak"), ("tune", "alway", "always"), ("isa", "avx3", "avx2")):
            with self.subTest(name=name), self.assertRaisesRegex((cubejit.InvalidProblem, cubejit.Unsupported), f"the nearest is {near}"):
                cubejit.Session(**{name: word})
        with self.assertRaisesRegex(cubejit.InvalidProblem, "unknown post-op 'rellu'; the nearest is relu"):
            cubejit.conv(X, W, activation="rellu")
        with self.assertRaisesRegex(cubejit.InvalidProblem, "unknown stage 'vectr'; the nearest is vector"):
            cubejit.dump(PROBLEM, "/nowhere", stages="vectr")
        with self.assertRaisesRegex(cubejit.Error, "ascend910b2"):
            cubejit.Session(machine="ascend910b22")

    def test_what_is_right_is_taken(self):
        numpy.testing.assert_array_equal(cubejit.conv(X, W, numpy.int64(1), [0], (1,), False, 0, numpy.int32(1)), cubejit.conv(X, W))
        self.assertEqual(cubejit.conv(X, W, padding=numpy.array([1, 1])).shape, (1, 3, 5))

    def test_words_of_other_projects(self):
        for arguments, near in (({"dtype": "fp32"}, "f32"), ({"dtype": "float16"}, "f16"), ({"layout": "channels_last"}, "ndhwc"),
                                ({"formats": {"grad_weight": ("f32", "ncdhw")}}, "dw")):
            with self.subTest(arguments=arguments), self.assertRaisesRegex(cubejit.InvalidProblem, f"the nearest is {near}; there are "):
                cubejit.Problem((1, 2, 5), (3, 2, 3), **arguments)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "unknown pass 'forward'; the nearest is y; there are y, dx, dw, db"):
            cubejit.plan(PROBLEM, "forward")
        with self.assertRaisesRegex(cubejit.InvalidProblem, "unknown ISA 'avx512_core'; the nearest is avx512"):
            cubejit.Session(isa="avx512_core")
        self.assertEqual(cubejit.Problem((1, 2, 5), (3, 2, 3), layout="nhwc"), cubejit.Problem((1, 2, 5), (3, 2, 3), layout="ndhwc"))


if __name__ == "__main__":
    unittest.main()
