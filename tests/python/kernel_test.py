# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of kernels of one's own in Python: they compute what NumPy does, on arrays that are given or made, and arrays that do not
fit are refused with everything that is wrong."""

import pathlib
import threading
import unittest

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
        self.assertEqual(gemm.parameters, {"M": 33, "N": 90, "K": 50, "mr": 6, "nr": 32})
        self.assertEqual(gemm.tensors[0], ("A", False, "float32", (33, 50), (50, 1)))
        self.assertIn("cubejit tile 1", gemm.program)
        self.assertEqual(repr(gemm), "<cubejit.Kernel gemm(K=50, M=33, N=90, mr=6, nr=32)>")

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
        with self.assertRaisesRegex(cubejit.InvalidProblem, "line 8, column 27: mr is 7; it may be 4, 1, 2, 3, 5, 6"):
            kernel("gemm", mr=7)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "line 1"):
            cubejit.Kernel("nonsense")

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
