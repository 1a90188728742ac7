# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what conv and conv_backward mean: aten::convolution and aten::convolution_backward. Leaves shapes, types and rules to
cubejit._core."""

from cubejit.errors import InvalidProblem
from cubejit.frameworks import like, operand, target
from cubejit.session import chosen


def _three(name, values):
    """One for each result."""
    if not hasattr(values, "__iter__") or isinstance(values, str):
        raise TypeError(f"{name} = {values!r:.80} ({type(values).__name__}) must be 3 values: for dx, dw, db")
    values = tuple(values)
    if len(values) != 3:
        raise InvalidProblem(f"{name} has {len(values)} values; it must have 3: dx, dw, db", "invalid_problem", "problem")
    return values


def conv(x, w, stride=1, padding=0, dilation=1, transposed=False, output_padding=0, groups=1, *, bias=None, add=None, activation=None,
         math="strict", out=None, session=None, threads=0):
    """The result y (N, Cout, spatial...) of a 1D, 2D or 3D convolution, like x: the same kind of object, type and memory order.

    bias (Cout), add (like y) and activation, "relu", "leaky_relu:SLOPE" or "clip:LOW:HIGH", are post-ops: y is
    activation(sum + bias + add), in float32 and rounded once, in the same pass over memory. bias and add have y's type; y lies as add does,
    or else as x does. y must not be add's memory.

    x, w and everything else as conv_backward() has them. out: y to be written; dense, of any of the three types.
    """
    result = chosen(session).conv(
        operand(x), operand(w), stride, padding, dilation, transposed, output_padding, groups, math, target(out), threads,
        None if bias is None else operand(bias), None if add is None else operand(add), "" if activation is None else activation)
    return like(result, x)


def conv_backward(dy, x, w, stride=1, padding=0, dilation=1, transposed=False, output_padding=0, groups=1,
                  output_mask=(True, True, True), *, y=None, activation=None, math="strict", out=None, session=None, threads=0):
    """Gradients (dx, dw, db) of a 1D, 2D or 3D convolution; None for those output_mask leaves out.

    dy (N, Cout, spatial...), x (N, Cin, spatial...), w (Cout, Cin/groups, spatial...; transposed: Cin, Cout/groups, ...):
    arrays of NumPy, tensors of PyTorch on the CPU, or whatever has the buffer protocol or DLPack; float32, float16 or
    bfloat16, each its own. Strides are honoured, channels-last ones are computed in place; only negative ones are copied.
    stride, padding, dilation, output_padding: one number, or one for each axis; padding also before and after for each.
    dx is like x, dw like w, db like dy: the same kind of object, type and memory order.

    activation: what conv() was given; gradients are then those of its sums, from dy of the activation's result y, which must lie as dy does.
    math: "strict" computes the products of the definition, each once. "relaxed" allows Winograd's filtering: several times as fast for dense
    3-tap kernels, errors of about 1e-6 in norm. "bf16" allows that float32 operands are rounded to bfloat16, too, which CPUs with its dot product
    multiply twice as fast: errors of about 2e-3 in norm. "hf32" or "hf32_low" round float32 operands to 11 or 10 bits as Ascend parts do. Sums are float32.
    out: (dx, dw, db) to be written, None where memory is to be made; dense, of any of the three types.
    threads: of this call; 0 is the session's number. Results have the same bits with any.
    Raises InvalidProblem with every violated rule, TypeError for objects that are no such arrays.
    """
    mask = _three("output_mask", output_mask)
    targets = (None, None, None) if out is None else tuple(target(array) for array in _three("out", out))
    results = chosen(session).conv_backward(
        operand(dy), operand(x), operand(w), stride, padding, dilation, transposed, output_padding, groups, mask, math,
        targets, threads, None if y is None else operand(y), "" if activation is None else activation)
    return tuple(like(result, source) for result, source in zip(results, (x, w, dy)))
