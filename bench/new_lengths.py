#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how streams of ever-new shapes are compared: training steps of a stack of Conv1d, each on a signal of another length, by PyTorch alone
and with cubejit.torch.enable(). Each has a process of its own, since memory is compared, too; they take turns, a few lengths each.
Prints time and the most resident memory of both. --repeats says how often each length comes, one time after the other.

    PYTHONPATH=build/release/python_packages bench/new_lengths.py --lengths 400 --threads 1
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time

TURN = 10  # lengths


def lengths_of(number):
    lengths = [1000 + 7 * i for i in range(number)]
    random.Random(0).shuffle(lengths)
    return lengths


def child(args):
    """Steps of as many lengths as a line of the input says; answers with seconds of CPU and of the clock."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(args.threads)
    net = nn.Sequential(nn.Conv1d(1, 64, 9, padding=4), nn.ReLU(), nn.Conv1d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv1d(64, 128, 5, stride=2, padding=2),
                        nn.ReLU(), nn.Conv1d(128, 128, 3, padding=2, dilation=2), nn.ReLU(), nn.Conv1d(128, 64, 1))
    signal = torch.randn(4, 1, 1000 + 7 * args.lengths)
    if args.who != "torch":
        import cubejit.torch

        cubejit.torch.enable(None if args.who == "measure" else args.who)
    net(signal[..., :999]).square().mean().backward()
    lengths = iter(lengths_of(args.lengths))
    print("ready", flush=True)
    for line in sys.stdin:
        cpu, wall = time.process_time(), time.perf_counter()
        for length in [next(lengths) for _ in range(int(line))]:
            for _ in range(args.repeats):
                for parameter in net.parameters():
                    parameter.grad = None
                net(signal[..., :length]).square().mean().backward()
        print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall]), flush=True)
    kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kept = {}
    if args.who != "torch":
        import cubejit.torch

        made = cubejit.torch.report()
        kept = {"passes": len(made.rows), "decided": sum(row["decided"] for row in made.rows)}
    print(json.dumps({"mib": kib / 1024, **kept}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--who", help=argparse.SUPPRESS)
    parser.add_argument("--others", default="measure", help="measure, ours, or both, by commas")
    args = parser.parse_args()
    if args.who:
        return child(args)
    same = ["--lengths", str(args.lengths), "--repeats", str(args.repeats), "--threads", str(args.threads)]
    runs = {who: subprocess.Popen([sys.executable, __file__, *same, "--who", who], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for who in ("torch", *args.others.split(","))}
    for run in runs.values():
        run.stdout.readline()
    seconds = {who: [0.0, 0.0] for who in runs}
    for begun in range(0, args.lengths, TURN):
        for who, run in runs.items():
            print(min(TURN, args.lengths - begun), file=run.stdin, flush=True)
            seconds[who] = [a + b for a, b in zip(seconds[who], json.loads(run.stdout.readline()))]
    print("| who | CPU s | s | CPU of PyTorch's | MiB | MiB more | passes known | decided |\n|---|---:|---:|---:|---:|---:|---:|---:|")
    first = None
    for who, run in runs.items():
        run.stdin.close()
        end = json.loads(run.stdout.readline())
        run.wait()
        first = first or (seconds[who][0], end["mib"])
        print(f"| {who} | {seconds[who][0]:.2f} | {seconds[who][1]:.2f} | {seconds[who][0] / first[0]:.3f} | {end['mib']:.0f} | "
              f"{end['mib'] - first[1]:.0f} | {end.get('passes', '')} | {end.get('decided', '')} |")
    return None


if __name__ == "__main__":
    main()
