# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what a convolution and its gradients are: the sums of their definition, term by term, in float64.

Shares nothing with the library, its reference included. A convolution is a bilinear form: pixels of x and y meet under a tap of w, and
    y[n, o, py] += w[o, i, tap] * x[n, i, px]        for every meeting (py, tap, px), and channels o, i of one group.
dy . y is linear in x and in w, so that its derivatives are the same terms, gathered elsewhere: dx scatters them to px, dw to the tap.
An ordinary convolution's pixels meet where px = py * stride + tap * dilation - padding, a transposed one's where
py = px * stride + tap * dilation - padding. Terms whose pixel is outside are not in the sums: padding adds nothing, not even a NaN.
Leaves data, types and rounding to others."""

import itertools
from dataclasses import dataclass

import numpy


@dataclass(frozen=True)
class Convolution:
    """Extents, as PyTorch has them; an entry an axis."""
    batch: int
    cin: int
    cout: int
    image: tuple
    kernel: tuple
    stride: tuple
    dilation: tuple
    before: tuple
    after: tuple
    groups: int = 1
    transposed: bool = False
    output_padding: tuple = ()

    @property
    def out(self):
        extents = []
        for a in range(len(self.image)):
            reach = self.dilation[a] * (self.kernel[a] - 1)
            pads = self.before[a] + self.after[a]
            if self.transposed:
                extents.append((self.image[a] - 1) * self.stride[a] - pads + reach + self.output_padding[a] + 1)
            else:
                extents.append((self.image[a] + pads - reach - 1) // self.stride[a] + 1)
        return tuple(extents)

    @property
    def x_shape(self):
        return (self.batch, self.cin, *self.image)

    @property
    def w_shape(self):
        outer, inner = (self.cin, self.cout) if self.transposed else (self.cout, self.cin)
        return (outer, inner // self.groups, *self.kernel)

    @property
    def y_shape(self):
        return (self.batch, self.cout, *self.out)

    def meetings(self):
        """Every (pixel of y, tap, pixel of x) that has a term."""
        many, other = (self.image, self.out) if self.transposed else (self.out, self.image)
        for start in itertools.product(*map(range, many)):
            for tap in itertools.product(*map(range, self.kernel)):
                met = tuple(start[a] * self.stride[a] + tap[a] * self.dilation[a] - self.before[a] for a in range(len(many)))
                if all(0 <= met[a] < other[a] for a in range(len(many))):
                    yield (met, tap, start) if self.transposed else (start, tap, met)

    # Arrays with their pixels (or taps) first and groups apart: [pixel][n, g, channel] and [tap][g, o, i].
    def _activation(self, array, channels):
        array = numpy.asarray(array, numpy.float64)
        array = numpy.moveaxis(array, (0, 1), (-2, -1))
        return numpy.ascontiguousarray(array).reshape(*array.shape[:-1], self.groups, channels // self.groups)

    def _weights(self, array):
        array = numpy.moveaxis(numpy.asarray(array, numpy.float64), (0, 1), (-2, -1))
        array = numpy.ascontiguousarray(array)
        array = array.reshape(*array.shape[:-2], self.groups, -1, array.shape[-1])
        return numpy.swapaxes(array, -2, -1) if self.transposed else array

    def _plain_activation(self, array):
        array = array.reshape(*array.shape[:-2], array.shape[-2] * array.shape[-1])
        return numpy.moveaxis(array, (-2, -1), (0, 1))

    def _plain_weights(self, array):
        if self.transposed:
            array = numpy.swapaxes(array, -2, -1)
        return numpy.moveaxis(array.reshape(*array.shape[:-3], -1, array.shape[-1]), (-2, -1), (0, 1))


def _empty_sums(convolution, space, channels):
    return numpy.zeros((*space, convolution.batch, convolution.groups, channels // convolution.groups))


@numpy.errstate(all="ignore")
def forward(c, x, w):
    """y, without a bias."""
    x, w = c._activation(x, c.cin), c._weights(w)
    y = _empty_sums(c, c.out, c.cout)
    for py, tap, px in c.meetings():
        y[py] += numpy.einsum("goi,ngi->ngo", w[tap], x[px])
    return c._plain_activation(y)


@numpy.errstate(all="ignore")
def gradients(c, dy, x, w):
    """(dx, dw, db) of the sum of dy * y."""
    dy, x, w = c._activation(dy, c.cout), c._activation(x, c.cin), c._weights(w)
    dx = _empty_sums(c, c.image, c.cin)
    dw = numpy.zeros((*c.kernel, c.groups, c.cout // c.groups, c.cin // c.groups))
    db = numpy.zeros((c.groups, c.cout // c.groups))
    for py, tap, px in c.meetings():
        dx[px] += numpy.einsum("goi,ngo->ngi", w[tap], dy[py])
        dw[tap] += numpy.einsum("ngo,ngi->goi", dy[py], x[px])
    for py in itertools.product(*map(range, c.out)):
        db += dy[py].sum(axis=0)
    return c._plain_activation(dx), c._plain_weights(dw), db.reshape(-1)


def magnitudes(c, dy, x, w):
    """Sums of the terms' magnitudes: what rounding errors of dx, dw and db are measured by."""
    return gradients(c, *(numpy.abs(numpy.asarray(a, numpy.float64)) for a in (dy, x, w)))


def terms(c):
    """No sum of (dx, dw, db, y) has more terms than that."""
    taps, pixels = int(numpy.prod(c.kernel)), int(numpy.prod(c.out))
    of_dw = int(numpy.prod(c.image)) if c.transposed else pixels
    return c.cout // c.groups * taps, c.batch * of_dw, c.batch * pixels, c.cin // c.groups * taps
