# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides which plan a problem is computed by: any that is legal, so that the ones the model never prefers are asked as well."""

import json

import cubejit


def legal(c, orders, types, gradient, session):
    """The legal plans of a gradient, as lines for `run --plan`."""
    names = ("dy", "x", "w", "dx", "dw", "y")
    padding = [side for pair in zip(c.before, c.after) for side in pair]
    problem = cubejit.Problem(
        c.x_shape, c.w_shape, stride=list(c.stride), padding=padding, dilation=list(c.dilation), transposed=c.transposed,
        output_padding=list(c.output_padding) if c.transposed else 0, groups=c.groups,
        formats={**{n: (types[n], orders[n]) for n in names}, "db": (types["db"], "ncdhw")})
    planned = cubejit.plan(problem, gradient, explain=True, session=session)
    return [json.dumps(found["plan"]) for found in planned["candidates"] if not found["refused_by"]]
