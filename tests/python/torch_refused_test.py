# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks: where cubejit cannot do its part, is that said in one sentence, and does PyTorch go on computing? Skipped without PyTorch."""

import subprocess
import sys
import unittest

try:
    import torch
except ImportError as absent:
    raise unittest.SkipTest("PyTorch is not installed (tools/setup.sh peers)") from absent

_STEP = """
from torch import nn
for _ in range(2):
    layer, x = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8)
    layer(x).sum().backward()
    assert layer.weight.grad is not None
"""


class Refused(unittest.TestCase):
    def step(self, before):
        """What a step with enable() printed, and the sentences of its warnings."""
        ran = subprocess.run([sys.executable, "-B", "-W", "always::RuntimeWarning", "-c", "import torch, cubejit\n" + before + _STEP +
                              "print([row['passed_on'] for row in cubejit.torch.report().rows])"], capture_output=True, text=True, timeout=300)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout.strip(), [line.partition("RuntimeWarning: ")[2] for line in ran.stderr.splitlines() if "RuntimeWarning: " in line]

    def test_operators_of_an_unknown_version(self):
        printed, said = self.step("from cubejit.torch import dispatcher\n"
                                  "dispatcher._ARGUMENTS['convolution_backward'] += ' layout'\n"
                                  "try: cubejit.torch.enable()\nexcept RuntimeError as error: print(error)\n")
        why = f"cubejit computes nothing, PyTorch everything: aten::convolution_backward of PyTorch {torch.__version__} takes grad_output "
        self.assertTrue(printed.startswith(why), printed)
        self.assertEqual((printed.splitlines()[1:], said), (["[]"], []))

    def test_no_openmp_runtime(self):
        printed, said = self.step("import cubejit._core, cubejit.torch\n"
                                  "cubejit._core.openmp = lambda: False\n"
                                  "cubejit.torch.enable('ours')\n")
        self.assertEqual(printed, "[None, None]")  # cubejit computes all the same
        self.assertEqual(said, ["no OpenMP runtime is loaded: cubejit computes on threads of its own, beside PyTorch's"])


if __name__ == "__main__":
    unittest.main()
