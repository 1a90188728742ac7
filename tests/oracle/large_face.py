# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how layers of a realistic size are computed and judged: a few results of each pass by their own terms (samples.py), and all of them
by what they have in common. Of 1 and -1 every sum is exact in float32, and <dx, x> = <dw, w> = <dy, y>, exactly: one result that is
wrong, unwritten or of another pixel breaks that. Operands repeat a block of numbers, so that they are made in no time."""

from math import prod

import numpy

import cubejit
import data
import float_mode
import judge
import python_face
import samples
import views
from python_face import Refused

_BLOCK = 1_000_003  # a prime: no axis is as long
SAMPLES = {"dx": 5, "dw": 3, "db": 2, "y": 5}
VIEWS = ("plain", "last", "crop", "steps", "expanded", "transposed")


def kind(random):
    return random.choice(("whole", "positive", "normal", "channels"))


def random_options(random, sessions):
    session = {"threads": random.choice((1, 2, 3)), "isa": random.choice(sessions.isas),
               "backend": random.choice([b for b in sessions.backends if "interpreter" not in b][:2])}
    return {"session": session, "threads": random.choice((0, 0, 1, 2)), "flush": random.random() < 0.2,
            "views": [random.choice(VIEWS) for _ in range(3)], "dtype": random.choice(("f32", "f32", "f32", "f16"))}


def _numbers(dice, kind, shape, axes, dtype):
    """Numbers of a type, in memory: plain."""
    count = min(prod(shape), _BLOCK)
    if kind == "whole":
        block = dice.integers(0, 2, count) * 2 - 1  # none is 0, which would hide what it is multiplied by
    else:
        block = dice.random(count) + 2.0**-10 if kind == "positive" else dice.normal(size=count)
    array = numpy.resize(block.astype(data.STORED[dtype]), shape)
    return array * data.scales(dice, shape, axes, dtype).astype(array.dtype) if kind == "channels" else array


def laid(random, values, how):
    """The numbers lying otherwise; of an expanded array one slice of an axis stands for all."""
    if how == "last":
        return views.channels_last(values)
    if how == "transposed":
        return views.permuted(random, values)
    if how == "expanded":
        axis = random.randrange(values.ndim)
        return numpy.broadcast_to(values.take([0], axis), values.shape)
    if how not in ("crop", "steps"):
        return values
    axis = random.randrange(2, values.ndim)
    shape = list(values.shape)
    start, step = random.randrange(1, 4), 2 if how == "steps" else 1
    shape[axis] = start + step * shape[axis] + 1
    array = views.memory(prod(shape), values.dtype).reshape(shape)
    array = array[tuple(slice(start, start + step * n, step) if a == axis else slice(None) for a, n in enumerate(values.shape))]
    array[...] = values
    return array


def _dot(a, b):
    """The sum of products, in float64, without copies of the whole."""
    rows = zip(a.reshape(-1, *a.shape[2:]), b.reshape(-1, *b.shape[2:])) if a.size else ()
    return sum(float(numpy.dot(p.reshape(-1).astype(numpy.float64), q.reshape(-1).astype(numpy.float64))) for p, q in rows)


def _sampled(dice, shape, count):
    """Corners and others."""
    yield tuple(n - 1 for n in shape)
    for _ in range(count - 1):
        yield tuple(int(dice.integers(0, n)) for n in shape)


def judged(dice, c, kind, dtypes, arrays, results):
    """What is wrong with {name: (array, type)}; arrays: dy, x, w as they were read."""
    dy, x, w = arrays
    faults = []
    for name, (result, dtype) in results.items():
        for at in _sampled(dice, result.shape, SAMPLES[name]):
            sums, sizes, terms = {
                "y": lambda at=at: samples.data_result(c, at, x, w, dtypes[1:], True),
                "dx": lambda at=at: samples.data_result(c, at, dy, w, dtypes[::2], False),
                "dw": lambda at=at: samples.weight_result(c, at, dy, x, dtypes[:2]),
                "db": lambda at=at: samples.bias_result(c, at, dy, dtypes[0])}[name]()
            found, wanted = numpy.array([float(result[at])]), numpy.array([sums])
            if kind == "whole" and sizes < 2**24:
                wrong = judge.exact(found, wanted, dtype)
            else:
                relative = 1e-5 if kind == "positive" and name in ("dw", "db") and dtype == "f32" else None
                wrong = judge.near(found, wanted, numpy.array([sizes]), terms, dtype, relative=relative)
            if wrong:
                faults.append(f"{name} ({dtype}) of {terms} terms at {list(at)}: {wrong}")
                break
        if numpy.isnan(result).any():
            faults.append(f"{name} ({dtype}): holds NaN")
    f32 = kind == "whole" and all(t == "f32" for _, t in results.values())
    if f32 and all(numpy.abs(r).max(initial=0) < 2**22 for r, _ in results.values()):
        forms = {"<dx, x>": _dot(results["dx"][0], x), "<dw, w>": _dot(results["dw"][0], w), "<dy, y>": _dot(dy, results["y"][0])}
        if len(set(forms.values())) > 1:
            faults.append(f"not adjoint: {forms}")
        if float(results["db"][0].sum(dtype=numpy.float64)) != float(dy.sum(dtype=numpy.float64)):
            faults.append("db adds up to something else than dy")
    return faults


def run(random, c, kind, dice, sessions, options):
    """(what is wrong, what was done)"""
    dtype = options["dtype"]
    shapes, axes = (c.y_shape, c.x_shape, c.w_shape), ((1,), (1,), (0, 1))
    arrays = [laid(random, _numbers(dice, kind, s, a, dtype), how) for s, a, how in zip(shapes, axes, options["views"])]
    dy, x, w = arrays
    padding = list(c.before) if c.before == c.after else [side for pair in zip(c.before, c.after) for side in pair]
    geometry = dict(stride=list(c.stride), padding=padding, dilation=list(c.dilation), transposed=c.transposed,
                    output_padding=list(c.output_padding) if c.transposed else 0, groups=c.groups)
    did = f"Session({options['session']}), threads={options['threads']}, {dtype}, flush={options['flush']}, dy, x, w {options['views']}"
    session, faults = sessions.of(options["session"]), []
    try:
        with float_mode.flushing(options["flush"], faults):
            gradients = cubejit.conv_backward(dy, x, w, **geometry, session=session, threads=options["threads"])
            y = cubejit.conv(x, w, **geometry, session=session, threads=options["threads"])
    except cubejit.Error as error:
        if set(options["views"]) <= {"plain", "last"}:
            raise
        raise Refused(f"large views: {str(error).splitlines()[0].partition(';')[0][:60]}") from error
    results = dict(zip(("dx", "dw", "db", "y"), ((numpy.asarray(r), python_face.numbers_of(r[:0])[1]) for r in (*gradients, y))))
    return faults + judged(dice, c, kind, (dtype,) * 3, arrays, results), did
