#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how PyTorch is measured: one line of bench/shapes/*.jsonl on standard input gives one JSON line per pass
and layout on standard output, through torch.ops.aten.convolution and convolution_backward. Leaves pinning and interleaving to
compare_peers.py."""
import argparse
import json
import os
import statistics
import sys
import time

import torch

CHANNELS_LAST = {2: torch.channels_last, 3: torch.channels_last_3d}
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
MASKS = {"dx": [True, False, False], "dw": [False, True, False], "dw+db": [False, True, True]}


def flops_of(problem):
    """2 x multiply-adds whose taps fall inside the tensor."""
    taps = 1
    for axis in range(3):
        inside = 0
        for k in range(problem["kernel"][axis]):
            first = k * problem["dilation"][axis] - problem["pad"][2 * axis]
            stride = problem["stride"][axis]
            low = max(0, -(first // stride))
            high = min(problem["output"][axis] - 1, (problem["input"][axis] - 1 - first) // stride)
            inside += max(0, high - low + 1)
        taps *= inside
    return 2 * taps * problem["n"] * problem["co"] * (problem["ci"] // problem["groups"])


def operands(problem, layout, dtype):
    """dy, x and w with values that are multiples of 1/8 in [-1, 1], and the arguments that follow them."""
    rank = problem["rank"]
    spatial = lambda axes: list(axes)[3 - rank:]
    pad = [problem["pad"][2 * axis] for axis in range(3)]
    if any(problem["pad"][2 * axis + 1] != pad[axis] for axis in range(3)):
        raise ValueError("PyTorch pads both sides alike")
    if layout == "ndhwc" and rank == 1:
        raise ValueError("PyTorch has no channels-last order for one axis")
    generator = torch.Generator().manual_seed(7)
    make = lambda *shape: (torch.randint(-8, 9, shape, generator=generator).float() / 8).to(DTYPES[dtype])
    x = make(problem["n"], problem["ci"], *spatial(problem["input"]))
    dy = make(problem["n"], problem["co"], *spatial(problem["output"]))
    w = make(problem["co"], problem["ci"] // problem["groups"], *spatial(problem["kernel"]))
    if layout == "ndhwc":
        x, dy, w = (t.contiguous(memory_format=CHANNELS_LAST[rank]) for t in (x, dy, w))
    rest = ([problem["co"]], spatial(problem["stride"]), spatial(pad), spatial(problem["dilation"]), False,
            [0] * rank, problem["groups"])
    return (dy, x, w, *rest)


def measure(problem, gradient, layout, dtype, milliseconds):
    line = {"schema": "cubejit-peer/1", "peer": "torch " + torch.__version__, "name": problem["name"],
            "gradient": gradient, "layout": layout}
    try:
        dy, x, w, bias, *geometry = operands(problem, layout, dtype)
        if gradient == "y":
            call = lambda: torch.ops.aten.convolution(x, w, None, *geometry)
        else:
            call = lambda: torch.ops.aten.convolution_backward(dy, x, w, bias, *geometry, MASKS[gradient])
        samples, total = [], 0
        for run in range(-2, 500):
            if run >= 5 and total >= milliseconds * 1e6:
                break
            begin = time.perf_counter_ns()
            call()
            elapsed = time.perf_counter_ns() - begin
            if run >= 0:
                samples.append(elapsed)
                total += elapsed
        median, flops = statistics.median(samples), flops_of(problem)
        line.update(ns_median=median, ns_min=min(samples), samples=len(samples), flops=flops, gflops=flops / median)
    except (RuntimeError, ValueError) as error:
        line["error"] = str(error).splitlines()[0]
    return line


def main():
    parser = argparse.ArgumentParser(description="Measures PyTorch on problems read from standard input.")
    parser.add_argument("--gradients", default="dx,dw,dw+db")
    parser.add_argument("--layouts", default="ndhwc,ncdhw")
    parser.add_argument("--dtype", default="f32", choices=DTYPES)
    parser.add_argument("--milliseconds", type=float, default=150)
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
    for text in sys.stdin:
        problem = json.loads(text)
        for gradient in options.gradients.split(","):
            for layout in options.layouts.split(","):
                print(json.dumps(measure(problem, gradient, layout, options.dtype, options.milliseconds)), flush=True)


if __name__ == "__main__":
    main()
