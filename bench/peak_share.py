#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how much of the machine's FMA peak dense layers reach: each row and type goes through `cubejit bench` in turn, several
rounds; a round's ratio is its median's to the peak that the same process measured just before, and the best round counts. Prints a
Markdown table with geometric means."""
import argparse
import sys

import cubejit_command
import dense_rows
import peers_report

def measure(problem, dtype, options):
    """{pass: per cent of the peak} of one round."""
    return {r["pass"]: 100 * r["peak_fraction"] for r in cubejit_command.bench(options, dense_rows.flags(options, dtype), problem)}


def main():
    parser = argparse.ArgumentParser(description="Dense layers' share of the FMA peak, row by row.")
    dense_rows.add_options(parser)
    options = parser.parse_args()

    dtypes = options.dtypes.split(",")
    problems = dense_rows.problems(options)
    columns = [(pass_, dtype) for dtype in dtypes for pass_ in options.passes.split(",")]
    kept = ", weights of dX packed beforehand" if options.keep_weights else ""
    print(f"Made by `bench/peak_share.py {' '.join(sys.argv[1:])}`: per cent of the FMA peak measured beside each row, of the type's own "
          f"instructions (f16: of f32's); {options.layout}, {options.threads} threads{kept}. The best of {options.rounds} rounds.\n")
    print("| problem | " + " | ".join(f"{dtype} {pass_}" for pass_, dtype in columns) + " |")
    print("|---|" + "---:|" * len(columns))
    shares = {column: [] for column in columns}
    for problem in problems:
        rounds = {dtype: [] for dtype in dtypes}
        for _ in range(options.rounds):
            for dtype in dtypes:
                rounds[dtype].append(measure(problem, dtype, options))
        row = [max(r[pass_] for r in rounds[dtype]) for pass_, dtype in columns]
        for column, share in zip(columns, row):
            shares[column].append(share)
        print(f"| {problem['name']} | " + " | ".join(f"{share:.0f}" for share in row) + " |", flush=True)
    print(f"| **geometric mean of {len(problems)}** | " + " | ".join(f"**{peers_report.geometric_mean(shares[c]):.1f}**" for c in columns) + " |")


if __name__ == "__main__":
    main()
