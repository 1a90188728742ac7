# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides which session calls without one use, and what plan, dump and tune are. Leaves the work to cubejit._core."""

import threading

from cubejit._core import Session
from cubejit.errors import InvalidProblem

_lock = threading.Lock()
_default = None


def default_session():
    """The process's session, made at first use from the environment (CUBEJIT_NUM_THREADS, CUBEJIT_TUNE ...)."""
    global _default
    with _lock:
        if _default is None:
            _default = Session()
        return _default


def plan(problem, gradient="dx", *, explain=False, session=None):
    """The plan for one gradient (dx, dw or db) of a Problem.

    A dict: plan (every field of the tiling), source (model, record or pin), source_note, predicted_cycles, bound,
    workspace_bytes; with explain also candidates, best first, each with what refused it.
    """
    return (session or default_session()).plan(problem, gradient, explain)


def dump(problem, directory, gradients=("dx", "dw"), *, stages="problem,plan,tile,vector,asm,bin", kernels="", symbol="",
         session=None):
    """Writes every stage of the gradients' code into folders of `directory`; returns their paths.

    stages: of _core.dump_stages(), or "all". kernels: a pattern of names. symbol: prefix for the stages obj and c-header.
    """
    return (session or default_session()).dump(problem, str(directory), list(gradients), stages, kernels, symbol)


def tune(problem, gradients=("dx", "dw"), *, seconds=2.0, store=None, isa=None, threads=0):
    """Measures plans on this machine for about `seconds` a gradient and keeps the winners in `store` (the user's file unless
    given), where later sessions find them. Returns the plan of each gradient as plan() does.

    The process should be quiet meanwhile. The command `cubejit tune` searches further, in processes of its own.
    """
    if not seconds > 0:
        raise InvalidProblem(f"seconds = {seconds} must be more than 0", "invalid_problem", "problem")
    where = {} if store is None else {"store": str(store)}
    measuring = Session(isa=isa, threads=threads, tune="always", tune_seconds=float(seconds), **where)
    if not measuring.store:
        raise InvalidProblem("there is no file to keep records in; give store=", "invalid_problem", "problem")
    for gradient in gradients:
        measuring.compile(problem, [gradient])
    using = Session(isa=isa, threads=threads, tune="use", **where)
    default_session().clear()
    return {gradient: using.plan(problem, gradient) for gradient in gradients}
