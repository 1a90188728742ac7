# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides who computes a pass of a convolution, cubejit or PyTorch, and when that is found out: by rule, or by the clock within a share of the
time that convolutions take. Decides, too, which layers are kept, in bytes. Leaves to cubejit.torch.layers what a layer is and how it runs."""

import threading
import time
from typing import NamedTuple, Optional

import torch

from cubejit.errors import Error, InvalidProblem, Unsupported

clock = time.perf_counter  # of all that is measured here; seconds

SHARE = 0.05  # of PyTorch's time in convolutions, that compiling and trying out may take
REINVESTED = 0.5  # of the time that layers have saved, that may be spent beside it
GRACE = 1.0  # seconds that may be spent before anything was earned: once a process
PATIENCE = 2  # calls that PyTorch computes before a layer is compiled: most new shapes never come back
FEW_LEARNED, LONG_PATIENCE, CLEARLY = 3, 30, 1.25  # so many layers alike were all slower by this factor: more calls are waited for
ROUNDS, MOST_ROUNDS = 3, 8  # calls of each side in a trial; more where those of a side differ
STEADY = 1.25  # the second best call of a side is at most so many times its best, or the trial was disturbed
DECISIVE = 2.0  # a side this many times as fast needs no third round
WINDOW, WIDEST_WINDOW = 32, 4096  # calls after which a decision is looked at again; doubled each time
DRIFTED = 1.5  # times as slow or as fast as measured, in all calls of a window: the measurement was disturbed, or the machine has changed
PYTHON = 10e-6  # seconds that a call takes less, at most, where a trial's were computed through Python and later ones are not
ENTRY_BYTES = 4096  # of a pass that is known: keys, counts, times
FAMILIES = 1024  # kinds of layers of which is remembered how they fared
CACHE_BYTES = {"measure": 64 << 20, "ours": 1 << 30, "reproducible": 1 << 30}  # kept, unless enable() is told otherwise

_precision_of = getattr(torch._C, "_get_fp32_precision_getter", None)  # of PyTorch 2.9 and later


class Rules(NamedTuple):
    """What enable() was told. choose: "measure", "ours" or "reproducible"; math: "strict", "relaxed", "bf16", or None, what PyTorch's settings permit."""
    choose: str
    math: Optional[str] = None
    cache_bytes: Optional[int] = None


def permitted_math():
    """What the user permits of float32: torch.backends.mkldnn.conv.fp32_precision (with what it inherits from), or, where that says nothing,
    torch.set_float32_matmul_precision(). "tf32" and "high" permit more than relaxed math takes, "bf16" and "medium" what bf16 math does."""
    said = "none" if _precision_of is None else _precision_of("mkldnn", "conv")
    if said == "none":
        said = {"highest": "ieee", "high": "tf32", "medium": "bf16"}[torch.get_float32_matmul_precision()]
    return {"ieee": "strict", "bf16": "bf16"}.get(said, "relaxed")


def how(rules, dtype):
    """(choose, math) of a call that is made now, whose operands have this type. rules: enable()'s, or None where nothing is enabled."""
    choose = "ours" if rules is None else rules.choose
    if torch._C._get_deterministic_algorithms():
        choose = "reproducible"
    if rules is not None and rules.math is not None:
        return choose, rules.math
    return choose, permitted_math() if dtype is torch.float32 else "strict"


class Recent:
    """Values by key, within a number of bytes: beyond it those go that were not used for longest. Values have attributes `used` and `bytes`.
    May be used by many threads."""

    def __init__(self, limit, gone=lambda value: None):
        self.limit = limit
        self.bytes = 0
        self._gone = gone  # is told of what goes
        self._values = {}
        self._time = 0
        self._lock = threading.Lock()

    def get(self, key):
        found = self._values.get(key)
        if found is not None:
            self._time += 1  # threads may take the same one, or one twice: it need only be about right
            found.used = self._time
        return found

    def setdefault(self, key, value):
        with self._lock:
            self._time += 1
            found = self._values.setdefault(key, value)
            found.used = self._time
            if found is value:
                self.bytes += value.bytes
                self._make_room(found)
            return found

    def resize(self, key, value, size):
        """The value, which may have gone meanwhile, has so many bytes now."""
        with self._lock:
            if self._values.get(key) is value:
                self.bytes += size - value.bytes
                value.bytes = size
                self._make_room(value)

    def _make_room(self, newest):
        if self.bytes <= self.limit:
            return
        # A little more than is needed, so that the next ones find room without sorting.
        for key in sorted(self._values, key=lambda k: self._values[k].used):
            value = self._values[key]
            if value is not newest:
                self.bytes -= self._values.pop(key).bytes
                self._gone(value)
            if self.bytes <= self.limit * 15 // 16:
                return

    def fits(self, size, since):
        """Whether so many bytes more have room if what was not used since `since`, a value's `used`, goes."""
        with self._lock:
            if self.bytes + size <= self.limit:
                return True
            return self.bytes + size - sum(v.bytes for v in self._values.values() if v.used < since) <= self.limit

    def values(self):
        with self._lock:
            return list(self._values.values())

    def clear(self):
        with self._lock:
            gone, self._values, self.bytes = self._values, {}, 0
            for value in gone.values():
                self._gone(value)


class Times:
    """Of calls of one side in a trial, seconds."""

    def __init__(self):
        self.number, self.best, self.second = 0, float("inf"), float("inf")

    def add(self, seconds):
        self.number += 1
        if seconds < self.best:
            self.best, self.second = seconds, self.best
        elif seconds < self.second:
            self.second = seconds

    @property
    def steady(self):
        return self.second <= STEADY * self.best


class Family:
    """How layers fared that differ in lengths and batches only: ours' time divided by theirs."""

    bytes = 1

    def __init__(self):
        self.used = 0
        self.number, self.least = 0, float("inf")

    def learn(self, ratio):
        self.number += 1
        self.least = min(self.least, ratio)

    @property
    def patience(self):
        return LONG_PATIENCE if self.number >= FEW_LEARNED and self.least > CLEARLY else PATIENCE


class Pass:
    """One pass (y, or some of dx, dw, db) of one layer by one rule and math: who computes it, why, and what it took."""

    def __init__(self, key, family=None):
        self.key = key
        self.name, self.how = key[:2]
        self.family = family or Family()
        self.published = None  # to kernels in C++, where there are any
        self._used = self.born = 0
        self.bytes = ENTRY_BYTES
        self.layer = None  # of cubejit
        self.by = None  # "cubejit" or "PyTorch", once that is decided
        self.refused = None  # why cubejit does not compute it
        self.lies = None  # strides of PyTorch's results by name, once they are known
        self.calls = self.timed = self.failed = 0  # all; those in `seconds`; those that PyTorch computed since cubejit's run failed
        self.seconds = 0.0  # of calls that did not compile
        self.error = None  # of the last one that failed
        self.patience = 0
        self.size = 0  # bytes of its layer, once that is known
        self.full = False  # there was no room for it
        self.begin_trial()
        self.window = WINDOW
        self.begin_window()

    @property
    def used(self):
        """By Recent's time."""
        published = self.published
        return self._used if published is None else max(self._used, published.used)

    @used.setter
    def used(self, time):
        self._used = time

    def begin_trial(self):
        self.ours, self.theirs, self.warm = Times(), Times(), False

    def begin_window(self):
        self.left, self.best = self.window, float("inf")

    @property
    def ours_seconds(self):
        """Of one call, measured; None before there are any. So theirs_seconds."""
        return self.ours.best if self.ours.number else None

    @property
    def theirs_seconds(self):
        return self.theirs.best if self.theirs.number else None

    @property
    def by_measurement(self):
        """Whether a decision about it is one, and is looked at again."""
        return self.how[0] == "measure" and self.theirs.number > 0

    @property
    def passed_on(self):
        """Why PyTorch computes it; None: cubejit does, or both do in turn since they are being measured."""
        if self.refused is not None:
            return self.refused
        if self.by == "PyTorch":
            return "PyTorch is faster"
        if self.by is None and self.layer is None:
            return "no room in cache_bytes" if self.full else "not measured yet"
        return None

    @property
    def algorithm(self):
        return self.layer.algorithm(self.name.partition("+")[0]) if self.passed_on is None and self.layer is not None else ""


def _family_of(key):
    """What layers have in common that differ in lengths and batches only; the key is that of layers.key_of()."""
    name, asked, geometry, x, x_strides, dtype, w, *_ = key
    return name, asked, geometry, x[1:2], dtype, w, x_strides[1:2] == (1,)


class Work(NamedTuple):
    """A call, for whoever computes it."""
    compile: object  # of strides of results by name: the layers.Compiled; raises Error
    lies: object  # of a result of PyTorch's: strides by name
    ours: object  # of a layers.Compiled: the result; raises Error
    theirs: object  # the result; raises RuntimeError


class Layers:
    """All passes that were seen, by what tells them apart. May be used by many threads.

    Kernels in C++ compute what is published to them: publish(pass) is called when it is decided who computes a pass, and again when Python computed a
    call of it; withdraw(pass) when that is open again or the pass is forgotten; collect(pass) is asked to count the calls that were computed there;
    born(pass) is told of new ones."""

    def __init__(self, limit=CACHE_BYTES["measure"]):
        self.rules = None  # those of enable(); None: everything is PyTorch's
        self.note = None  # is told of x, w, bias, the geometry, y and post-ops of every forward pass
        self.publish = self.withdraw = self.collect = self.born = lambda entry: None
        # Seconds. What PyTorch would have taken, or took, for the calls that are measured; what was saved of it; what was spent beside it.
        self.stock = self.saved = self.spent = 0.0
        self._compiling, self._size = 0.01, 256 << 10  # of a layer, about: seconds, bytes
        self._passes = Recent(limit, self._forget)
        self.finished = Recent(limit)  # conv_post_ops' layers
        self._families = Recent(FAMILIES)
        self.clear()

    def limit(self, size):
        """Most bytes of layers that are kept, of each kind."""
        self._passes.limit = self.finished.limit = size

    @property
    def bytes(self):
        return self._passes.bytes

    def _forget(self, entry):
        self.withdraw(entry)
        self.forgotten = tuple(a + b for a, b in zip(self.forgotten, (1, entry.calls, entry.seconds)))

    def passes(self):
        passes = self._passes.values()
        for entry in passes:
            self.collect(entry)
        return passes

    def keeps(self, entry):
        return self._passes.get(entry.key) is entry

    def clear(self):
        self._passes.clear()
        self.forgotten = (0, 0, 0.0)  # passes that are no longer kept, their calls and seconds

    def find(self, key):
        found = self._passes.get(key)
        if found is None:
            alike = _family_of(key)
            found = self._passes.setdefault(key, Pass(key, self._families.get(alike) or self._families.setdefault(alike, Family())))
            if not found.born:
                found.born = found.used
                self.born(found)
        return found

    def run(self, entry, work):
        """The pass' result."""
        entry.calls += 1
        self.collect(entry)  # which may open it again
        if entry.by is None and entry.refused is not None:
            self.decide(entry, "PyTorch")
        if entry.by is None:
            return self._measured(entry, work) if entry.how[0] == "measure" else self._by_rule(entry, work)
        start = clock()
        result = _computed(entry, work) if entry.by == "cubejit" else work.theirs()
        self.observe(entry, clock() - start)
        if entry.by is not None:
            self.publish(entry)
        return result

    def decide(self, entry, by):
        """The one place where it becomes decided who computes a pass. Of threads that do so at once the first one holds."""
        if entry.by is not None:
            return
        entry.by = by
        if entry.how[0] == "measure" and by == "PyTorch" and entry.layer is not None:
            entry.layer = None  # its memory is wanted for others
            self._passes.resize(entry.key, entry, ENTRY_BYTES)
        entry.begin_window()
        self.publish(entry)

    def reopen(self, entry):
        self.withdraw(entry)
        entry.by = None
        entry.begin_trial()

    def observe(self, entry, seconds, calls=1, best=None):
        """Counts calls of a decided pass, the fastest of which took `best`, and measures again where calls have long taken what does not fit the
        measurement."""
        entry.seconds += seconds
        entry.timed += calls
        if not entry.by_measurement:
            return
        gain = calls * max(0.0, entry.theirs_seconds - entry.ours_seconds) if entry.by == "cubejit" else 0.0
        self.stock += seconds + gain
        self.saved += gain
        entry.best = min(entry.best, seconds if best is None else best)
        entry.left -= calls
        if entry.left <= 0:
            expected = entry.ours_seconds if entry.by == "cubejit" else entry.theirs_seconds
            drifted = not expected / DRIFTED - PYTHON < entry.best < expected * DRIFTED
            entry.window = min(2 * entry.window, WIDEST_WINDOW)
            entry.begin_window()
            if drifted and self._affordable(self._trying(entry)):
                self.reopen(entry)

    def _trying(self, entry):
        """What a trial will cost beside PyTorch's time, about, seconds."""
        slower = 0.0 if entry.theirs_seconds is None or entry.ours_seconds is None else entry.ours_seconds - entry.theirs_seconds
        return (self._compiling if entry.layer is None else 0.0) + max(0.0, slower) * (ROUNDS + 1)

    def _affordable(self, seconds):
        return self.spent + seconds <= GRACE + SHARE * self.stock + REINVESTED * self.saved

    def _due(self, entry):
        """Whether a layer is worth compiling now: its shape came back, there is time, and there is room beside what is in use."""
        if entry.calls <= max(entry.patience, entry.family.patience) or not self._affordable(self._trying(entry)):
            return False
        return self._room(entry, entry.size or self._size)

    def _room(self, entry, size):
        """Whether so much has room beside all that was in use since the pass was first seen: of more layers than fit, some stay and are used."""
        entry.full = not self._passes.fits(size, entry.born)
        if entry.full:
            entry.patience = 2 * entry.calls
        return not entry.full

    def _compile(self, entry, work):
        """The layer, or why there is none."""
        start = clock()
        try:
            entry.layer = work.compile(entry.lies)
        except Error as error:
            if entry.how[0] == "reproducible" and not isinstance(error, (InvalidProblem, Unsupported)):
                raise RuntimeError(f"cubejit cannot compute this for now, and PyTorch would to other bits: {error}") from error
            entry.refused = str(error).splitlines()[0]
            self.decide(entry, "PyTorch")
            return
        finally:
            took = clock() - start
            if entry.how[0] == "measure":
                self.spent += took
                self._compiling += (took - self._compiling) / 8
        entry.size = entry.layer.bytes
        self._size += (entry.size - self._size) // 8
        if entry.how[0] == "measure" and not self._room(entry, entry.size):
            entry.layer = None
        else:
            self._passes.resize(entry.key, entry, ENTRY_BYTES + entry.size)

    def _by_rule(self, entry, work, refused_by_them=None):
        """cubejit, wherever it computes it. Results lie as PyTorch's do, which models rely on, so it is asked for one. What cannot be compiled
        goes to PyTorch, whose errors of bad shapes are its own."""
        other = None
        if refused_by_them is None:
            try:
                other = work.theirs()
                entry.lies = work.lies(other)
            except RuntimeError as error:  # a type that PyTorch does not compute, or what neither does
                refused_by_them = error
        if entry.layer is None:
            self._compile(entry, work)
        if entry.refused is not None:
            if refused_by_them is not None:
                raise refused_by_them
            return other
        result = _computed(entry, work if other is None else work._replace(theirs=lambda: other))
        self.decide(entry, "cubejit")
        return result

    def _measured(self, entry, work):
        """PyTorch, until the layer has come back often enough to be worth compiling; then both in turn, a call each, until it is clear who is
        faster. Nothing is computed twice: what is measured are the caller's own calls."""
        if entry.layer is None and entry.lies is not None and self._due(entry):
            self._compile(entry, work)
        if entry.layer is None or (entry.warm and entry.theirs.number <= entry.ours.number):
            start = clock()
            try:
                result = work.theirs()
            except RuntimeError as error:
                if entry.lies is not None:
                    raise
                return self._by_rule(entry, work, error)
            took = clock() - start
            if entry.lies is None:  # the first call prepares much in PyTorch, too
                entry.lies = work.lies(result)
            else:
                entry.theirs.add(took)
            self.stock += took
        else:
            start, failed = clock(), entry.failed
            result = _computed(entry, work)
            took = clock() - start
            if entry.failed == failed:
                self._tried(entry, took)
        entry.seconds += took
        entry.timed += 1
        return result

    def _tried(self, entry, took):
        """A call of a trial was cubejit's."""
        theirs = entry.theirs.best if entry.theirs.number else took
        self.stock += theirs
        self.spent += max(0.0, took - theirs)
        self.saved += max(0.0, theirs - took)
        if not entry.warm:
            entry.warm = True
            entry.theirs = Times()  # of the same minutes as ours
            return
        entry.ours.add(took)
        rounds, ratio = min(entry.ours.number, entry.theirs.number), entry.ours.best / entry.theirs.best
        clear = max(ratio, 1 / ratio) >= DECISIVE
        steady = entry.ours.steady and entry.theirs.steady
        if rounds >= MOST_ROUNDS or (rounds >= 2 and clear) or (rounds >= ROUNDS and steady):
            entry.family.learn(ratio)
            self.decide(entry, "cubejit" if ratio <= 1 else "PyTorch")


def _computed(entry, work):
    """By cubejit, or, should its run fail, by PyTorch for this once: there may not have been memory for its workspace."""
    try:
        return work.ours(entry.layer)
    except Error as error:
        if entry.how[0] == "reproducible":
            raise RuntimeError(f"cubejit's run failed, and PyTorch would compute other bits: {error}") from error
        entry.failed, entry.error = entry.failed + 1, str(error).splitlines()[0]
        return work.theirs()
