# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what torch.compile() sees of cubejit's own functions: operators with fake implementations and gradients, so that a graph needs no break
(fullgraph=True). They compute what the functions compute without a compiler. They are there from PyTorch 2.4 on."""

from typing import List, Optional, Sequence

import torch
from torch import Tensor

from cubejit import _core
from cubejit.errors import Error
from cubejit.torch.layers import channels_of

_AVAILABLE = hasattr(torch.library, "custom_op")
compiling = torch.compiler.is_compiling if _AVAILABLE else lambda: False

_NAMES = ("dx", "dw", "db")


def _laid(values, made):
    """The values in the memory of `made`, unless they lie as it does."""
    return values if values.stride() == made.stride() else made.copy_(values)


def _like(passes, x, w, transposed, groups):
    """Memory of the gradients of these passes."""
    made = {"dx": lambda: torch.empty_like(x), "dw": lambda: torch.empty_like(w), "db": lambda: x.new_empty(channels_of(w, transposed, groups))}
    return [made[name]() for name in passes.split(",")]


def _result(y, x):
    """Memory of a result of y's shape, in the order of x."""
    for order, axes in ((torch.channels_last, 4), (torch.channels_last_3d, 5)):
        if x.dim() == axes and not x.is_contiguous() and x.is_contiguous(memory_format=order):
            return torch.empty_like(y, memory_format=order)
    return torch.empty_like(y, memory_format=torch.contiguous_format)


def _conv_gradients(passes: str, dy: Tensor, x: Tensor, w: Tensor, y: Optional[Tensor], activation: str, stride: Sequence[int],
                    padding: Sequence[int], dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int) -> List[Tensor]:
    from cubejit.torch.post_ops import gradients

    geometry = stride, padding, dilation, transposed, output_padding, groups
    results = dict(zip(_NAMES, gradients(passes.split(","), dy, x, w, geometry, y, activation)))
    return [_laid(results[name], made) for name, made in zip(passes.split(","), _like(passes, x, w, transposed, groups))]


def _conv_gradients_of_fakes(passes, dy, x, w, y, activation, *geometry):
    return _like(passes, x, w, geometry[3], geometry[5])


def _convolution(x: Tensor, w: Tensor, bias: Optional[Tensor], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                 transposed: bool, output_padding: Sequence[int], groups: int) -> Tensor:
    return torch.ops.aten.convolution(x, w, bias, stride, padding, dilation, transposed, output_padding, groups)


def _keep_operands(ctx, inputs, output):
    x, w, _, *ctx.geometry = inputs
    ctx.activation = ""
    ctx.save_for_backward(x, w)


def _conv_post_ops(x: Tensor, w: Tensor, bias: Optional[Tensor], add: Optional[Tensor], activation: str, stride: Sequence[int],
                   padding: Sequence[int], dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int) -> Tensor:
    from cubejit.torch.post_ops import conv_post_ops as compute

    y = compute(x, w, bias, stride, padding, dilation, groups, add=add, activation=activation or None, transposed=transposed,
                output_padding=output_padding)
    return _laid(y, _result(y, x))


def _conv_post_ops_of_fakes(x, w, bias, add, activation, *geometry):
    try:
        _core.activation(activation)
    except Error as error:
        raise RuntimeError(str(error)) from error
    y = torch.ops.aten.convolution(x, w, bias, *geometry)
    if add is not None and add.shape != y.shape:
        raise RuntimeError(f"add has shape {tuple(add.shape)}; it must be {tuple(y.shape)}")
    return _result(y, x)


def _keep_result(ctx, inputs, output):
    x, w, _, _, ctx.activation, *ctx.geometry = inputs
    ctx.save_for_backward(x, w, *([output] if ctx.activation else []))


def _gradients(ctx, dy):
    """The gradients of x, w and bias; None for those that nobody asks for."""
    x, w, *saved = ctx.saved_tensors
    asked = ctx.needs_input_grad[:3]
    passes = ",".join(name for name, needed in zip(_NAMES, asked) if needed)
    results = iter(conv_gradients(passes, dy, x, w, saved[0] if saved else None, ctx.activation, *ctx.geometry) if passes else ())
    return [next(results) if needed else None for needed in asked]


def _convolution_backward(ctx, dy):
    return *_gradients(ctx, dy), *(None for _ in ctx.geometry)


def _conv_post_ops_backward(ctx, dy):
    from cubejit.torch.post_ops import of_add

    residuals = of_add(dy, ctx.saved_tensors[-1], ctx.activation) if ctx.needs_input_grad[3] else None
    return *_gradients(ctx, dy), residuals, None, *(None for _ in ctx.geometry)


def _operator(name, compute, fake, backward=None, setup_context=None):
    """The operator cubejit::NAME. Its kernel may be there already, from libcubejit_torch.so."""
    if torch._C._dispatch_has_kernel(f"cubejit::{name}"):
        made = getattr(torch.ops.cubejit, name).default
    else:
        made = torch.library.custom_op(f"cubejit::{name}", compute, mutates_args=())
    torch.library.register_fake(made, fake)
    if backward is not None:
        torch.library.register_autograd(made, backward, setup_context=setup_context)
    return made


if _AVAILABLE:
    conv_gradients = _operator("conv_gradients", _conv_gradients, _conv_gradients_of_fakes)
    convolution = _operator("convolution", _convolution, torch.ops.aten.convolution, _convolution_backward, _keep_operands)  # the result is PyTorch's
    conv_post_ops = _operator("conv_post_ops", _conv_post_ops, _conv_post_ops_of_fakes, _conv_post_ops_backward, _keep_result)
