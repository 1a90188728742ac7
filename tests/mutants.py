#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bugs to seed, as people make them: do the tests see them?

The files mutants.txt under tests/ hold one mutant after another:

    [its_name]
    file   what it changes
    tests  a module of tests, and which of its tests should see it, as gtest filters them
    why    what the right text is there for
    - the right text, which the file holds exactly once
    + the wrong one

Both texts may have several lines. Without arguments every mutant is held against the tree, so that none rots: text, module, tests.
  mutants.py run TREE BUILD [NAME...]   seeds them (default: all; a name may be a pattern) one by one in TREE, builds the one test
                                        program, runs its tests and takes the bug out again; tools/mutants.sh prepares both folders
"""
import dataclasses
import fnmatch
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARE = 0.95  # of the mutants must be seen
MINUTES = 10  # of a CPU: a test that takes more loops for ever; on a busy machine others may take an hour
TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.M)


@dataclasses.dataclass
class Mutant:
    name: str
    file: str = ""
    tests: str = ""
    why: str = ""
    right: str = ""
    wrong: str = ""

    @property
    def module(self):
        return self.tests.split()[0]

    @property
    def filter(self):
        return self.tests.split()[1]


def parse(text):
    """The mutants of a table."""
    mutants = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            mutants.append(Mutant(line.strip("[]")))
        elif line[:2] in ("- ", "+ ", "-", "+"):
            field = "right" if line[0] == "-" else "wrong"
            before = getattr(mutants[-1], field)
            setattr(mutants[-1], field, before + ("\n" if before else "") + line[2:])
        else:
            field, value = line.split(None, 1)
            if field not in ("file", "tests", "why"):
                raise ValueError(f"{mutants[-1].name}: no field {field}")
            setattr(mutants[-1], field, value)
    return mutants


def tables():
    return [mutant for table in sorted((ROOT / "tests").rglob("mutants.txt")) for mutant in parse(table.read_text())]


def tests_of(module):
    """Suite.Name of the tests of a module."""
    sources = (ROOT / "tests" / module).rglob("*_test.cpp")
    return {f"{suite}.{name}" for source in sources for suite, name in TEST.findall(source.read_text())}


def unseen(mutant, known):
    """Patterns of the filter that no test answers to; parts of a name that are a parameter's do not count."""
    patterns = mutant.filter.split("-")[0].split(":")
    return [p for p in patterns if p and not fnmatch.filter(known, re.sub(r"(\.\w*)/.*", r"\1*", p))]


def findings(mutants, root):
    """What is wrong with them."""
    wrong = [] if mutants else ["there is no mutant"]
    known, names = {}, set()
    for m in mutants:
        if m.name in names:
            wrong.append(f"{m.name}: named twice")
        names.add(m.name)
        if not (m.file and len(m.tests.split()) == 2 and m.why and m.right) or m.right == m.wrong:
            wrong.append(f"{m.name}: needs file, tests (a module and a filter), why, a right text and another one")
            continue
        source = root / m.file
        times = source.read_text().count(m.right) if source.is_file() else 0
        if times != 1:
            wrong.append(f"{m.name}: {m.file} holds {m.right!r} {times} times, not once")
        if m.module not in known:
            known[m.module] = tests_of(m.module)
        wrong += [f"{m.name}: {m.module} has no test {p}" for p in unseen(m, known[m.module])]
    return wrong


def check():
    # Mistakes to find, so that a check that finds nothing is not taken for one that found nothing wrong.
    sample = parse("[a]\nfile a.cpp\ntests codegen No.SuchTest\nwhy x\n- 1\n+ 2\n[a]\nfile a.cpp\ntests codegen\nwhy x\n- 1\n+ 1\n")
    assert len(findings(sample, ROOT)) == 4, findings(sample, ROOT)
    assert findings([], ROOT), "no mutants"
    wrong = findings(tables(), ROOT)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


def build(folder, module):
    done = subprocess.run(["cmake", "--build", folder, "--parallel", os.environ.get("JOBS", str(os.cpu_count())),
                           "--target", f"{module}_tests"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return None if done.returncode == 0 else done.stdout


def verdict(folder, module, tests):
    """killed: the tests see something, crashes and waiting for ever included; untried: some need an ISA that this machine lacks; survived."""
    program = pathlib.Path(folder) / "tests" / f"{module}_tests"
    environment = dict(os.environ, CUBEJIT_TUNE="off")
    try:
        done = subprocess.run([program, f"--gtest_filter={tests}", "--gtest_brief=1", "--gtest_fail_fast"], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=3600,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60 * MINUTES, 60 * MINUTES)))
    except subprocess.TimeoutExpired:
        return "killed"
    if re.search(r"^\[==========\] 0 tests", done.stdout, re.M):
        raise RuntimeError(f"{module}: {tests} is no test")
    if done.returncode != 0:
        return "killed"
    return "untried" if re.search("^this machine has no ", done.stdout, re.M) else "survived"


def sound(folder, mutants):
    """Of the tree as it is: whether the tests that are to fail pass."""
    for module in dict.fromkeys(m.module for m in mutants):
        broken = build(folder, module)
        if broken is not None:
            print(broken, file=sys.stderr)
            return False
        for tests in dict.fromkeys(m.filter for m in mutants if m.module == module):
            if verdict(folder, module, tests) == "killed":
                print(f"mutants: {module}_tests --gtest_filter={tests} fails without any mutant", file=sys.stderr)
                return False
    return True


def seed(mutant, tree, folder):
    """A verdict, or broken: it does not build."""
    source = pathlib.Path(tree) / mutant.file
    text = source.read_text()
    try:
        source.write_text(text.replace(mutant.right, mutant.wrong))
        broken = build(folder, mutant.module)
        if broken is not None:
            print(broken[-2000:], file=sys.stderr)
            return "broken"
        return verdict(folder, mutant.module, mutant.filter)
    finally:
        source.write_text(text)


def run(tree, folder, names):
    mutants = [m for m in tables() if not names or any(fnmatch.fnmatch(m.name, n) for n in names)]
    if not mutants or findings(mutants, pathlib.Path(tree)):
        print("\n".join(findings(mutants, pathlib.Path(tree))), file=sys.stderr)
        return 2
    if not sound(folder, mutants):
        return 2
    ends = {"killed": [], "survived": [], "untried": [], "broken": []}
    for mutant in mutants:
        began = time.monotonic()
        end = seed(mutant, tree, folder)
        ends[end].append(mutant)
        print(f"{end:8} {time.monotonic() - began:5.0f} s  {mutant.name}", flush=True)
    killed, tried = len(ends["killed"]), len(mutants) - len(ends["untried"])
    print(f"mutants: {killed} of {tried} killed; {len(ends['untried'])} need an ISA that this machine lacks")
    for end in ("survived", "broken", "untried"):
        for mutant in ends[end]:
            print(f"  {end}: {mutant.file}: {mutant.name}: {mutant.why}")
    return 0 if tried and killed >= SHARE * tried and not ends["broken"] else 1


if __name__ == "__main__":
    sys.exit(run(sys.argv[2], sys.argv[3], sys.argv[4:]) if sys.argv[1:2] == ["run"] else check())
