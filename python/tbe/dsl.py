# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how the DSL's call, schedule and build are spelled in Python. Leaves rules and arithmetic to cubejit::tbe.

    dedw = dsl.conv3d_backprop_filter(x=fmap, out_backprop=dedy, filter_size=..., para_dict=...)
    operator = dsl.build(dsl.auto_schedule(dedw), {"name": "dedw", "tensor_list": [fmap, dedy, dedw]})
    result = operator(fmap_array, dedy_array)
"""

from cubejit import _core
from cubejit.errors import InvalidProblem
from cubejit.frameworks import like, operand
from cubejit.session import default_session
from tbe.tvm import Tensor

_REQUIRED = ("strides", "pads")
_DEFAULTS = {"dilations": (1, 1, 1), "res_dtype": "float32", "kernel_name": "conv3d_backprop_filter_cce", "group_dict": None,
             "groups": 1, "group_result": "masked", "soc": "ascend910a"}


def _invalid(*rules):
    return InvalidProblem("\n".join(rules), "invalid_problem", "problem")


class _FilterGradient:
    """The operation behind a result: its placeholders, and what the library says of the call."""

    def __init__(self, x, out_backprop, described):
        self.inputs = (x, out_backprop)
        self.described = described
        self.group_dict = described.group_dict


def _described(name, tensor):
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} is {type(tensor).__name__}; it must be a tensor of tvm.placeholder")
    if tensor.op is not None:
        raise _invalid(f"{name} is the result of another call; conv3d_backprop_filter takes placeholders only")
    return _core.TbeTensor(list(tensor.shape), tensor.dtype, tensor.name)


def conv3d_backprop_filter(x, out_backprop, filter_size, para_dict):
    """The weight gradient of a 3D convolution.

    x (N, D, C1, H, W, 16) and out_backprop (N, Do, Co1, Ho, Wo, 16): placeholders, float16.
    filter_size: Cout, Kd, Cin/groups, Kh, Kw.
    para_dict: strides (D, H, W), pads (front, back, up, down, left, right), dilations (D, H, W or N, D, C, H, W), res_dtype
    (float32 or float16), kernel_name, group_dict (see group_dict()).
    Beyond the DSL: groups, where group_dict is not given; group_result, "masked" (what belongs to no group is zero) or "raw"
    (as the NPU's cube leaves it, products across the groups of a real group included); soc, the part whose L1 must hold the
    smallest tile, "" for none.
    Returns a tensor of FRACTAL_Z_3D: (real_g * Kd * cin1_g * Kh * Kw, cout_g / 16, 16, 16).
    Raises InvalidProblem with every broken rule.
    """
    described = [_described("x", x), _described("out_backprop", out_backprop)]
    broken = [f"para_dict has no {key}" for key in _REQUIRED if key not in para_dict]
    broken += [f"para_dict has an unknown key {key!r}" for key in para_dict if key not in _REQUIRED and key not in _DEFAULTS]
    if broken:
        raise _invalid(*broken)
    call = {**_DEFAULTS, **para_dict}
    result = _core.tbe_conv3d_backprop_filter(
        *described, list(filter_size), list(call["strides"]), list(call["pads"]), list(call["dilations"]), call["res_dtype"],
        call["kernel_name"], call["group_dict"], call["groups"], call["group_result"], call["soc"])
    tensor = result.tensor
    return Tensor(tensor.shape, tensor.dtype, tensor.name, _FilterGradient(x, out_backprop, result))


def group_dict(fmap_c, cout, groups, cout0=16, cin0=16):
    """The documented formula: real_g, mag_factor, cin1_g, cout_g, cin_ori, cout_ori."""
    return _core.tbe_group_dict(fmap_c, cout, groups, cout0, cin0)


class Schedule:
    """What auto_schedule decides about a result: nothing, plans are made when the operator is built."""

    def __init__(self, result):
        self.result = result


def auto_schedule(result):
    if not isinstance(result, Tensor) or not isinstance(result.op, _FilterGradient):
        raise _invalid("auto_schedule takes the result of conv3d_backprop_filter; it is the only call of the DSL there is")
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
        wanted = [tensor for tensor in self._tensors if tensor is not self._result]
        order = self._tensors if len(arrays) == len(self._tensors) else wanted
        if len(arrays) != len(order):
            names = ", ".join(tensor.name for tensor in self._tensors)
            raise TypeError(f"{self.name} takes the arrays {names}, the result's optionally; {len(arrays)} were given")
        given = {id(tensor): operand(array) for tensor, array in zip(order, arrays)}
        x, out_backprop = self._result.op.inputs
        result = self._built.run(given[id(x)], given[id(out_backprop)], given.get(id(self._result)))
        return like(result, given[id(x)])


def build(schedule, config=None, session=None):
    """Generates the code. schedule: of auto_schedule, or the result itself. config: name, and tensor_list, the order of the
    arrays (x, out_backprop, result unless given)."""
    result = schedule.result if isinstance(schedule, Schedule) else auto_schedule(schedule).result
    config = dict(config or {})
    tensors = list(config.pop("tensor_list", (*result.op.inputs, result)))
    name = config.pop("name", result.name)
    if config:
        raise _invalid(*(f"config has an unknown key {key!r}" for key in config))
    needed = (*result.op.inputs, result)
    if {id(tensor) for tensor in tensors} != {id(tensor) for tensor in needed} or len(tensors) != len(needed):
        raise _invalid("tensor_list must name each of " + ", ".join(tensor.name for tensor in needed) + " once")
    return Operator(name, tensors, result, _core.tbe_build(session or default_session(), result.op.described))
