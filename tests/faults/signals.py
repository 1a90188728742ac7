# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signals to what tunes: the process, and the child that measures. Whichever is killed or stopped, and when: the store stays readable and
holds what it held and every trial that was told of, and no process outlives the one that tunes."""

import dataclasses
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

from scene import LAYER, environment

KILL, STOP, CONT, TERM = signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT, signal.SIGTERM
WORDS = ["tune", *LAYER, "--passes", "dx", "--trials", "12", "--trial-timeout", "1s", "--db", "records.db"]
SECONDS = 60     # a command that takes longer hangs
ORPHANED = 5     # seconds that what is left may take to end


@dataclasses.dataclass(frozen=True)
class Kind:
    """Signals in turn, to the parent or the child, with the seconds between them."""
    name: str
    steps: tuple
    survives: bool  # the parent goes on, or ends with an error


KINDS = [
    Kind("parent killed", (("parent", KILL, 0),), False),
    Kind("parent terminated", (("parent", TERM, 0),), True),
    Kind("parent stopped, continued", (("parent", STOP, 0.2), ("parent", CONT, 0)), True),
    Kind("parent stopped, killed", (("parent", STOP, 0.1), ("parent", KILL, 0)), False),
    Kind("child killed", (("child", KILL, 0),), True),
    Kind("child stopped", (("child", STOP, 0),), True),
    Kind("child stopped, continued", (("child", STOP, 0.3), ("child", CONT, 0)), True),
    Kind("child stopped, parent killed", (("child", STOP, 0.1), ("parent", KILL, 0)), False),
    Kind("parent stopped, child killed", (("parent", STOP, 0.1), ("child", KILL, 0.1), ("parent", CONT, 0)), True),
]


def of_scene(folder, but=()):
    """Processes that run in a scene, by their environment, which children have from their parents."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) in but:
            continue
        try:
            mine = f"XDG_RUNTIME_DIR={folder}\0".encode() in process.joinpath("environ").read_bytes()
            if mine and not re.search(r"\) Z", process.joinpath("stat").read_text()):
                found.append(int(process.name))
        except OSError:
            pass  # it has just ended, or is another user's
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def told(text):
    """Trials that the run told of."""
    events = [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]
    return sum(e.get("event") == "trial" for e in events)


def faults(scenes, kind, after):
    folder = scenes.fresh()
    wrong = []
    with tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen([scenes.cubejit, *WORDS, "--progress", "json"], cwd=folder, stdout=subprocess.DEVNULL, stderr=err,
                                   stdin=subprocess.DEVNULL, env=environment({"XDG_RUNTIME_DIR": str(folder)}))
        time.sleep(after)
        for who, number, seconds in kind.steps:
            send([process.pid] if who == "parent" else of_scene(folder, [process.pid]), number)
            time.sleep(seconds)
        try:
            code = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            wrong.append(f"hangs for {SECONDS} s")
            process.kill()
            code = process.wait()
        end = time.monotonic() + ORPHANED
        while of_scene(folder) and time.monotonic() < end:
            time.sleep(0.02)
        left = of_scene(folder)
        if left:
            wrong.append(f"{len(left)} processes outlive it")
            send(left, KILL)
        err.seek(0)
        text = err.read()
    if kind.survives and not wrong:
        if code < 0:
            wrong.append(f"dies of signal {-code}")
        elif code not in (0, 130) and "error[" not in text:
            wrong.append(f"ends with {code} and no error")
    now = scenes.records(folder)
    if now is None:
        wrong.append("the store cannot be read")
    else:
        if scenes.held - now:
            wrong.append(f"{len(scenes.held - now)} records of before are lost")
        if len(now - scenes.held) < told(text):
            wrong.append(f"of {told(text)} trials that were told of {len(now - scenes.held)} are stored")
    again = scenes.run(folder, [*WORDS, "--resume", "--progress", "none"])
    if again.returncode != 0:
        wrong.append(f"ends with {again.returncode} when it is resumed: {again.stderr[:300]}")
    shutil.rmtree(folder)
    return wrong + ([text[-400:]] if wrong else [])


def all(scenes, drawn, times):
    """How many were tried, and how many of them went wrong."""
    folder = scenes.fresh()
    begin = time.monotonic()
    made = scenes.run(folder, [*WORDS, "--progress", "none"])
    lasts = time.monotonic() - begin
    assert made.returncode == 0, made.stderr
    shutil.rmtree(folder)
    tried = bad = 0
    for kind in itertools.islice(itertools.cycle(drawn.sample(KINDS, len(KINDS))), times):
        after = drawn.uniform(0, lasts)
        wrong = faults(scenes, kind, after)
        tried += 1
        if wrong:
            bad += 1
            print(f"{kind.name} after {after:.3f} s\n    " + "\n    ".join(wrong), flush=True)
    print(f"{tried} times signals, {bad} with faults", flush=True)
    return tried, bad
