# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides which session calls without one use, on how many threads sessions run, and what plan, dump and tune are. Leaves the work to
cubejit._core."""

import functools
import numbers
import os
import threading
import warnings

from cubejit import _core
from cubejit.errors import InvalidProblem


def own_threads_said():
    """Whether the environment says our own number of threads, which then is what no other library's replaces."""
    return bool(os.environ.get("CUBEJIT_NUM_THREADS"))


def _threads_of_openmp():
    """What OMP_NUM_THREADS says, its first number where there is one for each level; 0: nothing, or nothing that is a number."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(int(first), 1024) if first.isdecimal() else 0  # runs use no more


def _renamed(old, now):
    """Takes an argument by the name that it had in version 0.2.0, too, and warns."""
    def decorate(function):
        @functools.wraps(function)
        def call(*args, **named):
            if old in named and now not in named:
                warnings.warn(f"{function.__qualname__}({old}=) is called {now}= now", DeprecationWarning, stacklevel=2)
                named[now] = named.pop(old)
            return function(*args, **named)
        return call
    return decorate


class Session(_core.Session):
    """Compiles problems and keeps the code. What is not given is as the environment says, tuning records among it.

    threads: of runs, and cores that plans are for; 0 is what CUBEJIT_NUM_THREADS says, else OMP_NUM_THREADS, else as many as
    the process may use. isa, backend, algorithm, tune, store, tune_seconds, pins, llvm_component: as the command has them.
    mem_limit: most bytes of workspace of a run, 0 for no limit: slower plans that fit are taken; if none does, an error says what is needed.
    machine: an NPU to emulate, by name (machines() lists them), or a file with one as JSON; None: this host.
    elide_copies: what only copies between its buffers is left out; the same bits, counts and cycles.
    batch_invariant: plans of y and dx are those of one image, so that its results have the same bits in batches of any size; tuning is not looked at.
    openmp: run on the threads of the OpenMP runtime that is in the process, if there is one, PyTorch's, instead of a pool of our own.
    """

    @_renamed("forward_copies", "elide_copies")
    def __init__(self, *, isa=None, backend=None, algorithm=None, threads=0, tune=None, store=None, tune_seconds=None, pins=None,
                 llvm_component=None, machine=None, mem_limit=None, elide_copies=False, openmp=False,
                 batch_invariant=False):
        if threads == 0 and not own_threads_said():
            threads = _threads_of_openmp()
        super().__init__(isa=isa, backend=backend, algorithm=algorithm, threads=threads, tune=tune, store=store, tune_seconds=tune_seconds, pins=pins,
                         llvm_component=llvm_component, machine=machine, mem_limit=mem_limit, elide_copies=elide_copies, openmp=openmp,
                         batch_invariant=batch_invariant)


_lock = threading.Lock()
_default = None


def default_session():
    """The process's session, made at first use from the environment (CUBEJIT_NUM_THREADS, CUBEJIT_TUNE ...;
    OMP_NUM_THREADS where CUBEJIT_NUM_THREADS is not set)."""
    global _default
    with _lock:
        if _default is None:
            _default = Session()
        return _default


def chosen(session):
    """The session that a call names, or the process's."""
    if session is None:
        return default_session()
    if not isinstance(session, _core.Session):
        raise TypeError(f"session = {session!r:.80} ({type(session).__name__}) must be a Session, or None for the process's")
    return session


def _names(passes):
    """A list of them; what is none the library refuses by its name, a string among it, which is a list of letters to Python."""
    return passes if isinstance(passes, str) or not hasattr(passes, "__iter__") else list(passes)


@_renamed("gradient", "pass_")
def plan(problem, pass_="dx", *, explain=False, session=None):
    """The plan for one pass (y, dx, dw or db) of a Problem.

    A dict: plan (every field of the tiling; as JSON it is a line for the command's --plan), source (model, record or pin), source_note, predicted_cycles, bound,
    workspace_bytes; with explain also candidates, best first, each with what refused it.
    """
    return chosen(session).plan(problem, pass_, explain)


@_renamed("gradients", "passes")
def plan_call(problem, passes=("y", "dx", "dw", "db"), *, session=None):
    """What a call of several passes of a Problem does, before anything is generated.

    A dict: plans (by pass, each as in plan()), converted (tensors that are copied once, for all passes, in the format they read them in),
    interleaves (passes that read dy take turns, a block of it at a time), workspace_bytes (of a run on the session's threads).
    """
    return chosen(session).plan_call(problem, _names(passes))


@_renamed("gradients", "passes")
def dump(problem, directory, passes=("dx", "dw"), *, stages="problem,plan,tile,vector,asm,bin", kernels="", symbol="",
         session=None):
    """Writes every stage of the passes' code into folders of `directory`; returns their paths.

    stages: of _core.dump_stages(), or "all". kernels: a pattern of names. symbol: prefix for the stages obj and c-header.
    """
    return chosen(session).dump(problem, str(directory), _names(passes), stages, kernels, symbol)


@_renamed("gradients", "passes")
def tune(problem, passes=("dx", "dw"), *, seconds=2.0, store=None, isa=None, threads=0):
    """Measures plans on this machine for about `seconds` a pass and keeps the winners in `store` (the user's file unless
    given), where later sessions find them. Returns the plan of each pass as plan() does.

    The process should be quiet meanwhile. The command `cubejit tune` searches further, in processes of its own.
    """
    if not isinstance(seconds, numbers.Real):
        raise TypeError(f"seconds = {seconds!r:.80} ({type(seconds).__name__}) must be a number")
    if not 0 < seconds < float("inf"):
        raise InvalidProblem(f"seconds = {seconds} must be more than 0, and finite", "invalid_problem", "problem")
    passes = _names(passes)
    if isinstance(passes, str) or not isinstance(passes, list):
        raise TypeError(f"passes = {passes!r:.80} ({type(passes).__name__}) must be a list, each a string")
    where = {} if store is None else {"store": str(store)}
    measuring = Session(isa=isa, threads=threads, tune="always", tune_seconds=float(seconds), **where)
    if not measuring.store:
        raise InvalidProblem("there is no file to keep records in; give store=", "invalid_problem", "problem")
    for name in passes:
        measuring.compile(problem, [name])
    using = Session(isa=isa, threads=threads, tune="use", **where)
    default_session().clear()
    return {name: using.plan(problem, name) for name in passes}
