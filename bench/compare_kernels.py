#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how kernels of kernels/*.tile are compared with oneDNN, OpenBLAS and PyTorch: on each problem ours and theirs run one after another,
several rounds, and the fastest call of all and the middle one of the rounds' medians are the figures. Writes every measurement as JSON, and tables.
Leaves the measuring to `cubejit kernel --time`, peer_matmul and peer_torch_kernels.py."""
import argparse
import itertools
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import statistics
import sys
import time

import compare_peers
import cubejit_command
import peers_report

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS = ("cubejit", "")
PAUSE = 0.05  # seconds; threads of who ran before still spin for a while
SIZES = {"f32": 4, "bf16": 2, "f16": 2}
FORMS = {"nn": "A B", "nt": "A B^T", "tn": "A^T B", "tt": "A^T B^T"}

# Those that may be the fastest, of each form.
KERNELS = {"nn": ["gemm_batched", "gemm_direct", "gemm_blocked", "gemm_tall", "gemm_few_columns"], "nt": ["gemm_nt", "gemm_nt_few_rows"],
           "tn": ["gemm_tn", "gemm_tn_direct"], "tt": ["gemm_tt", "gemm_tt_direct"]}
KERNELS_OF_BATCHES = ["gemm_batched", "gemm_direct"]

# batch, M, N, K
PRODUCTS = {
    "nn": [(1, size, size, size) for size in (64, 128, 256, 384, 512, 1024, 2048)]
          + [(1, 1, 4096, 1024), (1, 4, 4096, 1024), (1, 16, 1024, 4096), (1, 4096, 1, 1024), (1, 2048, 8, 512), (1, 4096, 16, 1024),
             (1, 1024, 1024, 1), (1, 1024, 1024, 4), (1, 2048, 2048, 16)]
          + [(1000, 16, 16, 16), (256, 32, 32, 32), (96, 128, 128, 64), (96, 128, 64, 128), (16, 512, 512, 64), (8, 256, 256, 256)],
    "nt": [(1, 512, 512, 512), (1, 512, 768, 3072), (1, 1, 1000, 2048)],
    "tn": [(1, 512, 512, 512), (1, 768, 3072, 512), (1, 16, 4096, 1024)],
    "tt": [(1, 512, 512, 512), (1, 1024, 1024, 1024)],
}


def products(element):
    """Products of matrices of this type, results as well."""
    for form, shapes in PRODUCTS.items():
        for batch, m, n, k in shapes:
            sizes = {"batch": batch, "m": m, "n": n, "k": k}
            name = "x".join(map(str, ([batch] if batch > 1 else []) + [m, n, k]))
            kernels = KERNELS[form] if batch == 1 else KERNELS_OF_BATCHES
            yield {"name": f"gemm {name} {form} {element}", "op": "gemm", "shape": name, "form": form, "types": element, "input": element,
                   "output": element, **sizes, "turned_a": form[0] == "t", "turned_b": form[1] == "t", "flops": 2 * math.prod(sizes.values()),
                   "bytes": batch * SIZES[element] * (m * k + k * n + m * n), "kernels": kernels,
                   "set": {"type": element, "M": m, "N": n, "K": k}}


def operation(op, sizes, names, numbers, flops=0, kernels=None, settings=None):
    """`numbers`: how many are read and written, each once; `names`: the parameters that sizes are."""
    shape = "x".join(map(str, sizes))
    return {"name": f"{op} {shape}", "op": op, "shape": shape, "sizes": sizes, "bytes": 4 * numbers, "flops": flops, "kernels": kernels or [op],
            "set": settings or dict(zip(names, sizes))}


def operations():
    for sizes in ((1024, 1000), (4096, 128), (64, 32000)):
        yield operation("softmax", sizes, "MN", 2 * math.prod(sizes))
    for sizes in ((2048, 768), (512, 4096), (8192, 256)):
        yield operation("layer_norm", sizes, "MN", 2 * math.prod(sizes))
    for sizes in ((8, 56, 56, 64), (16, 14, 14, 256), (4, 112, 112, 32)):
        yield operation("batch_norm", sizes, "", 2 * math.prod(sizes), kernels=["batch_norm", "batch_norm_training"],
                        settings={"P": math.prod(sizes[:3]), "C": sizes[3]})
    for sizes in ((4, 112, 112, 64), (8, 28, 28, 192)):
        n, h, w, c = sizes
        yield operation("pooling", sizes, "NHWC", n * c * (h * w + 2 * ((h - 1) // 2) * ((w - 1) // 2)))
    for sizes in ((1024, 1024), (4096, 4096), (128, 32000)):
        yield operation("transpose", sizes, "MN", 2 * math.prod(sizes))
    for h, t, d in ((8, 512, 64), (16, 1024, 64)):
        yield operation("attention", (h, t, d), "HTD", 4 * h * t * d, 4 * h * t * t * d, ["attention", "flash_attention"])


def tuned(options, problem):
    """The fastest of its kernels, each with what tuning found for it: (file, settings), or why there is none."""
    best, error = None, f"no {' or '.join(problem['kernels'])}.tile"
    for folder, stem in itertools.product(options.kernels, problem["kernels"]):
        file = folder / f"{stem}.tile"
        if not file.exists():
            continue
        settings = dict(problem["set"], **({"batch": problem["batch"]} if stem in KERNELS_OF_BATCHES else {}))
        settings |= cubejit_command.kernel_tuned(options.command, file, settings, options.threads,
                                                 options.tune + problem["flops"] / 1e9)
        found = min((cubejit_command.kernel_time(options.command, file, settings, options.threads) for _ in range(3)),
                    key=lambda found: found.get("ns_min", math.inf))
        error = found.get("error", error)
        if "ns_min" in found and (best is None or found["ns_min"] < best[0]):
            best = (found["ns_min"], file, settings)
    return best[1:] if best else error


def measure_ours(options, problem, choice):
    line = {"peer": OURS[0], "name": problem["name"], "layout": OURS[1]}
    if isinstance(choice, str):
        return [dict(line, error=choice)]
    file, settings = choice
    tiles = " ".join([file.stem] * (len(problem["kernels"]) > 1) + [f"{k}={v}" for k, v in settings.items() if k not in problem["set"] and k != "batch"])
    return [dict(line, tiles=tiles, **cubejit_command.kernel_time(options.command, file, settings, options.threads))]


class Figures:
    """Of each (problem, who, layout): nanoseconds of the fastest call of all rounds, and the middle one of the rounds' medians."""

    def __init__(self, document):
        self.document, rounds = document, {}
        for record in document["records"]:
            if "ns_median" in record:
                rounds.setdefault((record["name"], record["peer"].split()[0], record["layout"]), []).append(record)
        self.times = {key: (min(r["ns_min"] for r in ran), statistics.median(r["ns_median"] for r in ran)) for key, ran in rounds.items()}
        self.tiles = {record["name"]: record["tiles"] for record in document["records"] if "tiles" in record}

    def columns(self, problems):
        """Who ran any of these problems, besides us."""
        names = {problem["name"] for problem in problems}
        return list(dict.fromkeys(key[1:] for key in self.times if key[0] in names and key[1:] != OURS and key[2] != "copy"))

    def both(self, problem, who, form, value):
        """value() of the fastest call's time, that of the middle one in parentheses."""
        times = self.times.get((problem["name"], *who))
        return f"{form.format(value(times[0]))} ({form.format(value(times[1]))})" if times else "-"

    def ratios(self, problem, who):
        """Theirs over ours: above 1 we are faster."""
        ours, theirs = (self.times.get((problem["name"], *w)) for w in (OURS, who))
        return [their / our for our, their in zip(ours, theirs)] if ours and theirs else []

    def table(self, problems, head, cells, form, value):
        """Rows of cells(problem), our figure, and those of others with their ratios; then the ratios' geometric means."""
        columns = self.columns(problems)
        shown = lambda ratios: f"{ratios[0]:.2f} ({ratios[1]:.2f})" if ratios else "-"
        header = head + ["ours"] + [part for who in columns for part in (" ".join(who), "ratio")]
        lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(head) + "---:|" * (len(header) - len(head))]
        for problem in problems:
            row = cells(problem) + [self.both(problem, OURS, form, value(problem))]
            for who in columns:
                row += [self.both(problem, who, form, value(problem)), shown(self.ratios(problem, who))]
            lines.append("| " + " | ".join(row) + " |")
        row = ["**geometric mean**"] + [""] * len(head)
        for who in columns:
            ratios = [r for r in (self.ratios(problem, who) for problem in problems) if r]
            row += ["", shown([peers_report.geometric_mean(part) for part in zip(*ratios)])]
        return lines + ["| " + " | ".join(row) + " |", ""]


def markdown(document):
    figures, problems = Figures(document), document["problems"]
    versions = dict.fromkeys(r["peer"] for r in document["records"] if r["peer"] != OURS[0])
    lines = ["# Kernels beside their peers", "",
             f"Made by `{document['command']}`, on {document['threads']} threads, against {', '.join(versions)}: every row interleaved in one "
             f"run. A figure is of the fastest call of {document['rounds']} rounds, in parentheses of the middle one of their medians; a ratio above "
             "1 means that cubejit is faster. Tiles are what `cubejit kernel --tune` found before. Copies through memory: "
             f"{document['copy_gbytes']:.0f} GB/s read and written.", ""]
    if gemms := [p for p in problems if p["op"] == "gemm"]:
        lines += ["## Products of matrices, GFLOP/s", "",
                  "M x N x K, of a batch with its length before. oneDNN plain: of tensors as ours are; any: B in the layout it likes best, its "
                  "conversion not counted, an upper bound. OpenBLAS multiplies a batch a call at a time.", ""]
        lines += figures.table(gemms, ["problem", "form", "types", "tiles"],
                               lambda p: [p["shape"], FORMS[p["form"]], p["types"], figures.tiles.get(p["name"], "-")],
                               "{:.1f}", lambda p: lambda ns: p["flops"] / ns)
    if others := [p for p in problems if p["op"] != "gemm"]:
        rate = lambda p, who, amount: figures.both(p, who, "{:.1f}", lambda ns: amount / ns)
        lines += ["## Other kernels, microseconds", "",
                  "GB/s count what is read and written, once; a copy is PyTorch's of as many bytes, in the same rounds.", ""]
        lines += figures.table(others, ["kernel", "shape", "tiles", "ours GFLOP/s", "ours GB/s", "copy GB/s"],
                               lambda p: [p["op"], p["shape"], figures.tiles.get(p["name"], "-"), rate(p, OURS, p["flops"]) if p["flops"] else "",
                                          rate(p, OURS, p["bytes"]), rate(p, ("torch", "copy"), p["bytes"])],
                               "{:.1f}", lambda p: lambda ns: ns / 1e3)
    refusals = {}
    for record in document["records"]:
        if "error" in record:
            refusals.setdefault((f"{record['peer']} {record['layout']}".strip(), record["error"]), {})[record["name"]] = None
    if refusals:
        lines += ["What is blank, and why:", ""] + [f"- {who}, {', '.join(names)}: {error}" for (who, error), names in refusals.items()] + [""]
    return "\n".join(lines)


def start(options):
    """The peers asked for, each with the operations that it has."""
    openmp = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores", "OMP_NUM_THREADS": str(options.threads)}
    # OpenBLAS would take the one place of a main thread that OpenMP has bound for all the CPUs there are; it is pinned in peer_matmul.
    openblas = {"OPENBLAS_NUM_THREADS": str(options.threads)}
    known = {"onednn": (options.onednn, ["plain", "any"], openmp, True), "openblas": (options.openblas, ["sgemm"], openblas, True),
             "torch": (f"{options.python} {ROOT / 'bench/peer_torch_kernels.py'}", ["eager", "compiled", "copy"], openmp, False)}
    peers = []
    for name in filter(None, options.peers.split(",")):
        if name not in known:
            sys.exit(f"compare_kernels.py: no peer is called {name}; there are {', '.join(known)}")
        command, layouts, environment, multiplies = known[name]
        words = shlex.split(command)
        if not shutil.which(words[0]):
            sys.exit(f"compare_kernels.py: {name}: {words[0]} is not here (tools/setup.sh build peers); --peers takes the others alone")
        peers.append((multiplies, compare_peers.Peer(name, words, layouts, ["y"], "f32", options.milliseconds, dict(os.environ, **environment))))
    return peers


def main():
    build = ROOT / "build/bench"
    parser = argparse.ArgumentParser(description="Compares kernels of kernels/*.tile with oneDNN, OpenBLAS and PyTorch.")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="writes OUTPUT.json, OUTPUT.md")
    parser.add_argument("--command", default=str(build / "tools/cli/cubejit"))
    parser.add_argument("--kernels", type=pathlib.Path, nargs="+", default=[ROOT / "kernels"], help="folders of kernels")
    parser.add_argument("--types", default="f32", help="of products, as f32,bf16")
    parser.add_argument("--peers", default="onednn,openblas,torch")
    parser.add_argument("--onednn", default=str(build / "bench/peer_matmul"), help="a peer_matmul, with what stands before it")
    parser.add_argument("--openblas", default=str(build / "bench/peer_matmul"), help="a peer_matmul, with what stands before it")
    parser.add_argument("--python", default=compare_peers.PYTHON, help="a Python with PyTorch, with what stands before it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tune", type=float, default=4, help="seconds for each kernel and problem, and one more for each 10^9 FLOP")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--milliseconds", type=float, default=200, help="per peer, problem, layout and round; ours takes 200")
    parser.add_argument("--match", default="", help="only problems in whose names this is found: '^gemm', 'softmax|512x512x512 nn'")
    parser.add_argument("--table", action="store_true", help="measures nothing, makes OUTPUT.md of OUTPUT.json again")
    options = parser.parse_args()
    if options.table:
        options.output.with_suffix(".md").write_text(markdown(json.loads(options.output.with_suffix(".json").read_text())))
        return

    problems = [p for types in options.types.split(",") for p in products(types)] + list(operations())
    problems = [p for p in problems if re.search(options.match, p["name"])]
    if not problems:
        sys.exit("compare_kernels.py: no problem matches")
    peers, records = start(options), []
    document = {"schema": "cubejit-compare-kernels/1", "command": "bench/compare_kernels.py " + shlex.join(sys.argv[1:]), "threads": options.threads,
                "rounds": options.rounds, "copy_gbytes": compare_peers.copy_bandwidth(options.threads), "problems": [], "records": records}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    for number, problem in enumerate(problems, 1):
        print(f"[{number}/{len(problems)}] {problem['name']}", file=sys.stderr)
        choice = tuned(options, problem)
        turns = [lambda: measure_ours(options, problem, choice)]
        turns += [lambda peer=peer: peer.measure(problem) for multiplies, peer in peers if multiplies == (problem["op"] == "gemm")]
        for _ in range(options.rounds):
            for turn in turns:
                time.sleep(PAUSE)
                records += turn()
        document["problems"].append(problem)  # written at once: an interrupted run keeps what it has
        options.output.with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
        options.output.with_suffix(".md").write_text(markdown(document))
    print(markdown(document))


if __name__ == "__main__":
    main()
