# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides which exception an error of the library is. Leaves its words to the library."""


class Error(RuntimeError):
    """The library could not do what was asked. The message names every violated rule, one a line, with its values.

    code: whose fault it is, stage: which part of the pipeline found out; both as in cubejit/result.h.
    """

    def __init__(self, message, code="internal", stage="run"):
        super().__init__(message)
        self.code = code
        self.stage = stage

    def __reduce__(self):
        return type(self), (str(self), self.code, self.stage)


class InvalidProblem(Error, ValueError):
    """What was given breaks rules."""


class Unsupported(Error, NotImplementedError):
    """Legal, but not available for this type, layout, ISA or in this build."""


_CLASSES = {"invalid_problem": InvalidProblem, "unsupported": Unsupported}


def error_of(code, stage, message):
    return _CLASSES.get(code, Error)(message, code, stage)
