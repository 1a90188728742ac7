#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how relaxed and bf16 math are compared with the definition's sums: every dense problem goes through all modes in turn, several
rounds, each with the plan that the planner has for it, and the best round of each counts; errors are those of random reals against the fp64
reference. Prints a Markdown table. Leaves the measuring to `cubejit bench` and `cubejit verify`."""
import argparse
import math
import pathlib

import cubejit_command
import peers_report

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODES = ("strict", "relaxed", "bf16")


def best_of(problem, pass_, arguments):
    best = {}
    for _ in range(arguments.rounds):
        for mode in MODES:
            flags = ["--passes", pass_, "--layout", arguments.layout, "--math", mode]
            for record in cubejit_command.bench(arguments, flags, problem, True):
                if record["ns_min"] < best.get(mode, {"ns_min": math.inf})["ns_min"]:
                    best[mode] = record
    return best


def error_of(problem, pass_, mode, arguments):
    records = cubejit_command.records(arguments.command, ["verify", "--suite", "/dev/stdin", "--passes", pass_, "--layout", arguments.layout,
                                      "--reals", "--max-macs", str(arguments.max_macs), "--math", mode], problem, True)
    return records[0].get("relative_error", math.nan) if records else math.nan


def dense(problem):
    return min(problem["ci"], problem["co"]) // problem.get("groups", 1) >= 16


def what_of(plan):
    """What the planner made of the permission."""
    return "Winograd" if plan["algorithm"] == "winograd" else "rounded" if plan.get("reorder_to_bf16") else "as strict"


def main():
    parser = argparse.ArgumentParser(description="Compares modes of math.")
    parser.add_argument("suites", type=pathlib.Path, nargs="+", help="files of bench/shapes/")
    parser.add_argument("--command", default=str(ROOT / "build/release/tools/cli/cubejit"))
    parser.add_argument("--layout", default="ndhwc")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.02, help="per problem, pass, mode and round")
    parser.add_argument("--max-macs", type=float, default=1e7, help="of problems with more multiply-adds a sample is verified")
    arguments = parser.parse_args()
    print(f"`bench/compare_math.py {' '.join(str(s) for s in arguments.suites)} --layout {arguments.layout}`, f32, {arguments.threads} threads, "
          f"rows of 16 channels or more. Times are the best of {arguments.rounds} rounds in turn; errors are L2 norms relative to the result's.\n")
    print("| problem | pass | strict ms | relaxed, times as fast | | bf16, times as fast | | error, strict | relaxed | bf16 |")
    print("|---|---|---:|---:|---|---:|---|---:|---:|---:|")
    gains = {}
    for suite in arguments.suites:
        for problem in filter(dense, cubejit_command.problems(suite)):
            for pass_ in ("y", "dx", "dw"):
                best = best_of(problem, pass_, arguments)
                if len(best) < len(MODES):
                    continue
                cells = [problem["name"], pass_, f"{best['strict']['ns_min'] / 1e6:.3f}"]
                for mode in MODES[1:]:
                    gain, what = best["strict"]["ns_min"] / best[mode]["ns_min"], what_of(best[mode]["plan"])
                    gains.setdefault((mode, pass_, what), []).append(gain)
                    cells += [f"{gain:.2f}", what]
                cells += [f"{error_of(problem, pass_, mode, arguments):.1e}" for mode in MODES]
                print("| " + " | ".join(cells) + " |", flush=True)
    print()
    for (mode, pass_, what), values in sorted(gains.items()):
        print(f"- {mode}, {pass_}, {what}: {len(values)} rows, geometric mean {peers_report.geometric_mean(values):.2f}, least {min(values):.2f}")


if __name__ == "__main__":
    main()
