# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides whether PyTorch's calls come to cubejit through kernels in C++ (_kernels, built where PyTorch's headers are, for one version of it), and
hands over to them what cubejit.torch.choosing has decided. Without them kernels are in Python, which cost several microseconds a call."""

from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import torch

from cubejit.torch import layers as _layers

_CHOICES = "measure", "ours", "reproducible"  # numbers of both are their places
_MATHS = None, "strict", "relaxed", "bf16"
_EVER = 1 << 62  # calls


def _load():
    """(the module, None), or (None, why there is none)."""
    version = torch.__version__.partition("+")[0]
    file = Path(__file__).with_name(f"_kernels-{version}{EXTENSION_SUFFIXES[0]}")
    if not file.exists():
        return None, f"none in C++ were built for PyTorch {version}"
    try:
        spec = spec_from_loader("cubejit.torch._kernels", ExtensionFileLoader("cubejit.torch._kernels", str(file)))
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module, None
    except ImportError as error:  # another PyTorch of that version
        return None, str(error).splitlines()[0]


module, why_not = _load()


class Kernels:
    """Those in C++: what was published to them they compute without Python, all else they ask the operators `cubejit::` for."""

    def __init__(self, layers, **in_python):
        """Registers them. in_python: kernels in Python by the operator's name. Raises RuntimeError, and leaves nothing, if PyTorch refuses."""
        self._layers = layers
        self._asked = torch.library.Library("cubejit", "FRAGMENT")
        for name, kernel in in_python.items():
            schema = str(getattr(torch.ops.aten, name).default._schema)
            self._asked.define(schema.removeprefix("aten::").replace("SymInt", "int"))
            self._asked.impl(name, kernel, "CPU")
        module.register()
        layers.publish, layers.withdraw, layers.collect, layers.born = self.publish, self.withdraw, self.collect, self.born

    def obey(self, rules, seen):
        """enable()'s rules, or None, from now on. seen: every call is to be seen by Python."""
        choice, math = ("measure", None) if rules is None else (rules.choose, rules.math)
        module.obey(rules is not None, seen, _CHOICES.index(choice), _MATHS.index(math))

    def publish(self, entry):
        """Who computes a pass holds for calls like the one that this thread computes, until a window of them is full."""
        (choose, math), published, layer = entry.how, entry.published, entry.layer
        left = entry.left if entry.by_measurement else _EVER
        if published is not None:
            published.leave(left)
            return
        runnable, results = 0, [None] * 4
        if entry.by == "cubejit":
            runnable, results = layer.runnable(), [layer.made.get(name) for name in ("dx", "dw", "db", "y")]
        entry.published = module.publish(_CHOICES.index(choose), _MATHS.index(math), runnable, _layers._own_threads or -1, results, left)
        if not self._layers.keeps(entry):  # it was forgotten meanwhile
            self.withdraw(entry)

    def withdraw(self, entry):
        published = entry.published
        if published is not None:
            published.withdraw()
            self.collect(entry)
            entry.published = None

    def collect(self, entry):
        """Counts what was computed by what was published."""
        published = entry.published
        if published is not None:
            calls, seconds, best = published.take()
            if calls:
                entry.calls += calls
                self._layers.observe(entry, seconds, calls, best)

    def born(self, entry):
        """Calls of passes are dated by the youngest pass that there was, which is what choosing.Recent asks for."""
        module.set_time(entry.born)
