#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets system calls fail while the command works, one point at a time, and signals reach what tunes:
    run.py CUBEJIT INJECT.so [--all] [--seconds T] [--seed S] [--only TEXT] [--list]

At every point the command ends by itself, with code 0 or with an error that names what failed; every result is whole, old or new; the
store holds what it held; and the same command, without the fault, then succeeds. A sample that fits T seconds, or with --all every point.
Ends with 1 if one of that is not so or nothing was tried, with 77 where nothing can be preloaded."""

import argparse
import collections
import dataclasses
import errno
import json
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import signals
from scene import Scenes, commands, contents, environment, whole_page

# What the system may say to each call, and what an error must then speak of (besides the file's name).
ERRORS = {
    "open": ([errno.EACCES, errno.ENOSPC, errno.EMFILE], ""), "read": ([errno.EIO], ""), "write": ([errno.ENOSPC, errno.EIO], ""),
    "fsync": ([errno.EIO, errno.ENOSPC], ""), "rename": ([errno.EACCES, errno.ENOSPC], ""), "truncate": ([errno.EIO], ""),
    "link": ([errno.EACCES], ""), "unlink": ([errno.EACCES], ""), "mkdir": ([errno.EACCES, errno.ENOSPC], ""), "close": ([errno.EIO], ""),
    "mmap": ([errno.ENOMEM, errno.EACCES], "mmap|memory"), "mprotect": ([errno.EACCES, errno.ENOMEM], "mprotect|memory|permission"),
    "thread": ([errno.EAGAIN], "thread"), "spawn": ([errno.EAGAIN, errno.ENOMEM], "worker|process"), "socket": ([errno.EMFILE], "worker"),
    "output": ([errno.ENOSPC], "standard output"), "errors": ([errno.ENOSPC], ""),
}
# As the library counts them.
CALLS = [*list(ERRORS)[:-2], "fault"]
CLEARS = ("open", "unlink")  # without which nothing can be cleared away
MANY = 12  # calls of one kind, of which a few are drawn


@dataclasses.dataclass(frozen=True)
class Point:
    command: str
    call: str
    number: int
    error: int
    how: str

    def __str__(self):
        return f"{self.command}: {self.call} {self.number} {errno.errorcode[self.error]} {self.how}"


class Faults:
    def __init__(self, scenes, library):
        self.scenes, self.library = scenes, library
        self.commands = {c.name: c for c in commands()}
        self.expected = {}

    def start(self, folder, command, wish):
        """Runs it under the library: exit code (None: it hung), output, errors, calls it made."""
        log = self.scenes.root / "log"
        log.unlink(missing_ok=True)
        more = {**command.environment, "XDG_RUNTIME_DIR": str(folder), "LD_PRELOAD": str(self.library), "CUBEJIT_FAULT_UNDER": str(folder), "CUBEJIT_FAULT_LOG": str(log),
                "CUBEJIT_FAULT_IN": "child" if command.child else "parent"}
        if wish:
            more["CUBEJIT_FAULT"] = wish
        with open("/dev/full", "w") as full:
            out = full if wish.startswith("output") else subprocess.PIPE
            err = full if wish.startswith("errors") else subprocess.PIPE
            process = subprocess.Popen([self.scenes.cubejit, *command.words], cwd=folder, env=environment(more), stdout=out, stderr=err,
                                       stdin=subprocess.DEVNULL, text=True, errors="replace")
        try:
            out, err = process.communicate(timeout=command.seconds)
            code = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            code = None
        made = dict(zip(CALLS, struct.unpack(f"{len(CALLS)}q", log.read_bytes()))) if log.exists() else {}
        made["fault"] = made.get("fault", 0) or wish.startswith(("output", "errors"))
        return code, out or "", err or "", made

    def count(self, command):
        """How often it makes each call where nothing fails, and what it makes."""
        folder = self.scenes.fresh()
        code, out, err, counts = self.start(folder, command, "")
        if code != command.code:
            sys.exit(f"{command.name} ends with {code} although nothing fails:\n{err}")
        self.expected[command.name] = (contents(folder, command.results), out)
        shutil.rmtree(folder)
        if not any(counts.values()) and command.name == "run":
            print("nothing can be preloaded here")
            sys.exit(77)
        del counts["fault"]
        return {**counts, "output": int(out != ""), "errors": int(err != "")}

    def points(self, command, drawn):
        for call, count in self.count(command).items():
            numbers = list(range(1, count + 1))
            if count > MANY:
                numbers = sorted({*numbers[:4], *numbers[-3:], *drawn.sample(numbers, 5)})
            for number in numbers:
                errors, _ = ERRORS[call]
                yield Point(command.name, call, number, errors[number % len(errors)], "once")
                yield Point(command.name, call, number, errors[(number + 1) % len(errors)], "on")
                if call == "write":
                    yield Point(command.name, call, number, errno.ENOSPC, "short")

    def faults(self, point):
        """What is wrong at a point; None if the call was not made."""
        command = self.commands[point.command]
        folder = self.scenes.fresh()
        code, out, err, made = self.start(folder, command, f"{point.call} {point.number} {point.error} {point.how}")
        if not made["fault"]:
            shutil.rmtree(folder)
            return None
        wrong = []
        if code is None:
            wrong.append(f"hangs for {command.seconds} s")
        elif code < 0:
            wrong.append(f"dies of signal {-code}")
        elif code != command.code and point.call != "errors":
            wrong += self.unnamed(point, out, err)
        wrong += self.results(point, command, folder, out, code)
        wrong += self.store(command, folder, out, code)
        if not wrong:
            wrong += self.again(command, folder)
        if wrong:
            wrong += [f"stderr: {line}" for line in err.splitlines()[:8]]
        shutil.rmtree(folder)
        return wrong

    def unnamed(self, point, out, err):
        said = [line for line in err.splitlines() if re.match(r"error\[(?!internal|usage)|note: ", line)]
        said += out.splitlines() if point.command == "db verify" else []  # whose findings are its output
        if not said:
            return ["fails without an error"]
        names = [re.escape(p.name) for p in self.scenes.template.iterdir()] + ["out", "dumps", "log", "pins", "points", "standard output"]
        names += ["worker process"] if point.command.startswith("tune") else []  # which is what failed, whatever ended it
        words = "|".join(filter(None, [ERRORS[point.call][1], *names]))
        return [] if any(re.search(words, line) for line in said) else ["the error does not name what failed"]

    def results(self, point, command, folder, out, code):
        wrong = []
        new, output = self.expected[command.name]
        now = contents(folder, command.results)
        before = contents(self.scenes.template, command.results)
        for name in {*new, *before}:
            held = now.get(name)
            fresh = held == new.get(name) or (command.tunes and isinstance(held, bytes) and whole_page(held))
            if held is None and name not in before and code != command.code:
                continue
            if code == command.code and not fresh:
                wrong.append(f"ends with {code}, but {name} is not what it should be")
            elif not fresh and held != before.get(name):
                wrong.append(f"{name} is neither old nor new")
        if code == command.code and command.prints and out != output and point.call != "output":
            wrong.append(f"ends with {code}, but prints something else")
        if point.call == "output" and code == command.code:
            wrong.append(f"ends with {code}, but nothing is printed")
        left = [p.name for p in folder.rglob("*") if re.search(r"\.(tmp|new-|old-)", p.name)]
        if left and point.call not in CLEARS:
            wrong.append(f"leaves {left}")
        if command.grows and not (folder / command.grows).read_text().startswith((self.scenes.template / command.grows).read_text()):
            wrong.append(f"{command.grows} has lost lines")
        return wrong

    def store(self, command, folder, out, code):
        wrong = []
        listed = self.scenes.run(folder, ["db", "list", "--db", "records.db"])
        now = self.scenes.records(folder)
        if listed.returncode != 0 or now is None:
            return [f"the store cannot be read: {listed.stderr.strip()}"]
        if self.scenes.held - now:
            wrong.append(f"{len(self.scenes.held - now)} of {len(self.scenes.held)} records are lost")
        if command.tunes and code == command.code:
            tried = sum(json.loads(line).get("trials", 0) for line in out.splitlines() if line.startswith("{"))
            kept = len(now - self.scenes.held) + sum(len(p.read_text().splitlines()) for p in folder.glob("cubejit-records-*.jsonl"))
            if kept < tried:
                wrong.append(f"ends with {code}, but of {tried} trials {kept} are stored")
        return wrong

    def again(self, command, folder):
        code, out, err, _ = self.start(folder, dataclasses.replace(command, child=False), "")
        if code != command.code:
            return [f"ends with {code} when it is run again, without a fault: {err.strip()[:300]}"]
        new, output = self.expected[command.name]
        if not command.tunes and contents(folder, command.results) != new:
            return ["makes something else when it is run again, without a fault"]
        return ["prints something else when it is run again"] if command.prints and out != output else []


def sampled(points, drawn):
    """In an order in which every command and call soon has its turn."""
    drawn.shuffle(points)
    turns = collections.Counter()
    keyed = []
    for point in points:
        turns[point.command, point.call] += 1
        keyed.append((turns[point.command, point.call], len(keyed), point))
    return [point for _, _, point in sorted(keyed)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cubejit", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="points that contain this")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    drawn = random.Random(arguments.seed)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cubejit-faults-") as root:
        scenes = Scenes(arguments.cubejit.resolve(), root)
        faults = Faults(scenes, arguments.library.resolve())
        points = [p for c in faults.commands.values() for p in faults.points(c, drawn) if arguments.only in str(p)]
        points = points if arguments.all else sampled(points, drawn)
        if arguments.list:
            print("\n".join(map(str, points)))
            return 0
        tried, bad = 0, 0
        for point in points:
            if not arguments.all and time.monotonic() - begin > arguments.seconds:
                break
            wrong = faults.faults(point)
            if wrong is None:
                continue
            tried += 1
            if wrong:
                bad += 1
                print(f"{point}\n    " + "\n    ".join(wrong), flush=True)
        print(f"{tried} points of {len(points)}, {bad} with faults", flush=True)
        told, worse = signals.all(scenes, drawn, 108 if arguments.all else 4) if not arguments.only else (0, 0)
    return 1 if bad or worse or tried + told == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
