# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what the memory orders of files are, written in NumPy from what they are called: N, C, spatial is `ncdhw`, channels last
`ndhwc`; NDC1HWC0 has blocks of channels (NDC1HWC16 of 16), FRACTAL_Z_3D (weights without groups) of both. What is missing is zero in
results; in what is read it may be anything."""

import numpy


def block(dtype, layout="ndc1hwc0"):
    return 8 if layout != "ndc1hwc16" and dtype == "f32" else 16  # 32 bytes


def _as_3d(array):
    return array.reshape(*array.shape[:2], *(1,) * (5 - array.ndim), *array.shape[2:])


def _nan(array):
    return (array & 0x7FFF) > 0x7F80 if array.dtype == numpy.uint16 else numpy.isnan(array)


def _filled(array, axis, step, fill):
    more = [(0, 0)] * array.ndim
    more[axis] = (0, -array.shape[axis] % step)
    return numpy.pad(array, more, constant_values=fill)


def into(array, layout, dtype, dirty=False):
    """An array with axes N, C, spatial (weights: O, I, spatial) as a file has it; dirty: blocks are filled up with NaN."""
    fill = (0x7FC0 if array.dtype == numpy.uint16 else numpy.nan) if dirty else 0
    if layout == "ncdhw":
        return array
    if layout == "ndhwc":
        return numpy.moveaxis(array, 1, -1)
    c0 = block(dtype, layout)
    full = _filled(_as_3d(array), 1, c0, fill)
    full = full.reshape(full.shape[0], full.shape[1] // c0, c0, *full.shape[2:])  # N, C1, C0, D, H, W
    if layout == "fractal_z_3d":
        full = _filled(full, 0, 16, fill)
        full = full.reshape(full.shape[0] // 16, 16, *full.shape[1:])  # N1, 16, C1, C0, D, H, W
        full = full.transpose(4, 2, 5, 6, 0, 1, 3)
        return full.reshape(-1, *full.shape[4:])
    full = full.transpose(0, 3, 1, 4, 5, 2)  # N, D, C1, H, W, C0
    return full if array.ndim == 5 else full[:, 0]


def back(array, layout, shape, cube=False):
    """The inverse: an array of that shape, or None where what fills up blocks is not zero; cube: nor bits of a NaN."""
    if layout == "ncdhw":
        return array
    if layout == "ndhwc":
        return numpy.moveaxis(array, -1, 1)
    space = (1,) * (5 - len(shape)) + tuple(shape[2:])
    if layout == "fractal_z_3d":
        full = array.reshape(space[0], -1, *space[1:], *array.shape[1:]).transpose(4, 5, 1, 6, 0, 2, 3)
        full = full.reshape(full.shape[0] * 16, full.shape[2] * full.shape[3], *space)
    else:
        full = array if len(shape) == 5 else array[:, None]
        full = full.transpose(0, 2, 5, 1, 3, 4)
        full = full.reshape(full.shape[0], full.shape[1] * full.shape[2], *space)
    for missing in (full[shape[0]:], full[:, shape[1]:]):
        if (missing[~_nan(missing)] if cube else missing).any():
            return None
    return full[:shape[0], :shape[1]].reshape(shape)
