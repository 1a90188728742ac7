#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how PyTorch is measured: through torch.ops.aten.convolution and convolution_backward, problem lines in, JSON lines out (peer_program.py).
Leaves pinning and interleaving to compare_peers.py."""
import os

import torch

import peer_program
from peer_program import spatial

CHANNELS_LAST = {2: torch.channels_last, 3: torch.channels_last_3d}
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
MASKS = {"dx": [True, False, False], "dw": [False, True, False], "dw+db": [False, True, True]}


def operands(problem, layout, dtype):
    """dy, x and w with values that are multiples of 1/8 in [-1, 1], and the arguments that follow them."""
    rank = problem["rank"]
    pad = [problem["pad"][2 * axis] for axis in range(3)]
    if any(problem["pad"][2 * axis + 1] != pad[axis] for axis in range(3)):
        raise ValueError("PyTorch pads both sides alike")
    if layout == "ndhwc" and rank == 1:
        raise ValueError("PyTorch has no channels-last order for one axis")
    generator = torch.Generator().manual_seed(7)
    make = lambda *shape: (torch.randint(-8, 9, shape, generator=generator).float() / 8).to(DTYPES[dtype])
    x = make(problem["n"], problem["ci"], *spatial(problem, problem["input"]))
    dy = make(problem["n"], problem["co"], *spatial(problem, problem["output"]))
    w = make(problem["co"], problem["ci"] // problem["groups"], *spatial(problem, problem["kernel"]))
    if layout == "ndhwc":
        x, dy, w = (t.contiguous(memory_format=CHANNELS_LAST[rank]) for t in (x, dy, w))
    rest = ([problem["co"]], spatial(problem, problem["stride"]), spatial(problem, pad), spatial(problem, problem["dilation"]), False,
            [0] * rank, problem["groups"])
    return (dy, x, w, *rest)


def prepare(problem, pass_, layout, dtype):
    dy, x, w, bias, *geometry = operands(problem, layout, dtype)
    if pass_ == "y":
        return lambda: torch.ops.aten.convolution(x, w, None, *geometry)
    return lambda: torch.ops.aten.convolution_backward(dy, x, w, bias, *geometry, MASKS[pass_])


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
    peer_program.serve("torch " + torch.__version__, prepare, (RuntimeError, ValueError))
