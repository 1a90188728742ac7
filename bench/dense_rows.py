# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides which problems of the suites count as dense: those that the FMA peak is a measure for."""
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITES = [ROOT / "bench/shapes" / f"{name}.jsonl" for name in ("landscape", "resnet50", "unet3d")]


def volume(axes):
    return axes[0] * axes[1] * axes[2]


def dense(problem, least):
    """No groups, a vector of channels on both sides, and work enough to hide a call."""
    flops = 2 * problem["n"] * problem["ci"] * problem["co"] * volume(problem["output"]) * volume(problem["kernel"])
    return problem.get("groups", 1) == 1 and min(problem["ci"], problem["co"]) >= 16 and flops >= least


def add_options(parser):
    parser.add_argument("suites", type=pathlib.Path, nargs="*", default=SUITES, help="files of bench/shapes/; default: all three")
    parser.add_argument("--command", default=str(ROOT / "build/bench/tools/cli/cubejit"))
    parser.add_argument("--dtypes", default="f32,bf16,f16")
    parser.add_argument("--layout", default="ndhwc")
    parser.add_argument("--passes", default="dx,dw", help="of y, dx, dw")
    parser.add_argument("--isa", default="", help="default: the best this machine has; avx512_amx counts shares of the peak of tiles")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--keep-weights", action="store_true", help="weights of y and dx are packed outside what is measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1, help="per row, type, pass and round")
    parser.add_argument("--least-mflops", type=float, default=10, help="rows of less work are left out")


def problems(options):
    lines = [line for suite in options.suites for line in suite.read_text().splitlines() if line.strip()]
    return [p for p in map(json.loads, lines) if dense(p, 1e6 * options.least_mflops)]


def flags(options, dtype):
    """Of `cubejit bench`."""
    return (["--passes", options.passes, "--dtype", dtype, "--layout", options.layout] + (["--keep-weights"] if options.keep_weights else []) +
            (["--isa", options.isa] if options.isa else []))
