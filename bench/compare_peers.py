#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how cubejit is compared with oneDNN and PyTorch: the same problem goes through each in turn, several rounds,
threads pinned, and the best round of each counts. Writes every measurement as JSON and the ratios as a Markdown table.
Leaves the measuring to `cubejit bench`, peer_onednn and peer_torch.py."""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS = "cubejit"


class Peer:
    """A peer program that stays up: a problem line in, `answers` JSON lines out."""

    def __init__(self, name, command, layouts, gradients, milliseconds, environment):
        self.name = name
        self.answers = len(layouts) * len(gradients)
        arguments = ["--layouts", ",".join(layouts), "--gradients", ",".join(gradients),
                     "--milliseconds", str(milliseconds)]
        self.process = subprocess.Popen(command + arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment, text=True)

    def measure(self, problem):
        self.process.stdin.write(json.dumps(problem) + "\n")
        self.process.stdin.flush()
        lines = [self.process.stdout.readline() for _ in range(self.answers)]
        if not all(lines):
            sys.exit(f"compare_peers.py: {self.name} stopped at {problem['name']}")
        return [json.loads(line) for line in lines]


def measure_ours(command, problem, layouts, gradients, threads, isa, milliseconds):
    """One process a layout; dw+db is the sum of the two."""
    records = []
    wanted = "dx" * ("dx" in gradients) + ",dw" * ("dw" in gradients or "dw+db" in gradients) + \
        ",db" * ("dw+db" in gradients)
    for layout in layouts:
        run = subprocess.run([command, "bench", "--problem", "-", "--gradients", wanted.strip(","), "--dtype", "f32",
                              "--layout", layout, "--threads", str(threads), "--json",
                              "--min-seconds", str(milliseconds / 1000)] + (["--isa", isa] if isa else []),
                             input=json.dumps(problem) + "\n", capture_output=True, text=True)
        found = {}
        for line in run.stdout.splitlines():
            record = json.loads(line)
            if "gradient" in record and "ns_median" in record:
                found[record["gradient"]] = record
        if run.returncode != 0 or not found:
            message = (run.stderr.strip() or "no measurement").splitlines()[-1]
            records.append({"peer": OURS, "name": problem["name"], "gradient": "*", "layout": layout, "error": message})
            print(f"compare_peers.py: {problem['name']} {layout}: {message}", file=sys.stderr)
            continue
        if "dw" in found and "db" in found:
            both = dict(found["dw"], gradient="dw+db", ns_median=found["dw"]["ns_median"] + found["db"]["ns_median"])
            found["dw+db"] = dict(both, gflops=both["flops"] / both["ns_median"])
        records += [dict(found[g], peer=OURS, name=problem["name"], layout=layout) for g in gradients if g in found]
    return records


def best(records, peer, name, gradient, layouts):
    """The record with the highest rate, or None."""
    fits = [r for r in records if r["peer"].split()[0] == peer and r["name"] == name and r["gradient"] == gradient
            and r["layout"] in layouts and "gflops" in r]
    return max(fits, key=lambda r: r["gflops"], default=None)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def table(records, problems, gradients, peers):
    """Per row: our rate channels last and plain, each peer's best and plain rate, and ours over theirs."""
    columns = [(p, kind) for p in peers for kind in ("best", "plain")]
    header = ["problem", "gradient", "ours ndhwc", "ours plain"]
    for peer, kind in columns:
        header += [f"{peer} {kind}", "ratio"]
    rows, ratios = [], {}
    cell = lambda value, form: form.format(value) if value is not None else "-"
    for problem in problems:
        for gradient in gradients:
            name = problem["name"]
            ours = {"best": best(records, OURS, name, gradient, ["ndhwc"]),
                    "plain": best(records, OURS, name, gradient, ["ncdhw"])}
            row = [name, gradient] + [cell(ours[k] and ours[k]["gflops"], "{:.1f}") for k in ("best", "plain")]
            for peer, kind in columns:
                theirs = best(records, peer, name, gradient, ["any", "ndhwc", "ncdhw"] if kind == "best" else ["ncdhw"])
                ratio = ours[kind]["gflops"] / theirs["gflops"] if ours[kind] and theirs else None
                if ratio is not None:
                    ratios.setdefault((gradient, peer, kind), []).append(ratio)
                row += [cell(theirs and theirs["gflops"], "{:.1f}"), cell(ratio, "{:.2f}")]
            rows.append(row)
    summary = {}
    for gradient in gradients:
        row = ["**geometric mean**", gradient, "", ""]
        for peer, kind in columns:
            mean = geometric_mean(ratios.get((gradient, peer, kind), []))
            summary[f"{gradient} {peer} {kind}"] = mean
            row += ["", cell(mean, "{:.2f}")]
        rows.append(row)
    lines = ["| " + " | ".join(header) + " |", "|---|---" + "|---:" * (len(header) - 2) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n", summary


def main():
    parser = argparse.ArgumentParser(description="Compares cubejit with oneDNN and PyTorch on a suite of problems.")
    parser.add_argument("suite", type=pathlib.Path, help="a file of bench/shapes/")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="writes OUTPUT.json and OUTPUT.md")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench")
    parser.add_argument("--gradients", default="dx,dw", help="of dx, dw, dw+db")
    parser.add_argument("--layouts", default="ndhwc,ncdhw", help="ours and PyTorch's; oneDNN also takes the one it likes")
    parser.add_argument("--peers", default="onednn,torch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--isa", default="", help="ours; default: the best this machine has")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--milliseconds", type=float, default=100, help="per peer, problem, gradient, layout and round")
    parser.add_argument("--match", default="", help="only problems whose name contains this")
    options = parser.parse_args()

    problems = [json.loads(line) for line in options.suite.read_text().splitlines() if line.strip()]
    problems = [p for p in problems if options.match in p["name"]]
    if not problems:
        sys.exit("compare_peers.py: no problem matches")
    gradients, layouts = options.gradients.split(","), options.layouts.split(",")
    # Unpinned, the peers' threads share a core at times and their numbers mean nothing.
    environment = dict(os.environ, OMP_PROC_BIND="close", OMP_PLACES="cores", OMP_NUM_THREADS=str(options.threads))
    commands = {"onednn": ([str(options.build / "bench/peer_onednn")], ["any"] + layouts),
                "torch": (["/usr/bin/python3", str(ROOT / "bench/peer_torch.py")], layouts)}
    peers = [Peer(name, *commands[name], gradients, options.milliseconds, environment)
             for name in options.peers.split(",") if name]

    records = []
    for number, problem in enumerate(problems, 1):
        print(f"[{number}/{len(problems)}] {problem['name']}", file=sys.stderr)
        for _ in range(options.rounds):
            records += measure_ours(str(options.build / "tools/cli/cubejit"), problem, layouts, gradients,
                                    options.threads, options.isa, options.milliseconds)
            for peer in peers:
                records += peer.measure(problem)

    text, summary = table(records, problems, gradients, [p.name for p in peers])
    document = {"schema": "cubejit-compare/1", "suite": options.suite.name, "threads": options.threads,
                "rounds": options.rounds, "geometric_mean_ratio": summary, "records": records}
    options.output.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    options.output.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
