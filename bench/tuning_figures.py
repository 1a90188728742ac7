#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tunes a suite into a store of its own, then measures every winner against the model's plan again.

Prints geometric means of the gain per gradient, the regret of the untuned planner, and the share of winners that are not slower
than the untuned plan when `cubejit bench` measures both in turn. Needs the command; everything else is the standard library."""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile


def lines(command, environment):
    out = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    return [json.loads(line) for line in out.stdout.splitlines() if line.startswith("{")]


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cubejit", default="build/release/tools/cli/cubejit")
    parser.add_argument("--suite", default="bench/shapes/resnet50.jsonl")
    parser.add_argument("--budget", default="4m")
    parser.add_argument("--gradients", default="dx,dw")
    parser.add_argument("--dtype", default="f32")
    parser.add_argument("--strategy", default="evolve")
    parser.add_argument("--rounds", type=int, default=5, help="how often each winner is measured again, in turn with the model's plan")
    parser.add_argument("--seconds", type=float, default=0.05, help="of each such measurement")
    parser.add_argument("--db", help="keep records here (default: a temporary file)")
    parser.add_argument("--skip-tuning", action="store_true", help="only measure the winners of --db again")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="cubejit_figures_")
    store = os.path.abspath(arguments.db) if arguments.db else os.path.join(folder, "tune.db")
    environment = dict(os.environ, CUBEJIT_DB=store, CUBEJIT_SYSTEM_DB="", CUBEJIT_TUNE="use")
    common = ["--suite", arguments.suite, "--gradients", arguments.gradients, "--dtype", arguments.dtype]
    if not arguments.skip_tuning:
        rows = lines([arguments.cubejit, "tune", *common, "--budget", arguments.budget, "--strategy", arguments.strategy,
                      "--json", "--progress", "plain"], environment)
        rows = [row for row in rows if "relative" in row]
        for gradient in arguments.gradients.split(","):
            own = [row for row in rows if row["gradient"] == gradient]
            gains = [1 / row["relative"] for row in own]
            over = [row["name"] for row in own if 1 / row["relative"] > 1.5]
            print(f"{gradient}: {len(own)} rows, tuned {sum(r['tuned'] for r in own)}, gain {geomean(gains):.3f}x "
                  f"(regret of the untuned plans {100 * (geomean(gains) - 1):.1f} %), largest {max(gains):.2f}x, "
                  f"over 1.5x: {over or 'none'}, {sum(r['trials'] for r in own)} trials, "
                  f"{sum(r['seconds'] for r in own):.0f} s")
        bad = sum(row[status] for row in rows for status in ("wrong", "crashed", "timed_out"))
        print(f"wrong, crashed or hung: {bad} of {sum(row['trials'] for row in rows)} trials")
    # Winners again: pins of both plans, measured in turn, the least median of each.
    winners = lines([arguments.cubejit, "db", "best", "--json"], environment)
    winners = [w for w in winners if not w["untuned"]]
    pairs = {}
    for _ in range(arguments.rounds):
        for index, winner in enumerate(winners):
            plan = os.path.join(folder, "plan.json")
            with open(plan, "w", encoding="utf-8") as file:
                file.write(json.dumps(winner["plan"]) + "\n")
            problem = ["--problem", f"{arguments.suite}:{winner['name']}", "--gradients", winner["gradient"], "--dtype",
                       arguments.dtype, "--min-seconds", str(arguments.seconds), "--min-samples", "5", "--json"]
            for label, extra, mode in (("model", [], "off"), ("tuned", ["--plan", plan], "off")):
                measured = lines([arguments.cubejit, "bench", *problem, *extra], dict(environment, CUBEJIT_TUNE=mode))
                if measured:
                    pairs.setdefault(index, {}).setdefault(label, []).append(measured[0]["ns_median"])
    again = {index: min(pair["model"]) / min(pair["tuned"]) for index, pair in pairs.items() if len(pair) == 2}
    for index, ratio in again.items():
        if ratio < 0.98:
            print(f"slower than the model's plan when measured again: {winners[index]['name']} {winners[index]['gradient']}, "
                  f"{ratio:.3f}x, recorded {1 / winners[index]['relative']:.3f}x")
    ratios = list(again.values())
    if ratios:
        kept = sum(ratio >= 1 for ratio in ratios)
        print(f"measured again: {kept} of {len(ratios)} winners are not slower ({sum(r >= 0.98 for r in ratios)} within 2 %), "
              f"geometric mean {geomean(ratios):.3f}x, worst {min(ratios):.3f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
