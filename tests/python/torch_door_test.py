# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of both ways in which PyTorch's dispatcher calls cubejit, kernels in C++ and in Python: the same results, the same report,
who computes what as it was chosen, another library's kernels behind ours, and what a call costs. Each way is a process of its own, for
kernels stay registered. Skipped without PyTorch; what only kernels in C++ promise is skipped where they were not built."""

import subprocess
import sys
import tempfile
import textwrap
import unittest
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from unittest import mock

try:
    import torch
except ImportError as absent:
    raise unittest.SkipTest("PyTorch is not installed (tools/setup.sh peers)") from absent

from cubejit.torch import native

WAYS = ("python", "c++") if native.module is not None else ("python",)
HELD_IS_CALLED = hasattr(torch.library, "get_kernel")

BEGIN = """
import gc, os, threading, time, warnings
import torch
from torch import nn
from torch.nn import functional
import cubejit.torch as ours
from cubejit.torch import choosing, dispatcher, layers, native

if WAY == "python":
    native.module, dispatcher._why_in_python = None, "the test says so"
torch.manual_seed(0)

def rows(**wanted):
    return [row for row in ours.report().rows if all(row[key] == value for key, value in wanted.items())]

def close(a, b):
    return (a.double() - b.double()).abs().max().item() <= 2e-5 * max(1.0, b.double().abs().max().item())
"""


def run(way, program):
    """What the program prints."""
    done = subprocess.run([sys.executable, "-c", f"WAY = {way!r}" + BEGIN + textwrap.dedent(program)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"kernels in {way}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Ways(unittest.TestCase):
    def alike(self, program):
        """The program prints the same in every way; returns it."""
        printed = {way: run(way, program) for way in WAYS}
        self.assertEqual(len(set(printed.values())), 1, printed)
        return printed["python"]

    def test_the_report_says_which_way_it_is(self):
        for way in WAYS:
            text = run(way, "ours.enable('ours')\nprint(ours.report())")
            self.assertIn("kernels in C++" if way == "c++" else "kernels in Python: the test says so", text)

    def test_without_the_module_kernels_are_in_python(self):
        """Where it was not built, was built for another version, or cannot be loaded."""
        with tempfile.TemporaryDirectory() as folder:
            name = f"_kernels-{torch.__version__.partition('+')[0]}{EXTENSION_SUFFIXES[0]}"
            with mock.patch.object(native, "__file__", f"{folder}/native.py"):
                self.assertEqual(native._load()[0], None)
                self.assertIn("none in C++ were built", native._load()[1])
                Path(folder, name).write_bytes(b"no library")
                module, why = native._load()
                self.assertIsNone(module)
                self.assertIn(name, why)

    def test_results_strides_and_reports_are_the_same(self):
        printed = self.alike("""
            cases = [(nn.Conv1d(4, 6, 3, padding=1), (2, 4, 9)), (nn.Conv2d(4, 6, 3, stride=2), (2, 4, 9, 8)),
                     (nn.Conv3d(4, 6, 3, dilation=2, bias=False), (2, 4, 6, 7, 8)),
                     (nn.ConvTranspose2d(4, 6, 3, output_padding=1, stride=2), (2, 4, 9, 8)),
                     (nn.Conv2d(4, 8, 3, groups=4), (1, 4, 8, 8)), (nn.Conv2d(4, 8, 1), (3, 4, 1, 1)), (nn.Conv2d(2, 3, 3).double(), (1, 2, 5, 5))]
            lines = []
            with ours.enable("ours"):
                for layer, shape in cases:
                    for order in (lambda t: t, lambda t: t.to(memory_format=torch.channels_last) if t.dim() == 4 else t,
                                  lambda t: t.transpose(-1, -2).contiguous().transpose(-1, -2) if t.dim() > 3 else t):
                        x = order(torch.randn(shape, dtype=layer.weight.dtype)).requires_grad_()
                        for _ in range(3):
                            layer.zero_grad()
                            x.grad = None
                            y = layer(x)
                            y.backward(torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y))
                        for t in (y, x.grad, *(p.grad for p in layer.parameters())):
                            lines.append((t.dtype, t.shape, t.stride(), t.detach().double().sum().item()))
            print(*lines, sep="\\n")
            names = "layer", "dtype", "pass", "calls", "timed", "algorithm", "passed_on", "failed"
            print(*sorted(str([r[name] for name in names]) for r in ours.report().rows), sep="\\n")
            """)
        self.assertIn("float64", printed)

    def test_errors_are_pytorchs_own_at_every_call(self):
        self.alike("""
            layer = nn.Conv2d(3, 4, 3)
            with ours.enable("ours"):
                for bad in (torch.randn(1, 2, 8, 8), torch.randn(1, 3, 2, 2), torch.randn(3, 8)):
                    for _ in range(3):
                        try:
                            layer(bad)
                        except RuntimeError as error:
                            print(str(error).splitlines()[0])
            """)

    def test_each_call_goes_by_the_rules_that_hold(self):
        printed = self.alike("""
            layer, x = nn.Conv2d(8, 8, 3), torch.randn(1, 8, 16, 16)
            def calls():
                layer(x)
                return sorted((r["choose"], r["math"], r["calls"]) for r in ours.report().rows)
            with ours.enable("ours"):
                for _ in range(4): calls()
                torch.set_float32_matmul_precision("high")
                for _ in range(3): calls()
                torch.use_deterministic_algorithms(True)
                calls(), calls()
                torch.set_float32_matmul_precision("highest")
                calls(), calls()
                torch.use_deterministic_algorithms(False)
                with ours.enable("ours", math="relaxed"): calls()
                with ours.enable(reproducible=True): calls()
                with ours.enable("measure"): calls()
                print(*calls(), sep="\\n")
                if hasattr(torch.backends.mkldnn, "conv"):
                    torch.backends.mkldnn.conv.fp32_precision = "bf16"
                    assert ("ours", "relaxed", 5) in calls(), calls()
                    torch.backends.mkldnn.conv.fp32_precision = "ieee"
                    torch.set_float32_matmul_precision("high")
                    assert ("ours", "strict", 6) in calls(), calls()
            before = calls()
            assert calls() == before
            ours.report(reset=True)
            with ours.enable("ours", math="strict"):
                print(calls(), calls())
            """)
        self.assertEqual(printed.splitlines(), ["('measure', 'strict', 1)", "('ours', 'relaxed', 4)", "('ours', 'strict', 5)",
                                                "('reproducible', 'relaxed', 2)", "('reproducible', 'strict', 3)",
                                                "[('ours', 'strict', 1)] [('ours', 'strict', 2)]"])

    def test_threads_and_onednn_tell_calls_apart(self):
        self.assertEqual(self.alike("""
            layer, x = nn.Conv2d(8, 8, 3), torch.randn(1, 8, 16, 16)
            with ours.enable("ours"), torch.no_grad():
                for threads in (2, 1, 3):
                    torch.set_num_threads(threads)
                    for mkldnn in (True, False):
                        with torch.backends.mkldnn.flags(enabled=mkldnn):
                            for _ in range(3): layer(x)
            print(sorted(r["calls"] for r in ours.report().rows))
            """), "[3, 3, 6, 6]\n")

    def test_few_layers_are_kept_those_used_last(self):
        printed = self.alike("""
            layer, often = nn.Conv1d(2, 3, 3), torch.randn(1, 2, 99)
            with ours.enable("ours", cache_bytes=1 << 20), torch.no_grad():
                for length in range(10, 60):
                    layer(torch.randn(1, 2, length))
                    layer(often)
            report = ours.report()
            assert 2 < len(report.rows) < 50, report
            print(sum(row["calls"] for row in report.rows) + report.forgotten[1], [r["calls"] for r in report.rows if "x99" in r["layer"]])
            """)
        self.assertEqual(printed, "100 [50]\n")

    def test_a_call_in_many_is_looked_at_and_measured_again(self):
        """The trial is of a clock that is wrong, so that a window's calls do not fit it."""
        self.assertEqual(self.alike("""
            layer, x, real = nn.Conv1d(8, 8, 3), torch.randn(4, 8, 4000), choosing.clock
            def calls(number):
                for _ in range(number): layer(x)
                (row,) = ours.report().rows
                return row["decided"]
            with ours.enable("measure"), torch.no_grad():
                choosing.clock = lambda: 1000 * real()
                while not calls(1): pass
                choosing.clock = real
                print(calls(choosing.WINDOW - 2), calls(3))
                while not calls(1): pass
                (row,) = ours.report().rows
                assert row["torch_ms"] < 1000, row
                print(calls(3 * choosing.WINDOW))
            """), "True False\nTrue\n")

    def test_a_run_that_fails_is_tried_again_by_python(self):
        self.assertEqual(self.alike("""
            import cubejit
            layer, x = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8)
            with ours.enable("ours"), torch.no_grad():
                for _ in range(3): layer(x)
            if WAY == "c++":
                import ctypes
                RUN = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
                RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
                class Runnable(ctypes.Structure):
                    _fields_ = [("layer", ctypes.c_void_p), ("run", RUN), ("release", RELEASE)]
                released = []
                failing = Runnable(None, RUN(lambda *arguments: False), RELEASE(released.append))
                made = layers.Compiled.__init__
                def init(self, *arguments):
                    made(self, *arguments)
                    self.runnable = lambda: ctypes.addressof(failing)
                layers.Compiled.__init__ = init
            ours.report(reset=True)
            with torch.no_grad():
                wanted = layer(x)
                with ours.enable("ours"):
                    layer(x)
                    def no_memory(*arguments): raise cubejit.Error("no memory")
                    empty, layers.Compiled.empty = layers.Compiled.empty, no_memory
                    for _ in range(3): assert torch.equal(layer(x), wanted)
                    layers.Compiled.empty = empty
                    assert close(layer(x), wanted)
            (row,) = ours.report().rows
            print(row["calls"], row["failed"], row["error"])
            ours.report(reset=True)
            if WAY == "c++":
                assert len(released) == 1
            """), "5 3 no memory\n")

    def test_layers_go_when_they_are_forgotten(self):
        self.alike("""
            def resident():
                with open("/proc/self/statm") as file:
                    return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            layer = nn.Conv1d(8, 8, 3)
            with ours.enable("ours"), torch.no_grad():
                for round in range(5):
                    for length in range(20, 40):
                        for _ in range(3): layer(torch.randn(1, 8, length))
                    ours.report(reset=True)
                    if round == 1:
                        before = resident()
            assert resident() < before + (8 << 20), (before, resident())
            """)

    def test_recording_sees_calls_that_are_decided(self):
        self.assertEqual(self.alike("""
            layer, x = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8)
            with ours.enable("ours"):
                for _ in range(3):
                    layer(x)
                print(ours.record(layer, x).count("conv_"))
                layer(x)
            print(ours.record(layer, x).count("conv_"), ours.enabled())
            """), "1\n1 False\n")

    def test_threads_that_compute_while_others_enable_disable_and_look(self):
        """The layers have 16 output channels: with fewer, oneDNN 3.7 errs in dX, without cubejit as well (torch_exact.py)."""
        self.alike("""
            layer, x = nn.Conv2d(3, 16, 3), torch.randn(2, 3, 9, 9, requires_grad=True)
            def step():
                y = layer(x)
                (dx,) = torch.autograd.grad(y.sum(), x)
                return y.detach(), dx
            wanted, wrong, end = step(), [], threading.Event()
            def work():
                while not end.is_set():
                    wrong.extend(1 for a, b in zip(step(), wanted) if not close(a, b))
            threads = [threading.Thread(target=work) for _ in range(3)]
            for t in threads:
                t.start()
            for i in range(150):
                ours.enable("ours" if i % 2 else "measure")
                ours.report(reset=i % 3 == 0)
                if i % 5 == 0:
                    ours.disable()
            end.set()
            for t in threads:
                t.join()
            ours.disable()
            print(len(wrong))
            """)

    def test_forks_in_the_middle(self):
        """One thread calls, and tensors require no gradients: PyTorch itself has no team of threads in a child, and tensors that require
        gradients have locks, which the other thread may hold."""
        self.alike("""
            torch.set_num_threads(1)
            w, x = torch.randn(4, 3, 3, 3), torch.randn(2, 3, 9, 9)
            def layer(x):
                return functional.conv2d(x, w)
            end = threading.Event()
            with ours.enable("ours"), torch.no_grad():
                wanted = layer(x)
                def work():
                    while not end.is_set():
                        layer(x)
                thread = threading.Thread(target=work)
                thread.start()
                failed = 0
                for _ in range(10):
                    child = os.fork()
                    if child == 0:
                        good = close(layer(x), wanted) and close(layer(x[:1]), wanted[:1])
                        os._exit(0 if good else 1)
                    failed += os.waitpid(child, 0)[1] != 0
                end.set()
                thread.join()
            print(failed)
            """)


class Others(unittest.TestCase):
    """Kernels that stood at the CPU before ours."""

    HOLD = """
        seen = []
        other = torch.library.Library("aten", "IMPL")
        def held(x, w, bias, *arguments):
            seen.append(x.dtype)
            return torch.ops.aten._convolution.default._op_dk(torch._C.DispatchKey.CompositeExplicitAutograd, x, w, bias, *arguments)
        other.impl("_convolution", held, "CPU")
        layer, x = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8)
        wide = nn.Conv2d(3, 4, 3).double()
        """

    @unittest.skipUnless(HELD_IS_CALLED, "this PyTorch gives kernels of others to nobody")
    def test_they_compute_what_is_passed_on_are_named_and_given_back(self):
        for way in WAYS:
            run(way, textwrap.dedent(self.HOLD) + textwrap.dedent("""
                with ours.enable("ours"), torch.no_grad():
                    for _ in range(3):
                        wide(x.double())
                    assert seen == [torch.float64] * 3, seen
                    layer(x)
                    seen.clear()
                    layer(x)
                    assert seen == [], seen
                    assert "kernels in Python: another library's kernel of aten::_convolution stands behind ours" in str(ours.report()), ours.report()
                layer(x)
                assert seen == [torch.float32], seen
                """))

    def test_a_refused_registration_leaves_nothing(self):
        run("python", """
            impl = torch.library.Library.impl
            def refusing(self, name, *arguments, **named):
                if name == "convolution_backward":
                    raise RuntimeError("refused")
                return impl(self, name, *arguments, **named)
            torch.library.Library.impl = refusing
            try:
                ours.enable()
                assert False
            except RuntimeError as error:
                assert str(error) == "cubejit computes nothing, PyTorch everything: refused", error
            assert not ours.enabled()
            assert not torch._C._dispatch_has_kernel_for_dispatch_key("aten::_convolution", "CPU")
            torch.library.Library.impl = impl
            with ours.enable("ours"), torch.no_grad():
                nn.Conv2d(3, 4, 3)(torch.randn(1, 3, 8, 8))
            assert rows(passed_on=None), ours.report()
            """)


@unittest.skipUnless("c++" in WAYS, f"kernels are in Python: {native.why_not}")
class Cost(unittest.TestCase):
    """CPU time of a call of the smallest layer over PyTorch's own, the best of many. Other processes disturb it, and so the limits
    are some times what is measured on a quiet machine."""

    def test_a_call_costs_little_and_nothing_afterwards(self):
        printed = run("c++", """
            torch.set_num_threads(1)
            layer, x = nn.Conv3d(1, 1, 3, padding=1), torch.randn(1, 1, 4, 4, 4)
            dy = torch.randn(1, 1, 4, 4, 4)
            geometry = [1] * 3, [1] * 3, [1] * 3, False, [0] * 3, 1
            def forward():
                layer(x)
            def backward():
                torch.ops.aten.convolution_backward(dy, x, layer.weight, [1], *geometry, [True] * 3)
            def cost(call, most=float("inf")):
                for _ in range(60):
                    begun = time.thread_time_ns()
                    for _ in range(100):
                        call()
                    most = min(most, (time.thread_time_ns() - begun) / 1e5)
                return most
            with torch.no_grad():
                for call in (forward, backward):
                    stock = cost(call)
                    with ours.enable("ours"):
                        call()
                        mine = cost(call)
                    after = cost(call, cost(call))
                    print(mine - stock, after - stock)
            """)
        for line in printed.splitlines():
            over, after = map(float, line.split())
            self.assertLess(over, 3.0, f"microseconds more than PyTorch's own:\n{printed}")
            self.assertLess(after, 1.5, f"microseconds more than PyTorch's own after disable():\n{printed}")


if __name__ == "__main__":
    unittest.main()
