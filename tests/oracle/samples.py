# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides the definition's sums of single results, where all of them take too long: each gathers its own terms, in float64. Shares nothing
with definition.py but the geometry, so that either can be held against the other."""

import itertools

import numpy

from data import decode


def _small_of(c, axis, tap, big):
    """The pixel of the small tensor (y; transposed: x) that meets pixel `big` of the other under a tap; None: none does."""
    at = big + c.before[axis] - tap * c.dilation[axis]
    small, many = divmod(at, c.stride[axis]), (c.image if c.transposed else c.out)[axis]
    return small[0] if small[1] == 0 and 0 <= small[0] < many else None


def _big_of(c, axis, tap, small):
    big = small * c.stride[axis] + tap * c.dilation[axis] - c.before[axis]
    return big if 0 <= big < (c.out if c.transposed else c.image)[axis] else None


def _met(c, pixel, of_small):
    """(taps, pixels of the other tensor) that pixel meets."""
    other = _big_of if of_small else _small_of
    axes = [[(t, other(c, a, t, p)) for t in range(c.kernel[a])] for a, p in enumerate(pixel)]
    for met in itertools.product(*([(t, p) for t, p in axis if p is not None] for axis in axes)):
        yield tuple(t for t, _ in met), tuple(p for _, p in met)


@numpy.errstate(all="ignore")
def _total(pairs):
    """(sum, of magnitudes, terms) of arrays to be multiplied element by element."""
    sums, sizes, terms = 0.0, 0.0, 0
    for a, b in pairs:
        product = a * b
        sums, sizes, terms = sums + product.sum(), sizes + numpy.abs(product).sum(), terms + product.size
    return sums, sizes, terms


def _group(channel, channels, c):
    each = channels // c.groups
    return channel // each, channel % each


def data_result(c, at, source, w, dtypes, forward):
    """One element of y, from x, or of dx, from dy."""
    n, channel, pixel = at[0], at[1], at[2:]
    own, others = (c.cout, c.cin) if forward else (c.cin, c.cout)
    group, inside = _group(channel, own, c)
    theirs = slice(group * (others // c.groups), (group + 1) * (others // c.groups))
    outer = forward != c.transposed  # the result's channel is w's first axis

    def pairs():
        for tap, met in _met(c, pixel, forward != c.transposed):
            weights = w[(channel, slice(None), *tap)] if outer else w[(theirs, inside, *tap)]
            yield decode(source[(n, theirs, *met)], dtypes[0]), decode(weights, dtypes[1])
    return _total(pairs())


def weight_result(c, at, dy, x, dtypes):
    """One element of dw."""
    outer, inside, tap = at[0], at[1], at[2:]
    if c.transposed:
        group = outer // (c.cin // c.groups)
        i, o = outer, group * (c.cout // c.groups) + inside
    else:
        group = outer // (c.cout // c.groups)
        o, i = outer, group * (c.cin // c.groups) + inside
    small, big = [], []
    for a, t in enumerate(tap):
        many, other = ((c.image, c.out) if c.transposed else (c.out, c.image))
        shift, stride = t * c.dilation[a] - c.before[a], c.stride[a]
        low = max(0, -(shift // stride))
        high = min(many[a], (other[a] - 1 - shift) // stride + 1)
        if high <= low:
            return 0.0, 0.0, 0
        small.append(slice(low, high))
        big.append(slice(low * stride + shift, (high - 1) * stride + shift + 1, stride))
    of_y, of_x = (big, small) if c.transposed else (small, big)

    def pairs():
        for n in range(c.batch):
            yield decode(dy[(n, o, *of_y)], dtypes[0]), decode(x[(n, i, *of_x)], dtypes[1])
    return _total(pairs())


def bias_result(c, at, dy, dtype):
    return _total((decode(dy[n, at[0]], dtype), 1.0) for n in range(c.batch))
