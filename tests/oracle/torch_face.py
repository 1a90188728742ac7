# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how a problem is computed through cubejit.torch: by autograd, forward being PyTorch's. Leaves right and wrong to judge.py."""

import data
import python_face
import views
from python_face import torch

if torch is not None:
    import cubejit.torch

VIEWS = (views.plain, views.last, views.permuted, views.sliced, views.broadcast, views.overlapping)


def takes(c):
    """Padding is the same on both sides; the rest is PyTorch's forward's to refuse, which is not asked about."""
    return torch is not None and c.before == c.after and c.batch > 0 and all(p < max(s, d) for p, s, d in zip(
        c.output_padding, c.stride, c.dilation))


def run(random, c, kind, dice):
    """As python_face.run."""
    dtype = "f32" if c.transposed else random.choice(("f32", "f32", "bf16"))  # PyTorch's forward has no others on every CPU
    values = data.operands(dice, kind, (c.y_shape, c.x_shape, c.w_shape), (dtype,) * 3)
    chosen = [random.choice(VIEWS) for _ in values]
    arrays = [view(random, data.operand(v, dtype, random)) for view, v in zip(chosen, values)]
    dy, x, w = (python_face.to_torch(a, dtype) for a in arrays)
    read = [data.decode(a, dtype) for a in arrays]
    asked = [random.random() < 0.8 for _ in range(3)]
    bias = torch.zeros(c.cout, dtype=w.dtype)
    leaves = [t.requires_grad_(need) for t, need in zip((x, w, bias), asked)]
    did = f"cubejit.torch.convolution, gradients of x, w, bias {asked}, {dtype}, dy, x, w {[v.__name__ for v in chosen]}"
    if any(asked):
        y = cubejit.torch.convolution(x, w, bias, list(c.stride), list(c.before), list(c.dilation), c.transposed,
                                      list(c.output_padding) if c.transposed else 0, c.groups)
        y.backward(dy)
    found = [python_face.numbers_of(t.grad) if need else None for t, need in zip(leaves, asked)]
    return read, found, [f"{name} is {f[1]}, not {dtype}" for name, f in zip(("dx", "dw", "db"), found) if f and f[1] != dtype], did
