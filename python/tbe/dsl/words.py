# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how the DSL's dictionaries refuse keys they do not have, and what such errors are."""

import difflib

from cubejit.errors import InvalidProblem


def invalid(*rules):
    return InvalidProblem("\n".join(rules), "invalid_problem", "problem")


def unknown_keys(dictionary, name, known):
    """A rule for each key of `dictionary` that is not known, with the nearest that is, or all where none is near."""
    rules = []
    for key in dictionary:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            advice = f"the nearest is {near[0]}" if near else f"there are {', '.join(known)}"
            rules.append(f"{name} has an unknown key {key!r}; {advice}")
    return rules
