# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what peer programs in Python share: problem lines in and one JSON line per pass and layout out, how often a call is measured, by which
clocks, and how its work is counted. Leaves the library that computes to peer_torch.py, peer_torch_kernels.py and peer_onnxruntime.py."""
import argparse
import json
import statistics
import sys
import time


def flops_of(problem):
    """What the problem says, or of a convolution 2 x multiply-adds whose taps fall inside the tensor."""
    if "flops" in problem:
        return problem["flops"]
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


def spatial(problem, axes):
    """Those of the three axes that the problem has."""
    return list(axes)[3 - problem["rank"]:]


def measured(call, problem, milliseconds):
    """Of at least 5 calls and `milliseconds` in all, after two to warm up: wall time, and CPU time of all threads."""
    wall, cpu, total = [], [], 0
    for run in range(-2, 500):
        if run >= 5 and total >= milliseconds * 1e6:
            break
        busy, begin = time.process_time_ns(), time.perf_counter_ns()
        call()
        elapsed = time.perf_counter_ns() - begin
        busy = time.process_time_ns() - busy
        if run >= 0:
            wall.append(elapsed)
            cpu.append(busy)
            total += elapsed
    median, flops = statistics.median(wall), flops_of(problem)
    return {"ns_median": median, "ns_min": min(wall), "cpu_ns_median": statistics.median(cpu), "samples": len(wall), "flops": flops,
            "gflops": flops / median}


def serve(peer, prepare, failures):
    """`prepare` gives the call for a problem, pass, layout and type; what it or the call raises of `failures` is the answer's error."""
    parser = argparse.ArgumentParser(description=f"Measures {peer} on problems read from standard input.")
    parser.add_argument("--passes", "--gradients", default="y,dx,dw,dw+db")
    parser.add_argument("--layouts", default="ndhwc,ncdhw")
    parser.add_argument("--dtype", default="f32", choices=("f32", "bf16", "f16"))
    parser.add_argument("--milliseconds", type=float, default=150)
    options = parser.parse_args()
    for text in sys.stdin:
        problem = json.loads(text)
        for pass_ in options.passes.split(","):
            for layout in options.layouts.split(","):
                line = {"schema": "cubejit-peer/1", "peer": peer, "name": problem["name"], "pass": pass_, "layout": layout}
                try:
                    line.update(measured(prepare(problem, pass_, layout, options.dtype), problem, options.milliseconds))
                except failures as error:
                    line["error"] = str(error).splitlines()[0]
                print(json.dumps(line), flush=True)
