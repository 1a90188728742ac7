#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how much of the machine's FMA peak dense layers reach: each row and type goes through `cubejit bench` in turn, several
rounds; a round's ratio is its median's to the peak that the same process measured just before, and the best round counts. Prints a
Markdown table with geometric means."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

import peers_report

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITES = [ROOT / "bench/shapes" / f"{name}.jsonl" for name in ("landscape", "resnet50", "unet3d")]
GRADIENTS = ("dx", "dw")


def volume(axes):
    return axes[0] * axes[1] * axes[2]


def dense(problem, least):
    """Rows that a peak is a measure for: no groups, a vector of channels on both sides, and work enough to hide a call."""
    flops = 2 * problem["n"] * problem["ci"] * problem["co"] * volume(problem["output"]) * volume(problem["kernel"])
    return problem.get("groups", 1) == 1 and min(problem["ci"], problem["co"]) >= 16 and flops >= least


def measure(problem, dtype, options):
    """{gradient: per cent of the peak} of one round."""
    flags = ["--keep-weights"] if options.keep_weights else []
    done = subprocess.run([options.command, "bench", "--problem", "-", "--gradients", ",".join(GRADIENTS), "--dtype", dtype, "--layout",
                           options.layout, "--threads", str(options.threads), "--json", "--min-seconds", str(options.seconds)] + flags,
                          input=json.dumps(problem) + "\n", capture_output=True, text=True,
                          env=dict(os.environ, CUBEJIT_TUNE="off"))
    records = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0:
        sys.exit(f"peak_share.py: {problem['name']} {dtype}: {done.stderr.strip()}")
    return {r["gradient"]: 100 * r["peak_fraction"] for r in records if "peak_fraction" in r}


def main():
    parser = argparse.ArgumentParser(description="Dense layers' share of the FMA peak, row by row.")
    parser.add_argument("suites", type=pathlib.Path, nargs="*", default=SUITES, help="files of bench/shapes/; default: all three")
    parser.add_argument("--command", default=str(ROOT / "build/bench/tools/cli/cubejit"))
    parser.add_argument("--dtypes", default="f32,bf16,f16")
    parser.add_argument("--layout", default="ndhwc")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--keep-weights", action="store_true", help="dx's weights are packed outside what is measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1, help="per row, type, gradient and round")
    parser.add_argument("--least-mflops", type=float, default=10, help="rows of less work are left out")
    options = parser.parse_args()

    dtypes = options.dtypes.split(",")
    problems = [json.loads(line) for suite in options.suites for line in suite.read_text().splitlines() if line.strip()]
    problems = [p for p in problems if dense(p, 1e6 * options.least_mflops)]
    columns = [(gradient, dtype) for dtype in dtypes for gradient in GRADIENTS]
    kept = ", weights of dX packed beforehand" if options.keep_weights else ""
    print(f"Made by `bench/peak_share.py {' '.join(sys.argv[1:])}`: per cent of the FMA peak measured beside each row, of the type's own "
          f"instructions (f16: of f32's); {options.layout}, {options.threads} threads{kept}. The best of {options.rounds} rounds.\n")
    print("| problem | " + " | ".join(f"{dtype} {gradient}" for gradient, dtype in columns) + " |")
    print("|---|" + "---:|" * len(columns))
    shares = {column: [] for column in columns}
    for problem in problems:
        rounds = {dtype: [] for dtype in dtypes}
        for _ in range(options.rounds):
            for dtype in dtypes:
                rounds[dtype].append(measure(problem, dtype, options))
        row = [max(r[gradient] for r in rounds[dtype]) for gradient, dtype in columns]
        for column, share in zip(columns, row):
            shares[column].append(share)
        print(f"| {problem['name']} | " + " | ".join(f"{share:.0f}" for share in row) + " |", flush=True)
    print(f"| **geometric mean of {len(problems)}** | " + " | ".join(f"**{peers_report.geometric_mean(shares[c]):.1f}**" for c in columns) + " |")


if __name__ == "__main__":
    main()
