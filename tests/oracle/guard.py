# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides where memory lies that nothing may be read or written beside: between pages that end the process if they are touched."""

import ctypes
import mmap

import numpy

_protect = ctypes.CDLL(None, use_errno=True).mprotect
_protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_NONE = 0


def memory(elements, dtype, at_end):
    """Elements that begin at the beginning of a page, or end at the end of one; the pages before and behind are forbidden."""
    size = elements * numpy.dtype(dtype).itemsize
    pages = max(1, -(-size // mmap.PAGESIZE))
    region = mmap.mmap(-1, (pages + 2) * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(region))
    for page in (0, pages + 1):
        if _protect(start + page * mmap.PAGESIZE, mmap.PAGESIZE, _NONE) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = mmap.PAGESIZE + (pages * mmap.PAGESIZE - size if at_end else 0)
    return numpy.frombuffer(region, dtype, elements, offset)
