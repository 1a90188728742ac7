# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides who computes a pass of a convolution that the dispatcher hands over: cubejit or PyTorch, by measurement, and what is counted of
it. Leaves which calls there are to cubejit.torch.dispatcher."""

import contextlib
import functools
import os
import threading
import time
import warnings

import torch
import torch.overrides

from cubejit.errors import Error
from cubejit.session import Session, own_threads_said

_COMPUTED = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}
_ROUNDS, _SECONDS = 3, 0.3  # of measuring one pass


def threads():
    """Of one call. Plans stay those of the session, so that torch.set_num_threads() changes no bit of a result."""
    return 0 if _own_threads else torch.get_num_threads()


def without_modes(function):
    """The function, in which no mode of torch functions sees our calls, which it might change."""

    @functools.wraps(function)
    def called(*arguments):
        modes = torch._C._len_torch_function_stack()
        if modes == 0:
            return function(*arguments)
        with contextlib.ExitStack() as left_out:
            for _ in range(modes):
                left_out.enter_context(torch.overrides._pop_mode_temporarily())
            return function(*arguments)

    return called


def _described(tensor):
    return tuple(tensor.shape), tuple(tensor.stride()), _COMPUTED[tensor.dtype]


_session_lock = threading.Lock()
_session = None
_own_threads = False  # the session's number of threads is the environment's own
_warned = False


def session():
    """The session of PyTorch's calls, which runs on PyTorch's own threads: those of two pools would fight for the cores."""
    global _session, _own_threads, _warned
    if _session is None:
        with _session_lock:
            if _session is None:
                try:
                    _own_threads = own_threads_said()
                    _session = Session(openmp=True)
                except Error as error:  # PyTorch goes on computing everything, which would never be noticed
                    if not _warned:
                        _warned = True
                        warnings.warn(f"cubejit computes nothing: {error}", RuntimeWarning, stacklevel=2)
                    raise
    return _session


class Recent:
    """Values by key, as many as the session keeps executables: more of them, and the one that was not used for longest goes. Values have an
    attribute `used`. May be used by many threads."""

    def __init__(self, gone=lambda value: None):
        said = os.environ.get("CUBEJIT_CACHE_CAPACITY", "")
        self.capacity = int(said) if said.isdecimal() and int(said) > 0 else 1024
        self._gone = gone  # is told of what goes
        self._values = {}
        self._time = 0
        self._lock = threading.Lock()

    def get(self, key):
        found = self._values.get(key)
        if found is not None:
            self._time += 1  # threads may take the same one, or one twice: it need only be about right
            found.used = self._time
        return found

    def setdefault(self, key, value):
        with self._lock:
            self._time += 1
            found = self._values.setdefault(key, value)
            found.used = self._time
            if len(self._values) > self.capacity:
                oldest = min(self._values, key=lambda k: self._values[k].used)
                self._gone(self._values.pop(oldest))
            return found

    def values(self):
        with self._lock:
            return list(self._values.values())

    def clear(self):
        with self._lock:
            self._values.clear()


class Pass:
    """One pass (y, or some of dx, dw, db) of one layer: who computes it, why, and what it took."""

    def __init__(self, name, key):
        self.name = name
        self.key = key
        self.layer = None  # of cubejit
        self.refused = None  # why cubejit does not compute it
        self.choose = None  # of the last call
        self.calls = self.timed = self.failed = 0  # all; those in `seconds`; those that PyTorch computed since cubejit's run failed
        self.seconds = 0.0  # of calls that neither compiled nor measured
        self.error = None  # of the last one that failed
        self.measured = False
        self.ours_seconds = self.theirs_seconds = None  # of one call, measured

    @property
    def passed_on(self):
        """Why PyTorch computes it; None: cubejit does."""
        slower = self.choose == "measure" and self.theirs_seconds is not None and self.theirs_seconds < self.ours_seconds
        return "PyTorch is faster" if slower else self.refused

    @property
    def settled(self):
        return self.refused is not None or (self.layer is not None and (self.measured or self.choose != "measure"))

    @property
    def algorithm(self):
        return self.layer.algorithm(self.name.partition("+")[0]) if self.passed_on is None and self.layer is not None else ""


class Layers:
    """All passes that were seen, by what tells them apart. May be used by many threads."""

    def __init__(self):
        self.choose = None  # by what: "measure" or "ours"; None: everything is PyTorch's
        self.note = None  # is told of x, w, bias, the geometry, y and post-ops of every forward pass
        self._passes = Recent(self._count)
        self.clear()

    def _count(self, entry):
        self.forgotten = tuple(a + b for a, b in zip(self.forgotten, (1, entry.calls, entry.seconds)))

    def passes(self):
        return self._passes.values()

    def clear(self):
        self._passes.clear()
        self.forgotten = (0, 0, 0.0)  # passes that are no longer kept, their calls and seconds

    def find(self, key):
        return self._passes.get(key) or self._passes.setdefault(key, Pass(key[0], key))

    def run(self, entry, choose, compile_ours, ours, theirs):
        """The pass' result. compile_ours(like): makes the Layer whose results lie as `like`, what theirs() gave, or None, or raises Error.
        ours(layer, like), theirs(): compute it."""
        entry.calls += 1
        entry.choose = choose
        if not entry.settled:
            return self._first(entry, choose, compile_ours, ours, theirs)
        start = time.perf_counter()
        result = _computed(entry, ours, theirs) if entry.passed_on is None else theirs()
        entry.seconds += time.perf_counter() - start
        entry.timed += 1
        return result

    def _first(self, entry, choose, compile_ours, ours, theirs):
        """Compiles, and measures if that is how to choose. Results lie as PyTorch's do, which models rely on, so it is asked for one. What cannot
        be compiled goes to PyTorch, whose errors of bad shapes are its own."""
        other = refused_by_them = None
        try:
            other = theirs()
        except RuntimeError as error:  # a type that PyTorch does not compute, or what neither does
            refused_by_them = error
        if entry.layer is None:
            try:
                entry.layer = compile_ours(other)
            except Error as error:
                entry.refused = str(error).splitlines()[0]
        if entry.refused is not None:
            if refused_by_them is not None:
                raise refused_by_them
            return other
        result = _computed(entry, ours, theirs if other is None else lambda: other)
        if choose == "measure" and result is not other:
            if other is not None:
                entry.ours_seconds, entry.theirs_seconds = _race(lambda: _computed(entry, ours, theirs), theirs)
            entry.measured = True
        return result if entry.passed_on is None else other


def _computed(entry, ours, theirs):
    """By cubejit, or, should its run fail, by PyTorch for this once: there may not have been memory for its workspace."""
    try:
        return ours(entry.layer)
    except Error as error:
        entry.failed, entry.error = entry.failed + 1, str(error).splitlines()[0]
        return theirs()


def _race(ours, theirs):
    """The best of a few turns of each, after one that warmed both up."""
    best = [float("inf"), float("inf")]
    begun = time.perf_counter()
    for _ in range(_ROUNDS):
        for which, run in enumerate((ours, theirs)):
            start = time.perf_counter()
            run()
            best[which] = min(best[which], time.perf_counter() - start)
        if time.perf_counter() - begun > _SECONDS:
            break
    return best


def why_passed_on(x, w):
    """Why cubejit does not compute a convolution of these; None if it may."""
    if x.dtype not in _COMPUTED or w.dtype not in _COMPUTED:
        return f"{str(x.dtype if x.dtype not in _COMPUTED else w.dtype).removeprefix('torch.')}"
    if x.dtype != w.dtype:
        return "operands of two types"
    if not 3 <= w.dim() <= 5 or x.dim() != w.dim():
        return f"{x.dim() - 2} axes"
    if x.layout != torch.strided or w.layout != torch.strided:
        return "sparse"
    if x.numel() == 0 or w.numel() == 0:
        return "empty"
    return None


def _why_not_added(bias, x, w, geometry):
    """Why a bias is none that is added to y as it is stored; None if it is."""
    channels = w.shape[1] * geometry[-1] if geometry[3] else w.shape[0]
    if bias.dtype != x.dtype or bias.layout != torch.strided or bias.device != x.device:
        return "a bias of another type"
    return None if tuple(bias.shape) == (channels,) and bias.is_contiguous() else "a bias of another shape, or with strides"


def why_y_is_passed_on(x, w, bias, geometry):
    return why_passed_on(x, w) or (None if bias is None else _why_not_added(bias, x, w, geometry))


def _empty(shape, like, channels_last):
    if not channels_last:
        return torch.empty(shape, dtype=like.dtype)
    order = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
    if len(shape) == 3:
        return torch.empty((shape[0], shape[2], shape[1]), dtype=like.dtype).transpose(1, 2)
    return torch.empty(shape, dtype=like.dtype, memory_format=order)


def _key(name, geometry, *tensors):
    parts = [name, geometry]
    for t in tensors:
        parts += (t.shape, t.stride(), t.dtype)
    return tuple(parts)


def _geometry(stride, padding, dilation, transposed, output_padding, groups):
    return tuple(stride), tuple(padding), tuple(dilation), transposed, tuple(output_padding), groups


def _address(tensor):
    return 0 if tensor is None else tensor.data_ptr()


class Compiled:
    """A Layer, and the shapes and strides of its results: those of `results`, tensors by name, or as the operands lie that they are like."""

    def __init__(self, passes, x, w, dy, geometry, post_ops, results=None):
        strides = {name: list(t.stride()) for name, t in (results or {}).items() if t is not None}
        layer = session().layer(passes, _described(x), _described(w), None if dy is None else _described(dy), *geometry, post_ops=post_ops,
                                results=strides)
        self._run, self.algorithm = layer.run, layer.algorithm
        self._made = {}
        for name in passes:
            shape = {"dx": x.shape, "dw": w.shape}.get(name, layer.shape)
            plain = strides.get(name) or (None if name == "db" else _empty(shape, x, layer.channels_last(name)).stride())
            self._made[name] = (tuple(layer.shape[1:2]), (1,)) if name == "db" else (tuple(shape), tuple(plain))
        self._as_operand = {name for name, t in (("dx", x), ("dw", w)) if self._made.get(name) == (tuple(t.shape), tuple(t.stride()))}

    def empty(self, name, like):
        """Memory for a result, of the type of `like`, its operand: x for y and dx, w for dw."""
        # empty_like() takes half the time, which is more than a small layer's arithmetic.
        if name in self._as_operand:
            return torch.empty_like(like)
        return torch.empty_strided(*self._made[name], dtype=like.dtype)

    def forward(self, x, w, bias, add, y):
        """Computes y."""
        self._run(0, x.data_ptr(), w.data_ptr(), 0, 0, 0, y.data_ptr(), _address(bias), _address(add), threads())
        return y

    def backward(self, dy, x, w, y=None):
        """(dx, dw, db), None for those that it does not compute. y: of what is read off it, slopes."""
        dx = self.empty("dx", x) if "dx" in self._made else None
        dw = self.empty("dw", w) if "dw" in self._made else None
        db = self.empty("db", dy) if "db" in self._made else None
        self._run(dy.data_ptr(), x.data_ptr(), w.data_ptr(), _address(dx), _address(dw), _address(db), _address(y), 0, 0, threads())
        return dx, dw, db


def forward(layers, choose, x, w, bias, geometry, theirs):
    geometry = _geometry(*geometry)
    entry = layers.find(_key("y", geometry, x, w, *(() if bias is None else (bias,))))
    if entry.layer is None and entry.refused is None:
        entry.refused = why_y_is_passed_on(x, w, bias, geometry)

    def compiled(like):
        return Compiled(["y"], x, w, None, geometry, "" if bias is None else "bias", {"y": like})

    def ours(layer):
        return layer.forward(x, w, bias, None, layer.empty("y", x))

    result = layers.run(entry, choose, compiled, ours, theirs)
    note = layers.note
    if note is not None:
        note(x, w, bias, geometry, result, "" if bias is None else "bias")
    return result


def backward(layers, choose, dy, x, w, geometry, mask, theirs):
    """(dx, dw, db); None for those that the mask leaves out."""
    wanted = [name for name, asked in zip(("dx", "dw", "db"), mask) if asked]
    geometry = _geometry(*geometry)
    entry = layers.find(_key("+".join(wanted), geometry, x, w, dy))
    if entry.layer is None and entry.refused is None:
        entry.refused = why_passed_on(x, w) or (None if dy.dtype == x.dtype else "operands of two types")

    def compiled(like):
        lie = {} if like is None else dict(zip(("dx", "dw"), like))
        return Compiled(wanted, x, w, dy, geometry, "", {name: t for name, t in lie.items() if name in wanted})

    def ours(layer):
        return layer.backward(dy, x, w)

    return layers.run(entry, choose, compiled, ours, theirs)
