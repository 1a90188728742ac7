#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every check that docs/museum.md and docs/security.md name is in the tree.

In both, the last column of a table names checks in backticks: Suite.Name of C++, test_name of Python, or a file. A row of the museum
has one, or says "none yet".
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CPP = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.M)
PYTHON = re.compile(r"^\s*def (test_\w+)\(", re.M)


def tests():
    """Names of all tests in the tree."""
    names = {f"{suite}.{name}" for source in (ROOT / "tests").rglob("*.cpp") for suite, name in CPP.findall(source.read_text())}
    return names | {name for source in (ROOT / "tests").rglob("*.py") for name in PYTHON.findall(source.read_text())}


def rows(text):
    """Last columns of the rows of all tables, without heads."""
    lines = text.splitlines()
    return [line.rstrip().rstrip("|").rsplit("|", 1)[1].strip() for line, above in zip(lines[1:], lines)
            if line.startswith("|") and above.startswith("|") and not re.fullmatch(r"[|:\- ]+", line)]


def findings(text, known, every_row):
    """What is wrong with the checks that a page names."""
    wrong = []
    if not rows(text):
        wrong.append("has no table")
    for row in rows(text):
        checks = re.findall(r"`([^`]+)`", row)
        wrong += [f"{check} is not in the tree" for check in checks if check not in known and not (ROOT / check).is_file()]
        if every_row and not checks and "none yet" not in row:
            wrong.append(f"a row names no check: {row!r}")
    return wrong


def main():
    known = tests()
    # A page of mistakes, so that a search that finds nothing is not taken for one that found nothing wrong.
    page = "| fault | check |\n|---|---|\n| a | `No.SuchTest` |\n| b | `tests/none.py` |\n| c | hope |\n| d | none yet |\n"
    assert len(findings(page, known, True)) == 3, findings(page, known, True)
    assert findings("Prose.", known, True), "a page without rows"
    wrong = [f"{page}: {finding}" for page, every_row in (("docs/museum.md", True), ("docs/security.md", False))
             for finding in findings((ROOT / page).read_text(), known, every_row)]
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
