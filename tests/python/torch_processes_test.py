# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of the dispatcher's door where it shares a process or a machine with others: libraries that hold the same operators,
forks in the middle, workers that compute while backward runs, start methods that begin anew. Skipped without PyTorch."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

try:
    import torch  # noqa: F401
except ImportError as absent:
    raise unittest.SkipTest("PyTorch is not installed (tools/setup.sh peers)") from absent

BEGIN = """
import gc, multiprocessing, os, sys, threading, time, warnings
import torch, cubejit.torch as ours
def step(seed=0):
    made = torch.Generator().manual_seed(seed)
    x = torch.randn(4, 8, 12, 12, generator=made).requires_grad_()
    w = torch.randn(8, 8, 3, 3, generator=made).requires_grad_()
    y = torch.nn.functional.conv2d(x, w, padding=1)
    y.square().sum().backward()
    return [t.detach().numpy().tobytes() for t in (y, x.grad, w.grad)]
def caught():
    return sum(row["calls"] for row in ours.report().rows if row["passed_on"] is None and not row["failed"])
"""


class Own(unittest.TestCase):
    """Each in a process of its own."""

    def runs(self, program, **environment):
        """The program, as the file that it would be: start methods import it again. Ends soon, and well."""
        text = BEGIN + textwrap.dedent(program)
        path = os.path.join(self.folder, "program.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False, timeout=600, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = made.name


class Forks(Own):
    def test_backward_beside_a_forked_worker(self):
        """A worker is forked from a process that has computed, and computes forward and backward while its parent does."""
        self.runs("""
            ours.enable("ours")
            wanted = step()
            def work(pipe):  # torch.autograd is not to be used behind a fork once it has threads: backward as operators
                x, w = torch.ones(4, 8, 12, 12), torch.ones(8, 8, 3, 3)
                for _ in range(30):
                    y = torch.nn.functional.conv2d(x, w, padding=1)
                    torch.ops.aten.convolution_backward(y, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
                pipe.send(caught())
            ends = [multiprocessing.get_context("fork").Pipe(duplex=False) for _ in range(2)]
            workers = [multiprocessing.get_context("fork").Process(target=work, args=(end,)) for _, end in ends]
            for worker in workers: worker.start()
            while any(worker.is_alive() for worker in workers):
                assert step() == wanted
            for (end, _), worker in zip(ends, workers):
                worker.join()
                assert worker.exitcode == 0 and end.recv() >= 60
            """)

    def test_a_fork_while_threads_compile_and_compute(self):
        """The child has no thread but its own, and whatever a lock was held by."""
        self.runs("""
            ours.enable("ours")
            wanted, stop = step(), threading.Event()
            def work():
                length = 5
                while not stop.is_set():
                    length = 5 + (length + 1) % 200
                    torch.nn.functional.conv1d(torch.ones(1, 2, length), torch.ones(2, 2, 3))
            threads = [threading.Thread(target=work) for _ in range(2)]
            for thread in threads: thread.start()
            for number in range(12):
                child = os.fork()
                if child == 0:
                    torch.set_num_threads(1)  # as DataLoader's workers do: PyTorch 2.14 by itself waits for a team that was not forked
                    x, w = torch.ones(1, 3, 9 + number, 9), torch.ones(2, 3, 3, 3)
                    good = torch.equal(torch.nn.functional.conv2d(x, w), torch.full((1, 2, 7 + number, 7), 27.0))
                    os._exit(0 if good else 1)
                deadline = time.monotonic() + 30
                while True:
                    done, status = os.waitpid(child, os.WNOHANG)
                    if done or time.monotonic() > deadline:
                        break
                    time.sleep(0.005)
                if not done:
                    os.kill(child, 9)
                    os.waitpid(child, 0)
                    stop.set()
                    sys.exit(f"child {number} hangs")
                assert status == 0, (number, status)
            stop.set()
            for thread in threads: thread.join()
            """)

    def test_what_start_methods_carry_over(self):
        """A forked worker is enabled as its parent is; one that begins anew imports the program, and nothing of what stands under __main__."""
        out = self.runs("""
            def say(pipe):
                pipe.send((ours.enabled(), None, 0))
            def work(pipe):
                before = ours.enabled()
                with ours.enable("ours"):
                    pipe.send((before, step(), caught()))
            if __name__ == "__main__":
                ours.enable("ours")
                wanted = step()
                for method in ("fork", "forkserver", "spawn"):
                    context = multiprocessing.get_context(method)
                    mine, its = context.Pipe(duplex=False)
                    # Autograd's threads are not forked, and a process that has some refuses backward in what it forks.
                    worker = context.Process(target=say if method == "fork" else work, args=(its,))
                    worker.start()
                    its.close()  # who dies without a word is noticed
                    before, bits, number = mine.recv()
                    worker.join()
                    assert worker.exitcode == 0
                    assert method == "fork" or (bits == wanted and number == 2)
                    print(method, before)
            """)
        self.assertEqual(out.split("\n")[:3], ["fork True", "forkserver False", "spawn False"])


class Registrations(Own):
    def test_enabling_a_thousand_times_registers_once(self):
        self.runs("""
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for number in range(1000):
                    with ours.enable("ours" if number % 2 else "measure"):
                        pass
                    if number % 100 == 0:
                        ours.enable("ours")
                        before = caught()
                        step()
                        assert caught() == before + 2
                        ours.disable()
            """)

    def test_others_may_register_what_is_not_ours(self):
        """For other keys, and for other operators of the same namespace."""
        self.runs("""
            seen = []
            other = torch.library.Library("aten", "IMPL")
            other.impl("convolution_backward", lambda *a: seen.append(1), "PrivateUse1")
            ours.enable("ours")
            another = torch.library.Library("aten", "IMPL")
            another.impl("_convolution", lambda *a: seen.append(1), "PrivateUse1")
            own = torch.library.Library("cubejit_test", "DEF")
            own.define("conv(Tensor x, Tensor w) -> Tensor")
            own.impl("conv", lambda x, w: torch.nn.functional.conv2d(x, w), "CPU")
            x, w = torch.ones(1, 2, 5, 5), torch.ones(3, 2, 3, 3)
            assert torch.equal(torch.ops.cubejit_test.conv(x, w), torch.full((1, 3, 3, 3), 18.0)) and caught() == 1 and not seen
            """)

    def test_an_operator_that_another_library_holds(self):
        """Either enable() takes over, or it refuses, PyTorch and the other library compute as before, and it works when the other is gone."""
        self.runs("""
            theirs = torch.ops.aten.convolution_backward.default._op_dk
            key, seen = torch._C.DispatchKey.CompositeExplicitAutograd, []
            def backward(*arguments):
                seen.append(1)
                return theirs(key, *arguments)
            step()  # in PyTorch 2.6 the first backward of a process gives other last bits than all later ones
            plain = step()
            other = torch.library.Library("aten", "IMPL")
            other.impl("convolution_backward", backward, "CPU")
            step()
            assert seen == [1]
            kept = None
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ours.enable("ours")
            except Exception as refusal:
                kept = refusal
                assert not ours.enabled()
                assert step() == plain and seen == [1, 1] and caught() == 0, "as before"
            if kept is not None:
                del other
                gc.collect()
                ours.enable("ours")
            before = caught()
            step()
            assert caught() == before + 2, f"forward and backward are ours\\n{ours.report()}"
            """)


if __name__ == "__main__":
    unittest.main()
