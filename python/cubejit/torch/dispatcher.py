# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how PyTorch's dispatcher comes to cubejit: kernels for the CPU of aten::_convolution, to which every convolution comes, and of
aten::convolution_backward, in C++ where they were built (cubejit.torch.native), else those below. Whatever calls the operators is caught with
no change to a model: modules, subclasses, functions, parametrised and checkpointed ones, scripts, traces, autocast, DistributedDataParallel. The
kernels lie below everything that transforms calls or looks at them (autograd, tracing, functorch, negative bits, modes, subclasses), which
stays PyTorch's and has had its turn when a call comes here. What cubejit does not compute, or computes more slowly, goes on to PyTorch's own
kernels."""

import contextlib
import functools
import json
import sys
import threading
import warnings

import torch

from cubejit.torch import choosing as _choosing
from cubejit.torch import layers as _layers
from cubejit.torch import native as _native

_layers_seen = _choosing.Layers()
_lock = threading.Lock()
_registered = None  # what holds the kernels: once there, for the life of the process, since a thread may be in them at any time
_why_in_python = _native.why_not  # kernels are; None: they are in C++
_GEOMETRY = "stride padding dilation transposed output_padding groups"
_ARGUMENTS = {"_convolution": f"input weight bias {_GEOMETRY} benchmark deterministic cudnn_enabled allow_tf32",
              "convolution_backward": f"grad_output input weight bias_sizes {_GEOMETRY} output_mask"}


@_layers.without_modes
def _forward(x, w, bias, *arguments):
    """aten::_convolution; behind the geometry there is what is of other devices: benchmark, deterministic, cudnn_enabled, allow_tf32."""
    rules = _layers_seen.rules

    def theirs():
        return _theirs["_convolution"](x, w, bias, *arguments)

    return theirs() if rules is None else _layers.forward(_layers_seen, rules, x, w, bias, arguments[:6], theirs)


@_layers.without_modes
def _backward(dy, x, w, bias_shape, *arguments):
    """aten::convolution_backward; behind the geometry there is the mask of results."""
    rules = _layers_seen.rules

    def theirs():
        return _theirs["convolution_backward"](dy, x, w, bias_shape, *arguments)

    return theirs() if rules is None else _layers.backward(_layers_seen, rules, dy, x, w, arguments[:6], arguments[6], theirs)


_KERNELS = {"_convolution": _forward, "convolution_backward": _backward}


def _kernel_of_pytorch(name):
    """What our kernel of the operator stands in front of: a function of its arguments."""
    kernel, all_devices = getattr(torch.ops.aten, name).default._op_dk, torch._C.DispatchKey.CompositeExplicitAutograd
    return lambda *arguments: kernel(all_devices, *arguments)


_theirs = {name: _kernel_of_pytorch(name) for name in _KERNELS}


def _held():
    """Operators of which another library has a kernel for the CPU."""
    return [name for name in _KERNELS if torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CPU")]


def _register():
    """What holds both kernels. Where the dispatcher refuses one, nothing is left of the other."""
    global _why_in_python
    for name, known in _ARGUMENTS.items():
        arguments = " ".join(argument.name for argument in getattr(torch.ops.aten, name).default._schema.arguments)
        if arguments != known:
            raise RuntimeError(f"cubejit computes nothing, PyTorch everything: aten::{name} of PyTorch {torch.__version__} takes {arguments}")
    held = _held()
    if _native.module is not None and not held:
        return _native.Kernels(_layers_seen, **_KERNELS)
    for name in held if hasattr(torch.library, "get_kernel") else ():
        kernel, keys = torch.library.get_kernel(f"aten::{name}", "CPU"), torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
        _theirs[name] = functools.partial(kernel.call_boxed, keys)
    library = torch.library.Library("aten", "IMPL", "CPU")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it stands in front of another library's, which report() says
            for name, kernel in _KERNELS.items():
                library.impl(name, kernel)
        if held:
            _why_in_python = f"another library's kernel of aten::{held[0]} stands behind ours"
        return library
    except RuntimeError as error:
        refused = str(error)
    # Not in the handler: the error's traceback holds the library, which holds what was registered.
    del library
    raise RuntimeError(f"cubejit computes nothing, PyTorch everything: {refused}")


class _Enabled(contextlib.AbstractContextManager):
    """What enable() gives: leaves things as they were at the end of a with statement."""

    def __init__(self, rules):
        self._rules = rules

    def __exit__(self, *_):
        with _lock:
            # A disable() inside of the statement holds behind it.
            if self._rules is None or _layers_seen.rules is not None:
                _obey(self._rules)


def _obey(rules):
    _layers_seen.rules = rules
    if rules is not None:
        _layers_seen.limit(_choosing.CACHE_BYTES[rules.choose] if rules.cache_bytes is None else rules.cache_bytes)
    if isinstance(_registered, _native.Kernels):
        _registered.obey(rules, _layers_seen.note is not None)


def _note(function):
    with _lock:
        _layers_seen.note = function
        _obey(_layers_seen.rules)


def _rules_of(choose, math, reproducible, cache_bytes):
    if reproducible and choose == "measure":
        raise ValueError("choose = 'measure' decides by the clock, and reproducible=True that nothing does; leave one of them out")
    if choose not in (None, "measure", "ours"):
        raise ValueError(f"choose = {choose!r} is not known; there are 'measure', 'ours'")
    if math not in (None, "strict", "relaxed", "bf16"):
        raise ValueError(f"math = {math!r} is not known; there are 'strict', 'relaxed', 'bf16', and None for what PyTorch's settings permit")
    if cache_bytes is not None and not (isinstance(cache_bytes, int) and cache_bytes > 0):
        raise ValueError(f"cache_bytes = {cache_bytes!r} must be a whole number of bytes above 0, or None")
    return _choosing.Rules("reproducible" if reproducible else choose or "measure", math, cache_bytes)


def enable(choose=None, *, math=None, reproducible=False, cache_bytes=None):
    """From now on convolutions on the CPU and their gradients are computed by cubejit, in this process and all its threads.

    choose: "measure", what None means, stays for each shape with the faster one: PyTorch computes its first calls, and both take turns at the next
    ones if it comes back. Compiling and losing turns take at most 5 % of PyTorch's time in convolutions, beside a second once and half of what was
    saved. "ours" takes cubejit wherever it computes the type, from the first call of a shape, which compiles it.
    math: "relaxed" allows Winograd's filtering (errors of about 1e-6 in norm), "bf16" that float32 operands are rounded to bfloat16 as well (2e-3 in
    norm), "strict" neither. None: what PyTorch's settings permit float32 when a call is made: torch.backends.mkldnn.conv.fp32_precision is "tf32"
    (relaxed) or "bf16", or it says nothing and torch.set_float32_matmul_precision() said "high" (relaxed) or "medium" (bf16).
    reproducible: nothing is decided by the clock or by what was tuned: as "ours", with plans that do not depend on the process, its threads or, of y and dx, the batch. A run
    that fails is then an error. torch.use_deterministic_algorithms(True) means the same for the calls that are made while it holds.
    cache_bytes: most bytes of layers that are kept, those used last; conv_post_ops' have as much again. None: 64 MiB with "measure", else 1 GiB.
    Either way each shape is asked of PyTorch once, since results lie in memory as PyTorch's do.
    Enabling twice changes nothing but these. May be used in a with statement, whose end leaves things as they were. Threads may enable, disable and
    compute at any time: each call, backward ones as well, goes by what holds for the process when it begins. Statements of several threads that
    overlap without nesting leave what the last one to end found. Raises ValueError for other words, RuntimeError where another library holds one of
    the operators and PyTorch lets nobody stand in front of it, or where they are not those that cubejit knows; then nothing has changed."""
    global _registered
    rules = _rules_of(choose, math, reproducible, cache_bytes)
    with _lock:
        if _registered is None:
            _registered = _register()
        before = _Enabled(_layers_seen.rules)
        _obey(rules)
    return before


def disable():
    """Gives convolutions back to PyTorch. Does nothing if they are PyTorch's."""
    with _lock:
        _obey(None)


def enabled():
    return _layers_seen.rules is not None


class Report:
    """What became of every convolution since enable() or the last reset: rows of dicts, and a table for people. forgotten: passes, calls and
    seconds of layers that are no longer kept. frozen: convolutions of graphs that torch.compile froze in this process, which are not in the rows.
    kernels: "C++", or "Python: " and why: in which PyTorch calls cubejit."""

    def __init__(self, rows, forgotten):
        self.rows = rows
        self.forgotten = forgotten
        self.frozen = _frozen()
        self.kernels = "C++" if _why_in_python is None else f"Python: {_why_in_python}"

    def __str__(self):
        head = ("layer", "dtype", "math", "pass", "calls", "ms", "ms a call", "measured", "PyTorch", "by")
        lines = [head]
        for r in self.rows:
            by = r["algorithm"] if r["passed_on"] is None else f"PyTorch: {r['passed_on']}"
            if r["failed"]:
                by += f"; {r['failed']} by PyTorch: {r['error']}"
            ours, before = ("" if ms is None else f"{ms:.3f}" for ms in (r["ours_ms"], r["torch_ms"]))
            each = f"{r['ms'] / r['timed']:.3f}" if r["timed"] else ""
            lines.append((r["layer"], r["dtype"], r["math"], r["pass"], str(r["calls"]), f"{r['ms']:.1f}", each, ours, before, by))
        widths = [max(len(line[i]) for line in lines) for i in range(len(head) - 1)]
        text = "\n".join("  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), line[-1]]).rstrip()
                         for line in lines)
        passes, calls, seconds = self.forgotten
        if passes:
            text += f"\n{passes} passes that are no longer kept: {calls} calls, {seconds * 1e3:.1f} ms"
        if self.frozen:
            text += f"\n{self.frozen} convolutions of frozen graphs pass by: the compiler gave them to oneDNN"
        return f"{text}\nkernels in {self.kernels}"


def _frozen():
    """How many convolutions inductor's freezing has replaced by oneDNN's own operators, which never come to aten::_convolution."""
    dynamo = sys.modules.get("torch._dynamo.utils")  # not there before something is compiled
    return 0 if dynamo is None else dynamo.counters["inductor"]["mkldnn_conv_weight_pack_matcher_count"]


def _label(geometry, x, w):
    stride, padding, dilation, transposed, output_padding, groups = geometry
    text = f"{'x'.join(map(str, x))} w {'x'.join(map(str, w))}"
    for name, values, neutral in (("s", stride, 1), ("p", padding, 0), ("d", dilation, 1), ("op", output_padding, 0)):
        if any(v != neutral for v in values):
            text += f" {name}{'x'.join(map(str, values)) if len(set(values)) > 1 else values[0]}"
    return text + (f" g{groups}" if groups != 1 else "") + (" transposed" if transposed else "")


def report(reset=False):
    """What became of every convolution that came to the dispatcher (conv_post_ops does not): who computed it, why, how often, and how long it
    took, the slowest first. Calls that compiled are not in the times, which are of `timed` calls; `measured` and `PyTorch` are the ms of one call of
    both in the trial that chose. `choose` and `math`: the rule and the math that held; a layer has a row for each. `decided`: whether it is
    settled who computes it. `failed`: calls that PyTorch computed since cubejit's run ended with `error`."""
    rows = []
    for p in _layers_seen.passes():
        _, (choose, math), geometry, x, _, dtype, w, *_ = p.key
        rows.append({"layer": _label(geometry, x, w), "dtype": str(dtype).removeprefix("torch."), "pass": p.name, "choose": choose, "math": math,
                     "calls": p.calls, "timed": p.timed, "ms": p.seconds * 1e3, "ours_ms": None if p.ours_seconds is None else p.ours_seconds * 1e3,
                     "torch_ms": None if p.theirs_seconds is None else p.theirs_seconds * 1e3, "algorithm": p.algorithm,
                     "decided": p.by is not None, "passed_on": p.passed_on, "failed": p.failed, "error": p.error})
    made = Report(sorted(rows, key=lambda row: -row["ms"]), _layers_seen.forgotten)
    if reset:
        _layers_seen.clear()
    return made


_TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


def _order(t):
    """The layout by the library's name; None where strides are neither."""
    return "ncdhw" if t.is_contiguous() else "ndhwc" if t.movedim(1, -1).is_contiguous() else None


def _problem(geometry, x, w, y, math, post_ops):
    """A line of a suite, as `cubejit tune --suite` reads it, of tensors that _order() knows. Gradients lie as what they are of."""
    stride, padding, dilation, transposed, _, groups = geometry
    rank = w.dim() - 2

    def axes(values, neutral):
        return [neutral] * (3 - rank) + (list(values) if len(values) == rank else list(values) * rank)

    pads = [side for pad in axes(padding, 0) for side in (pad, pad)]
    out = {"rank": rank, "n": x.shape[0], "ci": x.shape[1], "co": y.shape[1], "groups": groups, "input": axes(x.shape[2:], 1),
           "output": axes(y.shape[2:], 1), "kernel": axes(w.shape[2:], 1), "stride": axes(stride, 1), "pad": pads, "dilation": axes(dilation, 1),
           "dtype": _TYPES[x.dtype]}
    layouts = [_order(x)]
    for t, usual, names in ((y, _order(x), ("y", "dy")), (w, "ncdhw", ("w", "dw"))):
        layouts += [f"{name}={_order(t)}" for name in names if _order(t) != usual]
    out["layout"] = ",".join(layouts)
    return {**out, **({"transposed": True} if transposed else {}), **({"math": math} if math != "strict" else {}),
            **({"post_ops": post_ops} if post_ops else {})}


@contextlib.contextmanager
def _buffers_kept(model):
    """What a forward pass counts, statistics of norms, is afterwards what it was."""
    # Lazy ones have no memory yet.
    kept = [(owner._buffers, name, buffer, buffer.clone()) for owner in getattr(model, "modules", tuple)()
            for name, buffer in owner._buffers.items() if buffer is not None and not torch.nn.parameter.is_lazy(buffer)]
    try:
        yield
    finally:
        for buffers, name, buffer, values in kept:  # what has not changed may be memory that cannot be written
            same = buffer.layout == torch.strided and torch.equal(buffer, values)
            buffers[name] = buffer if same else buffer.copy_(values)


def record(model, inputs, path=None):
    """The convolutions that model(*inputs) calls, each once, as problems of a suite (JSON, one a line), for `cubejit tune --suite`; those that
    cubejit does not compute, and operands with strides, are left out, with a warning. The model runs in the mode that it is in,
    and keeps its buffers. What other threads compute meanwhile is recorded, too.
    inputs: a tensor, or a tuple of arguments. path: a file to write them to. Returns the text."""
    seen, left_out = {}, {}

    def note(x, w, bias, geometry, y, post_ops):
        why = _layers.why_y_is_passed_on(x, w, bias, geometry) or (None if _order(x) and _order(w) and _order(y) else "with strides")
        if why is not None:
            left_out[why] = left_out.get(why, 0) + 1
            return
        problem = _problem(geometry, x, w, y, _choosing.how(_layers_seen.rules, x.dtype)[1], post_ops)
        seen.setdefault(json.dumps(problem), problem)

    _note(note)
    try:
        with contextlib.nullcontext() if enabled() else enable(), torch.no_grad(), _buffers_kept(model):
            model(*inputs) if isinstance(inputs, (tuple, list)) else model(inputs)
    finally:
        _note(None)
    if left_out:
        which = ", ".join(f"{why} ({number})" for why, number in left_out.items())
        warnings.warn(f"calls of convolutions that a suite cannot hold are left out: {which}", stacklevel=2)
    text = "".join(json.dumps({"name": f"conv_{number}", **problem}) + "\n" for number, problem in enumerate(seen.values(), 1))
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return text
