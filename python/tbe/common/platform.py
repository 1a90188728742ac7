# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tbe.platform by its older name."""

from tbe.platform import C0_SIZE, CUBE_MKN, set_current_compile_soc_info  # noqa: F401
