#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how the two backends that make machine code are compared: every problem goes through both in turn, several rounds,
and the best round of each counts. Prints a Markdown table of rates, ratios and generation times.
Leaves the measuring to `cubejit bench`."""
import argparse
import json
import math
import pathlib

import cubejit_command
import peers_report

ROOT = pathlib.Path(__file__).resolve().parent.parent
BACKENDS = ("xbyak", "llvm")
TARGET_MS = 40  # for the code of a pass


def measure(arguments, problem, backend):
    """The records of one run, by pass."""
    flags = ["--passes", arguments.passes, "--layout", "ndhwc", "--backend", backend, "--dtype", arguments.dtype]
    records = cubejit_command.bench(arguments, flags + (["--isa", arguments.isa] if arguments.isa else []), problem)
    return {record["pass"]: record for record in records}


def main():
    parser = argparse.ArgumentParser(description="Compares the backends xbyak and llvm on a suite of problems.")
    parser.add_argument("suite", type=pathlib.Path, help="a file of bench/shapes/")
    parser.add_argument("--command", default=str(ROOT / "build/bench/tools/cli/cubejit"))
    parser.add_argument("--passes", "--gradients", default="dx,dw")
    parser.add_argument("--isa", default="", help="default: the best this machine has")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--threads", type=int, default=1, help="they run the code, and LLVM's kernels are generated on them")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.05, help="per problem, pass, backend and round")
    parser.add_argument("--rows", default="", help="FIRST:LAST of the suite, from 0; for machines that are quiet for seconds only")
    parser.add_argument("--json", type=pathlib.Path, help="appends every best round; with --table only prints what is there")
    parser.add_argument("--table", action="store_true", help="measures nothing")
    parser.add_argument("--times", type=pathlib.Path, help="takes the times to generate from this file of another run")
    arguments = parser.parse_args()
    problems = cubejit_command.problems(arguments.suite)
    first, last = (int(part) for part in arguments.rows.split(":")) if arguments.rows else (0, len(problems))
    rows = []
    if arguments.json and arguments.json.exists():
        rows = [cubejit_command.read(line) for line in arguments.json.read_text().splitlines()]
    for problem in [] if arguments.table else problems[first:last]:
        best = {}
        for _ in range(arguments.rounds):
            for backend in BACKENDS:
                for pass_, record in measure(arguments, problem, backend).items():
                    known = best.setdefault(pass_, {}).get(backend)
                    if known is None or record["ns_min"] < known["ns_min"]:
                        record["generate_us"] = min(record["generate_us"], known["generate_us"] if known else math.inf)
                        best[pass_][backend] = record
                    else:
                        known["generate_us"] = min(record["generate_us"], known["generate_us"])
        for pass_, pair in best.items():
            rows.append({"name": problem["name"], "pass": pass_,
                         **{b: {k: pair[b][k] for k in ("ns_min", "generate_us", "kernels", "flops")} for b in BACKENDS}})
            if arguments.json:
                with arguments.json.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    if arguments.times:
        other = {(row["name"], row["pass"]): row for row in map(cubejit_command.read, arguments.times.read_text().splitlines())}
        for row in rows:
            for backend in BACKENDS:
                row[backend]["generate_us"] = other[row["name"], row["pass"]][backend]["generate_us"]
    print("| problem | pass | xbyak GFLOP/s | llvm GFLOP/s | llvm / xbyak | kernels | xbyak ms to generate | llvm ms to generate |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        rate = {b: row[b]["flops"] / row[b]["ns_min"] for b in BACKENDS}
        print(f"| {row['name']} | {row['pass']} | {rate['xbyak']:.1f} | {rate['llvm']:.1f} | "
              f"{rate['llvm'] / rate['xbyak']:.2f} | {row['llvm']['kernels']} | {row['xbyak']['generate_us'] / 1000:.2f} | "
              f"{row['llvm']['generate_us'] / 1000:.1f} |")
    for pass_ in sorted({row["pass"] for row in rows}):
        own = [row for row in rows if row["pass"] == pass_]
        times = sorted(row["llvm"]["generate_us"] / 1000 for row in own)
        ratio = peers_report.geometric_mean([row["xbyak"]["ns_min"] / row["llvm"]["ns_min"] for row in own])
        within = sum(time <= TARGET_MS for time in times)
        print(f"| **geometric mean of {len(own)}** | {pass_} | | | **{ratio:.3f}** | | | "
              f"median {times[len(times) // 2]:.1f}, {within} within {TARGET_MS}, most {times[-1]:.1f} |")


if __name__ == "__main__":
    main()
