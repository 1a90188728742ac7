# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A matrix product with packing and an epilogue, written in Python: checked, tuned for a few seconds, and compared with NumPy.

    python3 examples/kernels/gemm.py
"""

import os
import tempfile

import numpy as np

import cubejit


@cubejit.define
def gemm(k, M=96, N=128, K=64, mr=(4, 6, 8), nr=(16, 32, 48, 64)):
    """C = relu(A B + bias)."""
    k.require(mr * nr <= 384)
    A, B, bias = k.input("A", "f32", M, K), k.input("B", "f32", K, N), k.input("bias", "f32", N)
    C = k.output("C", "f32", M, N)
    p = k.index("k", K)
    with k.parallel("j", N, by=nr) as j:
        panel = k.let("panel", B[p, j], over=(p, j))
        with k.loop("i", M, by=mr) as i:
            C[i, j] = k.relu(k.sum(A[i, p] * panel[p, j], over=p) + bias[j])


def main():
    sizes = {"M": 203, "N": 160, "K": 96}
    random = np.random.default_rng(1)
    a, b, bias = (random.standard_normal(shape, dtype=np.float32) for shape in ((203, 96), (96, 160), (160,)))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUBEJIT_DB"] = f"{folder}/tune.db"  # leave that out, and what is found is there the next time
        print(gemm.text, gemm.tune(seconds=3, **sizes), sep="\n")
        c = gemm(**sizes)(a, b, bias)
    wanted = np.maximum(a.astype(np.float64) @ b + bias, 0)
    print("largest difference from NumPy in float64:", np.abs(c - wanted).max())
    assert np.allclose(c, wanted, atol=1e-4)


if __name__ == "__main__":
    main()
