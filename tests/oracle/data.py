# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what numbers operands hold and how element types hold them. Leaves how arrays lie in memory to views.py.

Kinds of data, of which all but `normal` have sums that are exact in float32, in whatever order they are added:
    whole     small whole numbers
    special   the same, and a few NaN, +-infinity and -0
    denormal  one operand's numbers are whole multiples of its type's least denormal, the others' are whole
    scaled    the same, the others times a power of two that brings products back to normal numbers
    shrinking whole numbers times a power of two, so small that products are denormals of float32
    dusty     whole numbers, every third of which is a denormal instead
    normal    normally distributed, in a type's own precision
    positive  uniform above 0, so that a sum that loses digits loses them in one direction
    channels  normal, each image and channel times its own power of two: results differ in size, and so do what they are sums of
Of dusty, normal, positive and channels, sums are rounded (ROUNDED). A thread that flushes denormals (float_mode.py) reads and leaves zeros
for those of float32 and bf16; those of f16 are normal numbers of float32."""

import numpy

KINDS = ("whole", "whole", "special", "denormal", "scaled", "shrinking", "dusty", "normal", "positive", "channels")
ROUNDED = ("dusty", "normal", "positive", "channels")
TINY = ("denormal", "scaled", "shrinking", "dusty")  # whose denormals units that count them as zero get wrong
STORED = {"f32": numpy.float32, "f16": numpy.float16, "bf16": numpy.uint16}  # bf16 as its bits
LEAST = {"f32": 2.0**-149, "f16": 2.0**-24, "bf16": 2.0**-133}
MOST = {"f32": 2.0**128, "f16": 65520.0, "bf16": 2.0**128}  # what is as large is rounded to infinity
LEAST_NORMAL = 2.0**-126  # of float32 and bf16
HALF_ULP = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}  # relative, of rounding to nearest


@numpy.errstate(all="ignore")
def encode(values, dtype):
    """float64 in the type, rounded once to nearest, ties to even."""
    if dtype != "bf16":
        return values.astype(STORED[dtype])
    # Once: the first rounding is to odd, so that the second sees on which side of a tie the number was.
    nearest = values.astype(numpy.float32)
    back = nearest.astype(numpy.float64)
    bits = nearest.view(numpy.uint32).copy()
    inexact = (back != values) & numpy.isfinite(back)
    bits[inexact & (numpy.abs(back) > numpy.abs(values))] -= 1
    bits[inexact] |= 1
    rounded = ((bits.astype(numpy.uint64) + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)
    return numpy.where(numpy.isnan(values), numpy.uint16(0x7FC0), rounded)


@numpy.errstate(all="ignore")
def decode(stored, dtype):
    if dtype != "bf16":
        return numpy.asarray(stored).astype(numpy.float64)
    bits = numpy.ascontiguousarray(stored).astype(numpy.uint16)
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)


_NANS = {"f32": (numpy.uint32, (0x7FC00000, 0x7F800001, 0x7FFFFFFF, 0xFFFFFFFF, 0xFF800001, 0xFFC00000)),
         "f16": (numpy.uint16, (0x7E00, 0x7C01, 0x7FFF, 0xFFFF, 0xFC01)),
         "bf16": (numpy.uint16, (0x7FC0, 0x7F81, 0x7FFF, 0xFFFF, 0xFF81))}


def operand(values, dtype, random):
    """encode(), NaNs of all kinds: quiet and signalling, of both signs, of all bits and the last alone."""
    stored = encode(values, dtype)
    kind, patterns = _NANS[dtype]
    bits = stored.view(kind)
    for at in numpy.argwhere(numpy.isnan(values)):
        bits[tuple(at)] = random.choice(patterns)
    return stored


def flushed(values, dtype):
    """As a thread sees them that flushes denormals."""
    return values if dtype == "f16" else numpy.where(numpy.abs(values) < LEAST_NORMAL, 0.0, values)


def scales(dice, shape, axes, dtype):
    """Powers of two along some axes."""
    most = 4 if dtype == "f16" else 18
    scale = numpy.ones(shape)
    for axis in axes:
        powers = 2.0 ** dice.integers(-most, most + 1, shape[axis])
        scale *= powers.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return scale


def operands(dice, kind, shapes, dtypes):
    """Float64 numbers for arrays of these shapes, each a number of its type."""
    if kind == "normal":
        spread = 2.0 ** dice.integers(-2, 3)
        return [decode(encode(dice.normal(size=s) * spread, t), t) for s, t in zip(shapes, dtypes)]
    if kind == "positive":
        return [decode(encode(dice.random(s) + 2.0**-10, t), t) for s, t in zip(shapes, dtypes)]
    if kind == "channels":
        return [decode(encode(dice.normal(size=s) * scales(dice, s, range(min(2, len(s))), t), t), t) for s, t in zip(shapes, dtypes)]
    arrays = [dice.integers(-3, 4, s).astype(numpy.float64) for s in shapes]
    if kind == "shrinking":
        return [a * (2.0**-10 if t == "f16" else 2.0**-72) for a, t in zip(arrays, dtypes)]
    if kind == "dusty":
        dust = [dice.integers(-9, 10, s) * LEAST[t] for s, t in zip(shapes, dtypes)]
        return [numpy.where(dice.random(a.shape) < 1 / 3, d, a) for a, d in zip(arrays, dust)]
    if kind == "special":
        for array in arrays:
            if array.size and dice.random() < 0.7:
                count = int(dice.integers(1, 4))
                array.reshape(-1)[dice.integers(0, array.size, count)] = dice.choice(
                    [numpy.nan, numpy.inf, -numpy.inf, -0.0], count)
    if kind in ("denormal", "scaled"):
        tiny = int(dice.integers(0, len(arrays)))
        for i, dtype in enumerate(dtypes):
            if i == tiny:
                arrays[i] *= LEAST[dtype]
            elif kind == "scaled":
                arrays[i] *= 2.0**10 if dtype == "f16" else 2.0**50
    return arrays
