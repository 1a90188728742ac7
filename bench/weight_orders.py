#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how orders of weights are compared: layers with w (dw) in each order turn by turn with plain ones in one process, in every type and
pass, activations channels-last. A round is the best of a few calls, a row the best of the rounds (beside it their median) divided by that of
plain weights: above 1 the order is slower. Prints a Markdown table.

    PYTHONPATH=build/release/python_packages taskset -c 1 bench/weight_orders.py --threads 1
"""
import argparse
import array
import math
import pathlib
import random
import statistics
import sys
import time

import cubejit
import cubejit_command

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS = ["d2_3x3_c64", "d2_3x3_c512_7", "d2_1x1_256_64", "d2_first3x3s2", "g_8pg_28", "g2_128pg", "dw2_3x3", "d1_c256",
          "d3_3x3x3_c32_unet"]
TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
OPERANDS = {"y": ("x", "w"), "dx": ("dy", "w"), "dw": ("dy", "x")}
# Axes of w, outermost first; o and i are its first and second, k those of the kernel.
ORDERS = {"plain": "oik", "channels-last": "oki", "k o i": "koi", "k i o": "kio", "i o k": "iok"}
OF_RESULTS = ["plain", "channels-last"]  # results are dense in one of these
REPEATS = 5


def layers(names):
    """Those of the landscape, and one of them transposed."""
    known = cubejit_command.problems(ROOT / "bench/shapes/landscape.jsonl")
    chosen = [p for p in known if p["name"] in names]
    return chosen + [dict(p, name=p["name"] + " transposed", transposed=True) for p in chosen if p["name"] == "d2_3x3_c64"]


def strides(shape, order):
    axes = [a for letter in order for a in {"o": [0], "i": [1], "k": range(2, len(shape))}[letter]]
    found, stride = [0] * len(shape), 1
    for axis in reversed(axes):
        found[axis] = stride
        stride *= shape[axis]
    return tuple(found)


def reals(shape, element):
    """Of [0.5, 1): no denormal slows a row."""
    some = array.array("f", [random.uniform(0.5, 1.0) for _ in range(4099)])
    if element != "float32":  # the upper half of an f32 is bf16; what it is as f16 is near 2
        some = array.array("H", some.tobytes())[1::2]
    return some * (math.prod(shape) // len(some) + 1)


def case(session, problem, name):
    """By pass and order: a layer of w in that order (dw: of dw in it), and where its tensors lie."""
    element = TYPES[name]
    rank = 3 - next((a for a in range(3) if problem["input"][a] > 1 or problem["kernel"][a] > 1), 2)
    transposed, groups, ci, co = problem.get("transposed", False), problem.get("groups", 1), problem["ci"], problem["co"]
    space, kernel, out = (problem[k][3 - rank:] for k in ("input", "kernel", "output"))
    stride, dilation = (problem.get(k, [1, 1, 1])[3 - rank:] for k in ("stride", "dilation"))
    geometry = (list(stride), list(problem["pad"][6 - 2 * rank:]), list(dilation), transposed, [0] * rank, groups)
    shapes = {"x": (problem["n"], ci, *space), "dy": (problem["n"], co, *out),
              "w": (ci, co // groups, *kernel) if transposed else (co, ci // groups, *kernel)}
    shapes |= {"y": shapes["dy"], "dx": shapes["x"], "dw": shapes["w"]}
    tensors = {t: reals(shape, element) for t, shape in shapes.items()}
    calls = {}
    for result, operands in OPERANDS.items():
        for order in ORDERS if result != "dw" else OF_RESULTS:
            x, w, dy = ((shapes[t], strides(shapes[t], ORDERS[order if t == "w" else "channels-last"]), element) for t in ("x", "w", "dy"))
            layer = session.layer([result], x, w, dy if "dy" in operands else None, *geometry,
                                  results={"dw": strides(shapes["w"], ORDERS[order])} if result == "dw" else {})
            calls.setdefault(result, {})[order] = (layer, {t: tensors[t].buffer_info()[0] for t in (*operands, result)})
    return tensors, calls


def seconds(call, repeats=REPEATS):
    layer, at = call
    best = math.inf
    for _ in range(repeats):
        begun = time.perf_counter()
        layer.run(**at)
        best = min(best, time.perf_counter() - begun)
    return best


def main():
    parser = argparse.ArgumentParser(description="Compares orders of weights with plain ones.")
    parser.add_argument("--layers", default=",".join(LAYERS), help="of bench/shapes/landscape.jsonl")
    parser.add_argument("--dtypes", default="f32,f16,bf16")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    session = cubejit.Session(threads=options.threads, tune="off")
    print(f"Made by `{' '.join(['bench/weight_orders.py', *sys.argv[1:]])}`: time with weights in an order over that with plain ones, of the "
          f"best of {options.rounds} rounds (of their medians). Threads: {options.threads}. Activations are channels-last.\n")
    others = [order for order in ORDERS if order != "plain"]
    print("| layer | type | pass | plain, ms | " + " | ".join(others) + " |\n|---|---|---|---:|" + "---:|" * len(others))
    shares = {}
    for problem in layers(options.layers.split(",")):
        for name in options.dtypes.split(","):
            tensors, passes = case(session, problem, name)
            for result, calls in passes.items():
                samples = {order: [] for order in calls}
                for call in calls.values():
                    seconds(call, 1)
                for _ in range(options.rounds):
                    for order, call in calls.items():
                        samples[order].append(seconds(call))
                best, median = ({order: of(s) for order, s in samples.items()} for of in (min, statistics.median))
                cells = []
                for order in others:
                    if order not in calls:
                        cells.append("")
                        continue
                    shares.setdefault(order, []).append(best[order] / best["plain"])
                    cells.append(f"{shares[order][-1]:.3f} ({median[order] / median['plain']:.3f})")
                print(f"| {problem['name']} | {name} | {result} | {1e3 * best['plain']:.3f} | " + " | ".join(cells) + " |", flush=True)
    for order, values in shares.items():
        slower = sum(v > 1.03 for v in values)
        print(f"\n{order}: geometric mean {statistics.geometric_mean(values):.3f}, most {max(values):.3f}; {slower} of {len(values)} rows above 1.03")


if __name__ == "__main__":
    main()
