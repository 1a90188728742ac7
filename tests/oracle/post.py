# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what post-ops make of sums: y = activation((sum + bias) + addend), each step rounded to float32 where sums are exact; and what dy
becomes behind an activation, by the slope that is read off y. Written from PyTorch's formulas."""

from dataclasses import dataclass

import numpy

from data import decode, encode, flushed

ACTIVATIONS = ("", "relu", "leaky_relu:0.25", "leaky_relu:2", "leaky_relu:0", "clip:-2:5")


@dataclass(frozen=True)
class Post:
    bias: bool = False
    add: bool = False
    activation: str = ""

    def __str__(self):
        return ",".join([*(["bias"] if self.bias else []), *(["add"] if self.add else []), *([self.activation] if self.activation else [])])

    @property
    def slope(self):
        return float(self.activation.split(":")[1]) if self.activation.startswith("leaky") else 1.0


def draw(random):
    return Post(random.random() < 0.5, random.random() < 0.5, random.choice(ACTIVATIONS))


@numpy.errstate(all="ignore")
def finished(post, sums, bias, addend, rounds=True, flush=False):
    def step(values):
        values = decode(encode(values, "f32"), "f32") if rounds else values
        return flushed(values, "f32") if flush else values

    y = step(sums)
    if post.bias:
        y = step(y + bias.reshape(1, -1, *(1,) * (y.ndim - 2)))
    if post.add:
        y = step(y + addend)
    if post.activation == "relu":
        return numpy.where(y < 0, 0.0, y)
    if post.activation.startswith("leaky"):
        return numpy.where(y > 0, y, step(y * post.slope))
    if post.activation.startswith("clip"):
        return numpy.clip(y, *map(float, post.activation.split(":")[1:]))
    return y


@numpy.errstate(all="ignore")
def backward(post, dy, y, dtype):
    """dy of the sums; what a slope makes of it is rounded to dy's type, as it is read."""
    if post.activation == "relu":
        return numpy.where(y <= 0, 0.0, dy)
    if post.activation.startswith("leaky"):
        return numpy.where(y > 0, dy, decode(encode(dy * post.slope, dtype), dtype))
    if post.activation.startswith("clip"):
        low, high = map(float, post.activation.split(":")[1:])
        return numpy.where((y <= low) | (y >= high), 0.0, dy)
    return dy
