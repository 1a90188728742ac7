# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how a problem is computed through Python: which session, objects, views, types, results. Leaves right and wrong to judge.py."""

import functools
import itertools
import math as mathematics
import warnings

import numpy

import cubejit
import data
import float_mode
import guard
import views

try:
    import torch
except ImportError:
    torch = None

class Refused(Exception):
    """What may be refused was, for the right reason."""


class NotDense(Refused):
    """A view that is not taken today."""


MASKS = [mask for mask in itertools.product((True, False), repeat=3) if any(mask)]
MATHS = ("strict", "relaxed", "bf16", "hf32", "hf32_low")
RESULTS = ("made", "plain", "channels last", "unaligned", "of another type", "guarded", "view")


def _works(**options):
    """Whether this build on this CPU has such a session."""
    one = numpy.ones((1, 1, 1), numpy.float32)
    try:
        cubejit.conv_backward(one, one, one, session=cubejit.Session(threads=1, **options))
    except cubejit.Error:
        return False
    return True


class Sessions:
    """One of each kind, made when it is first used; code that is not used is dropped."""

    def __init__(self):
        self.isas = [isa for isa in ("avx2", "avx512", "avx512_bf16", "neon", "sve256") if _works(isa=isa)]
        self.backends = [b for b in ("xbyak", "llvm", "interpreter", "tile_interpreter") if _works(backend=b)]
        self.machines = cubejit.machines()
        self._made = {}

    def of(self, options):
        key = tuple(sorted(options.items()))
        if key not in self._made:
            if len(self._made) > 40:
                self._made.pop(next(iter(self._made)))
            self._made[key] = cubejit.Session(**options)
        return self._made[key]

    def clear(self):
        for session in self._made.values():
            session.clear()


def degenerate_options(sessions):
    """Every option, the others usual."""
    usual = {"session": {"threads": 1}, "math": "strict", "mask": (True,) * 3, "results": "made", "threads": 0, "flush": False}
    for isa, backend in itertools.product(sessions.isas, sessions.backends):
        yield {**usual, "session": {"isa": isa, "backend": backend, "threads": 2}}
    for changed in (*({"mask": m} for m in MASKS), *({"math": m} for m in MATHS), *({"results": r} for r in RESULTS),
                    *({"threads": n} for n in (1, 2, 7)), {"session": {"threads": 64}}, {"session": {"threads": 2, "tune": "use"}}):
        yield {**usual, **changed}
    for view in views.ALL:
        yield {**usual, "view": view}
    yield {**usual, "flush": True}
    for machine in ("ascend910b2", "ascend310p3"):
        for fast in (False, True):
            yield {**usual, "session": {"machine": machine, "elide_copies": fast, "threads": 1}}


def random_options(random, sessions, chip):
    session = {"threads": random.choice((1, 1, 2, 3))}
    if chip:
        session.update(machine=random.choice(sessions.machines), elide_copies=random.random() < 0.5)
    else:
        session["isa"] = random.choice(sessions.isas)
        session["backend"] = random.choices(sessions.backends, [{"xbyak": 8, "llvm": 3}.get(b, 1) for b in sessions.backends])[0]
    return {"session": session, "math": random.choice(("strict",) * 5 + MATHS[1:]), "threads": random.choice((0, 0, 1, 2, 5)),
            "mask": random.choice([(True,) * 3] * 6 + MASKS), "results": random.choice(("made",) + RESULTS),
            "flush": random.random() < 0.25}


def _objects(random, dtype):
    if dtype == "bf16":
        return "torch"
    return random.choice(("numpy",) * 4 + (("memoryview",) if dtype == "f32" else ()) + (("torch",) if torch else ()))


def to_torch(array, dtype):
    warnings.filterwarnings("ignore", "The given NumPy array is not writable")
    return torch.from_numpy(array.view(numpy.int16)).view(torch.bfloat16) if dtype == "bf16" else torch.from_numpy(array)


def _operand(random, values, dtype, view):
    """(what is handed over, its numbers, how it was made)"""
    kind = _objects(random, dtype)
    view = view or random.choice(views.ALL)
    if kind == "torch" and view in (views.backwards, views.unaligned):
        view = views.sliced  # PyTorch has no such tensors
    array = view(random, data.operand(values, dtype, random))
    made = {"numpy": lambda: array, "memoryview": lambda: memoryview(array), "torch": lambda: to_torch(array, dtype)}[kind]()
    return made, array, f"{kind} {dtype} {view.__name__}"


def beside(inside, around, results):
    """Whether memory beside a result is as it was. Of a view, which is read before, the result itself goes."""
    if results == "guarded":
        return True
    dtype = {"f": "f32", "e": "f16", "H": "bf16"}[around.dtype.char]
    if results == "view":
        inside[...] = numpy.asarray(views.memory(1, inside.dtype))[0]
    return numpy.isnan(data.decode(around if results == "view" else numpy.concatenate([around[:16], around[-16:]]), dtype)).all()


def prod_of_view(shape):
    return mathematics.prod(2 * n + 2 for n in shape)


def view_of(random, row, shape):
    """A part of a larger array: a margin around each axis, steps, axes in any order."""
    order = random.sample(range(len(shape)), len(shape))
    array = row.reshape([2 * shape[a] + 2 for a in order]).transpose([order.index(a) for a in range(len(shape))])
    steps = [random.choice((1, 1, 1, 2)) for _ in shape]
    return array[tuple(slice(1, 1 + n * step, step) for n, step in zip(shape, steps))]


def _target(random, shape, dtype, results):
    """(what is to be written, the array its numbers are in, its type, memory that must stay NaN)"""
    if results == "made":
        return None, None, dtype, None
    if results == "of another type":
        dtype = random.choice([t for t in data.STORED if t != "bf16" or torch])
    count = mathematics.prod(shape)
    offset = 0
    if results == "unaligned":
        offset = random.randrange(1, 16) * numpy.dtype(data.STORED[dtype]).itemsize
        if random.random() < 0.1 and dtype != "bf16":
            offset += 1
    if results == "view":
        around = views.memory(prod_of_view(shape), data.STORED[dtype])
        inside = view_of(random, around, shape)
        return (to_torch(inside, dtype) if dtype == "bf16" else inside), inside, dtype, around
    if results == "guarded":
        around = inside = guard.memory(count, data.STORED[dtype], random.random() < 0.6)
        inside[...] = numpy.asarray(views.memory(1, inside.dtype))[0]
    else:
        around = views.memory(count + 32, data.STORED[dtype], offset)
        inside = around[16:16 + count]
    if results == "channels last" and len(shape) > 1:
        inside = numpy.moveaxis(inside.reshape(shape[0], *shape[2:], shape[1]), -1, 1)
    else:
        inside = inside.reshape(shape)
    given = to_torch(inside, dtype) if dtype == "bf16" else inside
    return given, inside, dtype, around


def _bits(array):
    return numpy.ascontiguousarray(array).view(numpy.uint8).tobytes()


def numbers_of(result):
    """(numbers, type) of a result that was made."""
    if torch is not None and isinstance(result, torch.Tensor):
        if result.dtype == torch.bfloat16:
            return data.decode(result.view(torch.int16).numpy().view(numpy.uint16), "bf16"), "bf16"
        result = result.numpy()
    array = numpy.asarray(result)
    dtype = {"f": "f32", "e": "f16"}[array.dtype.char]
    return data.decode(array, dtype), dtype


def _conv_backward(off, *arguments, call=None, **named):
    """The call; addresses of arrays that are no multiple of an element may be refused, each by name, and no other ones. So may results that
    are not dense."""
    try:
        return (call or cubejit.conv_backward)(*arguments, **named)
    except cubejit.Error as error:
        said = str(error).splitlines()
        if all("dense" in line and "strides (" in line for line in said):
            raise NotDense(said[0].partition("; ")[2] or said[0].rpartition("): ")[2]) from error
        if not isinstance(error, cubejit.InvalidProblem):
            raise
        if all("is not aligned to" in line and line.partition(" ")[0] in off for line in said):
            raise Refused(" ".join(said[0].split()[1:])) from error
        raise


def run(random, c, kind, dice, sessions, options):
    """(numbers of dy, x and w that were read, [(numbers, type)] or None for dx, dw, db, faults, what was done)"""
    chip = "machine" in options["session"]
    dtypes = [random.choice((("f16",) * 4 if chip else ("f32", "f16")) + ("f32",) + (("bf16",) if torch else ())) for _ in range(3)]
    if chip or random.random() < 0.5:
        dtypes = [dtypes[0]] * 3
    values = data.operands(dice, kind, (c.y_shape, c.x_shape, c.w_shape), dtypes)
    if kind not in ("denormal", "scaled") and len(set(dtypes)) == 1 and dtypes[0] != "bf16" and random.random() < 0.08:
        arrays = views.of_one_memory(random, [data.operand(v, dtypes[0], random) for v in values])
        made = [(array, array, f"numpy {dtypes[0]} of one memory") for array in arrays]
    else:
        made = [_operand(random, v, t, options.get("view")) for v, t in zip(values, dtypes)]
    read = [data.decode(array, t) for (_, array, _), t in zip(made, dtypes)]
    if options["flush"]:
        read = [data.flushed(array, t) for array, t in zip(read, dtypes)]
    before = [_bits(array) for _, array, _ in made]
    off = {name for name, (_, array, _) in zip(("dy", "x", "w"), made) if not array.flags.aligned}
    shapes = (c.x_shape, c.w_shape, (c.cout,))
    targets = [_target(random, s, t, options["results"]) for s, t in zip(shapes, (dtypes[1], dtypes[2], dtypes[0]))]
    off |= {name for name, (_, inside, _, _) in zip(("dx", "dw", "db"), targets) if inside is not None and not inside.flags.aligned}
    padding = list(c.before) if c.before == c.after else [side for pair in zip(c.before, c.after) for side in pair]
    did = (f"Session({options['session']}), math={options['math']}, mask={options['mask']}, threads={options['threads']}, "
           f"results {options['results']}, flush={options['flush']}, dy {made[0][2]}, x {made[1][2]}, w {made[2][2]}")
    geometry = dict(
        stride=list(c.stride), padding=padding, dilation=list(c.dilation), transposed=c.transposed,
        output_padding=list(c.output_padding) if c.transposed else 0, groups=c.groups, output_mask=options["mask"],
        math=options["math"])
    faults = []
    try:
        with float_mode.flushing(options["flush"], faults):
            results = _conv_backward(off, *(m[0] for m in made), **geometry, session=sessions.of(options["session"]),
                                     threads=options["threads"], out=None if options["results"] == "made" else tuple(t[0] for t in targets))
    except NotDense:
        for name, (_, _, dtype, around) in zip(("dx", "dw", "db"), targets):
            if around is not None and not numpy.isnan(data.decode(around, dtype)).all():
                return read, [None] * 3, [f"{name} was refused and written"], did
        raise
    faults += [f"{name} was written to" for name, (_, array, _), old in zip(("dy", "x", "w"), made, before) if _bits(array) != old]
    found = []
    other, how = dict(options["session"]), "on other threads"
    if chip:
        other["elide_copies"], how = not other.get("elide_copies"), "with the other elide_copies"

    @functools.cache
    def again():
        with float_mode.flushing(options["flush"], faults):
            return cubejit.conv_backward(*(m[0] for m in made), **geometry, session=sessions.of(other), threads=random.choice((1, 2, 3)))

    for i, (name, asked, result, target) in enumerate(zip(("dx", "dw", "db"), options["mask"], results, targets)):
        given, inside, dtype, around = target
        if not asked:
            if result is not None:
                faults.append(f"{name} was not asked for and is there")
            if around is not None and not (data.decode(around, dtype) != data.decode(around, dtype)).all():
                faults.append(f"{name} was not asked for and written")
            found.append(None)
        elif given is None:
            found.append(numbers_of(result))
            if found[-1][1] != dtype:
                faults.append(f"{name} is {found[-1][1]}, not {dtype}")
            elif _bits(found[-1][0]) != _bits(numbers_of(again()[i])[0]):
                faults.append(f"{name} has other bits when it is computed {how}")
        else:
            found.append((data.decode(inside, dtype), dtype))
            if result is not given:
                faults.append(f"{name} is not the object that was given")
            if not beside(inside, around, options["results"]):
                faults.append(f"memory beside {name} was written to")
    return read, found, faults, did
