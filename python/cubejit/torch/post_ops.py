# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what conv_post_ops is: a convolution that ends with a bias, a residual and an activation, and its gradients, each in one pass over memory.
What the dispatcher sees are separate operators; who writes a model can say what belongs together."""

import torch
from torch.autograd import forward_ad
from torch.autograd.function import once_differentiable

from cubejit import _core
from cubejit.errors import Error
from cubejit.torch import choosing as _choosing
from cubejit.torch import graphs as _graphs
from cubejit.torch import layers as _layers
from cubejit.torch.dispatcher import _layers_seen


def _layer(passes, x, w, dy, geometry, post_ops):
    how = _choosing.how(_layers_seen.rules, x.dtype)
    key = (post_ops, *_layers.key_of(passes, how, geometry, *(t for t in (x, w, dy) if t is not None)))
    kept = _layers_seen.finished
    return kept.get(key) or kept.setdefault(key, _layers.Compiled(list(passes), x, w, dy, how, geometry, post_ops))


def _signs(tensor):
    """All that the dispatcher knows of a tensor."""
    return repr(torch._C._dispatch_keys(tensor))


def _held(tensor):
    """The tensor's memory holds it, and whoever looks at it by its address sees what operators do."""
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and _signs(tensor) in _PLAIN


def _undisturbed():
    """Nobody transforms or records calls of this thread: traces, modes, transforms of functions, tangents."""
    return forward_ad._current_level < 0 and repr(torch._C._dispatch_tls_local_include_set()) in _QUIET


_PLAIN, _QUIET = set(), set()
for _mode in (False, True):
    with torch.inference_mode(_mode):
        _PLAIN.add(_signs(torch.empty(1)))
        _QUIET.add(repr(torch._C._dispatch_tls_local_include_set()))


def _laid_like(t, y):
    """t in the memory order of y, which is dense."""
    if t.stride() == y.stride():
        return t
    return torch.empty_strided(y.shape, y.stride(), dtype=t.dtype).copy_(t)


def _numbers(activation):
    return [float(text) for text in activation.split(":")[1:]]


def _activated(y, activation):
    name = activation.split(":")[0]
    if name == "relu":
        return torch.relu(y)
    if name == "leaky_relu":
        return torch.nn.functional.leaky_relu(y, *_numbers(activation))
    return torch.nn.functional.hardtanh(y, *_numbers(activation))


def _sloped(dy, y, activation):
    """dy times the slope where y was stored; where y is NaN it is what PyTorch takes it for: not above 0 and not below."""
    name = activation.split(":")[0]
    if name == "leaky_relu":
        return torch.where(y > 0, dy, dy * _numbers(activation)[0])
    if name == "relu":
        return dy.masked_fill(y <= 0, 0)
    low, high = _numbers(activation)
    return dy.masked_fill((y <= low) | (y >= high), 0)


def _slope_is_read_off_y(activation):
    return not activation.startswith("leaky_relu") or _numbers(activation)[0] >= 0


def autocast(*operands):
    """The operands as autocast, where it is enabled, gives them to a convolution."""
    if not torch.is_autocast_cpu_enabled():
        return operands
    dtype = torch.get_autocast_dtype("cpu") if hasattr(torch, "get_autocast_dtype") else torch.get_autocast_cpu_dtype()
    return [t if t is None or t.dtype == torch.float64 or not t.is_floating_point() else t.to(dtype) for t in operands]


def _check_added(add, y):
    if add is not None and add.shape != y.shape:
        raise RuntimeError(f"add has shape {tuple(add.shape)}; it must be {tuple(y.shape)}")


def of_add(dy, y, activation):
    """The gradient of the residual, which is that of the sums. y: as it was stored, of an activation."""
    return _sloped(dy, y, activation) if activation else dy


def gradients(passes, dy, x, w, geometry, y=None, activation=""):
    """(dx, dw, db) of conv_post_ops, None for those that are not asked for. y: as it was stored, of an activation whose slope is read off it."""
    geometry = _layers._geometry(*geometry)
    if _layers.why_passed_on(x, w) is not None or dy.dtype != x.dtype:
        _, _, _, transposed, _, groups = geometry
        mask = [name in passes for name in ("dx", "dw", "db")]
        return torch.ops.aten.convolution_backward(of_add(dy, y, activation), x, w, [_layers.channels_of(w, transposed, groups)], *geometry, mask)
    dy = dy if y is None else _laid_like(dy, y)
    if not _held(dy):
        dy = torch.empty_strided(dy.shape, dy.stride(), dtype=dy.dtype).copy_(dy)
    return _layer(tuple(passes), x, w, dy, geometry, activation).backward(dy, x, w, *([] if y is None else [y]))


class _Finished(torch.autograd.Function):
    @staticmethod
    @_layers.without_modes
    def forward(ctx, x, w, bias, add, activation, geometry):
        post_ops = ",".join([*(["bias"] if bias is not None else []), *(["add"] if add is not None else []), *([activation] if activation else [])])
        layer = _layer(("y",), x, w, None, geometry, post_ops)
        y = layer.empty("y", x)
        _check_added(add, y)
        layer.forward(x, w, None if bias is None else bias.contiguous(), None if add is None else _laid_like(add, y), y)
        note = _layers_seen.note
        if note is not None:
            note(x, w, bias, geometry, y, post_ops)
        ctx.save_for_backward(x, w, *([y] if activation else []))
        ctx.geometry, ctx.activation = geometry, activation
        return y

    @staticmethod
    @once_differentiable
    @_layers.without_modes
    def backward(ctx, dy):
        x, w, *saved = ctx.saved_tensors
        y = saved[0] if saved else None
        passes = [name for name, needed in zip(("dx", "dw", "db"), ctx.needs_input_grad) if needed]
        results = gradients(passes, dy, x, w, ctx.geometry, y, ctx.activation) if passes else (None, None, None)
        return *results, of_add(dy, y, ctx.activation) if ctx.needs_input_grad[3] else None, None, None


def conv_post_ops(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1, *, add=None, activation=None, transposed=False, output_padding=0):
    """activation(conv(x, w) + bias + add) of 1, 2 or 3 axes, differentiable once, each pass once over memory.

    x (N, Cin, spatial...), w (Cout, Cin/groups, spatial...; transposed: Cin, Cout/groups, ...), bias (Cout), add like the result; numbers, or one
    for each axis. activation: "relu", "leaky_relu:SLOPE", "clip:LOW:HIGH". Sums, bias, add and activation are float32 and rounded
    once. What cubejit does not compute (float64, other devices, several types, slopes below 0) is computed by PyTorch, and differentiable as that
    is. Autocast gives it tensors of its type, as it does convolutions.
    """
    if torch.is_autocast_cpu_enabled():
        x, w, bias, add = autocast(x, w, bias, add)
        with torch.autocast("cpu", enabled=False):
            return conv_post_ops(x, w, bias, stride, padding, dilation, groups, add=add, activation=activation, transposed=transposed,
                                 output_padding=output_padding)
    if isinstance(padding, str):
        raise TypeError(f"padding = {padding!r}; it must be a number, or one for each axis")
    axes = w.dim() - 2
    each = [list(v) if isinstance(v, (tuple, list)) else [v] * axes for v in (stride, padding, dilation, output_padding)]
    geometry = _layers._geometry(*each[:3], bool(transposed), each[3], groups)
    others = [t for t in (bias, add) if t is not None]
    compiling = _graphs.compiling()
    try:
        compiling or _core.activation(activation or "")
    except Error as error:
        raise RuntimeError(str(error)) from error
    channels = _layers.channels_of(w, transposed, groups)
    if bias is not None and tuple(bias.shape) != (channels,):
        raise RuntimeError(f"bias has shape {tuple(bias.shape)}; it must be ({channels},)")
    alike = all(t.dtype == x.dtype and (compiling and t.device.type == "cpu" or _held(t)) for t in (x, w, *others)) and (compiling or _undisturbed())
    if alike and _slope_is_read_off_y(activation or "") and _layers.why_passed_on(x, w) is None:
        if compiling:
            return _graphs.conv_post_ops(x, w, bias, add, activation or "", *geometry)
        try:
            return _Finished.apply(x, w, bias, add, activation or "", geometry)
        except Error as error:
            raise RuntimeError(str(error)) from error
    y = torch.ops.aten.convolution(x, w, bias, *geometry)
    _check_added(add, y)
    if add is not None:
        y = y + add
    return _activated(y, activation) if activation else y
