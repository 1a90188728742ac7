# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""import cubejit.torch.enable: PyTorch's convolutions on the CPU are cubejit's from then on. See cubejit.torch.dispatcher.enable, which
this module also is when it is called."""

import sys
import types

from cubejit.torch import dispatcher


class _Module(types.ModuleType):
    def __call__(self, *arguments, **said):
        return dispatcher.enable(*arguments, **said)


sys.modules[__name__].__class__ = _Module
dispatcher.enable()
