# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The DSL: calls that describe gradients, auto_schedule and build.

    dedw = dsl.conv3d_backprop_filter(x=fmap, out_backprop=dedy, filter_size=..., para_dict=...)
    with tvm.target.cce():
        sch = dsl.auto_schedule(dedw)
    operator = dsl.build(sch, {"name": "dedw", "tensor_list": [fmap, dedy, dedw]})
    result = operator(fmap_array, dedy_array)
"""

from tbe.dsl.compute import (conv2d_backprop_filter, conv2d_backprop_input, conv3d_backprop_filter,  # noqa: F401
                             conv3d_backprop_input)
from tbe.dsl.cube_util import group_dict  # noqa: F401
from tbe.dsl.operators import Operator, Schedule, auto_schedule, build  # noqa: F401
