# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how an array is made fit for the module and how a result is handed to the framework its operand came from.

No framework is imported here: an operand of PyTorch proves that PyTorch is there."""

import sys

from cubejit import _core


# What a tensor of PyTorch may be without its memory holding it: its test, and what makes memory of it (None: nothing does).
_SEEMING = (("is_conj", "resolve_conj"), ("is_neg", "resolve_neg"), ("_is_zerotensor", None))


def _seems(array):
    return [(test, make) for test, make in _SEEMING if hasattr(array, test) and getattr(array, test)()]


def operand(array):
    """The array itself, or what a tensor of autograd is without its history, and what a view with a sign of its own is in memory."""
    if getattr(array, "requires_grad", False):
        array = array.detach()
    for test, make in _seems(array):
        if make is None:
            raise TypeError(f"a tensor for which {test}() holds has no memory; give a copy, torch.empty_like(t).copy_(t)")
        array = getattr(array, make)()
    return array


def target(array):
    """The array itself, into which results are to be written as they are."""
    for test, _ in _seems(array):
        raise TypeError(f"out is a tensor for which {test}() holds: its memory holds other numbers than it; give one of memory of its own")
    return array


def like(result, operand_array):
    """`result` as what `operand_array` is: the same memory, another object."""
    if not isinstance(result, _core.Array) or isinstance(operand_array, _core.Array):
        return result
    for kind in type(operand_array).__mro__:  # a class of the user's is one of a framework's
        framework = sys.modules.get(kind.__module__.partition(".")[0])
        if framework is not None and framework.__name__ == "numpy":
            return framework.asarray(result)
        take_over = getattr(framework, "from_dlpack", None)
        if take_over is not None:
            return take_over(result)
    return result
