# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tbe.dsl by its older names."""

from tbe.dsl import auto_schedule  # noqa: F401
from tbe.dsl import build as cce_build_code  # noqa: F401
from tbe.dsl import conv3d_backprop_filter as conv3d_dw  # noqa: F401
from tbe.dsl import conv3d_backprop_input as conv3d_dx  # noqa: F401
