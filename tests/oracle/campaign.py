# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what one problem of a campaign is and what is said of it. A problem has a number; number and seed are all it depends on.

First come the degenerate problems, each with every option of both faces, then random ones. What may be refused: a chip has limits, and
an algorithm that is asked for by name does not take everything; whatever else is refused is a fault."""

import random
from collections import Counter

import numpy

import command_face
import draw
import judge
import python_face
import torch_face
from data import KINDS
from definition import gradients, magnitudes, terms

import cubejit

_FACES = ("python",) * 6 + ("python chip", "torch", "command", "command chip")


class Campaign:
    def __init__(self, seed, command):
        self.seed, self.command = seed, command
        self.sessions = python_face.Sessions()
        self.refused, self.by_face = Counter(), Counter()
        isas, backends = self.sessions.isas, self.sessions.backends
        options = [("python", o) for o in python_face.degenerate_options(self.sessions)]
        if command:
            options += [("command", o) for o in command_face.degenerate_options(isas, backends)]
        self.edges = [(name, face, o) for name in draw.DEGENERATE for face, o in options]

    def about(self):
        return f"seed {self.seed}, {len(self.edges)} degenerate, isa {self.sessions.isas}, backends {self.sessions.backends}, " \
               f"PyTorch {'is' if python_face.torch else 'is not'} there, " + ("command" if self.command else "no command")

    def _what(self, number, dice):
        """(convolution, kind of data, face, options)"""
        kind = dice.choice(KINDS)
        if number < len(self.edges):
            name, face, options = self.edges[number]
            return draw.DEGENERATE[name], kind, face, options
        face = dice.choice(_FACES)
        isas, backends = self.sessions.isas, self.sessions.backends
        chip = face.endswith("chip")
        if face.startswith("command") and not self.command:
            face = face.replace("command", "python")
        if face.startswith("command"):
            options = command_face.random_options(dice, isas, backends, chip)
        else:
            options = python_face.random_options(dice, self.sessions, chip)
        slow = "interpreter" in str(options) or chip
        c = draw.convolution(dice, draw.MOST_MEETINGS // 4 if slow else draw.MOST_MEETINGS, not slow and dice.random() < 0.04)
        return c, kind, "python" if face == "torch" and not torch_face.takes(c) else face, options

    def _limited(self, options, kind):
        """(the kind of data that can be judged, whether a refusal is allowed, whether a cube's NaNs are)"""
        text = str(options)
        chip = "machine" in text or "--soc" in text
        relaxed, hf32 = "relaxed" in text, "hf32" in text
        if relaxed and kind != "whole":
            kind = "normal"
        if kind in ("denormal", "scaled") and (hf32 or "avx512_bf16" in text or (not chip and "avx512_bf16" in self.sessions.isas
                                                                               and "isa" not in text)):
            kind = "whole"  # HF32 rounds them away, and dot products of bf16 count them as zero
        return kind, chip or "--algorithm" in text, chip and kind == "special"

    def one(self, number):
        """Faults of a problem, none if it is right: a list of lines."""
        dice = random.Random(self.seed * 1_000_003 + number)
        numbers = numpy.random.default_rng([self.seed, number])
        c, kind, face, options = self._what(number, dice)
        kind, may_refuse, cube = self._limited({} if face == "torch" else options, kind)
        self.by_face[face] += 1
        try:
            if face.startswith("command"):
                read, found, faults, did = command_face.run(dice, c, kind, numbers, self.command, self.sessions, options)
            elif face == "torch":
                read, found, faults, did = torch_face.run(dice, c, kind, numbers)
            else:
                read, found, faults, did = python_face.run(dice, c, kind, numbers, self.sessions, options)
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
        sums, sizes = gradients(c, *read), None
        math = "keep" if face == "torch" else options.get("math") or ("relaxed" if "relaxed" in str(options) else "keep")
        if math == "hf32" and "machine" in str(options):
            math = "hf32_low"
        for i, name in enumerate(("dx", "dw", "db")):
            if found[i] is None:
                continue
            result, dtype = found[i]
            if kind == "normal" or math == "relaxed":
                sizes = sizes or magnitudes(c, *read)
                wrong = judge.near(result, sums[i], sizes[i], terms(c)[i], dtype, math)
            else:
                wrong = judge.exact(result, sums[i], dtype, cube)
            if wrong:
                faults.append(f"{name} ({dtype}): {wrong}")
        return faults and [*faults, f"{kind} numbers, {face}: {did}", f"{c}"]

    def drop_code(self):
        """Generated code is not kept for ever."""
        self.sessions.clear()
