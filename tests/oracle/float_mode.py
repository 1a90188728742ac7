# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides whether the calling thread flushes denormals (FTZ and DAZ of MXCSR, FZ and FZ16 of FPCR), by the C library's environment."""

import contextlib
import ctypes
import ctypes.util
import platform

_AT, FLUSHES = {"x86_64": (28, 0x8040), "aarch64": (0, 1 << 24 | 1 << 19)}[platform.machine()]  # fenv_t: where the word is
_FLAGS = 0x3F if _AT else 0  # what exceptions left
_libm = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")


def _read():
    environment = (ctypes.c_uint32 * 16)()
    _libm.fegetenv(environment)
    return environment


def word():
    return _read()[_AT // 4]


def _write(value):
    environment = _read()
    environment[_AT // 4] = value
    _libm.fesetenv(environment)


@contextlib.contextmanager
def flushing(on, faults):
    """The thread flushes, or does not; whoever leaves it with another environment has a fault."""
    before = word()
    wanted = before | FLUSHES if on else before & ~FLUSHES
    _write(wanted)
    try:
        yield
    finally:
        after = word()
        _write(before)
        if (after ^ wanted) & ~_FLAGS:
            faults.append(f"the floating-point environment was {wanted:#x} and is {after:#x}")
