# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how a kernel of one's own is called: its inputs in their order or by name, its outputs as what the first input is."""

import pathlib

from cubejit import _core, frameworks


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
        if isinstance(source, pathlib.Path):
            source = source.read_text(encoding="utf-8")
        self._kernel = _core.Kernel(source, parameters, isa=isa, backend=backend, threads=threads)

    def __call__(self, *inputs, threads=0, **named):
        return self._run(inputs, named, threads, False)

    def interpret(self, *inputs, **named):
        """The same, a number at a time, by the definition of the program's instructions: slow, with the same bits."""
        return self._run(inputs, named, 0, True)

    @property
    def name(self):
        return self._kernel.name

    @property
    def parameters(self):
        """The value of each."""
        return self._kernel.parameters

    @property
    def tensors(self):
        """(name, whether it is an output, type, shape, strides in elements) of each, in the text's order."""
        return self._kernel.tensors

    @property
    def program(self):
        """The tile program that the kernel became: text that `cubejit kernel` reads."""
        return self._kernel.program()

    def __repr__(self):
        parameters = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"<cubejit.Kernel {self.name}({parameters})>"

    def _run(self, inputs, named, threads, interpret):
        names = [name for name, output, *_ in self.tensors if not output]
        if len(inputs) > len(names):
            raise TypeError(f"{self.name} has {len(names)} inputs ({', '.join(names)}), here are {len(inputs)}")
        twice = [name for name in names[:len(inputs)] if name in named]
        if twice:
            raise TypeError(f"{self.name} got {', '.join(twice)} by place and by name")
        given = dict(zip(names, inputs)) | named
        outputs = {name for name, output, *_ in self.tensors if output}
        arrays = {name: frameworks.target(a) if name in outputs else frameworks.operand(a) for name, a in given.items()}
        results = self._kernel.run(arrays, threads, interpret)
        first = next((given[name] for name in names if name in given), None)
        results = tuple(frameworks.like(result, first) for result in results)
        return results[0] if len(results) == 1 else results
