# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of sessions: plans, dumps and tuning from Python, and calls from many threads while the interpreter goes
on."""

import multiprocessing
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import cubejit

PROBLEM = cubejit.Problem((1, 32, 28, 28), (32, 32, 3, 3), padding=1)


class EmulatedMachines(unittest.TestCase):
    def arrays(self):
        whole = np.random.default_rng(7)
        return [whole.integers(-2, 3, shape).astype(np.float16) for shape in ((1, 24, 10, 10), (1, 20, 10, 10), (24, 20, 3, 3))]

    def gradients(self, session):
        dy, x, w = self.arrays()
        return cubejit.conv_backward(dy, x, w, padding=1, session=session)

    def test_gradients_are_those_of_the_host(self):
        want = self.gradients(cubejit.Session())
        for options in ({}, {"elide_copies": True}):
            for got, wanted in zip(self.gradients(cubejit.Session(machine="ascend910b2", **options)), want):
                np.testing.assert_array_equal(got, wanted)

    def test_reports_count_what_a_core_does(self):
        problem = cubejit.Problem((1, 20, 10, 10), (24, 20, 3, 3), padding=1, dtype="f16")
        session = cubejit.Session(machine="ascend910b2")
        for name in ("dx", "dw", "db"):
            report = session.report(problem, name, trace=True)
            self.assertEqual((report["machine"], len(report["cores"]), report["events_dropped"]), ("ascend910b2", 24, 0))
            self.assertGreater(report["predicted_cycles"], 0)
            self.assertEqual(report["total"]["instructions"], sum(core["instructions"] for core in report["cores"]))
            self.assertEqual(report["total"]["instructions"], len(report["events"]))
            fast = cubejit.Session(machine="ascend910b2", elide_copies=True).report(problem, name)
            self.assertEqual(fast["total"], report["total"])
        self.assertGreater(session.plan(problem, "dw")["plan"]["base_m"], 0)
        with tempfile.TemporaryDirectory() as folder:
            dumped = Path(session.dump(problem, folder, ["dx"], "plan,tile", "", "")[0])
            self.assertIn("mmad", (dumped / "core.txt").read_text())

    def test_what_is_no_machine_is_refused(self):
        self.assertIn("toy", cubejit.machines())
        with self.assertRaisesRegex(cubejit.Unsupported, "ascend910b2"):
            cubejit.Session(machine="ascend910b22")
        with self.assertRaisesRegex(cubejit.Unsupported, "name an NPU"):
            cubejit.default_session().report(PROBLEM, "dx")
        with self.assertRaisesRegex(cubejit.Unsupported, "f32 is no type of the cube"):
            cubejit.Session(machine="ascend310p3").report(PROBLEM, "dx")


class Planning(unittest.TestCase):
    def test_problems_are_described_by_shapes(self):
        self.assertEqual((PROBLEM.x_shape, PROBLEM.w_shape, PROBLEM.y_shape), ((1, 32, 28, 28), (32, 32, 3, 3), (1, 32, 28, 28)))
        up = cubejit.Problem((2, 6, 5), (6, 2, 4), transposed=True, stride=2, output_padding=1, groups=3)
        self.assertEqual((up.w_shape, up.y_shape), ((6, 2, 4), (2, 6, 13)))
        self.assertEqual(PROBLEM, cubejit.Problem((1, 32, 28, 28), (32, 32, 3, 3), padding=[1, 1]))
        self.assertNotEqual(PROBLEM, cubejit.Problem((1, 32, 28, 28), (32, 32, 3, 3), padding=1, dtype="bf16"))

    def test_a_plan_is_a_dict(self):
        report = cubejit.plan(PROBLEM, "dw", explain=True)
        self.assertEqual((report["plan"]["algorithm"], report["plan"]["pass"], report["source"]), ("direct", "dw", "model"))
        self.assertGreater(report["predicted_cycles"], 0)
        legal = [c for c in report["candidates"] if not c["refused_by"]]
        self.assertLessEqual(legal[0]["predicted_cycles"], legal[-1]["predicted_cycles"])
        self.assertNotIn("candidates", cubejit.plan(PROBLEM, "dx"))
        self.assertGreater(report["plan"]["version"], 1)

    def test_a_call_is_planned_before_it_is_generated(self):
        half = cubejit.Problem((2, 20, 11, 11), (24, 20, 3, 3), padding=1, dtype="bf16", layout="ncdhw")
        session = cubejit.Session(threads=2)
        call = cubejit.plan_call(half, session=session)
        self.assertEqual(list(call["plans"]), ["y", "dx", "dw", "db"])
        self.assertEqual(call["plans"]["dw"]["pass"], "dw")
        self.assertLessEqual(set(call["converted"]), {"x", "w", "dy"})
        self.assertGreater(call["workspace_bytes"], 0)
        self.assertEqual(session.statistics()["misses"], 0)
        with self.assertRaisesRegex(cubejit.Error, r"takes least takes \d+ bytes") as refused:
            cubejit.Session(threads=2, mem_limit=1).compile(half, ["dw"])
        least = int(re.search(r"takes least takes (\d+) bytes", str(refused.exception)).group(1))  # the host decides how much
        self.assertLess(least, call["workspace_bytes"])
        self.assertEqual(cubejit.plan_call(half, ["dw"], session=cubejit.Session(threads=2, mem_limit=least))["workspace_bytes"], least)
        with self.assertRaises(cubejit.Error):
            cubejit.plan_call(half, ["dw"], session=cubejit.Session(threads=2, mem_limit=least - 1))
        with self.assertRaisesRegex(cubejit.InvalidProblem, "mem_limit = -1 must be at least 0"):
            cubejit.Session(mem_limit=-1)

    def test_copies_of_views_are_told_before_a_run(self):
        whole = np.zeros((2, 16, 70, 80), np.float32)
        def problem(x, dtype="f32"):
            strides = [stride // x.itemsize for stride in x.strides]
            return cubejit.Problem(x.shape, (16, 16, 3, 3), padding=1, dtype=dtype, formats={"x": (dtype, strides)})
        for dtype in ("f32", "f16", "bf16"):
            for view in (whole[:, :, 3:67, 5:69], whole[..., ::2, :], np.broadcast_to(whole[:1], whole.shape)):
                for name in ("y", "dw"):
                    self.assertNotIn("x", cubejit.plan(problem(view, dtype), name)["copies"])
                    self.assertNotIn("x", cubejit.plan_call(problem(view, dtype), [name])["copies"])
            turned = problem(whole.swapaxes(2, 3), dtype)
            size = whole.size * (4 if dtype == "f32" else 2)
            self.assertLessEqual(cubejit.plan(turned, "y")["copies"].get("x", 0), size)
            little = cubejit.Session(mem_limit=size // 2)
            self.assertNotIn("x", cubejit.plan(turned, "y", session=little)["copies"])
        with self.assertRaisesRegex(cubejit.InvalidProblem, "it must have as many as its shape"):
            cubejit.Problem((1, 2, 3, 3), (2, 2, 1, 1), formats={"x": ("f32", [1, 2])})
        with self.assertRaisesRegex(cubejit.Error, "dx has strides"):
            cubejit.plan(cubejit.Problem((1, 2, 3, 3), (2, 2, 1, 1), formats={"dx": ("f32", [99, 10, 3, 1])}), "dx")

    def test_formats_of_single_tensors(self):
        blocked = cubejit.Problem((1, 32, 4, 8, 8), (32, 32, 1, 3, 3), padding=[0, 1, 1], dtype="bf16", layout="ndc1hwc0",
                                  formats={"dw": ("f32", "fractal_z_3d")})
        self.assertEqual(cubejit.plan(blocked, "dw")["plan"]["pass"], "dw")

    def test_wrong_words(self):
        for words, call in (("unknown pass 'dz'; the nearest is dx; there are y, dx, dw, db", lambda: cubejit.plan(PROBLEM, "dz")),
                            ("unknown dtype 'f64'; the nearest is f32; there are f32", lambda: cubejit.Problem((1, 1, 1), (1, 1, 1), dtype="f64")),
                            ("unknown layout 'chwn'", lambda: cubejit.Problem((1, 1, 1), (1, 1, 1), layout="chwn")),
                            ("unknown tensor 'z'", lambda: cubejit.Problem((1, 1, 1), (1, 1, 1), formats={"z": ("f32", "ncdhw")})),
                            ("the dilated kernel, 5, is larger", lambda: cubejit.plan(cubejit.Problem((1, 1, 3), (1, 1, 5)))),
                            ("unknown backend 'gcc'", lambda: cubejit.Session(backend="gcc")),
                            ("unknown ISA 'mmx'", lambda: cubejit.Session(isa="mmx")),
                            ("threads = -1 must be at least 0", lambda: cubejit.Session(threads=-1))):
            with self.assertRaises(cubejit.Error) as caught:
                call()
            self.assertIn(words, str(caught.exception))

    def test_who_says_the_number_of_threads(self):
        usual = {name: "" for name in ("CUBEJIT_NUM_THREADS", "OMP_NUM_THREADS")}
        def threads(given=0, **environment):
            with unittest.mock.patch.dict(os.environ, {**usual, **environment}):
                return cubejit.Session(threads=given).threads
        self.assertEqual(threads(), len(os.sched_getaffinity(0)))
        self.assertEqual(threads(OMP_NUM_THREADS="5"), 5)
        self.assertEqual(threads(OMP_NUM_THREADS="5,2"), 5)
        self.assertEqual(threads(OMP_NUM_THREADS="5", CUBEJIT_NUM_THREADS="3"), 3)
        self.assertEqual(threads(7, OMP_NUM_THREADS="5", CUBEJIT_NUM_THREADS="3"), 7)
        for nonsense in ("0", "-2", "many"):
            self.assertEqual(threads(OMP_NUM_THREADS=nonsense), threads())


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_a_dump_has_every_stage_asked_for(self):
        folders = cubejit.dump(PROBLEM, self.folder.name, ["dx", "dw"], stages="plan,tile,vector,bin")
        self.assertEqual([Path(f).parent for f in folders], [Path(self.folder.name)] * 2)
        for folder in folders:
            self.assertTrue(any(Path(folder).iterdir()))
        with self.assertRaisesRegex(cubejit.InvalidProblem, "weave"):
            cubejit.dump(PROBLEM, self.folder.name, stages="weave")

    def test_tuning_keeps_its_winners(self):
        store = Path(self.folder.name) / "tune.db"
        reports = cubejit.tune(PROBLEM, ["dx"], seconds=0.5, store=store)
        self.assertTrue(store.exists())
        self.assertIn(reports["dx"]["source"], ("record", "model"))
        again = cubejit.Session(tune="use", store=str(store)).plan(PROBLEM, "dx")
        self.assertEqual(again["plan"], reports["dx"]["plan"])
        with self.assertRaisesRegex(cubejit.InvalidProblem, "seconds = 0 must be more than 0"):
            cubejit.tune(PROBLEM, seconds=0)


COUNTS_THREADS = """
import os
import re
import numpy as np
import cubejit
def count():
    return len(os.listdir("/proc/self/task"))
before, dy, w = count(), np.ones((4, 64, 56, 56), np.float32), np.ones((64, 64, 3, 3), np.float32)
results = []
for threads in {calls}:
    results.append(cubejit.conv_backward(dy, dy, w, padding=1, threads=threads))
    print(count() - before)
assert all(np.array_equal(a, b) for other in results for a, b in zip(results[0], other))
"""


def work_in_child(results):
    dy, x, w = (np.ones(s, np.float32) for s in ((1, 4, 5, 5), (1, 3, 5, 5), (4, 3, 3, 3)))
    results.put(float(cubejit.conv_backward(dy, x, w, padding=1)[1].sum()))


class Threads(unittest.TestCase):
    def test_many_threads_many_problems(self):
        session = cubejit.Session(threads=2)
        def work(seed):
            generator = np.random.default_rng(seed)
            channels = 3 + seed % 5
            dy, x = (generator.integers(-3, 4, size=(2, channels, 9, 8)).astype(np.float32) for _ in range(2))
            w = np.ones((channels, channels, 1, 1), np.float32)
            dx, dw, db = cubejit.conv_backward(dy, x, w, session=session)
            np.testing.assert_array_equal(dw[..., 0, 0], np.einsum("nohw,nihw->oi", dy, x))
            np.testing.assert_array_equal(dx, np.broadcast_to(dy.sum(1, keepdims=True), x.shape))
            np.testing.assert_array_equal(db, dy.sum((0, 2, 3)))
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(200)))
        statistics = session.statistics()
        self.assertEqual(statistics["entries"], 5)  # one for each number of channels, whoever asked first
        self.assertEqual(statistics["hits"] + statistics["misses"], 200)
        session.clear()
        self.assertEqual(session.statistics()["entries"], 0)

    def started(self, calls, **environment):
        """Threads that there are more of after each call."""
        program = COUNTS_THREADS.format(calls=calls)
        done = subprocess.run([sys.executable, "-B", "-c", program], env={**os.environ, **environment}, check=True, capture_output=True)
        return [int(line) for line in done.stdout.split()]

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one core: there are no other threads to start")
    def test_no_more_threads_are_started_than_said(self):
        self.assertEqual(self.started([0, 1], OMP_NUM_THREADS="1"), [0, 0])
        self.assertGreater(self.started([1, 2], OMP_NUM_THREADS="1")[1], 0)

    def test_workspaces_of_two_calls_at_once_are_two(self):
        session = cubejit.Session(threads=1)
        def weights(size):
            dy, x = (np.full((1, 32, size, size), value, np.float16) for value in (1, 2))
            return cubejit.conv_backward(dy, x, np.zeros((32, 32, 1, 1), np.float16), output_mask=(False, True, False), session=session)[1]
        with ThreadPoolExecutor(8) as pool:
            for size, dw in pool.map(lambda seed: (8 + seed % 13, weights(8 + seed % 13)), range(400)):
                np.testing.assert_array_equal(dw, np.full((32, 32, 1, 1), 2 * size * size, np.float16))

    def test_pages_of_a_workspace_are_not_made_at_each_call(self):
        problem = cubejit.Problem((4, 64, 56, 56), (64, 64, 3, 3), padding=1, dtype="f16", layout="ncdhw")
        session = cubejit.Session(threads=1)
        pages = cubejit.plan_call(problem, ["dw"], session=session)["workspace_bytes"] // resource.getpagesize()
        self.assertGreater(pages, 100)
        dy, w = np.ones((4, 64, 56, 56), np.float16), np.ones((64, 64, 3, 3), np.float16)
        def faults():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            cubejit.conv_backward(dy, dy, w, padding=1, output_mask=(False, True, False), session=session)
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        faults()
        self.assertLess(min(faults() for _ in range(5)), pages // 2)

    def test_the_interpreter_goes_on_meanwhile(self):
        dy, x, w = (np.ones(s, np.float32) for s in ((8, 64, 112, 112), (8, 64, 112, 112), (64, 64, 3, 3)))
        session = cubejit.Session(threads=1)
        cubejit.conv_backward(dy[:1], x[:1], w, padding=1, session=session)
        done = threading.Event()
        turns, seen = [0], []
        def work():
            seen.append(turns[0])
            cubejit.conv_backward(dy, x, w, padding=1, session=session)
            seen.append(turns[0])
            done.set()
        worker = threading.Thread(target=work)
        interval = sys.getswitchinterval()
        sys.setswitchinterval(3600)  # nobody takes the GIL away: a thread has it until it gives it up
        try:
            worker.start()
            while not done.wait(0.001):
                turns[0] += 1
            worker.join()
        finally:
            sys.setswitchinterval(interval)
        self.assertGreater(seen[1], seen[0])  # this thread had turns between the call's begin and its end

    def test_forked_children_compute(self):
        expected = multiprocessing.get_context("fork").SimpleQueue()
        work_in_child(expected)
        results = multiprocessing.get_context("fork").SimpleQueue()
        child = multiprocessing.get_context("fork").Process(target=work_in_child, args=(results,))
        child.start()
        child.join(60)
        self.assertEqual(child.exitcode, 0)
        self.assertEqual(results.get(), expected.get())


if __name__ == "__main__":
    unittest.main()
