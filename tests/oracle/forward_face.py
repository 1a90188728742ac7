# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how y, with post-ops, and gradients behind an activation are computed through Python. Leaves right and wrong to judge.py."""

import itertools

import numpy

import cubejit
import data
import float_mode
import post
import python_face
import views
from python_face import NotDense, _bits, _conv_backward, _operand, _target, beside, numbers_of


def _geometry(c):
    padding = list(c.before) if c.before == c.after else [side for pair in zip(c.before, c.after) for side in pair]
    return dict(stride=list(c.stride), padding=padding, dilation=list(c.dilation), transposed=c.transposed,
                output_padding=list(c.output_padding) if c.transposed else 0, groups=c.groups)


def _dense(random, values, dtype, last):
    """What lies as a result does."""
    array = data.operand(values, dtype, random)
    array = views.channels_last(array) if last else numpy.ascontiguousarray(array)
    return (python_face.to_torch(array, dtype) if dtype == "bf16" else array), array


def _types(random, many):
    types = ("f32", "f32", "f16") + (("bf16",) if python_face.torch else ())
    return [random.choice(types)] * many if random.random() < 0.5 else [random.choice(types) for _ in range(many)]


def run_y(random, c, kind, dice, sessions, options):
    """(numbers of x, w, bias and addend that were read, (numbers, type) of y, post-ops, faults, what was done)"""
    ops = options["post"]
    dtypes = _types(random, 2)
    results = options["results"]
    target, inside, dtype, around = _target(random, c.y_shape, dtypes[0], results)
    values = data.operands(dice, kind, (c.x_shape, c.w_shape, (c.cout,), c.y_shape), (*dtypes, dtype, dtype))
    made = [_operand(random, v, t, options.get("view")) for v, t in zip(values, dtypes)]
    # Addends lie as results do: as `out`, or in the order that y then has.
    last = results == "channels last" or results == "made" and random.random() < 0.5
    bias, bias_array = _dense(random, values[2], dtype, False)
    addend, addend_array = _dense(random, values[3], dtype, last and len(c.y_shape) > 2)
    read = [data.decode(m[1], t) for m, t in zip(made, dtypes)] + [data.decode(a, dtype) for a in (bias_array, addend_array)]
    if options["flush"]:
        read = [data.flushed(a, t) for a, t in zip(read, (*dtypes, dtype, dtype))]
    off = {name for name, m in zip(("x", "w"), made) if not m[1].flags.aligned}
    off |= {"y"} if inside is not None and not inside.flags.aligned else set()
    did = (f"conv, Session({options['session']}), math={options['math']}, threads={options['threads']}, post-ops '{ops}', y {results} {dtype}, "
           f"flush={options['flush']}, x {made[0][2]}, w {made[1][2]}")
    call = dict(**_geometry(c), math=options["math"], bias=bias if ops.bias else None, add=addend if ops.add else None,
                activation=ops.activation or None)
    before, faults = [_bits(m[1]) for m in made], []
    try:
        with float_mode.flushing(options["flush"], faults):
            y = _conv_backward(off, *(m[0] for m in made), **call, session=sessions.of(options["session"]), threads=options["threads"],
                               out=target, call=cubejit.conv)
    except NotDense:
        if around is not None and not numpy.isnan(data.decode(around, dtype)).all():
            return read, (None, dtype), ["y was refused and written"], did
        raise
    faults += [f"{name} was written to" for name, m, old in zip(("x", "w"), made, before) if _bits(m[1]) != old]
    if target is not None:
        numbers = data.decode(inside, dtype)
        if not beside(inside, around, results):
            faults.append("memory beside y was written to")
        return read, (numbers, dtype), faults, did
    found = numbers_of(y)
    if found[1] != dtype:
        return read, found, [*faults, f"y is {found[1]}, not {dtype}"], did
    with float_mode.flushing(options["flush"], faults):
        again = cubejit.conv(*(m[0] for m in made), **call, session=sessions.of(options["session"]), threads=random.choice((1, 2, 3)))
    if _bits(found[0]) != _bits(numbers_of(again)[0]):
        faults.append("y has other bits when it is computed on other threads")
    return read, found, faults, did


def run_backward(random, c, kind, dice, sessions, options):
    """As python_face.run, behind an activation: also the numbers of y, and dy's type."""
    ops = options["post"]
    dtypes = _types(random, 3)
    shapes = (c.y_shape, c.x_shape, c.w_shape, c.y_shape)
    dtypes.append(dtypes[0])
    values = data.operands(dice, kind, shapes, dtypes)
    last = random.random() < 0.5 and len(c.y_shape) > 2
    dy, dy_array = _dense(random, values[0], dtypes[0], last)
    y, y_array = _dense(random, values[3], dtypes[0], last)
    made = [_operand(random, v, t, options.get("view")) for v, t in zip(values[1:3], dtypes[1:3])]
    read = [data.decode(a, t) for a, t in zip((dy_array, made[0][1], made[1][1], y_array), dtypes)]
    if options["flush"]:
        read = [data.flushed(a, t) for a, t in zip(read, dtypes)]
    off = {name for name, m in zip(("x", "w"), made) if not m[1].flags.aligned}
    did = (f"conv_backward, Session({options['session']}), math={options['math']}, threads={options['threads']}, activation {ops.activation}, "
           f"flush={options['flush']}, dy, y {dtypes[0]} {'channels last' if last else 'plain'}, x {made[0][2]}, w {made[1][2]}")
    faults = []
    with float_mode.flushing(options["flush"], faults):
        results = _conv_backward(off, dy, *(m[0] for m in made), **_geometry(c), y=y, activation=ops.activation, math=options["math"],
                                 session=sessions.of(options["session"]), threads=options["threads"])
    return read, dtypes[0], [numbers_of(r) for r in results], faults, did


def random_options(random, sessions):
    ops = post.draw(random)
    options = python_face.random_options(random, sessions, False)
    if options["math"] == "relaxed":
        ops = post.Post()  # whose errors are of norms
    behind = bool(ops.activation) and random.random() < 0.3
    return {**options, "post": ops, "behind": behind}


def degenerate_options(sessions):
    usual = {"session": {"threads": 1}, "math": "strict", "mask": (True,) * 3, "results": "made", "threads": 0, "flush": False, "behind": False}
    for bias, add, activation in itertools.product((False, True), (False, True), post.ACTIVATIONS):
        yield {**usual, "post": post.Post(bias, add, activation)}
    for activation in post.ACTIVATIONS[1:]:
        yield {**usual, "post": post.Post(activation=activation), "behind": True}
