# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how the documented formula for groups is called. Leaves it to cubejit::tbe."""

from cubejit import _core


def group_dict(fmap_c, cout, groups, cout0=16, cin0=16):
    """The documented formula: real_g, mag_factor, cin1_g, cout_g, cin_ori, cout_ori."""
    return _core.tbe_group_dict(fmap_c, cout, groups, cout0, cin0)
