#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how dense layers' distance from the FMA peak is explained: each row, type and pass goes through `cubejit bench --breakdown`
several times, and the parts of the fastest call count. A share of the peak is the share of the time that multiplies, times the rate while it does.
Prints a Markdown table, the slowest first of each type and pass, and the means."""
import argparse
import sys

import cubejit_command
import dense_rows

PARTS = ("multiplying", "moving", "walking", "waiting")


def main():
    parser = argparse.ArgumentParser(description="Where the time of dense layers goes, row by row.")
    dense_rows.add_options(parser)
    options = parser.parse_args()

    best = {}
    problems = dense_rows.problems(options)
    for problem in problems:
        for dtype in options.dtypes.split(","):
            for _ in range(options.rounds):
                for record in cubejit_command.bench(options, dense_rows.flags(options, dtype) + ["--breakdown"], problem):
                    rows = best.setdefault((dtype, record["pass"]), {})
                    known = rows.get(problem["name"])
                    if known is None or record["ns_min"] < known["ns_min"]:
                        rows[problem["name"]] = record
    share = {key: {name: r["breakdown"]["multiplying"] * r["breakdown"]["peak_fraction_multiplying"] for name, r in rows.items()}
             for key, rows in best.items()}
    print(f"Made by `bench/where_time_goes.py {' '.join(sys.argv[1:])}`: per cent. *At* is the share of the peak while kernels multiply; the "
          f"parts are those of all threads' time. {options.layout}, {options.threads} threads; the fastest call of {options.rounds} rounds. Two clocks "
          "are read for each call of a kernel, which counts as walking.\n")
    print("| problem | | of the peak | multiplying | at | moving | walking | waiting | most moved by |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---|")
    for (dtype, pass_), rows in best.items():
        for name, record in sorted(rows.items(), key=lambda row: share[dtype, pass_][row[0]]):
            parts = record["breakdown"]
            moves = [k for k in parts["kernels"] if not k["multiplies"]]
            most = f"{moves[0]['kernel']} {100 * moves[0]['share']:.1f}" if moves and moves[0]["share"] > 0.005 else ""
            numbers = [share[dtype, pass_][name], parts["multiplying"], parts["peak_fraction_multiplying"]] + [parts[p] for p in PARTS[1:]]
            print(f"| {name} | {dtype} {pass_} | " + " | ".join(f"{100 * n:.1f}" for n in numbers) + f" | {most} |", flush=True)
        means = [sum(r["breakdown"][p] for r in rows.values()) / len(rows) for p in PARTS]
        rate = sum(r["breakdown"]["peak_fraction_multiplying"] for r in rows.values()) / len(rows)
        of_peak = sum(share[dtype, pass_].values()) / len(rows)
        print(f"| **mean of {len(rows)}** | **{dtype} {pass_}** | " +
              " | ".join(f"**{100 * n:.1f}**" for n in [of_peak, means[0], rate] + means[1:]) + " | |", flush=True)


if __name__ == "__main__":
    main()
