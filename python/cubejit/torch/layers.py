# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides who computes a pass of a convolution that the dispatcher hands over: cubejit or PyTorch, by measurement, and what is counted of
it. Leaves which calls there are to cubejit.torch.dispatcher."""

import threading
import time

import torch

from cubejit.errors import Error
from cubejit.session import Session, own_threads_said

_COMPUTED = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}
_ROUNDS, _SECONDS = 3, 0.3  # of measuring one pass


def threads():
    """Of one call. Plans stay those of the session, so that torch.set_num_threads() changes no bit of a result."""
    return 0 if own_threads_said() else torch.get_num_threads()


def _described(tensor):
    return tuple(tensor.shape), tuple(tensor.stride()), _COMPUTED[tensor.dtype]


_session_lock = threading.Lock()
_session = None


def session():
    """The session of PyTorch's calls, which runs on PyTorch's own threads: those of two pools would fight for the cores."""
    global _session
    if _session is None:
        with _session_lock:
            if _session is None:
                _session = Session(openmp=True)
    return _session


class Pass:
    """One pass (y, or some of dx, dw, db) of one layer: who computes it, why, and what it took."""

    def __init__(self, name, key):
        self.name = name
        self.key = key
        self.layer = None  # of cubejit
        self.passed_on = None  # why PyTorch computes it; None: cubejit does
        self.chosen = False
        self.calls = 0
        self.seconds = 0.0  # of all calls but the first, which compiles and chooses
        self.ours_seconds = self.theirs_seconds = None  # of one call, measured

    @property
    def ours(self):
        return self.passed_on is None

    @property
    def algorithm(self):
        return self.layer.algorithm(self.name.partition("+")[0]) if self.ours and self.layer is not None else ""


class Layers:
    """All passes that were seen, by what tells them apart. May be used by many threads."""

    def __init__(self):
        self.choose = "measure"
        self.note = None  # is told of x, w and the geometry of every forward pass
        self._passes = {}
        self._lock = threading.Lock()
        self.double_backward = 0

    def passes(self):
        with self._lock:
            return list(self._passes.values())

    def clear(self):
        with self._lock:
            self._passes.clear()
            self.double_backward = 0

    def find(self, key):
        found = self._passes.get(key)
        if found is None:
            with self._lock:
                found = self._passes.setdefault(key, Pass(key[0], key))
        return found

    def run(self, entry, compile_ours, ours, theirs):
        """The pass' result. compile_ours: makes the Layer, or raises Error. ours(layer), theirs(): compute it."""
        entry.calls += 1
        if not entry.chosen:
            return self._first(entry, compile_ours, ours, theirs)
        start = time.perf_counter()
        result = ours(entry.layer) if entry.ours else theirs()
        entry.seconds += time.perf_counter() - start
        return result

    def _first(self, entry, compile_ours, ours, theirs):
        """Chooses. What cannot be compiled goes to PyTorch, whose errors of bad shapes are its own."""
        try:
            layer = compile_ours()
            result = ours(layer)
        except Error as error:
            entry.passed_on = str(error).splitlines()[0]
            result = theirs()
            entry.chosen = True
            return result
        entry.layer = layer
        if self.choose == "measure":
            try:
                other = theirs()
            except RuntimeError:  # a type that PyTorch does not compute
                other = None
            if other is not None:
                entry.ours_seconds, entry.theirs_seconds = _race(lambda: ours(layer), theirs)
                if entry.theirs_seconds < entry.ours_seconds:
                    entry.passed_on = "PyTorch is faster"
                    result = other
        entry.chosen = True
        return result


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
        parts += (tuple(t.shape), t.stride(), t.dtype)
    return tuple(parts)


def _geometry(stride, padding, dilation, transposed, output_padding, groups):
    return tuple(stride), tuple(padding), tuple(dilation), transposed, tuple(output_padding), groups


def forward(layers, x, w, bias, geometry, theirs):
    geometry = _geometry(*geometry)
    if layers.note is not None:
        layers.note(x, w, geometry)
    entry = layers.find(_key("y", geometry, x, w, *(() if bias is None else (bias,))))
    if not entry.chosen:
        entry.passed_on = why_passed_on(x, w) or (None if bias is None else _why_not_added(bias, x, w, geometry))
        entry.chosen = entry.passed_on is not None

    def compiled():
        return session().layer(["y"], _described(x), _described(w), None, *geometry, post_ops="" if bias is None else "bias")

    def ours(layer):
        y = _empty(layer.shape, x, layer.channels_last("y"))
        layer.run(x=x.data_ptr(), w=w.data_ptr(), y=y.data_ptr(), b=0 if bias is None else bias.data_ptr(), threads=threads())
        return y

    return layers.run(entry, compiled, ours, theirs)


def backward(layers, dy, x, w, bias_dtype, geometry, mask, theirs):
    """(dx, dw, db); None for those that the mask leaves out."""
    wanted = [name for name, asked in zip(("dx", "dw", "db"), mask) if asked]
    geometry = _geometry(*geometry)
    entry = layers.find(_key("+".join(wanted), geometry, x, w, dy))
    if not entry.chosen:
        entry.passed_on = why_passed_on(x, w) or (None if dy.dtype == x.dtype else "operands of two types")
        entry.chosen = entry.passed_on is not None

    def compiled():
        return session().layer(wanted, _described(x), _described(w), _described(dy), *geometry)

    def ours(layer):
        dx = _empty(x.shape, x, layer.channels_last("dx")) if mask[0] else None
        dw = _empty(w.shape, w, layer.channels_last("dw")) if mask[1] else None
        db = torch.empty(dy.shape[1], dtype=dy.dtype) if mask[2] else None
        at = {name: t.data_ptr() for name, t in (("dx", dx), ("dw", dw), ("db", db)) if t is not None}
        layer.run(dy=dy.data_ptr(), x=x.data_ptr(), w=w.data_ptr(), threads=threads(), **at)
        return dx, dw, db if db is None or db.dtype == bias_dtype else db.to(bias_dtype)

    return layers.run(entry, compiled, ours, theirs)
