#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how cubejit is compared with oneDNN, PyTorch and ONNX Runtime: the same problem goes through each in turn, several rounds,
threads pinned, and the best round of each counts. Writes every measurement as JSON.
Leaves the measuring to `cubejit bench`, peer_onednn, peer_torch.py and peer_onnxruntime.py, tables and the page to peers_report.py."""
import argparse
import ctypes
import json
import os
import pathlib
import shlex
import subprocess
import sys
import threading
import time

import cubejit_command
import peers_report

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS = "cubejit"
PYTHON = "/usr/bin/python3"


def absence(name, command):
    """Why a peer cannot be measured here; nothing if it can."""
    if name == "onednn":
        return "" if pathlib.Path(command[0]).exists() else f"{command[0]} is not built"
    modules = {"torch": ["torch"], "onnxruntime": ["onnxruntime", "onnx"]}[name]
    look = "import importlib.util, sys; sys.exit(' and '.join(m for m in sys.argv[1:] if not importlib.util.find_spec(m)))"
    missing = subprocess.run([PYTHON, "-c", look, *modules], stderr=subprocess.PIPE, text=True).stderr.strip()
    return f"{PYTHON} has no {missing}" if missing else ""


class Peer:
    """A peer program that stays up: a problem line in, `answers` JSON lines out."""

    def __init__(self, name, command, layouts, passes, dtype, milliseconds, environment):
        self.name = name
        self.answers = len(layouts) * len(passes)
        arguments = ["--layouts", ",".join(layouts), "--passes", ",".join(passes),
                     "--dtype", dtype, "--milliseconds", str(milliseconds)]
        self.process = subprocess.Popen(command + arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment, text=True)

    def measure(self, problem):
        self.process.stdin.write(json.dumps(problem) + "\n")
        self.process.stdin.flush()
        lines = [self.process.stdout.readline() for _ in range(self.answers)]
        if not all(lines):
            sys.exit(f"compare_peers.py: {self.name} stopped at {problem['name']}")
        return [cubejit_command.read(line) for line in lines]


def measure_ours(command, problem, layouts, passes, dtype, threads, flags, milliseconds):
    """One process a layout, and one more for passes of one call, dw+db."""
    records = []
    for layout in layouts:
        for wanted in [[g for g in passes if "+" not in g]] + [[g] for g in passes if "+" in g]:
            if not wanted:
                continue
            together = ["--together"] if "+" in wanted[0] else []
            run = subprocess.run([command, "bench", "--problem", "-", "--passes",
                                  ",".join(wanted).replace("+", ","), "--dtype", dtype,
                                  "--layout", layout, "--threads", str(threads), "--json",
                                  "--min-seconds", str(milliseconds / 1000)] + together + flags,
                                 input=json.dumps(problem) + "\n", capture_output=True, text=True)
            found = [cubejit_command.read(line) for line in run.stdout.splitlines()]
            found = [record for record in found if "pass" in record and "ns_median" in record]
            if run.returncode != 0 or not found:
                message = (run.stderr.strip() or "no measurement").splitlines()[-1]
                records.append({"peer": OURS, "name": problem["name"], "pass": "*", "layout": layout,
                                "error": message})
                print(f"compare_peers.py: {problem['name']} {layout}: {message}", file=sys.stderr)
            records += [dict(record, peer=OURS, name=problem["name"], layout=layout) for record in found]
    return records


def bytes_of(problem, pass_, dtype):
    """Bytes of the three tensors a pass reads and writes, each once."""
    volume = lambda axes: axes[0] * axes[1] * axes[2]
    x = problem["n"] * problem["ci"] * volume(problem["input"])
    dy = problem["n"] * problem["co"] * volume(problem["output"])
    w = problem["co"] * (problem["ci"] // problem["groups"]) * volume(problem["kernel"])
    return (x + dy + w) * (4 if dtype == "f32" else 2)


def copy_bandwidth(threads, megabytes=64):
    """GB/s read and written by threads that copy, each its own memory; the best of ten."""
    size = megabytes << 20
    buffers = [(ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)) for _ in range(threads)]
    best = 0
    for _ in range(10):
        team = [threading.Thread(target=ctypes.memmove, args=(to, source, size)) for to, source in buffers]
        begin = time.perf_counter()
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()
        best = max(best, 2 * size * threads / (time.perf_counter() - begin) * 1e-9)
    return best


def main():
    parser = argparse.ArgumentParser(description="Compares cubejit with oneDNN and PyTorch on a suite of problems.")
    parser.add_argument("suite", type=pathlib.Path, help="a file of bench/shapes/")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="writes OUTPUT.json, OUTPUT.md, OUTPUT.html")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench")
    parser.add_argument("--passes", "--gradients", default="dx,dw", help="passes: of y, dx, dw, dw+db; ONNX Runtime has y alone")
    parser.add_argument("--dtype", default="f32", choices=["f32", "bf16", "f16"])
    parser.add_argument("--layouts", default="ndhwc,ncdhw", help="everyone's; oneDNN also takes the one it likes")
    parser.add_argument("--own-layouts", default="ndc1hwc16",
                        help="further ones of ours; for images ndc1hwc16 is the nChw16c that oneDNN likes best")
    parser.add_argument("--peers", help="of onednn, torch, onnxruntime; default: those that are here")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--isa", default="", help="ours; default: the best this machine has")
    parser.add_argument("--keep-weights", action="store_true", help="ours packs the weights of y and dx outside what is measured, as oneDNN does")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--milliseconds", type=float, default=100, help="per peer, problem, pass, layout and round")
    parser.add_argument("--match", default="", help="only problems whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="of those every such, from the first on: a sample of a suite of many geometries")
    options = parser.parse_args()

    problems = cubejit_command.problems(options.suite)
    problems = [p for p in problems if options.match in p["name"]][::options.every]
    if not problems:
        sys.exit("compare_peers.py: no problem matches")
    passes, layouts = options.passes.split(","), options.layouts.split(",")
    our_layouts = layouts + [layout for layout in options.own_layouts.split(",") if layout]
    # Unpinned, the peers' threads share a core at times and their numbers mean nothing.
    environment = dict(os.environ, OMP_PROC_BIND="close", OMP_PLACES="cores", OMP_NUM_THREADS=str(options.threads))
    script = lambda name: [PYTHON, str(ROOT / "bench" / name)]
    commands = {"onednn": ([str(options.build / "bench/peer_onednn")], ["any"] + layouts),
                "torch": (script("peer_torch.py"), layouts), "onnxruntime": (script("peer_onnxruntime.py"), layouts)}
    peers = []
    for name in commands if options.peers is None else filter(None, options.peers.split(",")):
        if name not in commands:
            sys.exit(f"compare_peers.py: no peer is called {name}; there are {', '.join(commands)}")
        if missing := absence(name, commands[name][0]):
            print(f"compare_peers.py: without {name}: {missing} (tools/setup.sh peers)", file=sys.stderr)
            if options.peers is not None:
                sys.exit(1)
        else:
            peers.append(Peer(name, *commands[name], passes, options.dtype, options.milliseconds, environment))

    flags = (["--isa", options.isa] if options.isa else []) + (["--keep-weights"] if options.keep_weights else [])
    records = []
    for number, problem in enumerate(problems, 1):
        print(f"[{number}/{len(problems)}] {problem['name']}", file=sys.stderr)
        for _ in range(options.rounds):
            records += measure_ours(str(options.build / "tools/cli/cubejit"), problem, our_layouts, passes,
                                    options.dtype, options.threads, flags, options.milliseconds)
            for peer in peers:
                records += peer.measure(problem)

    sizes = {problem["name"]: problem for problem in problems}
    for record in records:
        if "gflops" in record:
            record["bytes"] = bytes_of(sizes[record["name"]], record["pass"], options.dtype)
    document = {"schema": "cubejit-compare/2", "suite": options.suite.name, "dtype": options.dtype,
                "command": "bench/compare_peers.py " + shlex.join(sys.argv[1:]), "threads": options.threads,
                "rounds": options.rounds, "copy_gbytes": copy_bandwidth(options.threads),
                "peak_gflops": max((r.get("peak_gflops", 0) for r in records), default=0), "records": records}
    document["geometric_mean_ratio"] = peers_report.summary(document)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
    options.output.with_suffix(".md").write_text(peers_report.markdown(document))
    options.output.with_suffix(".html").write_text(peers_report.page(document))
    print(peers_report.markdown(document))


if __name__ == "__main__":
    main()
