#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how fast a chip's emulation is, in per cent of this host's own code for the same pass, and prints a table, a row a problem:
the faithful program and that of --fast. Chip and host take turns in one process; shares are of medians."""
import argparse
import math
import pathlib

import cubejit_command
import dense_rows


def shares(options, problem, dtype, fast):
    """By pass."""
    flags = ["--passes", "dx,dw", "--dtype", dtype, "--layout", options.layout, "--soc", options.soc, "--min-samples", str(options.samples)]
    lines = cubejit_command.bench(options, flags + (["--fast"] if fast else []), problem)
    return {line["pass"]: 100 * line["host_share"] for line in lines}


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    dense_rows.add_options(parser)
    parser.set_defaults(threads=1, seconds=0.05, suites=[s for s in dense_rows.SUITES if s.stem != "landscape"])
    parser.add_argument("--soc", default="ascend910b2")
    parser.add_argument("--samples", type=int, default=5, help="at least, of chip and host each")
    options = parser.parse_args()
    columns = [(dtype, g, fast) for dtype in options.dtypes.split(",") for g in ("dx", "dw") for fast in (False, True)]
    print(f"Per cent of the host's speed, {options.layout}, {options.threads} thread(s), {options.soc}: faithful, --fast\n")
    print("| problem | " + " | ".join(f"{t} {g}" for t, g, fast in columns if not fast) + " |")
    print("|---|" + "---:|" * (len(columns) // 2), flush=True)
    all_shares = {column: [] for column in columns}
    for problem in dense_rows.problems(options):
        row = {}
        for dtype in options.dtypes.split(","):
            for fast in (False, True):
                for pass_, share in shares(options, problem, dtype, fast).items():
                    row[dtype, pass_, fast] = share
                    all_shares[dtype, pass_, fast].append(share)
        cells = [f"{row[t, g, False]:.0f}, {row[t, g, True]:.0f}" for t, g, fast in columns if not fast]
        print(f"| {problem['name']} | " + " | ".join(cells) + " |", flush=True)
    cells = [f"{mean(all_shares[t, g, False]):.0f}, {mean(all_shares[t, g, True]):.0f}" for t, g, fast in columns if not fast]
    print("| geometric mean | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
