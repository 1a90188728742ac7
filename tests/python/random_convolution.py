# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides which convolutions tests try: small ones of every geometry, and a reference anyone can check by eye."""

import itertools
from dataclasses import dataclass

import numpy as np


@dataclass
class Convolution:
    x: tuple  # shapes
    w: tuple
    dy: tuple
    stride: list
    padding: list
    dilation: list
    transposed: bool
    output_padding: list
    groups: int

    @property
    def geometry(self):
        return self.stride, self.padding, self.dilation, self.transposed, self.output_padding, self.groups


def random_convolution(random):
    """random: random.Random."""
    while True:
        rank = random.choice([1, 2, 3])
        groups = random.choice([1, 1, 1, 2, 3, 8])
        transposed = random.random() < 0.3
        inner, outer = random.randint(1, 20 // groups + 1), random.randint(1, 20 // groups + 1)
        kernel = [random.randint(1, 4) for _ in range(rank)]
        stride = [random.randint(1, 3) for _ in range(rank)]
        dilation = [random.choice([1, 1, 2, 3]) for _ in range(rank)]
        padding = [random.randint(0, 3) for _ in range(rank)]
        extents = [random.randint(1, 30 if rank == 1 else 12 if rank == 2 else 7) for _ in range(rank)]
        output_padding = [random.randrange(max(s, d)) if transposed else 0 for s, d in zip(stride, dilation)]
        reach = [d * (k - 1) for d, k in zip(dilation, kernel)]
        if transposed:
            out = [(i - 1) * s - 2 * p + r + o + 1 for i, s, p, r, o in zip(extents, stride, padding, reach, output_padding)]
        else:
            out = [(i + 2 * p - r - 1) // s + 1 for i, s, p, r in zip(extents, stride, padding, reach)]
        if min(out) < 1:
            continue
        batch = random.randint(1, 3)
        x = (batch, inner * groups, *extents)
        dy = (batch, outer * groups, *out)
        w = (inner * groups, outer, *kernel) if transposed else (outer * groups, inner, *kernel)
        return Convolution(x, w, dy, stride, padding, dilation, transposed, output_padding, groups)


def reference(c, dy, x, w):
    """dx, dw, db in float64, tap by tap."""
    small, big = (x, dy) if c.transposed else (dy, x)
    groups, rank = c.groups, x.ndim - 2
    pads = [(0, 0), (0, 0)] + [(p, p) for p in c.padding]
    wide = np.pad(big.astype(np.float64), pads)
    small, w = small.astype(np.float64), w.astype(np.float64)
    d_wide, d_small, dw = np.zeros_like(wide), np.zeros_like(small), np.zeros_like(w)
    small_per, big_per = small.shape[1] // groups, big.shape[1] // groups
    for tap in itertools.product(*(range(k) for k in w.shape[2:])):
        at = tuple(slice(t * d, t * d + s * (n - 1) + 1, s)
                   for t, d, s, n in zip(tap, c.dilation, c.stride, small.shape[2:]))
        for g in range(groups):
            of_small, of_big = slice(g * small_per, (g + 1) * small_per), slice(g * big_per, (g + 1) * big_per)
            seen = wide[(slice(None), of_big, *at)]
            weights = w[(of_small, slice(None), *tap)]
            letters = "xyz"[:rank]
            dw[(of_small, slice(None), *tap)] = np.einsum(f"ns{letters},nb{letters}->sb", small[:, of_small], seen)
            d_small[:, of_small] += np.einsum(f"nb{letters},sb->ns{letters}", seen, weights)
            d_wide[(slice(None), of_big, *at)] += np.einsum(f"ns{letters},sb->nb{letters}", small[:, of_small], weights)
    inside = (slice(None), slice(None), *(slice(p, p + n) for p, n in zip(c.padding, big.shape[2:])))
    return d_small if c.transposed else d_wide[inside], dw, dy.astype(np.float64).sum(axis=(0, *range(2, dy.ndim)))
