# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how PyTorch's convolutions get cubejit's passes: enable() puts forward and backward under the dispatcher for all there are; for
single modules, whose forward stays PyTorch's own, backward is conv_backward.

conv1d ... conv_transpose3d are functions, Conv1d ... ConvTranspose3d modules with the arguments of torch.nn's;
use(module) gives a network that exists the same gradients. conv_post_ops is a convolution with what follows it, in one pass over memory. Tensors lie
on the CPU; gradients of gradients are not there.
Each call runs on as many threads as torch.get_num_threads() says, unless CUBEJIT_NUM_THREADS does. PyTorch's settings hold for all of them as
they stand when a call is made: torch.use_deterministic_algorithms(), torch.set_float32_matmul_precision() and
torch.backends.mkldnn.conv.fp32_precision (see enable()).
"""

import numbers

try:
    import torch
except ModuleNotFoundError as absent:
    if absent.name != "torch":  # PyTorch is there, and lacks something
        raise
    raise ImportError("cubejit.torch needs PyTorch, and no package named torch is installed", name="torch") from None
if not hasattr(torch, "library"):
    raise ImportError(f"cubejit.torch needs PyTorch 1.13 or later; the package named torch at {getattr(torch, '__path__', torch)} is not that",
                      name="torch")
from torch.autograd.function import once_differentiable
from torch.nn import functional

from cubejit.convolution import conv_backward
from cubejit.torch import graphs as _graphs
from cubejit.torch.choosing import how as _how
from cubejit.torch.dispatcher import _layers_seen, disable, enable, enabled, record, report
from cubejit.torch.layers import session as _session
from cubejit.torch.layers import threads as _threads
from cubejit.torch.post_ops import autocast as _autocast
from cubejit.torch.post_ops import conv_post_ops

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "conv1d", "conv2d", "conv3d", "conv_post_ops",
           "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution", "disable", "enable", "enabled", "record",
           "report", "use"]


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
        ctx.save_for_backward(x, w)
        ctx.geometry = (stride, padding, dilation, transposed, output_padding, groups)
        ctx.bias_dtype = None if bias is None else bias.dtype
        # The function of torch.nn, so that it is converted by autocast as that one is; backward takes types as they come.
        rank = w.dim() - 2
        if transposed:
            return getattr(functional, f"conv_transpose{rank}d")(x, w, bias, stride, padding, output_padding, groups, dilation)
        return getattr(functional, f"conv{rank}d")(x, w, bias, stride, padding, dilation, groups)

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        mask = tuple(ctx.needs_input_grad[:3])
        choose, math = _how(_layers_seen.rules, x.dtype)
        dx, dw, db = conv_backward(dy, x, w, *ctx.geometry, mask, math=math, session=_session(choose == "reproducible"), threads=_threads())
        if db is not None and db.dtype != ctx.bias_dtype:
            db = db.to(ctx.bias_dtype)
        return dx, dw, db, None, None, None, None, None, None


def _list(value, rank):
    values = [value] if isinstance(value, numbers.Integral) else list(value)
    return values * rank if len(values) == 1 else values


_COMPUTED = (torch.float32, torch.float16, torch.bfloat16)


def _check(*tensors):
    """What backward could only refuse is refused where the caller can see why."""
    for t in tensors:
        if t.dtype not in _COMPUTED or t.device.type != "cpu" or t.layout != torch.strided:
            raise TypeError(f"{t.dtype} on {t.device}, {t.layout}: cubejit's gradients are of float32, float16 and bfloat16 "
                            "tensors on the CPU; convert it, or use torch.nn's convolution")


def convolution(x, w, bias=None, stride=1, padding=0, dilation=1, transposed=False, output_padding=0, groups=1):
    """A convolution of 1 to 3 axes; what it means is torch.convolution's, what its gradients cost is cubejit's.

    padding may be "same" or "valid" unless transposed. An input without a batch axis is taken as a batch of one.
    """
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, w, bias)):
        _check(x, w)
    rank = w.dim() - 2
    if not 1 <= rank <= 3:
        raise ValueError(f"weight of shape {tuple(w.shape)} must have 3 to 5 axes")
    if x.dim() == w.dim() - 1:
        return convolution(x.unsqueeze(0), w, bias, stride, padding, dilation, transposed, output_padding, groups).squeeze(0)
    dilation = _list(dilation, rank)
    if padding == "valid":
        padding = 0
    elif padding == "same":
        if any(s != 1 for s in _list(stride, rank)):
            raise ValueError("padding='same' is not supported for strided convolutions")
        total = [d * (k - 1) for d, k in zip(dilation, w.shape[2:])]
        padding = [t // 2 for t in total]
        if any(t % 2 for t in total):  # PyTorch puts the odd one behind
            x = functional.pad(x, [side for t in reversed(total) for side in (0, t % 2)])
    geometry = _list(stride, rank), _list(padding, rank), dilation, bool(transposed), _list(output_padding, rank), groups
    if _graphs.compiling():
        return _graphs.convolution(*_autocast(x, w, bias), *geometry)
    return _Convolution.apply(x, w, bias, *geometry)


def _forward(rank):
    def function(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return convolution(input, weight, bias, stride, padding, dilation, False, 0, groups)

    function.__name__ = f"conv{rank}d"
    function.__doc__ = f"torch.nn.functional.conv{rank}d with gradients of cubejit."
    return function


def _transposed(rank):
    def function(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)

    function.__name__ = f"conv_transpose{rank}d"
    function.__doc__ = f"torch.nn.functional.conv_transpose{rank}d with gradients of cubejit."
    return function


conv1d, conv2d, conv3d = (_forward(rank) for rank in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_transposed(rank) for rank in (1, 2, 3))


class _Forward:
    """What our modules do in place of torch.nn.ConvNd._conv_forward."""

    def _conv_forward(self, input, weight, bias):
        if self.padding_mode == "zeros":
            return convolution(input, weight, bias, self.stride, self.padding, self.dilation, False, 0, self.groups)
        padded = functional.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return convolution(padded, weight, bias, self.stride, 0, self.dilation, False, 0, self.groups)


class _Transposed:
    """What our modules do in place of torch.nn.ConvTransposeNd.forward."""

    def forward(self, input, output_size=None):
        rank = self.weight.dim() - 2
        extra = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, rank, self.dilation)
        return convolution(input, self.weight, self.bias, self.stride, self.padding, self.dilation, True, extra, self.groups)


class Conv1d(_Forward, torch.nn.Conv1d):
    pass


class Conv2d(_Forward, torch.nn.Conv2d):
    pass


class Conv3d(_Forward, torch.nn.Conv3d):
    pass


class ConvTranspose1d(_Transposed, torch.nn.ConvTranspose1d):
    pass


class ConvTranspose2d(_Transposed, torch.nn.ConvTranspose2d):
    pass


class ConvTranspose3d(_Transposed, torch.nn.ConvTranspose3d):
    pass


_OURS = {theirs.__mro__[2]: theirs for theirs in (Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)}


def use(module):
    """Gives every convolution of torch.nn in `module` our gradients, in place: parameters and results stay what they are.
    Classes derived from torch.nn's are left alone. Returns the module."""
    for part in module.modules():
        ours = _OURS.get(type(part))
        if ours is not None:
            part.__class__ = ours
    return module
