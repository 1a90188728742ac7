# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of kernels that Python functions define: their text has the program that kernels/ has, stays parametric, is short to write,
and what is wrong is said where it was written."""

import importlib
import inspect
import pathlib
import re
import unittest

import numpy as np

import cubejit

KERNELS = pathlib.Path(__file__).resolve().parent.parent.parent / "kernels"
module = importlib.import_module("cubejit.define")


@cubejit.define
def gemm(k, type=("f32", "bf16", "f16"), M=96, N=128, K=64, mr=(4, 1, 2, 3, 5, 6, 8, 12), nr=(16, 8, 24, 32, 48, 64)):
    "C = relu(A B + bias)."
    A, B, bias = k.input("A", type, M, K), k.input("B", type, K, N), k.input("bias", type, N)
    C = k.output("C", type, M, N)
    p = k.index("k", K)
    with k.parallel("j", N, by=nr) as j:
        panel = k.let("panel", B[p, j], over=(p, j))
        beside = k.let("beside", bias[j], over=j)
        with k.loop("i", M, by=mr) as i:
            C[i, j] = k.relu(k.sum(A[i, p] * panel[p, j], over=p) + beside[j])


@cubejit.define
def softmax(k, type=("f32", "bf16", "f16"), M=64, N=200, rows=(16, 1, 2, 4, 8, 32, 64, 128)):
    X, Y = k.input("X", type, M, N), k.output("Y", type, M, N)
    j = k.index("j", N)
    with k.parallel("i", M, by=rows) as i:
        most = k.let("most", k.max(X[i, j], over=j), over=i)
        e = k.let("e", k.exp(X[i, j] - most[i]), over=(i, j))
        scale = k.let("scale", 1 / k.sum(e[i, j], over=j), over=i)
        Y[i, j] = e[i, j] * scale[i]


@cubejit.define
def attention(k, type=("f32", "bf16", "f16"), H=2, T=96, D=64, rows=(4, 1, 2, 6, 8, 12), keys=(16, 8, 32), columns=(16, 8, 32, 64)):
    k.require(rows * columns <= 448)
    Q, K, V = (k.input(name, type, H, T, D) for name in "QKV")
    Y = k.output("Y", type, H, T, D)
    d, u = k.index("d", D), k.index("u", T)
    with k.parallel("h", H) as h:
        turned_keys = k.let("turned_keys", K[h, u, d], over=(d, u))
        with k.loop("i", T, by=rows) as i:
            q = k.let("q", Q[h, i, d] * k.rsqrt(D), over=(i, d))
            scores = k.let("scores", over=(i, u))
            with k.loop("v", T, by=keys) as v:
                scores[i, v] = k.sum(q[i, d] * turned_keys[d, v], over=d)
            most = k.let("most", k.max(scores[i, u], over=u), over=i)
            e = k.let("e", k.exp(scores[i, u] - most[i]), over=(i, u))
            scale = k.let("scale", 1 / k.sum(e[i, u], over=u), over=i)
            with k.loop("c", D, by=columns) as c:
                Y[h, i, c] = k.sum(e[i, u] * V[h, u, c], over=u) * scale[i]


@cubejit.define
def causal_attention(k, type=("f32", "bf16", "f16"), H=2, T=96, D=64, rows=(4, 1, 2, 6, 8, 12), keys=(16, 8, 32), columns=(16, 8, 32, 64)):
    k.require(rows * columns <= 448)
    Q, K, V = (k.input(name, type, H, T, D) for name in "QKV")
    Y = k.output("Y", type, H, T, D)
    d, u = k.index("d", D), k.index("u", T)
    with k.parallel("h", H) as h:
        turned_keys = k.let("turned_keys", K[h, u, d], over=(d, u))
        with k.loop("i", T, by=rows) as i:
            q = k.let("q", Q[h, i, d] * k.rsqrt(D), over=(i, d))
            scores = k.let("scores", over=(i, u))
            with k.loop("v", T, by=keys) as v:
                scores[i, v] = k.sum(q[i, d] * turned_keys[d, v], over=d)
            scores[i, u] = k.select(k.at_most(u, i), scores[i, u], -float("inf"))
            most = k.let("most", k.max(scores[i, u], over=u), over=i)
            e = k.let("e", k.exp(scores[i, u] - most[i]), over=(i, u))
            scale = k.let("scale", 1 / k.sum(e[i, u], over=u), over=i)
            with k.loop("c", D, by=columns) as c:
                Y[h, i, c] = k.sum(e[i, u] * V[h, u, c], over=u) * scale[i]


@cubejit.define
def argmax(k, type=("f32", "bf16", "f16"), M=64, N=200, rows=(16, 1, 2, 4, 8, 32, 64, 128)):
    X, Y = k.input("X", type, M, N), k.output("Y", "i32", M)
    j = k.index("j", N)
    with k.parallel("i", M, by=rows) as i:
        Y[i] = k.argmax(X[i, j], over=j)


@cubejit.define
def pooling(k, type=("f32", "bf16", "f16"), N=2, H=17, W=19, C=32, channels=(16, 8, 32, 64), pixels=(4, 6, 8, 11, 13)):
    """Pooling of channels last, windows of 3 x 3 with stride 2:
    the greatest, passing over NaN, and the mean."""
    h, w = (H - 3) / 2 + 1, (W - 3) / 2 + 1
    X = k.input("X", type, N, H, W, C)
    most, mean = k.output("most", type, N, h, w, C), k.output("mean", type, N, h, w, C)
    i, j = k.index("i", 3), k.index("j", 3)
    with k.parallel("n", N) as n, k.parallel("y", h) as y, k.loop("x", w, by=pixels) as x, k.loop("c", C, by=channels) as c:
        window = X[n, 2 * y + i, 2 * x + j, c]
        most[n, y, x, c] = k.max(window, over=(i, j))
        mean[n, y, x, c] = k.sum(window, over=(i, j)) / 9


@cubejit.define
def depthwise(k, type=("f32", "bf16", "f16"), N=2, H=12, W=14, C=48, channels=(16, 8, 32), pixels=(4, 1, 2, 6)):
    X, w = k.input("X", type, N, H, W, C), k.input("w", type, 3, 3, C)
    Y = k.output("Y", type, N, H - 2, W - 2, C)
    i, j = k.index("i", 3), k.index("j", 3)
    with k.parallel("n", N) as n, k.parallel("y", H - 2) as y, k.loop("c", C, by=channels) as c, k.loop("x", W - 2, by=pixels) as x:
        Y[n, y, x, c] = k.silu(k.sum(w[i, j, c] * X[n, y + i, x + j, c], over=(i, j)))


@cubejit.define
def transpose(k, type=("f32", "bf16", "f16"), M=96, N=128, rows=(32, 16, 64, 128, 256), columns=(32, 16, 64)):
    X, Y = k.input("X", type, M, N), k.output("Y", type, N, M)
    with k.parallel("i", M, by=rows) as i, k.parallel("j", N, by=columns) as j:
        Y[j, i] = X[i, j]


@cubejit.define
def batch_norm(k, type=("f32", "bf16", "f16"), P=400, C=64, pixels=(32, 8, 100)):
    X, gamma, beta = k.input("X", type, P, C), k.input("gamma", type, C), k.input("beta", type, C)
    Y = k.output("Y", type, P, C)
    p, c = k.index("p", P), k.index("c", C)
    mean = k.let("mean", k.sum(X[p, c], over=p) / P, over=c)
    from_mean = X[p, c] - mean[c]
    scale = k.let("scale", gamma[c] * k.rsqrt(k.sum(from_mean * from_mean, over=p) / P + 1e-5), over=c)
    shift = k.let("shift", beta[c] - mean[c] * scale[c], over=c)
    with k.parallel("q", P, by=pixels) as q:
        Y[q, c] = X[q, c] * scale[c] + shift[c]


@cubejit.define
def total(k, type=("f32", "bf16", "f16"), parts=16, N=1000):
    X, S = k.input("X", type, parts, N), k.output("S", type, 1)
    j, q = k.index("j", N), k.index("q", parts)
    sums = k.let("sums", over=q)
    with k.parallel("p", parts) as p:
        sums[p] = k.sum(X[p, j], over=j)
    S[0] = k.sum(sums[q], over=q)


def body(of, **parameters):
    """A kernel around one function of a builder, an input, an output and an index."""
    def kernel(k, M=8):
        of(k, k.input("X", "f32", M), k.output("Y", "f32", M), k.index("i", M))
    return cubejit.define(kernel)


def lines(of):
    return body(of).text.splitlines()[6:]


class SameAsTheTexts(unittest.TestCase):
    def test_programs(self):
        for defined, sizes in ((gemm, {"M": 33, "N": 90, "K": 50, "mr": 5}), (softmax, {"M": 13}), (attention, {"T": 20, "columns": 8}),
                               (causal_attention, {"T": 20, "keys": 8}), (argmax, {"N": 77}),
                               (pooling, {"H": 9, "channels": 8}), (depthwise, {"W": 9}), (transpose, {"rows": 16}), (batch_norm, {"P": 8}),
                               (total, {"N": 100})):
            for parameters in ({}, sizes):
                with self.subTest(kernel=defined.name, parameters=parameters):
                    self.assertEqual(defined(**parameters).program, cubejit.Kernel(KERNELS / f"{defined.name}.tile", **parameters).program)

    def test_text(self):
        comments = re.compile("^;.*\n", re.M)
        for defined in (gemm, softmax, attention, causal_attention, argmax, pooling, depthwise, transpose, batch_norm, total):
            wanted = (KERNELS / f"{defined.name}.tile").read_text(encoding="utf-8")
            self.assertEqual(comments.sub("", defined.text), comments.sub("", wanted).replace("1e-5", "1e-05"))
        self.assertEqual(gemm.text.splitlines()[1], "; C = relu(A B + bias).")
        self.assertEqual(pooling.text.splitlines()[1:3],
                         ["; Pooling of channels last, windows of 3 x 3 with stride 2:", "; the greatest, passing over NaN, and the mean."])

    def test_runs_with_options(self):
        x = np.ones((3, 4), np.float32)
        np.testing.assert_array_equal(softmax(M=3, N=4, threads=1)(x), x / 4)
        self.assertEqual(softmax(M=3).name, "softmax")
        self.assertEqual((gemm.__name__, gemm.__doc__, repr(gemm)), ("gemm", "C = relu(A B + bias).", "<cubejit.define gemm>"))

    def test_runs_on_arrays_of_any_size(self):
        random = np.random.default_rng(2)
        for m, k, n in ((5, 7, 16), (3, 9, 20), (5, 7, 16)):
            a, b, bias = (random.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n), (n,)))
            np.testing.assert_array_equal(gemm(a, b, bias), gemm(M=m, K=k, N=n)(a, b, bias))
            np.testing.assert_array_equal(gemm(B=b, A=a, bias=bias, mr=2, threads=1), gemm(a, b, bias, mr=2))
        np.testing.assert_array_equal(cubejit.jit(gemm, mr=1)(a, b, bias), gemm(a, b, bias, mr=1))
        with self.assertRaisesRegex(cubejit.InvalidProblem, "dimension 0 of B is 6; K is 7 by dimension 1 of A"):
            gemm(a, b[:6], bias)
        with self.assertRaisesRegex(cubejit.InvalidProblem, r"^define_test\.py:\d+: line 8, column \d+: mr is 7; it may be"):
            gemm(a, b, bias, mr=7)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "has no parameter MM"):
            gemm(a, b, bias, MM=7)

    def test_length(self):
        self.assertLessEqual(len(inspect.getsource(gemm.__wrapped__).splitlines()), 40)


class Text(unittest.TestCase):
    def test_declarations(self):
        @cubejit.define
        def f(k, M, N=-3, T=("f32", "bf16"), U="f16", *, by=(np.int64(4), 2)):
            k.require(M * by <= 96)
            for condition in (M < 1, M <= 1, M > 1, M >= 1, M == 1, 1 < M):
                k.require(condition)
            X, Y = k.input("X", T, M, N + 4, strides=(1, M)), k.output("Y", U, M - 1)
            with k.parallel("i", M - 1) as i:
                Y[i] = X[i, 0]
        self.assertEqual(f.text, "cubejit kernel 1\nkernel f\nparameter M\nparameter N = -3\nparameter T in f32 bf16\nparameter U = f16\n"
                                 "parameter by in 4 2\nrequire M * by <= 96\nrequire M < 1\nrequire M <= 1\nrequire M > 1\nrequire M >= 1\n"
                                 "require M == 1\nrequire M > 1\ninput X T [M, N + 4] strides [1, M]\noutput Y U [M - 1]\n"
                                 "parallel i in M - 1\n  Y[i] = X[i, 0]\n")

    def test_expressions(self):
        def of(k, X, Y, i):
            x, M = X[i], k.input("W", "f32", 1)[0]
            for value in (x - (M - x), x - M - x, x / (x * M), (x + 1) * -x, -(x + 1), -(-x), 2 - x, 2 / x, np.float32(0.5) * x, x - -1,
                          k.max(x, 0), k.max(x, over=i), k.min(x, x), k.sum(x * x, over=[i]), k.argmin(x, over=[i]), k.argmax(x - i, over=i),
                          i, x * i, x + 2 * i, (i + 1) * x, k.select(k.less(i, M), x, i - 3)):
                Y[i] = value
            s = k.let("s", 1)
            s[()] = s[()] + X[2 * (i - 1) / -3]
        self.assertEqual([line.split(" = ")[1] for line in lines(of)[1:-2]],
                         ["X[i] - (W[0] - X[i])", "X[i] - W[0] - X[i]", "X[i] / (X[i] * W[0])", "(X[i] + 1) * -X[i]", "-(X[i] + 1)", "--X[i]",
                          "2 - X[i]", "2 / X[i]", "0.5 * X[i]", "X[i] - -1",
                          "max(X[i], 0)", "max[i](X[i])", "min(X[i], X[i])", "sum[i](X[i] * X[i])", "argmin[i](X[i])", "argmax[i](X[i] - i)",
                          "i", "X[i] * i", "X[i] + 2 * i", "(i + 1) * X[i]", "select(less(i, W[0]), X[i], i - 3)"])
        self.assertEqual(lines(of)[-2:], ["let s = 1", "s = s + X[2 * (i - 1) / -3]"])

    def test_numbers_read_back(self):
        random = np.random.default_rng(1).integers(0, 2**32, 300, dtype=np.uint32).view(np.float32)
        numbers = [x for x in (0.1, -0.1, 1e-5, 1 / 3, 1e30, -1e-30, 1e-45, 16777217.0, 3.4028235e38, 0.0, -0.0, float("inf"), -float("inf"), *random)
                   if not np.isnan(x)]
        y = np.zeros(len(numbers), np.float32)

        @cubejit.define
        def constants(k, N=len(numbers)):
            Y = k.output("Y", "f32", N)
            for at, number in enumerate(numbers):
                Y[at] = number
        constants()(Y=y)
        np.testing.assert_array_equal(y.view(np.uint32), np.float32(numbers).view(np.uint32))
        self.assertEqual([module._number(x) for x in (0.1, 1e-5, 2.0, -1.5, 1e30)], ["0.1", "1e-05", "2", "-1.5", "1e+30"])

    def test_operations_are_the_languages(self):
        with self.assertRaises(cubejit.InvalidProblem) as raised:
            cubejit.Kernel("cubejit kernel 1\nkernel k\noutput Y f32 [1]\nY[0] = nonsense(1)\n")
        words = re.search(r"operations are ([a-z_, ]+)", str(raised.exception))[1].split(", ")
        self.assertEqual(sorted(words), sorted(module.OPERATIONS))

        def of(k, X, Y, i):
            for word, operands in module.OPERATIONS.items():
                Y[i] = getattr(k, {"and": "and_", "or": "or_"}.get(word, word))(*[X[i]] * operands)
        body(of)()


class Mistakes(unittest.TestCase):
    def test_said_at_once(self):
        @cubejit.define
        def other(k, T=("f32", "f16")):
            with self.assertRaisesRegex(cubejit.InvalidProblem, "the type T, which is no expression"):
                k.input("X", "f32", T)

        def not_closed(k, X, Y, i):
            k.loop("j", 3).__enter__()
            Y[0] = 0

        def twice(k, X, Y, i):
            loop = k.loop("j", 3)
            with loop as j:
                Y[j] = 0
            with loop as j:
                Y[j] = 0

        def empty(k, X, Y, i):
            with k.loop("j", 3):
                pass

        def within(k, X, Y, i):
            with k.loop("j", 3):
                k.input("Z", "f32", 1)

        def set_(k, memory, at, value):
            memory[at] = value

        for of, told in (
                (lambda k, X, Y, i: set_(k, X, i, 0), "X is an input, which nothing is written to"),
                (lambda k, X, Y, i: set_(k, Y, (i, i), 0), "Y has 1 dimensions, here are 2 subscripts"),
                (lambda k, X, Y, i: set_(k, Y, i, "x"), "what Y gets is 'x', which is no expression"),
                (lambda k, X, Y, i: set_(k, Y, i, X), r"what Y gets is the whole of X, which is no expression; X\[...\] are its elements"),
                (lambda k, X, Y, i: X[i] + True, r"an operand of \+ is True"),
                (lambda k, X, Y, i: X[X[0] + i], r"a subscript of X is X\[0\] \+ i, which is a value; it may be a whole number or a multiple of an"),
                (lambda k, X, Y, i: k.argmax(X[i], over=2 * i), r"argmax goes over 2 \* i, which is no index"),
                (lambda k, X, Y, i: k.let("argmin", 1), "memory is named argmin, which is a word of the language"),
                (lambda k, X, Y, i: X[X[i]], r"a subscript of X is X\[i\], which is a value"),
                (lambda k, X, Y, i: X[:], r"a subscript of X is slice\(None, None, None\)"),
                (lambda k, X, Y, i: X[i] + 1e39, "1e\\+39 is beyond float32"),
                (lambda k, X, Y, i: X[i // 2], "// is no operation"),
                (lambda k, X, Y, i: k.input("Z", "f64", 1), "the type of Z is 'f64'; it may be f32, f16, bf16"),
                (lambda k, X, Y, i: k.input("Z", "f32", i), "an extent of Z is i, which is a multiple of an index"),
                (lambda k, X, Y, i: k.input("Z", "f32", 1.5), "an extent of Z is 1.5, which is a value"),
                (lambda k, X, Y, i: k.input("Z", "f32", 1, 2, strides=(1,)), "Z has 2 extents and 1 strides"),
                (lambda k, X, Y, i: k.input("Z 1", "f32", 1), "a tensor is named 'Z 1'; a name is a letter or _"),
                (lambda k, X, Y, i: k.input(i, "f32", 1), "a tensor is named i; a name is"),
                (lambda k, X, Y, i: k.input("X", "f32", 1), "there is a X already"),
                (lambda k, X, Y, i: k.let("M", 1), "there is a M already"),
                (lambda k, X, Y, i: k.index("exp", 3), "an index is named exp, which is a word of the language"),
                (lambda k, X, Y, i: k.let("s", X[i], over=2 * i), r"let s goes over 2 \* i, which is no index"),
                (lambda k, X, Y, i: k.sum(X[i], over="i"), "sum goes over 'i', which is no index"),
                (lambda k, X, Y, i: k.relu(X[i], 1), "relu has 1 operands, here are 2"),
                (lambda k, X, Y, i: k.max(X[i]), "max has 2 operands, here are 1"),
                (lambda k, X, Y, i: k.require(True), "require takes a comparison of parameters, not True"),
                (lambda k, X, Y, i: k.require(X[i] < 1), r"the left of < is X\[i\], which is a value"),
                (lambda k, X, Y, i: 1 if X[i] else 2, r"X\[i\] is a number when the kernel is made"),
                (lambda k, X, Y, i: 1 < k.let("s", 1)[()] < 3, "the left of > is s"),
                (lambda k, X, Y, i: k.require(X[0] != 1), "!= is no comparison"),
                (lambda k, X, Y, i: (k.loop("j", 3), k.let("s", 1)), r"loop j is not entered: 'with k.loop\(...\) as j:'"),
                (lambda k, X, Y, i: k.loop("j", 3), "loop j is not entered"),
                (not_closed, "a loop is not left"),
                (twice, "loop j is entered a second time"),
                (empty, "loop j has nothing in it"),
                (within, r"input Z f32 \[1\]: declarations stand outside all loops")):
            with self.subTest(told=told), self.assertRaisesRegex(cubejit.InvalidProblem, told):
                body(of)

    def test_text_that_grows(self):
        def of(k, X, Y, i):
            x = X[i]
            for _ in range(40):
                x = x * x
        with self.assertRaisesRegex(cubejit.InvalidProblem, "more than 65536 characters; name parts of it with k.let"):
            body(of)

    def test_parameters(self):
        def none(): pass
        def many(k, *sizes): pass
        def real(k, M=1.5): pass
        def mixed(k, M=(1, "f32")): pass
        def type_(k, T=("f32", "f64")): pass
        def option(k, threads=1): pass
        def word(k, sum=1): pass
        for function, told in ((none, "none has no parameter for the builder"), (many, r"\*sizes: each parameter of a kernel has its name"),
                               (real, "parameter M has 1.5; it may have"), (mixed, r"parameter M has \(1, 'f32'\)"),
                               (type_, r"parameter T has \('f32', 'f64'\)"), (option, "a parameter is named threads, which is an argument of"),
                               (word, "a parameter is named sum, which is a word"), (3, "define takes a function, not 3"),
                               (lambda k: None, "the kernel is named '<lambda>'")):
            with self.subTest(told=told), self.assertRaisesRegex(cubejit.InvalidProblem, told):
                cubejit.define(function)

    def test_the_texts_mistakes_name_lines_of_python(self):
        @cubejit.define
        def outside(k, M=8):
            X, Y = k.input("X", "f32", M), k.output("Y", "f32", M)
            with k.parallel("i", M) as i:
                Y[i] = X[i + 1]
            Y[i] = X[i]
        first = inspect.getsourcelines(outside.__wrapped__)[1]
        self.assertEqual(outside.places[-2:], ((__file__, first + 4), (__file__, first + 5)))
        self.assertEqual(len(outside.places), len(outside.text.splitlines()))
        with self.assertRaisesRegex(cubejit.InvalidProblem, rf"^define_test.py:{first + 5}: line 8, column 3: there is no") as raised:
            outside()
        self.assertEqual(raised.exception.code, "invalid_problem")

        @cubejit.define
        def far(k, M=8):
            X, Y, Z = k.input("X", "f32", M), k.output("Y", "f32", M), k.output("Z", "f32", M)
            with k.parallel("i", M) as i:
                Y[i] = X[i + 1]
                Z[i] = X[i + 2]
        first = inspect.getsourcelines(far.__wrapped__)[1]
        with self.assertRaises(cubejit.InvalidProblem) as raised:
            far()
        told = str(raised.exception).split("\n")
        self.assertEqual([line[:line.index(": reads")] for line in told], [f"define_test.py:{first + n}: line {n + 4}" for n in (4, 5)])
        with self.assertRaisesRegex(cubejit.InvalidProblem, rf"^far has no parameter N"):
            far(N=1)


if __name__ == "__main__":
    unittest.main()
