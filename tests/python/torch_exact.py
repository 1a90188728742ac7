# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what values of PyTorch's convolutions tests trust: those that it computes in float64, without oneDNN, whose release 3.7 errs in
float32's data gradient where the output channels are no multiple of 16."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map


def _turned(source, target, values):
    return tree_map(lambda t: t.to(target) if isinstance(t, torch.Tensor) and t.dtype == source else t, values)


class Exact(TorchDispatchMode):
    """While it is entered, convolutions of float32 and their gradients are float64's, rounded. Strides of results may be others."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if "convolution" not in str(function):
            return function(*args, **(kwargs or {}))
        args, kwargs = _turned(torch.float32, torch.float64, (args, kwargs or {}))
        return _turned(torch.float64, torch.float32, function(*args, **kwargs))
