#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tunes suites into a store of their own, a problem at a time, then measures every winner against the model's plan again.

Prints for each suite, type and pass the geometric means of the untuned and the tuned plans, the regret of the untuned planner,
and the share of winners that are not slower than the untuned plan when `cubejit bench` measures both in turn; --markdown writes
the same as a page. Needs the command; everything else is the standard library."""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import cubejit_command


def lines(command, environment):
    out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    return [cubejit_command.read(line) for line in out.stdout.splitlines() if line.startswith("{")]


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def gflop(problem):
    taps = math.prod(problem["kernel"])
    return 2e-9 * problem["n"] * math.prod(problem["output"]) * problem["ci"] * problem["co"] * taps / problem["groups"]


class Figures:
    def __init__(self, arguments):
        self.arguments = arguments
        self.folder = tempfile.mkdtemp(prefix="cubejit_figures_")
        store = os.path.abspath(arguments.db) if arguments.db else os.path.join(self.folder, "tune.db")
        self.environment = dict(os.environ, CUBEJIT_DB=store, CUBEJIT_SYSTEM_DB="", CUBEJIT_TUNE="use")

    def tune(self, suite, problems, dtype):
        """The rows `cubejit tune` prints, of all problems and passes."""
        rows = []
        for problem in problems:
            command = [self.arguments.cubejit, "tune", "--problem", f"{suite}:{problem['name']}", "--passes",
                       self.arguments.passes, "--dtype", dtype, "--budget", self.arguments.budget, "--strategy",
                       self.arguments.strategy, "--json", "--progress", "none"]
            rows += [dict(row, gflop=gflop(problem)) for row in lines(command, self.environment) if "relative" in row]
            time.sleep(self.arguments.rest)
        return rows

    def bench(self, winner, suite, dtype, extra):
        command = [self.arguments.cubejit, "bench", "--problem", f"{suite}:{winner['name']}", "--passes",
                   winner["pass"], "--dtype", dtype, "--min-seconds", str(self.arguments.seconds), "--min-samples", "5",
                   "--json", *extra]
        measured = lines(command, dict(self.environment, CUBEJIT_TUNE="off"))
        return measured[0]["ns_median"] if measured else None

    def again(self, suite, dtype, rows):
        """Winners again: both plans, measured in turn, the least median of each."""
        plan = os.path.join(self.folder, "plan.json")
        ratios = {}
        for winner in (row for row in rows if row["tuned"]):
            with open(plan, "w", encoding="utf-8") as file:
                file.write(json.dumps(winner["plan"]) + "\n")
            times = {"model": [], "tuned": []}
            for _ in range(self.arguments.rounds):
                times["model"].append(self.bench(winner, suite, dtype, []))
                times["tuned"].append(self.bench(winner, suite, dtype, ["--plan", plan]))
            if None in times["model"] + times["tuned"]:
                continue
            ratio = min(times["model"]) / min(times["tuned"])
            ratios[winner["name"], winner["pass"]] = ratio
            if ratio < 0.98:
                print(f"slower than the model's plan when measured again: {winner['name']} {winner['pass']}, "
                      f"{ratio:.3f}x, recorded {1 / winner['relative']:.3f}x")
            time.sleep(self.arguments.rest)
        return ratios


def rowOf(suite, dtype, pass_, own, again):
    untuned = geomean([row["gflop"] / row["untuned_ns"] * 1e9 for row in own])
    tuned = geomean([row["gflop"] / (row["untuned_ns"] * row["relative"]) * 1e9 for row in own])
    gains = sorted(((1 / row["relative"], row["name"]) for row in own), reverse=True)
    ratios = [again[row["name"], row["pass"]] for row in own if (row["name"], row["pass"]) in again]
    kept = len(own) - sum(ratio < 0.98 for ratio in ratios)  # where nothing won, the untuned plan is the tuned one
    return {"suite": os.path.basename(suite).removesuffix(".jsonl"), "dtype": dtype, "pass": pass_, "rows": len(own),
            "untuned": f"{untuned:.0f}", "tuned": f"{tuned:.0f}", "regret %": f"{100 * (tuned / untuned - 1):.1f}",
            "largest": f"{gains[0][0]:.2f}x {gains[0][1]}", "over 1.5x": sum(gain > 1.5 for gain, _ in gains),
            "plans tried": sum(row["trials"] for row in own), "seconds": f"{sum(row['seconds'] for row in own):.0f}",
            "won": sum(row["tuned"] for row in own), "again": f"{geomean(ratios):.3f}x" if ratios else "-",
            "not slower": f"{kept} of {len(own)}"}


def told(argv):
    """The command line without what is of one machine."""
    out, skipped = ["bench/tuning_figures.py"], False
    for word in argv:
        if not skipped and word not in ("--cubejit", "--db"):
            out.append(word)
        skipped = word in ("--cubejit", "--db")
    return " ".join(out)


def markdown(table, arguments):
    text = ["# What tuning finds", "",
            "Geometric means of GFLOP/s (every tap counted) with the planner's plans and with the best found, beside one another in each search; regret is the",
            "difference, *again* the gain of the winners measured anew with `cubejit bench`, *not slower* the rows whose tuned plan is then",
            "at least within 2 % of the planner's.", "",
            f"`{told(sys.argv[1:])}`,", f"{arguments.machine}, {time.strftime('%Y-%m-%d')}.", ""]
    keys = list(table[0])
    text += ["| " + " | ".join(keys) + " |", "|" + "---|" * len(keys)]
    text += ["| " + " | ".join(str(row[key]) for key in keys) + " |" for row in table]
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cubejit", default="build/release/tools/cli/cubejit")
    parser.add_argument("--suite", action="append", help="may be given several times (default: resnet50)")
    parser.add_argument("--budget", default="5s", help="of each problem, for all its passes")
    parser.add_argument("--passes", "--gradients", default="dx,dw")
    parser.add_argument("--dtype", default="f32", help="one or several, f32,bf16")
    parser.add_argument("--strategy", default="evolve")
    parser.add_argument("--rounds", type=int, default=5, help="how often each winner is measured again, in turn with the model's plan")
    parser.add_argument("--seconds", type=float, default=0.05, help="of each such measurement")
    parser.add_argument("--rest", type=float, default=0, help="seconds between problems, for a machine that others use")
    parser.add_argument("--db", help="keep records here (default: a temporary file)")
    parser.add_argument("--markdown", help="write the table here as well")
    arguments = parser.parse_args()
    arguments.suite = arguments.suite or ["bench/shapes/resnet50.jsonl"]
    figures = Figures(arguments)
    table, bad, trials = [], 0, 0
    for suite in arguments.suite:
        problems = cubejit_command.problems(suite)
        for dtype in arguments.dtype.split(","):
            rows = figures.tune(suite, problems, dtype)
            bad += sum(row[status] for row in rows for status in ("wrong", "crashed", "timed_out"))
            trials += sum(row["trials"] for row in rows)
            again = figures.again(suite, dtype, rows)
            for pass_ in arguments.passes.split(","):
                own = [row for row in rows if row["pass"] == pass_]
                if own:
                    table.append(rowOf(suite, dtype, pass_, own, again))
                    print("  ".join(f"{key} {value}" for key, value in table[-1].items()), flush=True)
    print(f"wrong, crashed or hung: {bad} of {trials} trials")
    if arguments.markdown and table:
        target = lines([arguments.cubejit, "db", "list", "--json"], figures.environment)
        arguments.machine = target[0].get("machine", "") if target else ""
        with open(arguments.markdown, "w", encoding="utf-8") as file:
            file.write(markdown(table, arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main())
