# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Package tbe by its older names: from te import tvm, platform; te.lang.cce.conv3d_dx."""

from tbe import platform, tvm  # noqa: F401
from te.lang import cce  # noqa: F401
