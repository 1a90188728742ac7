# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what a layer is: the session that compiles it, what tells layers apart, and how one runs on tensors. Leaves which calls there are to
cubejit.torch.dispatcher, and who computes them to cubejit.torch.choosing."""

import contextlib
import functools
import os
import threading
import warnings

import torch
import torch.overrides

from cubejit import _core
from cubejit.errors import Error
from cubejit.session import Session, own_threads_said
from cubejit.torch import choosing

_COMPUTED = {torch.float32: "float32", torch.float16: "float16", torch.bfloat16: "bfloat16"}


def threads():
    """Of one call. Plans stay those of the session, so that torch.set_num_threads() changes no bit of a result."""
    return _own_threads or torch.get_num_threads()


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
_sessions = {}  # by whether plans are the same in every process
_own_threads = 0  # that the environment says for us alone
_warned = False


def session(reproducible=False):
    """The session of PyTorch's calls, which runs on PyTorch's own threads: those of two pools would fight for the cores.
    reproducible: plans are the cost model's for all cores of the machine, whatever threads this process has and what was tuned, and, of y and dx, those of
    one image."""
    global _own_threads, _warned
    found = _sessions.get(reproducible)
    if found is None:
        with _session_lock:
            found = _sessions.get(reproducible)
            if found is None:
                fixed = {"threads": min(os.sysconf("SC_NPROCESSORS_CONF"), 1024), "tune": "off", "batch_invariant": True} if reproducible else {}
                try:
                    found = Session(openmp=True, **fixed)
                    _own_threads = int(os.environ["CUBEJIT_NUM_THREADS"]) if own_threads_said() else 0
                    _sessions[reproducible] = found
                    if not _core.openmp():
                        warnings.warn("no OpenMP runtime is loaded: cubejit computes on threads of its own, beside PyTorch's", RuntimeWarning,
                                      stacklevel=2)
                except Error as error:  # PyTorch goes on computing everything, which would never be noticed
                    if not _warned:
                        _warned = True
                        warnings.warn(f"cubejit computes nothing: {error}", RuntimeWarning, stacklevel=2)
                    raise
    return found


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


def channels_of(w, transposed, groups):
    """Channels of the result of a convolution with these weights."""
    return w.shape[1] * groups if transposed else w.shape[0]


def _why_not_added(bias, x, w, geometry):
    """Why a bias is none that is added to y as it is stored; None if it is."""
    _, _, _, transposed, _, groups = geometry
    if bias.dtype != x.dtype or bias.layout != torch.strided or bias.device != x.device:
        return "a bias of another type"
    return None if tuple(bias.shape) == (channels_of(w, transposed, groups),) and bias.is_contiguous() else "a bias of another shape, or with strides"


def why_y_is_passed_on(x, w, bias, geometry):
    return why_passed_on(x, w) or (None if bias is None else _why_not_added(bias, x, w, geometry))


def _empty(shape, like, channels_last):
    if not channels_last:
        return torch.empty(shape, dtype=like.dtype)
    order = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
    if len(shape) == 3:
        return torch.empty((shape[0], shape[2], shape[1]), dtype=like.dtype).transpose(1, 2)
    return torch.empty(shape, dtype=like.dtype, memory_format=order)


def key_of(name, how, geometry, *tensors):
    """What tells apart the layers of passes `name`, computed by choosing.how()'s rule and math. The one place where it is made."""
    parts = [name, how, geometry]
    for t in tensors:
        parts += (t.shape, t.stride(), t.dtype)
    # Which of PyTorch's kernels would compute, and with it how results lie, depends on whether it has threads and oneDNN.
    parts += (torch.get_num_threads() > 1, torch._C._get_mkldnn_enabled())
    return tuple(parts)


def _geometry(stride, padding, dilation, transposed, output_padding, groups):
    return tuple(stride), tuple(padding), tuple(dilation), transposed, tuple(output_padding), groups


def _address(tensor):
    return 0 if tensor is None else tensor.data_ptr()


class Compiled:
    """A Layer, and the shapes and strides of its results: those of `lies`, strides by name, or as the operands lie that they are like.
    bytes: what it keeps, about."""

    def __init__(self, passes, x, w, dy, how, geometry, post_ops, lies=None):
        choose, math = how
        strides = lies or {}
        layer = session(choose == "reproducible").layer(passes, _described(x), _described(w), None if dy is None else _described(dy), *geometry,
                                                        math=math, post_ops=post_ops, results=strides)
        self._run, self.runnable, self.algorithm, self.bytes = layer.run, layer.runnable, layer.algorithm, layer.memory_bytes
        self.used = 0
        self.made = {}  # shape and strides of each result
        for name in passes:
            shape = {"dx": x.shape, "dw": w.shape}.get(name, layer.shape)
            plain = strides.get(name) or (None if name == "db" else _empty(shape, x, layer.channels_last(name)).stride())
            self.made[name] = (tuple(layer.shape[1:2]), (1,)) if name == "db" else (tuple(shape), tuple(plain))
        self._as_operand = {name for name, t in (("dx", x), ("dw", w)) if self.made.get(name) == (tuple(t.shape), tuple(t.stride()))}

    def empty(self, name, like):
        """Memory for a result, of the type of `like`, its operand: x for y and dx, w for dw."""
        # empty_like() takes half the time, which is more than a small layer's arithmetic.
        if name in self._as_operand:
            return torch.empty_like(like)
        return torch.empty_strided(*self.made[name], dtype=like.dtype)

    def forward(self, x, w, bias, add, y):
        """Computes y."""
        self._run(0, x.data_ptr(), w.data_ptr(), 0, 0, 0, y.data_ptr(), _address(bias), _address(add), threads())
        return y

    def backward(self, dy, x, w, y=None):
        """(dx, dw, db), None for those that it does not compute. y: of what is read off it, slopes."""
        dx = self.empty("dx", x) if "dx" in self.made else None
        dw = self.empty("dw", w) if "dw" in self.made else None
        db = self.empty("db", dy) if "db" in self.made else None
        self._run(dy.data_ptr(), x.data_ptr(), w.data_ptr(), _address(dx), _address(dw), _address(db), _address(y), 0, 0, threads())
        return dx, dw, db


def forward(layers, rules, x, w, bias, geometry, theirs):
    geometry = _geometry(*geometry)
    how = choosing.how(rules, x.dtype)
    entry = layers.find(key_of("y", how, geometry, x, w, *(() if bias is None else (bias,))))
    if entry.by is None and entry.refused is None:
        entry.refused = why_y_is_passed_on(x, w, bias, geometry)
    post_ops = "" if bias is None else "bias"

    def compiled(lies):
        return Compiled(["y"], x, w, None, how, geometry, post_ops, lies)

    def lies(y):
        return {"y": list(y.stride())}

    def ours(layer):
        return layer.forward(x, w, bias, None, layer.empty("y", x))

    result = layers.run(entry, choosing.Work(compiled, lies, ours, theirs))
    note = layers.note
    if note is not None:
        note(x, w, bias, geometry, result, post_ops)
    return result


def backward(layers, rules, dy, x, w, geometry, mask, theirs):
    """(dx, dw, db); None for those that the mask leaves out."""
    wanted = [name for name, asked in zip(("dx", "dw", "db"), mask) if asked]
    geometry = _geometry(*geometry)
    how = choosing.how(rules, x.dtype)
    entry = layers.find(key_of("+".join(wanted), how, geometry, x, w, dy))
    if entry.by is None and entry.refused is None:
        entry.refused = why_passed_on(x, w) or (None if dy.dtype == x.dtype else "operands of two types")

    def compiled(lies):
        return Compiled(wanted, x, w, dy, how, geometry, "", lies)

    def lies(results):
        return {name: list(t.stride()) for name, t in zip(("dx", "dw"), results) if name in wanted and t is not None}

    def ours(layer):
        return layer.backward(dy, x, w)

    return layers.run(entry, choosing.Work(compiled, lies, ours, theirs))
