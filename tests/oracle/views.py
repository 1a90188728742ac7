# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how an array lies in memory: every way that NumPy can make one lie. Whatever is beside it in memory is NaN."""

from math import prod

import numpy

import guard

_NAN = {numpy.dtype(numpy.float32): numpy.nan, numpy.dtype(numpy.float16): numpy.nan, numpy.dtype(numpy.uint16): 0x7FC0}


def memory(elements, dtype, offset=0):
    """Elements of NaN in front of which `offset` bytes are."""
    dtype = numpy.dtype(dtype)
    raw = numpy.zeros(offset + elements * dtype.itemsize, numpy.uint8)
    array = numpy.frombuffer(raw, dtype, elements, offset)
    array[...] = _NAN[dtype]
    return array


def _ordered(values, order, offset=0):
    """Dense with axes from the outermost to the innermost as `order` says."""
    array = memory(values.size, values.dtype, offset).reshape([values.shape[a] for a in order])
    array = array.transpose(numpy.argsort(order))
    array[...] = values
    return array


def channels_last(values, offset=0):
    return _ordered(values, (0, *range(2, values.ndim), 1), offset)


def plain(random, values):
    return numpy.ascontiguousarray(values)


def last(random, values):
    return channels_last(values)


def permuted(random, values):
    return _ordered(values, random.sample(range(values.ndim), values.ndim))


def unaligned(random, values):
    """At any byte; mostly of whole elements."""
    offset = random.randrange(1, 64) if random.random() < 0.2 else random.randrange(1, 16) * values.itemsize
    return channels_last(values, offset) if random.random() < 0.5 else _ordered(values, range(values.ndim), offset)


def sliced(random, values):
    steps = [random.choice((1, 1, 2, 3)) for _ in values.shape]
    starts = [random.randrange(3) for _ in values.shape]
    shape = [start + n * step for start, n, step in zip(starts, values.shape, steps)]
    array = memory(prod(shape), values.dtype, random.choice((0, 0, 1, 2)) * values.itemsize).reshape(shape)
    array = array[tuple(slice(start, None, step) for start, step in zip(starts, steps))]
    array = array[tuple(slice(n) for n in values.shape)]
    array[...] = values
    return array


def backwards(random, values):
    turned = tuple(slice(None, None, random.choice((1, -1, -1))) for _ in values.shape)
    return numpy.ascontiguousarray(values[turned])[turned]


def broadcast(random, values):
    """Strides of 0: the first of an axis stands for all."""
    some = tuple(slice(0, 1) if random.random() < 0.5 else slice(None) for _ in values.shape)
    return numpy.broadcast_to(values[some].copy(), values.shape)


def overlapping(random, values):
    """Windows into one row of numbers: elements share memory."""
    strides = [random.choice((1, 1, 2, 3)) if n else 0 for n in values.shape]
    span = 1 + sum(s * max(0, n - 1) for s, n in zip(strides, values.shape))
    row = memory(span, values.dtype)
    if values.size:
        row[...] = numpy.resize(values.reshape(-1), span)
    return numpy.lib.stride_tricks.as_strided(row, values.shape, [s * values.itemsize for s in strides], writeable=False)


def guarded(random, values):
    """Beside pages that must not be touched."""
    array = guard.memory(values.size, values.dtype, random.random() < 0.6)
    if random.random() < 0.5:
        array = array.reshape(values.shape)
    else:
        array = numpy.moveaxis(array.reshape(values.shape[0], *values.shape[2:], values.shape[1]), -1, 1)
    array[...] = values
    return array


def read_only(random, values):
    array = channels_last(values) if random.random() < 0.5 else values.copy()
    array.flags.writeable = False
    return array


def of_one_memory(random, several):
    """Arrays that begin at random elements of the same memory."""
    row = numpy.concatenate([values.reshape(-1) for values in several])
    most = max(values.size for values in several)
    starts = [random.randrange(row.size - most + 1) for _ in several]
    return [row[start:start + values.size].reshape(values.shape) for start, values in zip(starts, several)]


ALL = (plain, last, permuted, unaligned, sliced, backwards, broadcast, overlapping, read_only, guarded)
