# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The document's example carried on to numbers: its tensor is built, run on arrays of NumPy and compared with a sum done by hand."""

import numpy as np

from documented_conv3d_backprop_filter import dedw, dedy, fmap, kernel_name, shape_dedy, shape_fmap
from tbe import dsl, tvm

with tvm.target.cce():
    sch = dsl.auto_schedule(dedw)
operator = dsl.build(sch, {"name": kernel_name, "tensor_list": [fmap, dedy, dedw]})

generator = np.random.default_rng(0)
x = generator.integers(-3, 4, size=shape_fmap).astype(np.float16)
dy = generator.integers(-1, 2, size=shape_dedy).astype(np.float16)
result = operator(x, dy)
print(f"{result.dtype} FRACTAL_Z_3D {result.shape}")

# Tap (1, 0, 2) of input channel 5 and output channel 3; columns beyond the image count as zero.
seen = np.pad(x, [(0, 0)] * 4 + [(0, 1), (0, 0)])[:, 1::2, 0, 0::2, 2::2, 5]
by_hand = np.sum(seen.astype(np.float64) * dy[:, :, 0, :, :, 3])
by_operator = result[(1 * 3 + 0) * 3 + 2, 0, 3, 5]
print(f"one element: {by_operator:g}, by hand {by_hand:g}")
assert by_operator == by_hand
