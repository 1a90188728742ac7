# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a small 3D CNN from the same start, on the same batches: with PyTorch's own backward pass and with cubejit's. Prints
both loss curves and the accuracy on examples neither has seen. The curves begin as one and part as slowly as any two orders of
summing float32 do: the third column is PyTorch again, without oneDNN.

The task: which of four solids (ball, cube, cross, pair of balls) lies somewhere in a noisy volume of 16 x 16 x 16 voxels.
Ends with 77 if PyTorch is not installed (tools/setup.sh peers)."""

import copy
import sys

try:
    import torch
except ImportError:
    print("train_3d_cnn: skipped, PyTorch is not installed", file=sys.stderr)
    sys.exit(77)

import cubejit.torch

SIDE, BATCH, STEPS = 16, 32, 60


def solids(count, generator):
    """count volumes [n][1][16][16][16] and which solid each holds."""
    kinds = torch.randint(4, (count,), generator=generator)
    centres = 5 + (SIDE - 10) * torch.rand(count, 3, 1, 1, 1, generator=generator)
    sizes = (2.5 + 1.5 * torch.rand(count, 1, 1, 1, generator=generator))
    axes = torch.arange(SIDE, dtype=torch.float32)
    grid = torch.stack(torch.meshgrid(axes, axes, axes, indexing="ij"))
    distances = (grid - centres).abs()  # [n][3][d][h][w]
    ball = (distances.square().sum(1) < sizes.square()).float()
    cube = (distances.amax(1) < 0.8 * sizes).float()
    cross = (distances.sort(1).values[:, 1] < 1).float() * (distances.amax(1) < sizes + 1).float()
    shift = torch.tensor([0.0, 0.0, 3.0]).reshape(3, 1, 1, 1)
    pair = sum(((grid - centres + sign * shift).square().sum(1) < 5).float() for sign in (-1, 1)).clamp(max=1)
    clean = torch.stack([ball, cube, cross, pair])[kinds, torch.arange(count)]
    return (clean + 0.3 * torch.randn(clean.shape, generator=generator)).unsqueeze(1), kinds


def network():
    nn = torch.nn

    def block(cin, cout, stride=1, groups=1):
        return nn.Conv3d(cin, cout, 3, stride, 1, groups=groups, bias=False), nn.BatchNorm3d(cout), nn.ReLU()

    return nn.Sequential(*block(1, 8), *block(8, 16, stride=2), *block(16, 16, groups=2), *block(16, 32, stride=2),
                         nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(32, 4))


def train(model):
    """The loss of every step, and the accuracy afterwards."""
    generator = torch.Generator().manual_seed(5)
    optimiser = torch.optim.Adam(model.parameters(), lr=4e-3)
    losses = []
    for _ in range(STEPS):
        volumes, kinds = solids(BATCH, generator)
        loss = torch.nn.functional.cross_entropy(model(volumes), kinds)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    with torch.no_grad():
        volumes, kinds = solids(256, torch.Generator().manual_seed(6))
        return losses, (model(volumes).argmax(1) == kinds).float().mean().item()


def main():
    torch.manual_seed(4)
    theirs = network()
    mine = cubejit.torch.use(copy.deepcopy(theirs))  # the same parameters, other gradients
    again = copy.deepcopy(theirs)
    runs = [train(theirs), train(mine)]
    with torch.backends.mkldnn.flags(enabled=False):
        runs.append(train(again))
    curves, accuracies = zip(*runs)
    print("step   PyTorch   cubejit  PyTorch without oneDNN")
    for step in range(0, STEPS, 10):
        print(f"{step:4d}" + "".join(f"  {losses[step]:8.5f}" for losses in curves))
    print("accuracy" + "".join(f"  {accuracy:.3f}" for accuracy in accuracies))

    def apart(other):
        return max(abs(a - b) for a, b in zip(curves[0], other))

    early = max(abs(a - b) for a, b in zip(curves[0][:10], curves[1]))
    print(f"largest distance from PyTorch's curve: cubejit {apart(curves[1]):.1e} (first ten steps {early:.1e}), "
          f"PyTorch itself {apart(curves[2]):.1e}")
    learned = sum(curves[1][-5:]) < 0.6 * sum(curves[1][:5])
    return 0 if learned and early < 1e-3 and apart(curves[1]) < max(1e-2, 4 * apart(curves[2])) else 1


if __name__ == "__main__":
    sys.exit(main())
