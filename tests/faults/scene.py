# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What faults happen to: a folder with a store of records, inputs and results of before, and the commands that are run in it."""

import dataclasses
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess

LAYER = "--input 1,16,8,8 --weight 16,16,3,3 --padding 1 --layout ncdhw".split()
CHIP = "--input 1,16,8,8 --weight 16,16,3,3 --padding 1 --dtype f16 --soc ascend910b2".split()
BEFORE = "of before"  # what results hold until they are replaced

EXPLORE = ["explore", *CHIP, "--passes", "dx", "--vary", "cores=2..8", "--threads", "2"]


@dataclasses.dataclass
class Command:
    """Words and environment are those of a shell in the scene's folder. Results are files, or folders, that it replaces."""
    name: str
    words: list
    results: list = dataclasses.field(default_factory=list)
    environment: dict = dataclasses.field(default_factory=dict)
    seconds: float = 90  # of a machine that is busy with other work, too; what takes longer hangs
    tunes: bool = False
    prints: bool = False  # its standard output is the same every time
    grows: str = ""       # a file of lines that it adds to
    child: bool = False   # it starts processes that do its work
    code: int = 0         # its exit code where nothing fails


def commands():
    store = {"CUBEJIT_DB": "records.db", "CUBEJIT_TUNE": "use"}
    tune = ["tune", *LAYER, "--passes", "dx", "--trials", "3", "--trial-timeout", "3s", "--progress", "none", "--json", "--db",
            "records.db"]
    logs = {"CUBEJIT_VERBOSE": "all", "CUBEJIT_VERBOSE_FILE": "log.txt", "CUBEJIT_DUMP": "all", "CUBEJIT_DUMP_DIR": "dumps",
            "CUBEJIT_JIT_PROFILE": "perfmap", "CUBEJIT_JIT_DIR": "."}
    files = ["--in", "dy=dy.npy", "--in", "x=x.npy", "--in", "w=w.npy", "--out", "dx=dx.npy", "--out", "dw=dw.npy"]
    return [
        Command("run", ["run", *LAYER, *files], ["dx.npy", "dw.npy"]),
        Command("run, tuned", ["run", *LAYER, *files, "--threads", "2"], ["dx.npy", "dw.npy"], store),
        Command("run, llvm", ["run", *LAYER, *files, "--backend", "llvm"], ["dx.npy", "dw.npy"]),
        Command("run, logged", ["run", *LAYER, *files], ["dx.npy", "dw.npy"], logs),
        Command("run, chip", ["run", *CHIP, *files, "--layout", "ncdhw", "--trace", "trace.json", "--timeline", "page.html"],
                ["dx.npy", "dw.npy", "trace.json", "page.html"]),
        Command("run, picture", ["run", *CHIP, "--layout", "ncdhw", "--in", "dy=dy.npy", "--in", "w=w.npy", "--out", "dx=dx.npy", "--timeline",
                                 "page.svg"], ["dx.npy", "page.svg"]),
        Command("pack", ["pack", *LAYER, "--dtype", "f16", "--tensor", "w", "--in", "w.npy", "--out", "packed.npy"], ["packed.npy"]),
        Command("pack, raw", ["pack", *LAYER, "--dtype", "f16", "--tensor", "w", "--in", "w.npy", "--out", "packed.raw"], ["packed.raw"]),
        Command("tiling", ["tiling", *CHIP, "--passes", "dx", "--raw", "tiling.bin"], ["tiling.bin"], prints=True),
        Command("explore", [*EXPLORE, "--report", "explore.html"], ["explore.html"], prints=True),
        Command("explore, kept", [*EXPLORE, "--out", "points.jsonl"], grows="points.jsonl"),
        Command("dump", ["dump", *LAYER, "--passes", "dx", "--emit", "all", "-o", "out"], ["out/*"]),
        Command("dump, chip", ["dump", *CHIP, "--passes", "dw", "--emit", "plan,tile,asm,html", "-o", "out"], ["out/*"]),
        Command("plan, pinned", ["plan", *LAYER, "--passes", "dx,dw", "--pin", "pins.jsonl"], grows="pins.jsonl"),
        Command("plan, tuned", ["plan", *LAYER, "--passes", "dx"], environment=store),
        Command("plan, explained", ["plan", *LAYER, "--passes", "dx", "--explain"]),
        Command("db list", ["db", "list", "--db", "records.db"], prints=True),
        Command("db export", ["db", "export", "--db", "records.db"], prints=True),
        Command("db import", ["db", "import", "others.jsonl", "--db", "records.db"]),
        Command("db merge", ["db", "merge", "others.db", "--db", "records.db"]),
        Command("db verify", ["db", "verify", "--db", "records.db"], prints=True),
        Command("verify", ["verify", *LAYER, "--threads", "1,2"], prints=True),
        Command("verify, suite", ["verify", "--suite", "suite.jsonl"], prints=True),
        Command("plan, given", ["plan", *CHIP, "--passes", "dx,dw", "--plan", "plans.jsonl"], prints=True),
        Command("bench", ["bench", *LAYER, "--min-seconds", "0.01", "--min-samples", "3"]),
        Command("tune", tune, tunes=True),
        Command("tune, worker", tune, tunes=True, child=True, seconds=60),
        Command("tune, report", [*tune, "--report", "tuned.html"], ["tuned.html"], tunes=True),
        Command("tune, chip", ["tune", *CHIP, "--passes", "dx", "--trials", "3", "--progress", "none", "--json", "--db", "records.db"],
                tunes=True),
    ]


def npy(path, shape, numbers):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(numbers)}f", *numbers))


def environment(more=()):
    """Nothing of the caller's settings, and no store but the scene's."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("CUBEJIT_")}
    return {**kept, "CUBEJIT_TUNE": "off", **dict(more)}


class Scenes:
    """Makes folders that are all alike."""

    def __init__(self, cubejit, root):
        self.cubejit, self.root = cubejit, pathlib.Path(root).resolve()
        self.template = self.root / "template"
        self.number = 0
        self.make()

    def run(self, folder, words, **more):
        own = {"XDG_RUNTIME_DIR": str(folder), **more.pop("environment", {})}  # tuners elsewhere take no turns with these
        return subprocess.run([self.cubejit, *words], cwd=folder, env=environment(own), capture_output=True,
                              timeout=more.pop("timeout", 60), text=True, errors="replace", stdin=subprocess.DEVNULL)

    def make(self):
        t = self.template
        t.mkdir()
        drawn = random.Random(1)
        for name, shape in (("dy", (1, 16, 8, 8)), ("x", (1, 16, 8, 8)), ("w", (16, 16, 3, 3))):
            count = shape[0] * shape[1] * shape[2] * shape[3]
            npy(t / f"{name}.npy", shape, [drawn.randint(-8, 8) for _ in range(count)])
        tune = ["tune", "--passes", "dx", "--trials", "3", "--progress", "none"]
        for store, layer in (("records.db", LAYER), ("others.db", ["--input", "1,8,6,6", "--weight", "8,8,3,3"])):
            made = self.run(t, [*tune, *layer, "--db", store])
            assert made.returncode == 0, made.stderr
        (t / "others.jsonl").write_text(self.run(t, ["db", "export", "--db", "others.db"]).stdout)
        pinned = self.run(t, ["plan", "--input", "1,8,6,6", "--weight", "8,8,3,3", "--passes", "dx", "--pin", "pins.jsonl"])
        assert pinned.returncode == 0 and (t / "others.jsonl").stat().st_size > 0, pinned.stderr
        dumped = self.run(t, ["dump", *LAYER, "--passes", "dx", "--emit", "plan", "-o", "out"])
        assert dumped.returncode == 0, dumped.stderr
        for name in sorted({r for c in commands() for r in c.results if "*" not in r}):
            (t / name).write_text(BEFORE)
        plans = [self.run(t, ["plan", *CHIP, "--passes", g, "--json"]).stdout for g in ("dx", "dw")]
        (t / "plans.jsonl").write_text(plans[0] + "\n" * 10000 + plans[1])  # longer than a read
        problem = {"rank": 2, "n": 1, "ci": 4, "co": 4, "groups": 1, "input": [1, 6, 6], "output": [1, 6, 6], "kernel": [1, 3, 3],
                   "stride": [1, 1, 1], "pad": [0, 0, 1, 1, 1, 1], "dilation": [1, 1, 1]}
        (t / "suite.jsonl").write_text(json.dumps(problem) + "\n" * 10000 + json.dumps({**problem, "co": 8}) + "\n")
        explored = self.run(t, [*EXPLORE, "--out", "points.jsonl"])
        assert explored.returncode == 0, explored.stderr
        lines = (t / "points.jsonl").read_text().splitlines(keepends=True)
        (t / "points.jsonl").write_text("".join(lines[:2]))
        for lock in t.glob("*.lock"):
            lock.unlink()
        self.held = self.records(t)

    def fresh(self):
        self.number += 1
        folder = self.root / f"scene{self.number}"
        shutil.copytree(self.template, folder)
        return folder

    def records(self, folder):
        """All of the store, a line each; None if it cannot be read."""
        told = self.run(folder, ["db", "export", "--db", "records.db"])
        return set(told.stdout.splitlines()) if told.returncode == 0 else None


def contents(folder, patterns):
    """Of every result: a file's bytes, or a folder's files and theirs."""
    out = {}
    for pattern in patterns:
        for path in sorted(p for p in folder.glob(pattern) if not p.name.startswith(".")):
            name = str(path.relative_to(folder))
            out[name] = {p.name: p.read_bytes() for p in path.iterdir()} if path.is_dir() else path.read_bytes()
    return out


def whole_page(data):
    """A page, or JSON, that was not cut off: what differs from run to run cannot be compared."""
    text = data.decode(errors="replace").rstrip()
    if text.startswith(("{", "[")):
        try:
            json.loads(text)
            return True
        except ValueError:
            return False
    return text.endswith(("</html>", "</svg>"))
