#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how Winograd's filtering is compared with the definition's sums: every problem that has Winograd plans goes through
both in turn, several rounds, and the best round of each counts; errors are those of random reals against the fp64 reference.
Prints a Markdown table. Leaves the measuring to `cubejit bench` and `cubejit verify`."""
import argparse
import json
import math
import pathlib

import cubejit_command
import peers_report

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODES = {"direct": [], "winograd": ["--math", "relaxed", "--algorithm", "winograd"]}


def best_of(problem, pass_, arguments):
    best = {}
    for _ in range(arguments.rounds):
        for mode, flags in MODES.items():
            for record in cubejit_command.bench(arguments, ["--passes", pass_, "--layout", arguments.layout] + flags, problem, True):
                if record["ns_min"] < best.get(mode, {"ns_min": math.inf})["ns_min"]:
                    best[mode] = record
    return best


def error_of(problem, pass_, mode, arguments):
    records = cubejit_command.records(arguments.command, ["verify", "--suite", "/dev/stdin", "--passes", pass_, "--layout",
                                      arguments.layout, "--reals", "--max-macs", str(arguments.max_macs)] + MODES[mode], problem, True)
    return records[0].get("relative_error", math.nan) if records else math.nan  # too large to verify: no number


def eligible(problem):
    """Rows the filtering is for: stride 1, 2 to 5 taps along some axis, not depthwise."""
    dense = min(problem["ci"], problem["co"]) // problem.get("groups", 1) >= 16
    taps = [k for k in problem["kernel"] if k > 1]
    steps = problem.get("stride", [1, 1, 1]) + problem.get("dilation", [1, 1, 1])
    return dense and taps and max(taps) <= 5 and set(steps) == {1}


def main():
    parser = argparse.ArgumentParser(description="Compares Winograd with direct plans.")
    parser.add_argument("suites", type=pathlib.Path, nargs="+", help="files of bench/shapes/")
    parser.add_argument("--command", default=str(ROOT / "build/bench/tools/cli/cubejit"))
    parser.add_argument("--layout", default="ndhwc")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1, help="per problem, pass, mode and round")
    parser.add_argument("--max-macs", type=float, default=1e8, help="larger problems' errors are those of a sample")
    arguments = parser.parse_args()
    print(f"`bench/compare_winograd.py {' '.join(str(s) for s in arguments.suites)}`, f32, {arguments.layout}, "
          f"{arguments.threads} threads. Times are the best of {arguments.rounds} rounds; the rate is that of the definition's "
          "operations, per cent of the FMA peak; errors are L2 norms relative to the result's.\n")
    print("| problem | pass | direct ms | Winograd ms | times as fast | per cent of the peak | tile | error, direct | error, Winograd |")
    print("|---|---|---|---|---|---|---|---|---|")
    gains = {"dx": [], "dw": []}
    for suite in arguments.suites:
        for line in suite.read_text().splitlines():
            problem = json.loads(line) if line.strip() else None
            if problem is None or not eligible(problem):
                continue
            for pass_ in ("dx", "dw"):
                best = best_of(problem, pass_, arguments)
                if len(best) < 2:
                    continue
                gain = best["direct"]["ns_min"] / best["winograd"]["ns_min"]
                gains[pass_].append(gain)
                plan = best["winograd"]["plan"]
                tile = "x".join(str(plan[f"winograd_{a}"]) for a in "dhw")
                errors = [error_of(problem, pass_, mode, arguments) for mode in MODES]
                print(f"| {problem['name']} | {pass_} | {best['direct']['ns_min'] / 1e6:.2f} | "
                      f"{best['winograd']['ns_min'] / 1e6:.2f} | {gain:.2f} | {100 * best['winograd']['peak_fraction']:.0f} | {tile} | "
                      f"{errors[0]:.1e} | {errors[1]:.1e} |", flush=True)
    for pass_, values in gains.items():
        if values:
            print(f"\n{pass_}: {len(values)} rows, geometric mean {peers_report.geometric_mean(values):.2f} times as fast as direct plans.")


if __name__ == "__main__":
    main()
