# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of two ranks that train one model: gradients of both are the mean of what each computed, cubejit computed them, on as
many threads as a rank may use. Skipped without PyTorch or its gloo backend."""

import os
import tempfile
import unittest

try:
    import torch
except ImportError as absent:
    raise unittest.SkipTest("PyTorch is not installed (tools/setup.sh peers)") from absent

from torch import distributed, multiprocessing, nn

from torch_exact import Exact

if not distributed.is_available() or not distributed.is_gloo_available():
    raise unittest.SkipTest("this PyTorch has no gloo")

RANKS, STEPS = 2, 3


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv3d(2, 8, 3, padding=1), nn.ReLU(), nn.Conv3d(8, 8, 3, groups=2, bias=False), nn.ReLU(),
                         nn.ConvTranspose3d(8, 4, 2, stride=2), nn.Flatten(), nn.Linear(4 * 8 * 10 * 12, 3))


def batch(rank, step):
    return torch.randn(2, 2, 6, 7, 8, generator=torch.Generator().manual_seed(100 * step + rank))


def threads_of_process():
    return len(os.listdir("/proc/self/task"))


def rank_of(rank, folder):
    """Trains; leaves parameters, who computed and how many threads there were."""
    import cubejit.torch as ours
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=RANKS)
    net = nn.parallel.DistributedDataParallel(model())
    descent = torch.optim.SGD(net.parameters(), lr=0.1)
    net(batch(rank, 0)).sum().backward()
    before = threads_of_process()  # PyTorch's, its backward's and gloo's
    with ours.enable("ours"):
        for step in range(STEPS):
            descent.zero_grad()
            net(batch(rank, step)).square().mean().backward()
            descent.step()
    torch.save({"parameters": [p.detach() for p in net.parameters()], "rows": ours.report().rows,
                "threads": (before, threads_of_process())}, f"{folder}/rank{rank}")
    distributed.destroy_process_group()


class TwoRanks(unittest.TestCase):
    def test_gradients_are_the_mean_of_both(self):
        net = model()
        descent = torch.optim.SGD(net.parameters(), lr=0.1)
        with Exact():  # PyTorch alone, on both batches
            for step in range(STEPS):
                descent.zero_grad()
                for rank in range(RANKS):
                    (net(batch(rank, step)).square().mean() / RANKS).backward()
                descent.step()
        with tempfile.TemporaryDirectory() as folder:
            multiprocessing.spawn(rank_of, (folder,), nprocs=RANKS)
            ranks = [torch.load(f"{folder}/rank{rank}") for rank in range(RANKS)]
        for mine, other, theirs in zip(ranks[0]["parameters"], ranks[1]["parameters"], net.parameters()):
            self.assertTrue(torch.equal(mine, other), "ranks have drifted apart")
            self.assertLessEqual((mine - theirs).abs().max().item(), 1e-5 * max(1.0, theirs.abs().max().item()))
        for rank in ranks:
            caught = {row["pass"] for row in rank["rows"] if row["passed_on"] is None}
            self.assertEqual({row["passed_on"] for row in rank["rows"]}, {None}, "all of it is computed by cubejit")
            self.assertIn("y", caught)
            first, last = rank["threads"]
            self.assertEqual(first, last, "a rank of one thread starts no others")


if __name__ == "__main__":
    unittest.main()
