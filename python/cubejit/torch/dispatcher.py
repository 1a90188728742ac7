# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how PyTorch's dispatcher comes to cubejit: kernels of aten::convolution for the CPU and for its autograd. Whatever calls the
operator is caught with no change to a model: modules, subclasses, functions, parametrised and checkpointed ones, scripts, traces,
autocast, DistributedDataParallel. What cubejit does not compute, or computes more slowly, goes on to PyTorch's own kernels."""

import contextlib
import json
import threading

import torch
from torch.autograd import forward_ad

from cubejit.torch import layers as _layers

_layers_seen = _layers.Layers()
_lock = threading.Lock()
_registered = None  # the libraries: registrations live as long as they do

# What aten::convolution does not have of aten::_convolution's arguments: benchmark, deterministic, cudnn_enabled, allow_tf32.
_OF_OTHER_DEVICES = (False, False, True, True)


def _theirs(x, w, bias, geometry):
    return torch.ops.aten._convolution.default(x, w, bias, *geometry, *_OF_OTHER_DEVICES)


def _on_cpu(x, w, bias, *geometry):
    """aten::convolution below autograd."""

    def theirs():
        guard = torch._C._AutoDispatchBelowAutograd()  # else aten::_convolution would come back here
        try:
            return _theirs(x, w, bias, geometry)
        finally:
            del guard

    return _layers.forward(_layers_seen, x, w, bias, geometry, theirs)


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, bias, *geometry):
        ctx.save_for_backward(x, w)
        ctx.save_for_forward(x, w)
        ctx.geometry = geometry
        ctx.bias = None if bias is None else (list(bias.shape), bias.dtype)
        return _on_cpu(x, w, bias, *geometry)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        mask = list(ctx.needs_input_grad[:3])
        shape, dtype = ctx.bias or (None, None)

        def theirs():
            return torch.ops.aten.convolution_backward.default(dy, x, w, shape, *ctx.geometry, mask)

        if torch.is_grad_enabled():  # somebody wants gradients of gradients: PyTorch's are differentiable
            _layers_seen.double_backward += 1
            results = theirs()
        else:
            results = _layers.backward(_layers_seen, dy, x, w, dtype, ctx.geometry, mask, theirs)
        return (*results, *(None,) * len(ctx.geometry))

    @staticmethod
    def jvp(ctx, x_tangent, w_tangent, bias_tangent, *_):
        x, w = ctx.saved_tensors
        terms = [_theirs(a, b, None, ctx.geometry) for a, b in ((x_tangent, w), (x, w_tangent)) if None not in (a, b)]
        if bias_tangent is not None:
            terms.append(bias_tangent.view([-1] + [1] * (w.dim() - 2)).expand_as(terms[0]) if terms else bias_tangent)
        return sum(terms[1:], terms[0])


def _of_autograd(x, w, bias, *geometry):
    """aten::convolution with gradients."""
    if torch._C._get_tracing_state() is not None:  # traces hold operators of PyTorch
        return _theirs(x, w, bias, geometry)
    return _with_gradients(x, w, bias, geometry)


def _of_autograd_traced(x, w, bias, stride, padding, dilation, transposed, output_padding, groups, *_):
    """aten::_convolution with gradients, of which traces are made."""
    return _with_gradients(x, w, bias, (stride, padding, dilation, transposed, output_padding, groups))


def _with_gradients(x, w, bias, geometry):
    wanted = torch.is_grad_enabled() and (x.requires_grad or w.requires_grad or (bias is not None and bias.requires_grad))
    if wanted or forward_ad._current_level >= 0:
        return _Convolution.apply(x, w, bias, *geometry)
    return _on_cpu(x, w, bias, *geometry)


class _Enabled(contextlib.AbstractContextManager):
    """What enable() gives: leaves things as they were at the end of a with statement."""

    def __init__(self, was_enabled, choose):
        self._was_enabled, self._choose = was_enabled, choose

    def __exit__(self, *_):
        _layers_seen.choose = self._choose
        if not self._was_enabled:
            disable()


def enable(choose="measure"):
    """From now on convolutions on the CPU and their gradients are computed by cubejit, in this process and all its threads.

    choose: "measure" runs both for each new shape and stays with the faster one; "ours" takes cubejit wherever it computes the type.
    Enabling twice changes nothing but that. Gradients of results that were made meanwhile are cubejit's after disable(), too.
    May be used in a with statement."""
    global _registered
    if choose not in ("measure", "ours"):
        raise ValueError(f"choose = {choose!r} is not known; there are 'measure', 'ours'")
    with _lock:
        before = _Enabled(_registered is not None, _layers_seen.choose)
        _layers_seen.choose = choose
        if _registered is None:
            cpu, autograd = (torch.library.Library("aten", "IMPL", key) for key in ("CPU", "AutogradCPU"))
            cpu.impl("convolution", _on_cpu)
            autograd.impl("convolution", _of_autograd)
            autograd.impl("_convolution", _of_autograd_traced)
            _registered = cpu, autograd
    return before


def disable():
    """Gives convolutions back to PyTorch. Does nothing if they are PyTorch's."""
    global _registered
    with _lock:
        _registered = None


def enabled():
    return _registered is not None


class Report:
    """What became of every convolution since enable() or the last reset: rows of dicts, and a table for people."""

    def __init__(self, rows, double_backward):
        self.rows = rows
        self.double_backward = double_backward

    def __str__(self):
        head = ("layer", "pass", "calls", "ms", "ms a call", "measured", "PyTorch", "by")
        lines = [head]
        for r in self.rows:
            by = r["algorithm"] if r["passed_on"] is None else f"PyTorch: {r['passed_on']}"
            ours, before = ("" if ms is None else f"{ms:.3f}" for ms in (r["ours_ms"], r["torch_ms"]))
            each = r["ms"] / max(1, r["calls"] - 1)
            lines.append((r["layer"], r["pass"], str(r["calls"]), f"{r['ms']:.1f}", f"{each:.3f}", ours, before, by))
        widths = [max(len(line[i]) for line in lines) for i in range(len(head) - 1)]
        text = "\n".join("  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), line[-1]]).rstrip()
                         for line in lines)
        return text + (f"\ngradients of gradients by PyTorch: {self.double_backward}" if self.double_backward else "")


def _label(geometry, x, w):
    stride, padding, dilation, transposed, _, groups = geometry
    text = f"{'x'.join(map(str, x))} w {'x'.join(map(str, w))}"
    for name, values, neutral in (("s", stride, 1), ("p", padding, 0), ("d", dilation, 1)):
        if any(v != neutral for v in values):
            text += f" {name}{'x'.join(map(str, values)) if len(set(values)) > 1 else values[0]}"
    return text + (f" g{groups}" if groups != 1 else "") + (" transposed" if transposed else "")


def report(reset=False):
    """What became of every convolution: who computed it, why, how often, and how long it took, the slowest first. The first call of each
    compiles and chooses and is not in the times; `measured` and `PyTorch` are the ms of one call of both when it chose."""
    rows = []
    for p in _layers_seen.passes():
        _, geometry, x, _, dtype, w, *_ = p.key
        rows.append({"layer": _label(geometry, x, w), "dtype": str(dtype).removeprefix("torch."), "pass": p.name, "calls": p.calls,
                     "ms": p.seconds * 1e3, "ours_ms": None if p.ours_seconds is None else p.ours_seconds * 1e3,
                     "torch_ms": None if p.theirs_seconds is None else p.theirs_seconds * 1e3, "algorithm": p.algorithm,
                     "passed_on": p.passed_on})
    made = Report(sorted(rows, key=lambda row: -row["ms"]), _layers_seen.double_backward)
    if reset:
        _layers_seen.clear()
    return made


def _problem(name, geometry, x, w, y):
    """A line of a suite, as `cubejit tune --suite` reads it."""
    stride, padding, dilation, transposed, _, groups = geometry
    rank = len(x) - 2

    def axes(values, neutral):
        return [neutral] * (3 - rank) + list(values)

    pads = [side for pad in axes(padding, 0) for side in (pad, pad)]
    outer, inner = w[0], w[1] * groups
    out = {"name": name, "rank": rank, "n": x[0], "ci": x[1], "co": inner if transposed else outer, "groups": groups,
           "input": axes(x[2:], 1), "output": axes(y, 1), "kernel": axes(w[2:], 1), "stride": axes(stride, 1), "pad": pads,
           "dilation": axes(dilation, 1)}
    return {**out, "transposed": True} if transposed else out


def _extent_of_y(geometry, x, w):
    stride, padding, dilation, transposed, output_padding, _ = geometry
    values = []
    for i, k, s, p, d, o in zip(x[2:], w[2:], stride, padding, dilation, output_padding):
        reach = (k - 1) * d
        values.append((i - 1) * s - 2 * p + reach + o + 1 if transposed else (i + 2 * p - reach - 1) // s + 1)
    return values


def record(model, inputs, path=None):
    """The convolutions that model(*inputs) calls, each once, as problems of a suite (JSON, one a line), for `cubejit tune --suite`.
    inputs: a tensor, or a tuple of arguments. path: a file to write them to. Returns the text."""
    seen, lines = set(), []

    def note(x, w, geometry):
        key = (geometry, tuple(x.shape), tuple(w.shape))
        if key not in seen and 3 <= w.dim() <= 5:
            seen.add(key)
            y = _extent_of_y(geometry, x.shape, w.shape)
            lines.append(json.dumps(_problem(f"conv_{len(lines) + 1}", *key, y)))

    _layers_seen.note = note
    try:
        with enable(choose=_layers_seen.choose), torch.no_grad():
            model(*inputs) if isinstance(inputs, (tuple, list)) else model(inputs)
    finally:
        _layers_seen.note = None
    text = "".join(line + "\n" for line in lines)
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return text
