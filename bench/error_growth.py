#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the error of dW and db grows with the number of terms: equal positive and random positive data against sums in f64.

    PYTHONPATH=build/ci/python_packages bench/error_growth.py [--most EXPONENT] >bench/results/error_growth.md

Terms are pixels of one image, 10^2 to 10^EXPONENT (8). Each algorithm is asked for on a layer that it takes; relative errors of the first
result are shown; "-" where the algorithm takes no layer of that size, or memory would not do. 10^9 terms take 8 GB of f32.
"""
import argparse

import numpy as np

import cubejit

MOST_ELEMENTS = 1.1e9
# Algorithm, layer: channels, groups, channels last.
LAYERS = [("spatial", 1, 1, False), ("direct", 1, 1, True), ("grouped", 4, 4, True), ("winograd", 16, 1, True)]


def array(shape, kind, dtype, last, rng):
    n, c, d, h, w = shape
    order = (n, d, h, w, c) if last else shape
    data = np.full(order, np.float32(0.703125)) if kind == "equal" else rng.random(order, dtype=np.float32)
    data = data.astype(dtype)
    return np.moveaxis(data, -1, 1) if last else data


def errors(algorithm, channels, groups, last, terms, kind, dtype):
    rng = np.random.default_rng(terms)
    side = max(1, round(terms**0.5))
    winograd = algorithm == "winograd"
    shape = (1, channels, 1, side, max(1, terms // side))
    x, dy = (array(shape, kind, dtype, last, rng) for _ in range(2))
    taps = 3 if winograd else 1
    w = np.zeros((channels, channels // groups, 1, taps, taps), dtype)
    session = cubejit.Session(algorithm=algorithm)
    pad = taps // 2
    try:
        _, dw, db = cubejit.conv_backward(dy, x, w, padding=(0, pad, pad), groups=groups, output_mask=(False, True, True),
                                          math="relaxed" if winograd else "strict", session=session,
                                          out=(None, np.empty(w.shape, np.float32), np.empty(channels, np.float32)))
    except cubejit.Error:
        return None
    exact = np.einsum("dhw,dhw->", x[0, 0], dy[0, 0], dtype=np.float64)
    total = dy[0, 0].sum(dtype=np.float64)
    return abs(dw[0, 0, 0, pad, pad] - exact) / exact, abs(db[0] - total) / total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=8, help="10^this is the most terms")
    most = parser.parse_args().most
    print("# How errors grow with the number of terms\n")
    print(f"Made by `bench/error_growth.py --most {most}`; relative errors against f64, cubejit {cubejit.__version__}.\n")
    exponents = range(2, most + 1)
    print("| result | algorithm | type | data | " + " | ".join(f"10^{e}" for e in exponents) + " |")
    print("|---|---|---|---|" + "---:|" * len(exponents))
    for dtype in (np.float32, np.float16):
        for algorithm, channels, groups, last in LAYERS:
            for kind in ("equal", "random"):
                found = [errors(algorithm, channels, groups, last, 10**e, kind, dtype)
                         if 10**e * channels <= MOST_ELEMENTS else None for e in exponents]
                for name, i in (("dw", 0), ("db", 1)):
                    if name == "db" and algorithm not in ("spatial", "direct"):
                        continue
                    shown = algorithm if name == "dw" else "bias, " + ("channels last" if last else "plain")
                    print(f"| {name} | {shown} | {np.dtype(dtype).name} | {kind} | " +
                          " | ".join("-" if f is None else f"{f[i]:.1e}" for f in found) + " |", flush=True)


if __name__ == "__main__":
    main()
