# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what a schedule is, what build's keys do and in which order an operator takes arrays. Leaves code and runs to cubejit::tbe."""

import re
import tempfile
from pathlib import Path

from cubejit import _core
from cubejit.frameworks import like, operand
from cubejit.session import default_session
from tbe.dsl.compute import Gradient
from tbe.dsl.words import invalid, unknown_keys
from tbe.tvm import Tensor

_KEYS = ("print_ir", "need_build", "name", "tensor_list", "bool_storage_as_1bit", "kernel_meta_parent_dir", "tbe_debug_level")


class Schedule:
    """What auto_schedule decides about a result: nothing, plans are made when the operator is built."""

    def __init__(self, result):
        self.result = result


def auto_schedule(outs, option=None):
    """outs: a result, or a list of one. option: of a search for operators, without effect."""
    result = outs[0] if isinstance(outs, (list, tuple)) and len(outs) == 1 else outs
    if not isinstance(result, Tensor) or not isinstance(result.op, Gradient):
        raise invalid("auto_schedule takes the result of one call of the DSL: conv2d_backprop_filter, conv2d_backprop_input, "
                      "conv3d_backprop_filter or conv3d_backprop_input")
    return Schedule(result)


class Operator:
    """A built result. Call it with arrays in the order of tensor_list; the result's may be left out.

    Arrays: NumPy, PyTorch, DLPack; the result is of the first one's kind. Many threads may call it at once."""

    def __init__(self, name, tensors, result, built):
        self.name = name
        self._tensors = tensors
        self._result = result
        self._built = built

    def __call__(self, *arrays):
        if self._built is None:
            raise invalid(f"{self.name} was not built: need_build is False")
        wanted = [tensor for tensor in self._tensors if tensor is not self._result]
        order = self._tensors if len(arrays) == len(self._tensors) else wanted
        if len(arrays) != len(order):
            names = ", ".join(tensor.name for tensor in self._tensors)
            raise TypeError(f"{self.name} takes the arrays {names}, the result's optionally; {len(arrays)} were given")
        given = {id(tensor): operand(array) for tensor, array in zip(order, arrays)}
        first, out_backprop = self._result.op.inputs
        result = self._built.run(given[id(first)], given[id(out_backprop)], given.get(id(self._result)))
        return like(result, given[id(first)])


def _print_ir(session, described):
    with tempfile.TemporaryDirectory() as folder:
        session.dump(described.problem, folder, [described.pass_], "vector", "", "")
        for file in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            print(file.read_text(encoding="utf-8"))


def build(sch, config_map=None, session=None):
    """Generates the code of a schedule, or of a result itself, in `session` or the process's.

    Keys of config_map:
    name              the operator's, at most 200 letters, digits and underscores; kernel_name unless given
    tensor_list       the order of the arrays; operands, out_backprop, result unless given
    need_build        False: the operator is returned, but nothing is generated, and it cannot be called
    print_ir          True: prints the kernels' code before registers and instructions are chosen
    bool_storage_as_1bit, kernel_meta_parent_dir, tbe_debug_level
                      without effect: no tensor is bool and no file is written (cubejit.dump writes every stage)
    """
    result = sch.result if isinstance(sch, Schedule) else auto_schedule(sch).result
    config = dict(config_map or {})
    needed = (*result.op.inputs, result)
    tensors = list(config.get("tensor_list", needed))
    name = config.get("name", result.name)
    broken = unknown_keys(config, "config_map", _KEYS)
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,199}", name):
        broken.append(f"name {name!r} must be at most 200 letters, digits and underscores, the first no digit")
    if {id(tensor) for tensor in tensors} != {id(tensor) for tensor in needed} or len(tensors) != len(needed):
        broken.append("tensor_list must name each of " + ", ".join(tensor.name for tensor in needed) + " once")
    if broken:
        raise invalid(*broken)
    session = session or default_session()
    if config.get("print_ir", False):
        _print_ir(session, result.op.described)
    if not config.get("need_build", True):
        return Operator(name, tensors, result, None)
    return Operator(name, tensors, result, _core.tbe_build(session, result.op.described))
