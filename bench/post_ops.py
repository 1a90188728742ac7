#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how post-ops in the kernels that store y are compared with y alone, and with passes of their own over y behind it (PyTorch's
add_ and relu_, in place, on the same threads): turn by turn in one process, channels-last. Prints a table; --json FILE keeps the samples.

    PYTHONPATH=build/release/python_packages bench/post_ops.py bench/shapes/landscape.jsonl --threads 2
"""

import argparse
import json
import statistics
import time

import torch

import cubejit
import cubejit_command
from cubejit.torch import layers

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def tensor(shape, last, dtype):
    t = torch.randn(shape)
    if last:
        t = t.movedim(1, -1).contiguous().movedim(-1, 1)
    return t.to(dtype)


def best(turns, seconds):
    """Of each call, seconds of every round; rounds take turns."""
    samples = [[] for _ in turns]
    begun = time.perf_counter()
    for call in turns:
        call()
    while time.perf_counter() - begun < seconds or len(samples[0]) < 5:
        for taken, call in zip(samples, turns):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return samples


def row(p, dtype, last, seconds):
    rank = p["rank"]
    space, kernel, out = (p[k][3 - rank:] for k in ("input", "kernel", "output"))
    groups, transposed = p.get("groups", 1), p.get("transposed", False)
    stride, dilation = (p.get(k, [1, 1, 1])[3 - rank:] for k in ("stride", "dilation"))
    pads = p["pad"][6 - 2 * rank:]
    shape_w = (p["ci"], p["co"] // groups, *kernel) if transposed else (p["co"], p["ci"] // groups, *kernel)
    x, w = tensor((p["n"], p["ci"], *space), last, dtype), tensor(shape_w, False, dtype)
    extra = [o - ((i - 1) * s - a - b + (k - 1) * d + 1) if transposed else 0
             for o, i, s, a, b, k, d in zip(out, space, stride, pads[::2], pads[1::2], kernel, dilation)]
    geometry = (list(stride), list(pads), list(dilation), transposed, extra, groups)
    session, described = layers.session(), layers._described
    plain = session.layer(["y"], described(x), described(w), None, *geometry)
    fused = session.layer(["y"], described(x), described(w), None, *geometry, post_ops="bias,relu")
    y = layers._empty(plain.shape, x, plain.channels_last("y"))
    bias = torch.randn(p["co"]).to(dtype)
    threads = torch.get_num_threads()
    at = {"x": x.data_ptr(), "w": w.data_ptr(), "y": y.data_ptr(), "threads": threads}
    view = bias.view([-1] + [1] * rank)

    def unfused():
        plain.run(**at)
        y.add_(view).relu_()

    return best([lambda: plain.run(**at), lambda: fused.run(b=bias.data_ptr(), **at), unfused], seconds)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("suite", help="problems as JSON, one a line")
    arguments.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments.add_argument("--dtype", choices=TYPES, default="f32")
    arguments.add_argument("--plain", action="store_true", help="tensors in PyTorch's contiguous order, not channels-last")
    arguments.add_argument("--seconds", type=float, default=0.3, help="of each row")
    arguments.add_argument("--json")
    given = arguments.parse_args()
    torch.set_num_threads(given.threads)
    rows, shares = [], []
    print("| problem | y, ms | + bias, ReLU fused / y | fused / apart |\n|---|---|---|---|")
    for p in cubejit_command.problems(given.suite):
        try:
            samples = row(p, TYPES[given.dtype], not given.plain, given.seconds)
        except cubejit.Error as error:
            print(f"| {p['name']} | {str(error).splitlines()[0]} | | |")
            continue
        y, fused, apart = (min(s) for s in samples)
        rows.append({"name": p["name"], "samples": samples})
        shares.append((fused / y, fused / apart))
        print(f"| {p['name']} | {y * 1e3:.3f} | {fused / y:.3f} | {fused / apart:.3f} |", flush=True)
    for name, column in (("fused / y", 0), ("fused / apart", 1)):
        values = [s[column] for s in shares]
        print(f"\n{name}: geometric mean {statistics.geometric_mean(values):.3f}, least {min(values):.3f}, most {max(values):.3f}", end="")
    print()
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(rows, file)


if __name__ == "__main__":
    main()
