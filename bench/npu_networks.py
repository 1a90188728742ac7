#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how the layers of known networks are checked on an emulated chip as they are, none made smaller: every row in the passes
and a type it is used in, against the fp64 reference, or against a sample of it where the whole would take too long. Writes a Markdown
table. Leaves computing and comparing to `cubejit verify --soc`."""
import argparse
import json
import pathlib
import subprocess
import sys
import time

import cubejit_command

ROOT = pathlib.Path(__file__).resolve().parent.parent
PASSES = {"dx": "dx", "tr": "dx", "dw": "dw", "bw": "dx,dw", "dx/dw": "dx,dw", "dw/tr": "dx,dw"}
TYPES = ("f16", "bf16", "f32", "hf32")


def type_of(row):
    """The first of the row's types that the chip has; f16 for the 8-bit ones, which it has not."""
    return next((name for name in row["dtypes"].split("/") if name in TYPES), "f16")


def check(options, row):
    dtype, fast = type_of(row), row["gflop"] > options.fast_above
    command = [options.command, "verify", "--soc", options.soc, "--suite", "/dev/stdin", "--json",
               "--passes", PASSES[row["passes"]], "--dtype", dtype, "--layout", options.layout,
               "--threads", options.threads, "--max-macs", str(options.max_macs),
               "--max-elements", str(options.max_elements)] + (["--fast"] if fast else [])
    start = time.monotonic()
    run = subprocess.run(command, input=json.dumps(row) + "\n", capture_output=True, text=True)
    seconds = time.monotonic() - start
    lines = [line for line in run.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"verdict": "failed", "message": (run.stderr.strip() or "no answer").splitlines()[-1]}
    return dict(json.loads(lines[0]), dtype=dtype, fast=fast, seconds=seconds, passes=PASSES[row["passes"]])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default=ROOT / "bench/shapes/ascend_networks.jsonl", type=pathlib.Path)
    parser.add_argument("--soc", default="ascend910b2")
    parser.add_argument("--command", default=str(ROOT / "build/bench/tools/cli/cubejit"))
    parser.add_argument("--layout", default="ndc1hwc0,w=fractal_z_3d")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--max-macs", default=2e8, type=float, help="above, a sample of the elements is compared")
    parser.add_argument("--max-elements", default=1 << 30, type=int, help="above, a row is skipped for want of memory")
    parser.add_argument("--fast-above", default=100, type=float, help="GFLOP above which --fast is used")
    parser.add_argument("--only", default=(0, 1e9), nargs=2, type=float, help="GFLOP of the rows that are checked")
    parser.add_argument("--output", type=pathlib.Path, help="the table (default: stdout)")
    options = parser.parse_args()
    rows = cubejit_command.problems(options.suite)
    rows = [row for row in rows if options.only[0] <= row["gflop"] <= options.only[1]]
    out = options.output.open("w") if options.output else sys.stdout
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    print(f"| layer on {options.soc} | passes | type | GFLOP | way | compared | of elements | seconds | verdict |\n"
          "|---|---|---|---:|---|---:|---:|---:|---|", file=out)
    for row in sorted(rows, key=lambda row: row["gflop"]):
        found = check(options, row)
        counts[found["verdict"]] += 1
        reason = "" if found["verdict"] == "passed" else ": " + found["message"].splitlines()[0]
        print(f"| {row['name']} | {found.get('passes', '')} | {found.get('dtype', '')} | {row['gflop']:.3g} | "
              f"{'--fast' if found.get('fast') else 'staged'} | {found.get('compared', 0)} | {found.get('elements', 0)} | "
              f"{found.get('seconds', 0):.1f} | {found['verdict']}{reason} |", file=out, flush=True)
    print(f"\n{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped", file=out)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
