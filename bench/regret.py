#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how far the planner's choices are from the best candidates: each problem, pass, layout and type goes through `cubejit plan
--explain`, which runs the chosen plan and those candidates that stand for all others, in turn. Regret is how much longer the choice takes than
the fastest. What exceeds --doubt is measured again and its least regret counts: a busy moment of the machine is no missed plan. Prints
a Markdown table of distributions, and one of the rows above --show with the candidate that was faster."""
import argparse
import collections
import json
import statistics
import sys

import cubejit_command


def explain(options, flags, problem):
    """{pass: (regret, cycles of the choice, the choice, the fastest candidate)}, of passes that have a plan that could be run."""
    found = {}
    for record in cubejit_command.records(options.command, ["plan", "--problem", "-", "--explain", "--threads", str(options.threads)] + flags,
                                          problem, may_refuse=True):
        ran = [c for c in record["candidates"] if "measured" in c]
        if "measured" in record and ran:
            fastest = min(ran, key=lambda c: c["measured"]["cycles"])
            found[record["pass"]] = (record["regret"], record["measured"]["cycles"], record["plan"], fastest["plan"])
    return found


def difference(chosen, fastest):
    """What the fastest candidate decides otherwise."""
    if chosen["algorithm"] != fastest["algorithm"]:
        return fastest["algorithm"] + " for " + chosen["algorithm"]
    return ", ".join(f"{key} {fastest.get(key)} for {value}" for key, value in chosen.items() if fastest.get(key) != value)


def main():
    parser = argparse.ArgumentParser(description="The planner's choices against the fastest candidates.")
    parser.add_argument("shapes", help="a file of problems, one JSON object a line")
    parser.add_argument("--command", default="build/bench/tools/cli/cubejit")
    parser.add_argument("--dtypes", default="f32")
    parser.add_argument("--layouts", default="ndhwc,ncdhw")
    parser.add_argument("--passes", default="y,dx,dw")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="every n-th problem alone")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--doubt", type=float, default=0.1)
    parser.add_argument("--show", type=float, default=0.15)
    parser.add_argument("--rounds", type=int, default=3, help="measurements, at most, of a row")
    parser.add_argument("--json", help="write all rows into this file")
    options = parser.parse_args()

    problems = cubejit_command.problems(options.shapes)[options.first::options.every]
    rows, groups = [], collections.defaultdict(list)
    for problem in problems:
        for dtype in options.dtypes.split(","):
            for layout in options.layouts.split(","):
                flags = ["--passes", options.passes, "--dtype", dtype, "--layout", layout]
                rounds = [explain(options, flags, problem)]
                while len(rounds) < options.rounds and any(min(r[p][0] for r in rounds if p in r) > options.doubt for p in rounds[0]):
                    rounds.append(explain(options, flags, problem))
                for pass_ in rounds[0]:
                    regret, cycles, chosen, fastest = min((r[pass_] for r in rounds if pass_ in r), key=lambda r: r[0])
                    rows.append({"problem": problem["name"], "pass": pass_, "dtype": dtype, "layout": layout, "regret": regret,
                                 "cycles": cycles, "chosen": chosen, "fastest": fastest})
                    groups[dtype, layout, pass_].append(regret)
                    if regret > options.show:
                        print(f"{problem['name']} {dtype} {layout} {pass_}: {regret:.0%}", file=sys.stderr, flush=True)

    print(f"Made by `bench/regret.py {' '.join(sys.argv[1:])}`: {len(problems)} problems.\n")
    print("| type | layout | pass | rows | median | 90 of 100 | worst | above 30 % |\n|---|---|---|---:|---:|---:|---:|---:|")
    for (dtype, layout, pass_), regrets in sorted(groups.items()):
        ordered = sorted(regrets)
        print(f"| {dtype} | {layout} | {pass_} | {len(ordered)} | {statistics.median(ordered):.0%} | {ordered[len(ordered) * 9 // 10]:.0%} | "
              f"{ordered[-1]:.0%} | {sum(r > 0.3 for r in ordered)} |")
    print(f"\nAbove {options.show:.0%}:\n\n| problem | type | layout | pass | regret | kilocycles | faster with |\n|---|---|---|---|---:|---:|---|")
    for row in sorted(rows, key=lambda r: -r["regret"]):
        if row["regret"] > options.show:
            print(f"| {row['problem']} | {row['dtype']} | {row['layout']} | {row['pass']} | {row['regret']:.0%} | {row['cycles'] / 1e3:.0f} | "
                  f"{difference(row['chosen'], row['fastest'])} |")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(rows, out)


if __name__ == "__main__":
    main()
