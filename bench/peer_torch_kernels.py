#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how PyTorch's operations are measured that kernels of kernels/*.tile compute, too: layout "eager" calls them, "compiled" goes through
torch.compile (inductor), and "copy" copies half as many bytes as the problem reads and writes; compare_kernels.py's problems in, JSON lines out
(peer_program.py). Leaves pinning and interleaving to compare_kernels.py."""
import functools
import json
import os

import torch
from torch._inductor import cpu_vec_isa
from torch.nn import functional

import peer_program


def batch_norm(x, gamma, beta):
    return functional.batch_norm(x, None, None, gamma, beta, training=True, eps=1e-5)


def layer_norm(x, gamma, beta):
    return functional.layer_norm(x, x.shape[-1:], gamma, beta, 1e-5)


def pooling(x):
    return functional.max_pool2d(x, 3, 2), functional.avg_pool2d(x, 3, 2)


def images(n, h, w, c):
    """Channels last."""
    return torch.randn(n, h, w, c).movedim(-1, 1)


# What is called, and its operands of the problem's sizes.
OPERATIONS = {
    "softmax": (lambda x: torch.softmax(x, -1), lambda m, n: [torch.randn(m, n)]),
    "layer_norm": (layer_norm, lambda m, n: [torch.randn(m, n), torch.randn(n), torch.randn(n)]),
    "batch_norm": (batch_norm, lambda n, h, w, c: [images(n, h, w, c), torch.randn(c), torch.randn(c)]),
    "pooling": (pooling, lambda *sizes: [images(*sizes)]),
    "transpose": (lambda x: x.t().contiguous(), lambda m, n: [torch.randn(m, n)]),
    "attention": (functional.scaled_dot_product_attention, lambda h, t, d: [torch.randn(1, h, t, d) for _ in range(3)]),
}


@functools.lru_cache(maxsize=4)
def prepared(text, layout):
    """The call for a problem: once for all rounds, as compiling takes seconds."""
    problem = json.loads(text)
    if layout == "copy":
        source = torch.randn(problem["bytes"] // 8)
        return functools.partial(torch.empty_like(source).copy_, source)
    function, operands = OPERATIONS[problem["op"]]
    if layout == "compiled":
        if not cpu_vec_isa.pick_vec_isa():
            raise ValueError("inductor has no vectors: it needs a compiler, libtorch-dev and libsleef-dev, and LD_PRELOAD=libsleef.so.3 in Debian")
        torch.compiler.reset()
        function = torch.compile(function, dynamic=False)
    return functools.partial(function, *operands(*problem["sizes"]))


def prepare(problem, _pass, layout, _dtype):
    return prepared(json.dumps(problem), layout)


if __name__ == "__main__":
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", torch.get_num_threads())))
    with torch.inference_mode():
        peer_program.serve("torch " + torch.__version__, prepare, (RuntimeError, ValueError))
