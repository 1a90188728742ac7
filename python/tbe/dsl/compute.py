# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how the DSL's calls are spelled in Python. Leaves rules and arithmetic to cubejit::tbe.

Activations are placeholders of float16: NDC1HWC0 (N, D, C1, H, W, 16), in 2D NC1HWC0 (N, C1, H, W, 16). Filters, and gradients of
filters, are FRACTAL_Z_3D: (real_g * Kd * cin1_g * Kh * Kw, cout_g / 16, 16, 16), in 2D FRACTAL_Z, the same with Kd = 1; between groups
and beyond the channels gradients hold zeros, and what filters hold there is not looked at.

Keys of every para_dict: strides and dilations, one value for each axis of the image ((D,) H, W); res_dtype; kernel_name. Beyond the
DSL: groups, where group_dict is not given (conv2d_backprop_filter has it of its own), and soc, the part whose L1 must hold the
smallest tile, "" for none (tbe.platform names it unless given). Filter gradients have group_result, too: "masked", or "raw", as the
NPU's cube leaves them, products across the groups of a real group included.

Every call returns a tensor and raises InvalidProblem with every broken rule.
"""

from cubejit import _core
from tbe import platform
from tbe.dsl import cube_util  # noqa: F401  (the documents import it from here)
from tbe.dsl.words import invalid, unknown_keys
from tbe.tvm import Tensor

# Keys of para_dict, with the library's name of each.
_SHARED = {key: key for key in ("strides", "dilations", "res_dtype", "kernel_name", "groups", "soc")}
_FLAT = {**_SHARED, "padding": "pads"}
_DEEP = {**_SHARED, "pads": "pads", "group_dict": "group_dict"}
_RAW = {"group_result": "group_result"}
_QUANTISED = {"offset_x": "offset_x", "offset_w": "offset_w"}


class Gradient:
    """The operation behind a result: its placeholders, and what the library says of the call."""

    def __init__(self, inputs, described):
        self.inputs = inputs
        self.described = described
        self.group_dict = described.group_dict


def _placeholder(call, name, tensor):
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} is {type(tensor).__name__}; it must be a tensor of tvm.placeholder")
    if tensor.op is not None:
        raise invalid(f"{name} is the result of another call; {call} takes placeholders only")
    return _core.TbeTensor(list(tensor.shape), tensor.dtype, tensor.name)


def _para(para_dict, keys):
    pads = "padding" if "padding" in keys else "pads"
    broken = [f"para_dict has no {key}" for key in ("strides", pads) if key not in para_dict]
    broken += unknown_keys(para_dict, "para_dict", keys)
    if broken:
        raise invalid(*broken)
    para = _core.TbeParaDict()
    for key, value in {"soc": platform.current_soc(), **para_dict}.items():
        try:
            setattr(para, keys[key], value)
        except TypeError:
            raise TypeError(f"para_dict: {value!r} is nothing that {key} may be") from None
    return para


def _gradient(call, operands, sizes, para_dict, keys):
    described = [_placeholder(call, name, tensor) for name, tensor in operands.items()]
    function = getattr(_core, "tbe_" + call)
    result = function(*described, *sizes, _para(para_dict, keys))
    tensor = result.tensor
    return Tensor(tensor.shape, tensor.dtype, tensor.name, Gradient(tuple(operands.values()), result))


def conv2d_backprop_filter(input_x, out_backprop, filter_sizes, para_dict):
    """The weight gradient of a 2D convolution, FRACTAL_Z.

    input_x, out_backprop: activations. filter_sizes: Cout, Cin/groups, Kh, Kw.
    para_dict: strides; padding (up, down, left, right); dilations (H, W or N, C, H, W); groups; res_dtype, float32 (unless given) or
    float16; kernel_name.
    """
    return _gradient("conv2d_backprop_filter", {"input_x": input_x, "out_backprop": out_backprop}, [filter_sizes], para_dict,
                     {**_FLAT, **_RAW})


def conv2d_backprop_input(filters, out_backprop, filter_sizes, input_sizes, para_dict):
    """The input gradient of a 2D convolution, NC1HWC0; zeros beyond its channels.

    filters: FRACTAL_Z, out_backprop: an activation. filter_sizes: Cout, Cin/groups, Kh, Kw. input_sizes: N, Cin, H, W.
    para_dict: strides; padding (up, down, left, right); dilations (H, W or N, C, H, W); res_dtype, float16 (unless given) or float32;
    offset_x, which must be 0, and offset_w, None, for float16 is not quantised; kernel_name; group_dict with groups, g_extend,
    multiple_extend, dx_c1_extend, dy_c1_extend, dx_c_ori, dy_c_ori, filter_batch_ori, filter_c_ori, and, if given,
    filter_ori_format, which must be NCHW.
    """
    group_dict = dict(para_dict.get("group_dict") or {})
    order = group_dict.pop("filter_ori_format", "NCHW")
    if order != "NCHW":
        raise invalid(f"group_dict filter_ori_format is {order!r}; it must be NCHW, the order of filter_sizes")
    if group_dict:
        para_dict = {**para_dict, "group_dict": group_dict}
    return _gradient("conv2d_backprop_input", {"filters": filters, "out_backprop": out_backprop}, [filter_sizes, input_sizes],
                     para_dict, {**_FLAT, **_QUANTISED, "group_dict": "extend_dict"})


def conv3d_backprop_filter(x, out_backprop, filter_size, para_dict):
    """The weight gradient of a 3D convolution, FRACTAL_Z_3D.

    x, out_backprop: activations. filter_size: Cout, Kd, Cin/groups, Kh, Kw.
    para_dict: strides; pads (front, back, up, down, left, right); dilations (D, H, W or N, D, C, H, W); res_dtype, float32 (unless
    given) or float16; kernel_name; group_dict, see group_dict().
    """
    return _gradient("conv3d_backprop_filter", {"x": x, "out_backprop": out_backprop}, [filter_size], para_dict, {**_DEEP, **_RAW})


def conv3d_backprop_input(filter, out_backprop, filter_size, input_size, para_dict):
    """The input gradient of a 3D convolution, NDC1HWC0; zeros beyond its channels.

    filter: FRACTAL_Z_3D, out_backprop: an activation. filter_size: Cout, Cin/groups, Kd, Kh, Kw (the filter gradient's has another
    order). input_size: N, D, H, W, Cin.
    para_dict: strides and dilations (D, H, W or N, D, H, W, C); pads (front, back, up, down, left, right); res_dtype, float16;
    kernel_name; group_dict, see group_dict().
    """
    return _gradient("conv3d_backprop_input", {"filter": filter, "out_backprop": out_backprop}, [filter_size, input_size],
                     para_dict, _DEEP)
