# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how a Python function becomes a kernel's text (docs/howto/write_a_kernel.md): a call of its builder is a line, and each line knows where
it was called. Leaves to the text's parser and checker what a kernel means; here stands what text would not show, or would show in another place."""

import contextlib
import functools
import inspect
import keyword
import math
import numbers
import pathlib
import re
import struct
import sys

from cubejit import kernel
from cubejit.errors import Error, InvalidProblem

TYPES = ("f32", "f16", "bf16", "i8", "i32")
# The operations' words, and how many operands each has. A word of Python's own (and, or) is a method with _ behind it.
OPERATIONS = {word: operands for operands, words in (
    (1, "abs neg sqrt rsqrt round floor exp log tanh erf sigmoid relu gelu silu"),
    (2, "add sub mul div min max equal less at_most and or xor"),
    (3, "fma select")) for word in words.split()}
# No names: operations, what lines begin with, and what is read as a number.
_WORDS = {*OPERATIONS, "sum", "argmin", "argmax", "parameter", "input", "output", "index", "parallel", "loop", "let", "require", "inf", "nan", *TYPES}
# What an expression is, and so where it may stand.
_SIZE, _SUBSCRIPT, _VALUE = "a whole number", "a multiple of an index", "a value"
_SUM, _PRODUCT, _ATOM = 1, 2, 3  # how strongly an expression's outermost operation binds
_LONGEST = 1 << 16  # of an expression's text; what is used twice stands there twice


def define(function):
    """The kernel that a function defines: its text, and when called a cubejit.Kernel of it.

    The function's first parameter is the builder, the others are the kernel's parameters: `M=96` has a value, `mr=(4, 1, 2)` says which make sense,
    `M` must be set, and `T=("f32", "bf16")` or `T="f32"` is a type. Its docstring becomes the text's comment. Raises InvalidProblem at once.

        >>> @cubejit.define
        ... def double(k, N=3):
        ...     X, Y = k.input("X", "f32", N), k.output("Y", "f32", N)
        ...     i = k.index("i", N)
        ...     Y[i] = X[i] * 2
        >>> double(N=2)(numpy.float32([1, 2]))
        array([2., 4.], dtype=float32)
    """
    return Definition(function)


class Definition:
    """`text` is the kernel's, `places` has the Python file and line that made each line of it."""

    def __init__(self, function):
        if not inspect.isfunction(function):
            _fail(f"define takes a function, not {function!r}")
        parameters = list(inspect.signature(function).parameters.values())
        if not parameters:
            _fail(f"{function.__name__} has no parameter for the builder")
        functools.update_wrapper(self, function)
        k = Builder(function)
        function(k, *(_parameter(k, p) for p in parameters[1:] if p.kind is not p.KEYWORD_ONLY),
                 **{p.name: _parameter(k, p) for p in parameters[1:] if p.kind is p.KEYWORD_ONLY})
        self.name, self.text, self.places = function.__name__, *k._end()
        self._tensors = frozenset(k._tensors)
        self._jitted = functools.lru_cache(maxsize=16)(lambda given: kernel.jit(self, **dict(given)))

    def __call__(self, *arrays, **named):
        """Called with arrays, by place or name: their results, by a kernel that is made for their sizes and types, as cubejit.jit says. With parameters and
        options (isa, backend, threads) alone: a cubejit.Kernel."""
        by_name = {name: named.pop(name) for name in self._tensors.intersection(named)}
        if arrays or by_name:
            return self._jitted(tuple(named.items()))(*arrays, **by_name)
        with self.placing():
            return kernel.Kernel(self.text, **named)

    def tune(self, **parameters_and_options):
        """cubejit.Kernel.tune of it."""
        with self.placing():
            return kernel.Kernel.tune(self.text, **parameters_and_options)

    @contextlib.contextmanager
    def placing(self):
        """Errors that name lines of the text name those of the function, too."""
        try:
            yield
        except Error as error:
            raise type(error)("\n".join(map(self._placed, str(error).split("\n"))), error.code, error.stage) from None

    def __repr__(self):
        return f"<cubejit.define {self.name}>"

    def _placed(self, told):
        line = re.search(r"\bline (\d+)", told)
        if line is None or not 1 <= int(line[1]) <= len(self.places):
            return told
        file, number = self.places[int(line[1]) - 1]
        return f"{pathlib.Path(file).name}:{number}: {told}"


class Builder:
    """The words of a kernel's lines. Operations are methods too: k.relu(x), k.select(mask, a, b), k.and_(a, b)."""

    def __init__(self, function):
        self._lines, self._scopes, self._waiting, self._tensors = [], [set()], None, []
        self._header = (function.__code__.co_filename, function.__code__.co_firstlineno)
        self._line("cubejit kernel 1", self._header)
        for line in inspect.cleandoc(function.__doc__ or "").splitlines():
            self._line(f"; {line}".rstrip(), self._header)
        self._line(f"kernel {_identifier(function.__name__, 'the kernel')}", self._header)

    def input(self, name, type, *extents, strides=None):
        return self._tensor("input", name, type, extents, strides)

    def output(self, name, type, *extents, strides=None):
        return self._tensor("output", name, type, extents, strides)

    def index(self, name, extent):
        """All numbers from 0 up, at once."""
        self._declare(f"index {self._name(name, 'an index')} in {_size(extent, f'the extent of {name}')}")
        return Index(name, _SUBSCRIPT)

    def require(self, condition):
        if not isinstance(condition, Condition):
            _fail(f"require takes a comparison of parameters, not {condition!r}")
        self._declare(f"require {condition.text}")

    def parallel(self, name, extent, *, by=None):
        """Tiles of an index in any order, on any thread: `with k.parallel("i", M, by=rows) as i:`."""
        return Loop(self, "parallel", name, extent, by)

    def loop(self, name, extent, *, by=None):
        """Tiles of an index one behind another: `with k.loop("i", M, by=rows) as i:`, or of the tile of a loop around: `k.loop("j", block, by=nr)`."""
        return Loop(self, "loop", name, extent, by)

    def let(self, name, value=None, *, over=()):
        """Memory of f32 for each combination of the indices `over`; without a value later lines fill it."""
        indices = _indices(over, f"let {name}")
        given = "" if value is None else f" = {_value(value, f'the value of {name}').text}"
        self._line(f"let {_element(self._name(name, 'memory'), indices)}{given}")
        return Memory(self, "let", name, len(indices))

    def sum(self, value, *, over):
        return _reduction("sum", value, over)

    def min(self, *operands, over=None):
        """Of two values, or of one over indices."""
        return _operation("min", operands) if over is None else _reduction("min", *operands, over)

    def max(self, *operands, over=None):
        """Of two values, or of one over indices."""
        return _operation("max", operands) if over is None else _reduction("max", *operands, over)

    def argmin(self, value, *, over):
        """The number of the first element that is the least one."""
        return _reduction("argmin", value, over)

    def argmax(self, value, *, over):
        """The number of the first element that is the greatest one."""
        return _reduction("argmax", value, over)

    def _tensor(self, use, name, type, extents, strides):
        if not isinstance(type, TypeParameter) and not (isinstance(type, str) and type in TYPES):
            _fail(f"the type of {name} is {type!r}; it may be {', '.join(TYPES)}, or a parameter in such words")
        line = f"{use} {self._name(name, 'a tensor')} {getattr(type, 'name', type)} [{_listed(extents, f'an extent of {name}')}]"
        if strides is not None:
            if len(strides) != len(extents):
                _fail(f"{name} has {len(extents)} extents and {len(strides)} strides")
            line += f" strides [{_listed(strides, f'a stride of {name}')}]"
        self._declare(line)
        self._tensors.append(name)
        return Memory(self, use, name, len(extents))

    def _name(self, name, what):
        if _identifier(name, what) in _WORDS:
            _fail(f"{what} is named {name}, which is a word of the language")
        if any(name in scope for scope in self._scopes):
            _fail(f"there is a {name} already")
        self._scopes[-1].add(name)
        return name

    def _declare(self, line):
        if len(self._scopes) > 1:
            _fail(f"{line}: declarations stand outside all loops")
        self._line(line)

    def _line(self, line, place=None):
        self._checkEntered()
        self._lines.append(("  " * (len(self._scopes) - 1) + line, place or _place()))

    def _checkEntered(self):
        if self._waiting is not None:
            _fail(f"loop {self._waiting} is not entered: 'with k.loop(...) as {self._waiting}:'")

    def _end(self):
        self._checkEntered()
        if len(self._scopes) > 1:
            _fail("a loop is not left: 'with' enters loops and leaves them")
        lines, places = zip(*self._lines)
        return "\n".join(lines) + "\n", places


class Loop:
    def __init__(self, k, word, name, extent, by):
        self._k, self._name = k, name
        tile = "" if by is None else f" by {_size(by, f'the tile of {name}')}"
        extent = extent.text if isinstance(extent, Index) else _size(extent, f"the extent of {name}")
        k._line(f"{word} {_identifier(name, 'an index')} in {extent}{tile}")
        k._waiting = name

    def __enter__(self):
        if self._k._waiting != self._name:
            _fail(f"loop {self._name} is entered a second time")
        self._k._waiting = None
        self._k._scopes.append(set())
        self._begin = len(self._k._lines)
        return Index(self._k._name(self._name, "an index"), _SUBSCRIPT)

    def __exit__(self, kind, error, trace):
        if kind is None and len(self._k._lines) == self._begin:
            _fail(f"loop {self._name} has nothing in it")
        if kind is None:
            self._k._scopes.pop()


class Memory:
    """An input, output or let: its elements are numbers in expressions, and take them."""

    __iter__ = None

    def __init__(self, k, use, name, dimensions):
        self._k, self._use, self._name, self._dimensions = k, use, name, dimensions

    def __getitem__(self, at):
        return Expression(self._at(at), _VALUE)

    def __setitem__(self, at, value):
        if self._use == "input":
            _fail(f"{self._name} is an input, which nothing is written to")
        self._k._line(f"{self._at(at)} = {_value(value, f'what {self._name} gets').text}")

    def __repr__(self):
        return f"the whole of {self._name}"

    def _at(self, at):
        at = at if isinstance(at, tuple) else (at,)
        if len(at) != self._dimensions:
            _fail(f"{self._name} has {self._dimensions} dimensions, here are {len(at)} subscripts")
        return _element(self._name, [_expression(a, f"a subscript of {self._name}", _SIZE, _SUBSCRIPT) for a in at])


class TypeParameter:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"the type {self.name}"


class Condition:
    def __init__(self, text):
        self.text = text

    def __bool__(self):
        _fail(f"whether {self.text} is known when the kernel is made, not when it is defined: k.require(...), one comparison each")


class Expression:
    """Text of a number, parameter, subscript or value, and what it is."""

    __array_ufunc__ = None  # NumPy's numbers leave operators to it
    __hash__ = object.__hash__

    def __init__(self, text, what, rank=_ATOM):
        if len(text) > _LONGEST:
            _fail(f"an expression of more than {_LONGEST} characters; name parts of it with k.let(...)")
        self.text, self.what, self.rank = text, what, rank

    def __add__(self, other): return _infix(self, "+", other)
    def __radd__(self, other): return _infix(other, "+", self)
    def __sub__(self, other): return _infix(self, "-", other)
    def __rsub__(self, other): return _infix(other, "-", self)
    def __mul__(self, other): return _infix(self, "*", other)
    def __rmul__(self, other): return _infix(other, "*", self)
    def __truediv__(self, other): return _infix(self, "/", other)
    def __rtruediv__(self, other): return _infix(other, "/", self)
    def __floordiv__(self, other): _fail("// is no operation: / rounds down in extents, tiles and subscripts")
    def __neg__(self): return Expression("-" + _within(self, _ATOM), self.what)
    def __lt__(self, other): return _comparison(self, "<", other)
    def __le__(self, other): return _comparison(self, "<=", other)
    def __gt__(self, other): return _comparison(self, ">", other)
    def __ge__(self, other): return _comparison(self, ">=", other)
    def __eq__(self, other): return _comparison(self, "==", other)
    def __ne__(self, other): _fail("!= is no comparison of the language; there are <, <=, >, >=, ==")
    def __bool__(self): _fail(f"{self.text} is a number when the kernel is made, not when it is defined")
    def __repr__(self): return self.text


class Index(Expression):
    """One that reductions go over, and memory is for; in an expression its number."""


def _fail(message):
    raise InvalidProblem(message, "invalid_problem", "tile")


def _place():
    """Where the builder was called: the innermost frame that is not of this file."""
    frame = sys._getframe(1)
    while frame.f_globals is globals():
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _identifier(name, what):
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        _fail(f"{what} is named {name!r}; a name is a letter or _, then letters, digits and _")
    return name


def _parameter(k, p):
    if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
        _fail(f"{p}: each parameter of a kernel has its name")
    if p.name in ("self", "source", "isa", "backend", "threads", "seconds", "store"):
        _fail(f"a parameter is named {p.name}, which is an argument of cubejit.Kernel")
    k._name(p.name, "a parameter")
    values = () if p.default is p.empty else p.default if isinstance(p.default, tuple) else (p.default,)
    types = values and all(isinstance(v, str) and v in TYPES for v in values)
    if not types and not all(map(_isWhole, values)) or p.default == ():
        _fail(f"parameter {p.name} has {p.default!r}; it may have a whole number, one of {', '.join(TYPES)}, or a tuple of either")
    how = "" if not values else " in " if isinstance(p.default, tuple) else " = "
    k._line(f"parameter {p.name}{how}{' '.join(v if types else str(int(v)) for v in values)}", k._header)
    return TypeParameter(p.name) if types else Expression(p.name, _SIZE)


def _isWhole(x):
    return isinstance(x, numbers.Integral) and not isinstance(x, bool)


def _f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def _number(x):
    """The shortest decimals that are read as the same float32."""
    rounded = _f32(x)
    if math.isinf(rounded) and not math.isinf(x):
        _fail(f"{x} is beyond float32")
    return next((text for digits in range(1, 10) if _f32(float(text := f"{rounded:.{digits}g}")) == rounded), "nan")


def _expression(x, what, *may):
    """`x` as an expression that is one of these; `what` is what errors call it."""
    if _isWhole(x):
        x = Expression(str(int(x)), _SIZE)
    elif isinstance(x, numbers.Real) and not isinstance(x, bool):
        x = Expression(_number(float(x)), _VALUE)
    elif not isinstance(x, Expression):
        _fail(f"{what} is {x!r}, which is no expression" + (f"; {x._name}[...] are its elements" if isinstance(x, Memory) else ""))
    if may and x.what not in may:
        _fail(f"{what} is {x.text}, which is {x.what}; it may be {' or '.join(may)}")
    return x


def _size(x, what):
    return _expression(x, what, _SIZE).text


def _listed(sizes, what):
    return ", ".join(_size(s, what) for s in sizes)


def _value(x, what):
    return _expression(x, what)


def _indices(over, what):
    over = over if isinstance(over, (tuple, list)) else (over,)
    for i in over:
        if not isinstance(i, Index):
            _fail(f"{what} goes over {i!r}, which is no index")
    return over


def _element(name, subscripts):
    return name + (f"[{', '.join(s.text for s in subscripts)}]" if subscripts else "")


def _within(x, rank):
    return x.text if x.rank >= rank else f"({x.text})"


def _infix(left, symbol, right):
    left, right = (_expression(x, f"an operand of {symbol}") for x in (left, right))
    kinds = {left.what, right.what}
    rank = _SUM if symbol in "+-" else _PRODUCT
    what = _VALUE if _VALUE in kinds else _SUBSCRIPT if _SUBSCRIPT in kinds else _SIZE
    return Expression(f"{_within(left, rank)} {symbol} {_within(right, rank + 1)}", what, rank)


def _comparison(left, symbol, right):
    return Condition(f"{_size(left, f'the left of {symbol}')} {symbol} {_size(right, f'the right of {symbol}')}")


def _operation(word, operands):
    if len(operands) != OPERATIONS[word]:
        _fail(f"{word} has {OPERATIONS[word]} operands, here are {len(operands)}")
    return Expression(f"{word}({', '.join(_value(o, f'an operand of {word}').text for o in operands)})", _VALUE)


def _reduction(word, value, over):
    indices = _indices(over, word)
    return Expression(f"{word}[{', '.join(i.text for i in indices)}]({_value(value, f'what {word} goes over').text})", _VALUE)


def _method(word):
    def method(self, *operands):
        return _operation(word, operands)
    method.__name__ = word + "_" * keyword.iskeyword(word)
    return method


for _word in OPERATIONS:
    if not hasattr(Builder, _word):
        setattr(Builder, _method(_word).__name__, _method(_word))
