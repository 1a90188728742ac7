# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how an array is made fit for the module and how a result is handed to the framework its operand came from.

No framework is imported here: an operand of PyTorch proves that PyTorch is there."""

import sys

from cubejit import _core


def operand(array):
    """The array itself, or what a tensor of autograd is without its history."""
    return array.detach() if getattr(array, "requires_grad", False) else array


def like(result, operand_array):
    """`result` as what `operand_array` is: the same memory, another object."""
    if not isinstance(result, _core.Array) or isinstance(operand_array, _core.Array):
        return result
    framework = sys.modules.get(type(operand_array).__module__.partition(".")[0])
    if framework is None:
        return result
    if framework.__name__ == "numpy":
        return framework.asarray(result)
    take_over = getattr(framework, "from_dlpack", None)
    return result if take_over is None else take_over(result)
