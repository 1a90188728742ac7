# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what one problem of a campaign is and what is said of it. A problem has a number; number and seed are all it depends on.

First come the degenerate problems, each with every option of both faces, then random ones. What may be refused: a chip has limits, and
an algorithm that is asked for by name does not take everything; whatever else is refused is a fault."""

import random
from collections import Counter

import numpy

import command_face
import data
import draw
import forward_face
import judge
import large_face
import post
import python_face
import torch_face
from definition import forward, gradients, magnitudes, terms

import cubejit

_FACES = ("python",) * 5 + ("forward",) * 2 + ("python chip", "torch", "command", "command", "command chip")
LARGE = 0.005  # of the problems, each of which takes about half a second


class Campaign:
    def __init__(self, seed, command):
        self.seed, self.command = seed, command
        self.sessions = python_face.Sessions()
        self.refused, self.by_face = Counter(), Counter()
        isas, backends = self.sessions.isas, self.sessions.backends
        options = [("python", o) for o in python_face.degenerate_options(self.sessions)]
        options += [("forward", o) for o in forward_face.degenerate_options(self.sessions)]
        if command:
            options += [("command", o) for o in command_face.degenerate_options(isas, backends)]
        self.edges = [(name, face, o) for name in draw.DEGENERATE for face, o in options]

    def about(self):
        return f"seed {self.seed}, {len(self.edges)} degenerate, isa {self.sessions.isas}, backends {self.sessions.backends}, " \
               f"PyTorch {'is' if python_face.torch else 'is not'} there, " + ("command" if self.command else "no command")

    def _what(self, number, dice):
        """(convolution, kind of data, face, options)"""
        kind = dice.choice(data.KINDS)
        if number < len(self.edges):
            name, face, options = self.edges[number]
            return draw.DEGENERATE[name], kind, face, options
        if dice.random() < LARGE:
            return draw.large(dice), large_face.kind(dice), "large", large_face.random_options(dice, self.sessions)
        face = dice.choice(_FACES)
        isas, backends = self.sessions.isas, self.sessions.backends
        chip = face.endswith("chip")
        if face.startswith("command") and not self.command:
            face = face.replace("command", "python")
        if face.startswith("command"):
            options = command_face.random_options(dice, isas, backends, chip)
        elif face == "forward":
            options = forward_face.random_options(dice, self.sessions)
        else:
            options = python_face.random_options(dice, self.sessions, chip)
        slow = "interpreter" in str(options) or chip
        c = draw.convolution(dice, draw.MOST_MEETINGS // 4 if slow else draw.MOST_MEETINGS, not slow and dice.random() < 0.04)
        return c, kind, "python" if face == "torch" and not torch_face.takes(c) else face, options

    def _limited(self, options, kind):
        """(the kind of data that can be judged, whether a refusal is allowed, whether a cube's NaNs are)"""
        text = str(options)
        chip = "machine" in text or "--soc" in text
        loose, hf32 = "relaxed" in text or options.get("math") in judge.LOOSE, "hf32" in text
        if loose and kind != "whole":
            kind = "normal"
        if kind in data.TINY and (hf32 or "avx512_bf16" in text or (not chip and "avx512_bf16" in self.sessions.isas
                                                                    and "isa" not in text)):
            kind = "whole"  # HF32 rounds them away, and dot products of bf16 count them as zero
        forwards = not options.get("behind", True) or "y" in options.get("passes", ())
        if kind in data.TINY and "post" in options and options["post"].activation and not forwards:
            kind = "whole"  # a quarter of a denormal is no number: sums of those are rounded
        return kind, chip or "--algorithm" in text, chip and kind == "special"

    def one(self, number):
        """Faults of a problem, none if it is right: a list of lines."""
        dice = random.Random(self.seed * 1_000_003 + number)
        numbers = numpy.random.default_rng([self.seed, number])
        c, kind, face, options = self._what(number, dice)
        kind, may_refuse, cube = self._limited({} if face == "torch" else options, kind)
        self.by_face[face] += 1
        try:
            faults, did = self._judged(dice, numbers, c, kind, face, options, cube)
        except python_face.Refused as refusal:
            self.refused[str(refusal)] += 1
            return []
        except (cubejit.InvalidProblem, cubejit.Unsupported, command_face.Refused) as refusal:
            if may_refuse:
                self.refused[str(refusal).splitlines()[0]] += 1
                return []
            return [f"refused: {refusal}", f"{c}", f"{face} {options}"]
        except Exception as error:
            return [f"{type(error).__name__}: {error}", f"{c}", f"{face} {options}"]
        return faults and [*faults, f"{kind} numbers, {face}: {did}", f"{c}"]

    def _judged(self, dice, numbers, c, kind, face, options, cube):
        """(what is wrong, what was done)"""
        math = "strict" if face == "torch" else options.get("math") or ("relaxed" if "relaxed" in str(options) else "strict")
        if math == "hf32" and "machine" in str(options):
            math = "hf32_low"
        flush = face != "torch" and options.get("flush", False)
        if face == "large":
            return large_face.run(dice, c, kind, numbers, self.sessions, options)
        if face == "forward" and not options["behind"]:
            read, found, faults, did = forward_face.run_y(dice, c, kind, numbers, self.sessions, options)
            wrong = found[0] is not None and self._y(c, kind, read, found, options["post"], math, cube, flush)
            return [*faults, *([f"y ({found[1]}): {wrong}"] if wrong else [])], did
        if face == "forward":
            read, dtype, found, faults, did = forward_face.run_backward(dice, c, kind, numbers, self.sessions, options)
            read = [post.backward(options["post"], read[0], read[3], dtype), *read[1:3]]
        elif face.startswith("command"):
            read, found, faults, did = command_face.run(dice, c, kind, numbers, self.command, self.sessions, options)
            if found[3] is not None:
                wrong = self._y(c, kind, (*read[1:3], *read[4:6]), found[3], options["post"], math, cube, False)
                return [*faults, *([f"y ({found[3][1]}): {wrong}"] if wrong else [])], did
            read = [post.backward(options["post"], read[0], read[3], {**options["dtype"]}.get("dy", "f32")), *read[1:3]]
        elif face == "torch":
            read, found, faults, did = torch_face.run(dice, c, kind, numbers)
        else:
            read, found, faults, did = python_face.run(dice, c, kind, numbers, self.sessions, options)
        sums, sizes = gradients(c, *read), None
        for i, name in enumerate(("dx", "dw", "db")):
            if found[i] is None:
                continue
            result, dtype = found[i]
            if kind in data.ROUNDED or math in judge.LOOSE:
                sizes = sizes or magnitudes(c, *read)
                relative = 1e-5 if kind == "positive" and name != "dx" and dtype == "f32" and math == "strict" else None
                wrong = judge.near(result, sums[i], sizes[i], terms(c)[i], dtype, math, relative)
            else:
                wrong = judge.exact(result, sums[i], dtype, cube, flush)
            if wrong:
                faults.append(f"{name} ({dtype}): {wrong}")
        return faults, did

    def _y(self, c, kind, read, found, ops, math, cube, flush):
        """What is wrong with y, None if nothing is; read: x, w, bias, addend."""
        x, w, bias, addend = read
        result, dtype = found
        rounds = kind not in data.ROUNDED
        sums = forward(c, x, w)
        wanted = post.finished(ops, sums, bias, addend, rounds, flush)
        if rounds and math not in judge.LOOSE:
            return judge.exact(result, wanted, dtype, cube, flush)
        sizes = forward(c, *map(numpy.abs, (x, w)))
        if math == "relaxed":
            return judge.near(result, wanted, sizes, terms(c)[3], dtype, math)
        # Sums with what is added, and twice that where a slope stretches them.
        more = post.finished(post.Post(ops.bias, ops.add), sizes, numpy.abs(bias), numpy.abs(addend), False)
        return judge.near(result, wanted, more * max(1.0, ops.slope), terms(c)[3] + 3, dtype, math)

    def drop_code(self):
        """Generated code is not kept for ever."""
        self.sessions.clear()
