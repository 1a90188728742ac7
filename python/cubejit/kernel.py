# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how a kernel of one's own is called: its inputs in their order or by name, its outputs as what the first input is; and that a kernel may be
made for the arrays it is called with."""

import contextlib
import html
import pathlib

from cubejit import _core, frameworks
from cubejit.define import Definition, define

__all__ = ["Jitted", "Kernel", "Tuning", "define", "jit"]


def _textOf(source):
    return source.read_text(encoding="utf-8") if isinstance(source, pathlib.Path) else getattr(source, "text", source)


def _given(name, inputs, outputs, placed, named):
    """Arrays of a call by their tensors' names, ready for the library, and the first input, which results are to be like."""
    if len(placed) > len(inputs):
        raise TypeError(f"{name} has {len(inputs)} inputs ({', '.join(inputs)}), here are {len(placed)}")
    twice = [n for n in inputs[:len(placed)] if n in named]
    if twice:
        raise TypeError(f"{name} got {', '.join(twice)} by place and by name")
    given = dict(zip(inputs, placed)) | named
    arrays = {n: frameworks.target(a) if n in outputs else frameworks.operand(a) for n, a in given.items()}
    return arrays, next((given[n] for n in inputs if n in given), None)


def _results(results, first):
    results = tuple(frameworks.like(result, first) for result in results)
    return results[0] if len(results) == 1 else results


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
        tensors = self.tensors
        arrays, first = _given(self.name, [t[0] for t in tensors if not t[1]], {t[0] for t in tensors if t[1]}, inputs, named)
        told = hook and (lambda *place_and_values: hook(*place_and_values[:-1], frameworks.like(place_and_values[-1], first)))
        return _results(self._kernel.run(arrays, threads, interpret, told), first)


class Jitted:
    """What jit() gives: called with arrays, it makes the kernel for them, or finds it made, and runs it."""

    def __init__(self, source, *, isa, backend, threads, **parameters):
        self._placing = source.placing if isinstance(source, Definition) else contextlib.nullcontext
        with self._placing():
            self._kernels = _core.KernelOfArrays(_textOf(source), _written(parameters), isa=isa, backend=backend, threads=threads)
        self._inputs, self._outputs, self._given = self._kernels.inputs, frozenset(self._kernels.outputs), parameters

    def __call__(self, *inputs, threads=0, **named):
        arrays, first = _given(self.name, self._inputs, self._outputs, inputs, named)
        with self._placing():
            return _results(self._kernels.run(arrays, threads), first)

    def kernel(self, *inputs, **named):
        """The Kernel that a call with these arrays runs: its parameters, program, dump."""
        arrays, _ = _given(self.name, self._inputs, self._outputs, inputs, named)
        made = Kernel.__new__(Kernel)
        with self._placing():
            made._kernel = self._kernels.kernel(arrays)
        return made

    @property
    def name(self):
        return self._kernels.name

    def __repr__(self):
        given = "".join(f", {name}={value}" for name, value in self._given.items())
        return f"<cubejit.jit {self.name}({', '.join(self._inputs)}{given})>"


def jit(source, *, isa=None, backend=None, threads=0, **parameters):
    """A kernel that is called with arrays of any sizes: for sizes and types that it has not met, another one is generated, and kept.

    `source` is a text, a pathlib.Path to one, or what cubejit.define made. Parameters that are a tensor's type, and those of which an extent is a
    multiple, with a constant or not (M, 2 * H + 1), follow from the arrays; others are what is given here, else what tuning found, else the text's.
    Strides are those that the text declares. The process keeps CUBEJIT_CACHE_CAPACITY kernels (1024), the least recently used dropped first.

        >>> double = jit('''cubejit kernel 1
        ... kernel double
        ... parameter N
        ... input X f32 [N]
        ... output Y f32 [N]
        ... index i in N
        ... Y[i] = X[i] * 2
        ... ''')
        >>> double(numpy.float32([1, 2, 3])), double(numpy.float32([4]))
        (array([2., 4., 6.], dtype=float32), array([8.], dtype=float32))
    """
    return Jitted(source, isa=isa, backend=backend, threads=threads, **parameters)
