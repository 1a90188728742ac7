# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how a kernel of one's own is called: its inputs in their order or by name, its outputs as what the first input is."""

import html
import pathlib

from cubejit import _core, frameworks
from cubejit.define import define

__all__ = ["Kernel", "Tuning", "define"]


def _textOf(source):
    return source.read_text(encoding="utf-8") if isinstance(source, pathlib.Path) else source


def _written(parameters):
    return {name: str(value) for name, value in parameters.items()}


def _read(parameters):
    return {name: value if value.isidentifier() else int(value) for name, value in parameters.items()}


def _row(cells, tag="td"):
    return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"


class Tuning:
    """What Kernel.tune found: `parameters` (of a kernel with them: `cubejit.Kernel(source, **tuning.parameters)`), `gain` (time of the untuned kernel
    divided by that of the best), `untuned_seconds`, `choices` (that there are), `tried` and `known` (now; in earlier runs), `report` (a line each)."""

    def __init__(self, found):
        self.__dict__.update(found | {"parameters": _read(found["parameters"])})

    def __repr__(self):
        chosen = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"<cubejit tuning: {self.gain:.2f} times as fast with {chosen}; {self.tried} of {self.choices:.0f} choices tried>"

    def _repr_html_(self):
        lines = [line.split(": ", 1) for line in self.report.splitlines()]
        return f"<p>{html.escape(repr(self)[1:-1])}</p><table>{''.join(map(_row, lines))}</table>"


class Kernel:
    """A kernel in the kernel language (docs/howto/write_a_kernel.md), checked and generated when it is made.

    `source` is its text, or a pathlib.Path to it; `parameters` are those of the text. Inputs and outputs must have the types, shapes and strides
    that the text declares. May be called from many threads at once; the GIL is released meanwhile. Raises InvalidProblem, with every mistake and its
    line, or Unsupported.

        >>> double = Kernel('''cubejit kernel 1
        ... kernel double
        ... parameter N
        ... input X f32 [N]
        ... output Y f32 [N]
        ... index i in N
        ... Y[i] = X[i] * 2
        ... ''', N=3)
        >>> double(numpy.float32([1, 2, 3]))
        array([2., 4., 6.], dtype=float32)
    """

    def __init__(self, source, *, isa=None, backend=None, threads=0, **parameters):
        self._kernel = _core.Kernel(_textOf(source), _written(parameters), isa=isa, backend=backend, threads=threads)

    @staticmethod
    def tune(source, *, seconds=10, store=None, isa=None, backend=None, threads=0, **parameters):
        """Measures values of the parameters that are not given, of those lists that the text has behind `in`, for about so many seconds: a Tuning.

        What is found is kept in the file `store` (default: the user's, $CUBEJIT_DB), and kernels that are made later without these parameters have
        the best values. Raises InvalidProblem if there is nothing to vary.
        """
        text = _textOf(source)
        return Tuning(_core.tune_kernel(text, _written(parameters), isa=isa, backend=backend, threads=threads, seconds=seconds, store=store))

    def __call__(self, *inputs, threads=0, **named):
        return self._run(inputs, named, threads, False)

    def interpret(self, *inputs, hook=None, **named):
        """The same, a number at a time, by the definition of the program's instructions: slow, with the same bits.

        `hook(name, task, tensor, element, values)` is called behind each tile instruction: "C.sum", the task of the parallel loops, the tensor that it
        wrote, the element at which it begins (empty in a value that the text does not name), and all that this tensor holds now, a copy, as outputs
        are made. It may call breakpoint(); where it returns False the interpretation ends.
        """
        return self._run(inputs, named, 0, True, hook)

    @property
    def name(self):
        return self._kernel.name

    @property
    def parameters(self):
        """The value of each: an int, or a type's name."""
        return _read(self._kernel.parameters)

    @property
    def tensors(self):
        """(name, whether it is an output, type, shape, strides in elements) of each, in the text's order."""
        return self._kernel.tensors

    @property
    def program(self):
        """The tile program that the kernel became: text that `cubejit kernel` reads."""
        return self._kernel.program()

    def dump(self, directory, stages="all", *, kernels="", symbol="", measure=False):
        """Writes the stages of its generation into a folder of `directory`: the folder's path (docs/howto/read_a_dump.md says what is in it).

        `stages` are of _core.dump_stages(), separated by commas. `kernels`: only those of the program with this in their name. `symbol`: prefix
        for the stages obj and c-header. `measure`: the page says what a run takes. Raises Unsupported for stages whose component is missing.
        """
        return self._kernel.dump(str(directory), stages, kernels, symbol, measure)

    def __repr__(self):
        parameters = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"<cubejit.Kernel {self.name}({parameters})>"

    def _repr_html_(self):
        tensors = [(name, "output" if output else "input", dtype, list(shape), list(strides)) for name, output, dtype, shape, strides in self.tensors]
        head = _row(("tensor", "", "type", "shape", "strides"), "th")
        return (f"<p>{html.escape(repr(self)[1:-1])}</p><table>{head}{''.join(map(_row, tensors))}</table>"
                f"<details><summary>tile program</summary><pre>{html.escape(self.program)}</pre></details>")

    def _run(self, inputs, named, threads, interpret, hook=None):
        names = [name for name, output, *_ in self.tensors if not output]
        if len(inputs) > len(names):
            raise TypeError(f"{self.name} has {len(names)} inputs ({', '.join(names)}), here are {len(inputs)}")
        twice = [name for name in names[:len(inputs)] if name in named]
        if twice:
            raise TypeError(f"{self.name} got {', '.join(twice)} by place and by name")
        given = dict(zip(names, inputs)) | named
        outputs = {name for name, output, *_ in self.tensors if output}
        arrays = {name: frameworks.target(a) if name in outputs else frameworks.operand(a) for name, a in given.items()}
        first = next((given[name] for name in names if name in given), None)
        told = hook and (lambda *place_and_values: hook(*place_and_values[:-1], frameworks.like(place_and_values[-1], first)))
        results = self._kernel.run(arrays, threads, interpret, told)
        results = tuple(frameworks.like(result, first) for result in results)
        return results[0] if len(results) == 1 else results
