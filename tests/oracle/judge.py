# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides whether a gradient is right, given the definition's sums in float64. Leaves those to definition.py.

Of whole, special and denormal numbers (data.py) every sum of the definition is exact in float32 in any order, so that
  - a result is the exact sum, rounded once to its type: equal, or NaN where and only where the definition's sum is NaN, which is
    where a term is NaN or 0 x infinity, or terms are infinities of both signs. Padding is no term.
  - an emulated cube also multiplies zeros that fill it up, padding among them, as a chip does: there a result may be NaN where the
    definition's is not, and for no other reason different. So may what fills up a block of channels of its results.
  - signs of zeros and bits of NaNs are not judged: they depend on the order of a sum.
Of normal numbers, |result - sum| <= gamma(n + 2) * (sum of |terms|) + (rounding to the result's type): n terms added in any order,
each product rounded or not, with gamma(n) = n u / (1 - n u), u = 2^-24 (Higham, Accuracy and Stability of Numerical Algorithms,
2nd ed., SIAM 2002, sections 3.1 and 4.2; 2 more for products that are rounded and for a sum of parts that starts from another's).
Where results are float32 and operands all positive, dw and db are held to 1e-5 of themselves, too, however many terms they have.
What rounds beyond the largest number of a type is infinity. Post-ops are in float32: each of bias and addend is one addition more.
HF32 rounds operands first: to 11 or 10 bits, each product off by 2 h + h^2 of itself, h = 2^-12 or 2^-11; a chip rounds to
the bits it has, whichever of the two is asked for.
Relaxed math (Winograd) forms other products: neither bits nor NaNs are the definition's, and errors are judged by norms, as it
promises: 2e-5 of the gradient's L2 norm and 2e-4 of its largest element, beside the rounding to the result's type. Math bf16 may do
that and round operands as well, h = 2^-8: bounds are those of HF32, and 2e-4 of the largest element more."""

import numpy

from data import HALF_ULP, LEAST, MOST, decode, encode, flushed

_OPERANDS = {"hf32": 2.0**-12, "hf32_low": 2.0**-11, "bf16": 2.0**-8}  # by how much of itself each may be rounded
LOOSE = ("relaxed", "bf16")  # math whose sums may be of other products


def _gamma(n):
    return n * 2.0**-24 / (1 - n * 2.0**-24)


def _first(wrong, result, wanted):
    at = tuple(int(i) for i in numpy.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} wrong, first [{', '.join(map(str, at))}] = {result[at]!r}, not {wanted[at]!r}"


@numpy.errstate(all="ignore")
def exact(result, sums, dtype, cube=False, flush=False):
    """What is wrong with a result (float64) whose exact sums are given; None: nothing. flush: denormals of float32 are left as zero."""
    if result.shape != sums.shape:
        return f"shape {result.shape}, not {sums.shape}"
    wanted = decode(encode(flushed(sums, "f32") if flush else sums, dtype), dtype)
    wrong = ~((result == wanted) | (numpy.isnan(result) & (numpy.isnan(wanted) | cube)))
    return _first(wrong, result, wanted) if wrong.any() else None


def near(result, sums, magnitudes, terms, dtype, math="strict", relative=None):
    """The same for sums that are rounded; relative: of itself, how far a result may be off in any case."""
    if result.shape != sums.shape:
        return f"shape {result.shape}, not {sums.shape}"
    rounding = HALF_ULP[dtype] * numpy.abs(sums) + LEAST[dtype]
    if math == "relaxed":
        error = numpy.maximum(numpy.abs(result - sums) - 2 * rounding, 0)
        most = numpy.abs(sums).max(initial=0)
        if not (error <= 2e-4 * most).all() or not numpy.linalg.norm(error) <= 2e-5 * numpy.linalg.norm(sums):
            return f"relaxed: off by {numpy.linalg.norm(error):.3g} of {numpy.linalg.norm(sums):.3g} in norm, {error.max():.3g} at most"
        return None
    h = _OPERANDS.get(math, 0)
    of_sums = (_gamma(terms + 2) + 2 * h + h * h) * magnitudes
    if math in LOOSE:
        of_sums = of_sums + 2e-4 * numpy.abs(sums).max(initial=0)
    # The rounding is of the sum that was found, which may be larger than the exact one.
    bound = of_sums + HALF_ULP[dtype] * of_sums + rounding
    if relative is not None:
        bound = numpy.minimum(bound, relative * numpy.abs(sums))
    with numpy.errstate(invalid="ignore"):
        wrong = ~(numpy.abs(result - sums) <= bound)
    wrong &= ~(numpy.isinf(result) & (numpy.sign(result) * sums + bound >= MOST[dtype]))
    return _first(wrong, result, sums) if wrong.any() else None
