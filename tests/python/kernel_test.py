# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of kernels of one's own in Python: they compute what NumPy does, on arrays that are given or made, and arrays that do not
fit are refused with everything that is wrong."""

import os
import pathlib
import tempfile
import threading
import unittest
import unittest.mock

import numpy as np

import cubejit

KERNELS = pathlib.Path(__file__).resolve().parent.parent.parent / "kernels"


def kernel(name, **parameters):
    return cubejit.Kernel(KERNELS / f"{name}.tile", **parameters)


class Kernels(unittest.TestCase):
    def setUp(self):
        self.generator = np.random.default_rng(3)

    def random(self, *shape):
        return self.generator.standard_normal(shape, dtype=np.float32)

    def test_gemm(self):
        a, b, bias = self.random(33, 50), self.random(50, 90), self.random(90)
        gemm = kernel("gemm", M=33, N=90, K=50, mr=6, nr=32)
        wanted = np.maximum(a.astype(np.float64) @ b + bias, 0)
        np.testing.assert_allclose(gemm(a, b, bias), wanted, atol=1e-4)
        np.testing.assert_array_equal(gemm(A=a, B=b, bias=bias, threads=3), gemm(a, b, bias, threads=1))
        np.testing.assert_array_equal(gemm.interpret(a, b, bias), gemm(a, b, bias))
        self.assertEqual(gemm.parameters, {"type": "f32", "M": 33, "N": 90, "K": 50, "mr": 6, "nr": 32})
        self.assertEqual(gemm.tensors[0], ("A", False, "float32", (33, 50), (50, 1)))
        self.assertIn("cubejit tile 1", gemm.program)
        self.assertEqual(repr(gemm), "<cubejit.Kernel gemm(K=50, M=33, N=90, mr=6, nr=32, type=f32)>")

    def test_softmax_and_layer_norm(self):
        x = self.random(13, 77)
        e = np.exp(x - x.max(axis=1, keepdims=True))
        np.testing.assert_allclose(kernel("softmax", M=13, N=77)(x), e / e.sum(axis=1, keepdims=True), rtol=1e-5)
        gamma, beta = self.random(77), self.random(77)
        normal = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(kernel("layer_norm", M=13, N=77)(x, gamma, beta), normal * gamma + beta, atol=1e-5)

    def test_outputs_of_the_callers(self):
        x, y = self.random(40, 30), np.zeros((30, 40), np.float32)
        turned = kernel("transpose", M=40, N=30)
        self.assertIs(turned(x, Y=y), y)
        np.testing.assert_array_equal(y, x.T)
        most, mean = kernel("pooling", N=1, H=9, W=7, C=5)(self.random(1, 9, 7, 5))
        self.assertEqual((most.shape, mean.shape), ((1, 4, 3, 5), (1, 4, 3, 5)))

    def test_strides_and_types(self):
        source = "cubejit kernel 1\nkernel k\ninput X f16 [4, 6] strides [1, 4]\noutput Y f32 [4, 6]\nindex i in 4\nindex j in 6\nY[i, j] = X[i, j] * 2\n"
        k = cubejit.Kernel(source)
        x = self.random(6, 4).astype(np.float16).T
        np.testing.assert_array_equal(k(x), x.astype(np.float32) * 2)
        with self.assertRaisesRegex(cubejit.InvalidProblem, r"X has the strides \(6, 1\) in elements; the kernel was made for \(1, 4\)"):
            k(np.ascontiguousarray(x))

    def test_what_does_not_fit(self):
        gemm = kernel("gemm", M=3, N=4, K=5)
        a, b, bias = self.random(3, 5), self.random(5, 4), self.random(4)
        with self.assertRaises(cubejit.InvalidProblem) as raised:
            gemm(a.astype(np.float16), b[:, :2], D=bias)
        for told in ("A is float16; the kernel was made for float32", r"B has the shape (5, 2); the kernel was made for (5, 4)", "bias is missing",
                     "gemm has no tensor D; there are A, B, bias, C"):
            self.assertIn(told, str(raised.exception))
        with self.assertRaisesRegex(cubejit.InvalidProblem, "output C overlaps A"):
            square = kernel("gemm", M=4, N=4, K=4)
            s = self.random(4, 4)
            square(s, self.random(4, 4), bias, C=s)
        with self.assertRaisesRegex(TypeError, "gemm has 3 inputs"):
            gemm(a, b, bias, a)
        with self.assertRaisesRegex(TypeError, "gemm got A by place and by name"):
            gemm(a, A=a)
        frozen = np.zeros((3, 4), np.float32)
        frozen.flags.writeable = False
        with self.assertRaisesRegex(cubejit.InvalidProblem, "C may not be written"):
            gemm(a, b, bias, C=frozen)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "line 9, column 31: mr is 7; it may be 4, 1, 2, 3, 5, 6, 8, 12"):
            kernel("gemm", mr=7)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "line 1"):
            cubejit.Kernel("nonsense")

    def test_types_are_parameters(self):
        double = cubejit.Kernel("cubejit kernel 1\nkernel k\nparameter T in f32 f16\ninput X T [4]\noutput Y T [4]\nindex i in 4\nY[i] = X[i] * 2\n",
                                T="f16")
        self.assertEqual(double.parameters, {"T": "f16"})
        np.testing.assert_array_equal(double(np.arange(4, dtype=np.float16)), np.arange(0, 8, 2, dtype=np.float16))

    def test_kernels_for_the_arrays_of_a_call(self):
        gemm = cubejit.jit(KERNELS / "gemm.tile", nr=32)
        self.assertEqual(repr(gemm), "<cubejit.jit gemm(A, B, bias, nr=32)>")
        for m, k, n, dtype in ((33, 50, 90, np.float32), (5, 8, 16, np.float16), (33, 50, 90, np.float32)):
            a, b, bias = (self.random(*shape).astype(dtype) for shape in ((m, k), (k, n), (n,)))
            made = kernel("gemm", M=m, N=n, K=k, nr=32, type="f16" if dtype == np.float16 else "f32")
            np.testing.assert_array_equal(gemm(a, b, bias), made(a, b, bias))
            np.testing.assert_array_equal(gemm(bias=bias, B=b, A=a, threads=2), made(a, b, bias))
            self.assertEqual(gemm.kernel(a, b, bias).parameters, made.parameters)
            c = np.zeros((m, n), dtype)
            self.assertIs(gemm(a, b, bias, C=c), c)
            np.testing.assert_array_equal(c, made(a, b, bias))

    def test_arrays_that_contradict_each_other(self):
        gemm = cubejit.jit(KERNELS / "gemm.tile", M=3)
        a, b, bias = self.random(3, 5), self.random(6, 4), self.random(4)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "^dimension 0 of B is 6; K is 5 by dimension 1 of A$"):
            gemm(a, b, bias)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "^B is f16; type is f32 by A$"):
            gemm(a, b[:5].astype(np.float16), bias)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "^dimension 0 of A is 2; M was given as 3$"):
            gemm(a[:2], b[:5], bias)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "^dimension 1 of C is 5; N is 4 by dimension 1 of B$"):
            gemm(a, b[:5], bias, C=np.zeros((3, 5), np.float32))
        with self.assertRaisesRegex(cubejit.InvalidProblem, r"A has the strides \(10, 2\) in elements; the kernel was made for \(5, 1\)"):
            gemm(self.random(3, 10)[:, ::2], b[:5], bias)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "^bias is missing$"):
            gemm(a, b[:5])
        with self.assertRaisesRegex(cubejit.InvalidProblem, "gemm has no tensor D; there are A, B, bias, C"):
            gemm(a, b[:5], bias, D=a)
        with self.assertRaisesRegex(TypeError, "gemm has 3 inputs"):
            gemm(a, b, bias, a)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "it has no parameter L; there are "):
            cubejit.jit(KERNELS / "gemm.tile", L=3)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "line 1"):
            cubejit.jit("nonsense")

    def test_kernels_of_calls_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log"
            with unittest.mock.patch.dict(os.environ, CUBEJIT_VERBOSE="cache", CUBEJIT_VERBOSE_FILE=str(log), CUBEJIT_CACHE_CAPACITY="1"):
                double = cubejit.jit("cubejit kernel 1\nkernel double\nparameter N\ninput X f32 [N]\noutput Y f32 [N]\nindex i in N\nY[i] = X[i] * 2\n")
                for n in (7, 7, 8, 7):
                    double(self.random(n))
            events = [line.split("program=")[1] for line in log.read_text().splitlines() if "double" in line]
            self.assertEqual(events, [f"double event={event} parameters=\"N={n}\"" for event, n in (("miss", 7), ("hit", 7), ("miss", 8), ("miss", 7))])

    def test_tuning(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, CUBEJIT_DB=f"{folder}/tune.db", CUBEJIT_TUNE="use"):
            found = cubejit.Kernel.tune(KERNELS / "softmax.tile", M=40, N=50, seconds=20)
            self.assertEqual((found.choices, found.tried), (8, 7))
            self.assertIn("rows=8: ", found.report)
            self.assertGreaterEqual(found.gain, 1)
            self.assertIn("7 of 8 choices tried", repr(found))
            self.assertIn("<td>rows=8</td>", found._repr_html_())
            self.assertEqual(kernel("softmax", M=40, N=50).parameters, found.parameters | {"type": "f32"})
            self.assertEqual(cubejit.Kernel.tune(KERNELS / "softmax.tile", M=40, N=50).known, 7)
            with self.assertRaisesRegex(cubejit.InvalidProblem, "no parameter to vary"):
                cubejit.Kernel.tune(KERNELS / "softmax.tile", rows=1)
            with self.assertRaisesRegex(cubejit.InvalidProblem, "more than 0 seconds"):
                cubejit.Kernel.tune(KERNELS / "softmax.tile", seconds=0)

    def test_dump(self):
        with tempfile.TemporaryDirectory() as folder:
            softmax = kernel("softmax", M=4, N=5)
            dumped = pathlib.Path(softmax.dump(folder, "tile,vector"))
            self.assertEqual(dumped.parent, pathlib.Path(folder))
            self.assertEqual((dumped / "kernel.tile").read_text(), (KERNELS / "softmax.tile").read_text())
            self.assertEqual((dumped / "tile.txt").read_text(), softmax.program)
            with self.assertRaisesRegex(cubejit.InvalidProblem, "the nearest is tile"):
                softmax.dump(folder, "tiles")

    def test_hooks_see_each_tile(self):
        x, seen = self.random(5, 20), []
        rows = kernel("softmax", M=5, N=20, rows=2)
        y = rows.interpret(x, hook=lambda name, task, tensor, element, values: seen.append((name, task, tensor, element, values.copy())))
        np.testing.assert_array_equal(y, rows(x))
        stored = [(name, element) for name, _, tensor, element, _ in seen if tensor == "Y"]
        self.assertEqual([element for _, element in stored], [(0, 0), (2, 0), (4, 0)])
        most = next(values for _, task, tensor, _, values in seen if tensor == "most" and task == 1)
        np.testing.assert_array_equal(most[:2], x[2:4].max(axis=1))
        np.testing.assert_array_equal(seen[-1][-1], y)
        # The first row of tiles alone, and what a hook raises.
        stopped = rows.interpret(x, hook=lambda name, task, *rest: task < 1, Y=np.zeros_like(x))
        np.testing.assert_array_equal(stopped[:2], y[:2])
        self.assertFalse(stopped[2:].any())
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            rows.interpret(x, hook=lambda *told: 1 / 0)

    def test_shows_itself_in_notebooks(self):
        shown = kernel("softmax", M=4, N=5)._repr_html_()
        self.assertIn("<td>X</td><td>input</td><td>float32</td><td>[4, 5]</td><td>[5, 1]</td>", shown)
        self.assertIn("cubejit tile 1", shown)

    def test_many_threads(self):
        softmax = kernel("softmax", M=64, N=100)
        x = self.random(64, 100)
        wanted, wrong = softmax(x), []

        def work():
            for _ in range(50):
                if not np.array_equal(softmax(x, threads=2), wanted):
                    wrong.append(1)

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
