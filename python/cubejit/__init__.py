# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and their gradients by code that is generated for each problem.

conv and conv_backward compute them on arrays of NumPy, PyTorch or anything with DLPack, in place and without copies; plan, dump and
tune look behind it, and Session(machine="ascend910b2") does all of that on an emulated NPU. Kernel takes kernels of one's own. cubejit.torch is the convolution for PyTorch's
autograd. Everything may be called from many threads at once, and the GIL is released while the library works.
"""

import sys

if "t" in sys.abiflags:
    _with_gil = "python%d.%d" % sys.version_info[:2]
    raise ImportError(f"cubejit does not run in free-threaded Python ({_with_gil}t), which has no global interpreter lock; use {_with_gil}",
                      name="cubejit")
try:
    import cubejit._core
except ModuleNotFoundError as absent:
    if absent.name != "cubejit._core":
        raise
    import pathlib

    _there = [path.name.split(".")[1] for path in sorted(pathlib.Path(__file__).parent.glob("_core.*.so"))]
    raise ImportError(f"cubejit at {pathlib.Path(__file__).parent} is built for {', '.join(_there) or 'no Python'}, and this is "
                      f"{sys.implementation.cache_tag}: build or install it for this one", name="cubejit") from None
from cubejit._core import Array, Problem, machines, version as __version__
from cubejit.convolution import conv, conv_backward
from cubejit.errors import Error, InvalidProblem, Unsupported
from cubejit.kernel import Kernel, define, jit
from cubejit.session import Session, default_session, dump, plan, plan_call, tune

__all__ = ["Array", "Error", "InvalidProblem", "Kernel", "Problem", "Session", "Unsupported", "conv", "conv_backward", "default_session",
           "define", "dump", "jit", "machines", "plan", "plan_call", "tune", "__version__"]
