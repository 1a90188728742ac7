# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what stands for arrays while a graph is built. Leaves what is computed of them to tbe.dsl."""

import contextlib


class Tensor:
    """A node of the graph: a placeholder, or the result of an operation on others. shape, dtype and name do not change."""

    def __init__(self, shape, dtype, name, op=None):
        self.shape = tuple(shape)
        self.dtype = dtype
        self.name = name
        self.op = op

    def __repr__(self):
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, name={self.name})"


def placeholder(shape, dtype="float32", name="placeholder"):
    """A tensor that is given when the operator is run."""
    extents = []
    for extent in shape:
        if isinstance(extent, bool) or not hasattr(extent, "__index__"):
            raise TypeError(f"placeholder {name}: extent {extent!r} is not a whole number")
        extents.append(extent.__index__())
    if any(extent < 1 for extent in extents):
        raise ValueError(f"placeholder {name}: extents {extents} must be at least 1")
    return Tensor(extents, dtype, name)


class target:  # noqa: N801  (a module's name in the documents)
    """What code is generated for: always what the session has that an operator is built in."""

    @staticmethod
    def cce():
        """with tvm.target.cce(): the documents schedule and build in it. Without effect."""
        return contextlib.nullcontext()
