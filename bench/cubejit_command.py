# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how the scripts of this folder call `cubejit bench` and `cubejit verify`: one problem at a time on standard input, JSON lines
back, and no tuning records, so that every run has the planner's own plans; and how they call `cubejit kernel --time`."""
import json
import os
import re
import subprocess
import sys
import tempfile

NO_PLAN = "no legal plan"  # what is said of a problem that an algorithm asked for does not take


def problems(path):
    """Those of a file of bench/shapes/: one JSON object a line."""
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def read(text):
    """What the command, a peer or an earlier run wrote. Up to version 0.2.0 a pass was called gradient there."""
    return json.loads(text, object_hook=lambda found: {"pass" if key == "gradient" else key: value for key, value in found.items()})


def records(command, arguments, problem, may_refuse=False):
    """The lines of a subcommand; none where it refuses the problem and may. Other failures end the script."""
    done = subprocess.run([command] + arguments + ["--json"], input=json.dumps(problem) + "\n", capture_output=True, text=True,
                          env=dict(os.environ, CUBEJIT_TUNE="off"))
    if done.returncode != 0 and not (may_refuse and NO_PLAN in done.stderr):
        sys.exit(f"{os.path.basename(sys.argv[0])}: {problem['name']}, {' '.join(arguments)}: {done.stderr.strip()}")
    return [read(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []


def bench(options, flags, problem, may_refuse=False):
    """Measured passes; `options` has command, threads, seconds."""
    lines = records(options.command, ["bench", "--problem", "-", "--threads", str(options.threads), "--min-seconds", str(options.seconds)] +
                    flags, problem, may_refuse)
    return [line for line in lines if "ns_median" in line]


def kernel_time(command, file, settings, threads):
    """What `cubejit kernel --time` says of a kernel with these parameters: {ns_min, ns_median, samples}, or {error}."""
    pairs = ",".join(f"{name}={value}" for name, value in settings.items())
    done = subprocess.run([command, "kernel", str(file), "--set", pairs, "--threads", str(threads), "--time"], capture_output=True, text=True)
    found = re.search(r"([\d.]+) us at least, ([\d.]+) us in the middle of (\d+) runs", done.stdout)
    if not found:
        return {"error": (done.stderr.strip() or "no measurement").splitlines()[-1]}
    return {"ns_min": float(found[1]) * 1e3, "ns_median": float(found[2]) * 1e3, "samples": int(found[3])}


def kernel_tuned(command, file, settings, threads, seconds):
    """What `cubejit kernel --tune` finds for the parameters that these leave open; nothing where there is nothing to vary."""
    pairs = ",".join(f"{name}={value}" for name, value in settings.items())
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([command, "kernel", str(file), "--set", pairs, "--threads", str(threads), "--tune", "--budget", f"{seconds}s", "--db",
                               f"{folder}/tune.db"], capture_output=True, text=True)
    found = re.search(r"times as fast with (\S+);", done.stdout)
    return dict(pair.split("=") for pair in found[1].split(",")) if found else {}
