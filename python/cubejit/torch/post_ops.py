# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what conv_post_ops is: a convolution that ends with a bias, a residual and an activation, and its gradients, each in one pass over memory.
What the dispatcher sees are separate operators; who writes a model can say what belongs together."""

import threading

import torch
from torch.autograd.function import once_differentiable

from cubejit.errors import Error
from cubejit.torch import layers as _layers

_lock = threading.Lock()
_compiled = {}


def _layer(passes, x, w, dy, geometry, post_ops):
    key = (passes, geometry, post_ops, *((tuple(t.shape), t.stride(), t.dtype) for t in (x, w, dy) if t is not None))
    found = _compiled.get(key)
    if found is None:
        made = _layers.session().layer(list(passes), _layers._described(x), _layers._described(w),
                                       None if dy is None else _layers._described(dy), *geometry, post_ops=post_ops)
        with _lock:
            found = _compiled.setdefault(key, made)
    return found


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
    name = activation.split(":")[0]
    if name == "clip":
        low, high = _numbers(activation)
        return torch.where((y > low) & (y < high), dy, torch.zeros((), dtype=dy.dtype))
    return torch.where(y > 0, dy, dy * (_numbers(activation)[0] if name == "leaky_relu" else 0))


class _Finished(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, bias, add, activation, geometry):
        post_ops = ",".join([*(["bias"] if bias is not None else []), *(["add"] if add is not None else []), *([activation] if activation else [])])
        layer = _layer(("y",), x, w, None, geometry, post_ops)
        y = _layers._empty(layer.shape, x, layer.channels_last("y"))
        if bias is not None and tuple(bias.shape) != (y.shape[1],):
            raise RuntimeError(f"bias has shape {tuple(bias.shape)}; it must be ({y.shape[1]},)")
        if add is not None and add.shape != y.shape:
            raise RuntimeError(f"add has shape {tuple(add.shape)}; it must be {tuple(y.shape)}")
        b, z = None if bias is None else bias.contiguous(), None if add is None else _laid_like(add, y)
        layer.run(x=x.data_ptr(), w=w.data_ptr(), y=y.data_ptr(), b=0 if b is None else b.data_ptr(), z=0 if z is None else z.data_ptr(),
                  threads=_layers.threads())
        ctx.save_for_backward(x, w, *([y] if activation else []))
        ctx.geometry, ctx.activation = geometry, activation
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        x, w, *saved = ctx.saved_tensors
        passes = tuple(name for name, needed in zip(("dx", "dw", "db"), ctx.needs_input_grad) if needed)
        if saved:
            dy = _laid_like(dy, saved[0])
        results = {}
        if passes:
            layer = _layer(passes, x, w, dy, ctx.geometry, ctx.activation)
            for name, like in (("dx", x), ("dw", w)):
                if name in passes:
                    results[name] = _layers._empty(like.shape, like, layer.channels_last(name))
            if "db" in passes:
                results["db"] = torch.empty(dy.shape[1], dtype=dy.dtype)
            layer.run(dy=dy.data_ptr(), x=x.data_ptr(), w=w.data_ptr(), y=saved[0].data_ptr() if saved else 0, threads=_layers.threads(),
                      **{name: t.data_ptr() for name, t in results.items()})
        of_add = None
        if ctx.needs_input_grad[3]:
            of_add = _sloped(dy, saved[0], ctx.activation) if saved else dy
        return results.get("dx"), results.get("dw"), results.get("db"), of_add, None, None


def conv_post_ops(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1, *, add=None, activation=None, transposed=False, output_padding=0):
    """activation(conv(x, w) + bias + add) of 1, 2 or 3 axes, differentiable once, each pass once over memory.

    x (N, Cin, spatial...), w (Cout, Cin/groups, spatial...; transposed: Cin, Cout/groups, ...), bias (Cout), add like the result; numbers, or one
    for each axis. activation: "relu", "leaky_relu:SLOPE" (from 0 on), "clip:LOW:HIGH". Sums, bias, add and activation are float32 and rounded
    once. What cubejit does not compute (float64, other devices, several types) is computed by PyTorch, and differentiable as that is.
    """
    axes = w.dim() - 2
    each = [list(v) if isinstance(v, (tuple, list)) else [v] * axes for v in (stride, padding, dilation, output_padding)]
    geometry = _layers._geometry(*each[:3], bool(transposed), each[3], groups)
    others = [t for t in (bias, add) if t is not None]
    alike = all(t.dtype == x.dtype and t.device.type == "cpu" for t in (w, *others)) and x.device.type == "cpu"
    if alike and _layers.why_passed_on(x, w) is None:
        try:
            return _Finished.apply(x, w, bias, add, activation or "", geometry)
        except Error as error:
            raise RuntimeError(str(error)) from error
    y = torch.ops.aten.convolution(x, w, bias, *geometry)
    if add is not None:
        y = y + add
    return _activated(y, activation) if activation else y
