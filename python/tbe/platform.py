# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what the DSL's programs may ask of the part they are written for: from tbe import platform as tbe_platform. Leaves parts
to the library."""

from cubejit import _core

C0_SIZE = _core.TBE_C0_SIZE
"""Channels of a block of float16."""

CUBE_MKN = {"float16": {"mac": [16, C0_SIZE, 16]}}
"""The cube's step along m, k and n, by the operands' type."""

_soc = "ascend910a"


def set_current_compile_soc_info(soc_version):
    """Names the part whose L1 must hold the smallest tile of later calls, where para_dict has no soc: a name that
    `cubejit targets` lists, a family's, or "" for none. Raises Unsupported, with the nearest names, for any other."""
    global _soc
    _soc = _core.tbe_soc(soc_version) if soc_version else ""


def current_soc():
    """The part that was named last, ascend910a unless one was."""
    return _soc
