# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a 3D U-Net twice from the same start on the same batches: as PyTorch comes, and with one line more, which puts its convolutions,
forward and backward, under cubejit. Prints both loss curves, how well the solids are found, what a step took, and what became of each layer.

The task: mark the voxels of a ball and of a cube in a noisy volume of 24 x 24 x 24 (background, ball, cube).
Ends with 77 if PyTorch is not installed (tools/setup.sh peers)."""

import copy
import sys
import time

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    print("train_3d_unet: skipped, PyTorch is not installed", file=sys.stderr)
    sys.exit(77)

import cubejit.torch

SIDE, BATCH, STEPS = 24, 2, 40


def scenes(count, generator):
    """count volumes [n][1][24][24][24], and the solid of each voxel: 0, 1 (ball) or 2 (cube)."""
    axes = torch.arange(SIDE, dtype=torch.float32)
    grid = torch.stack(torch.meshgrid(axes, axes, axes, indexing="ij"))

    def distances():
        centre = 6 + (SIDE - 12) * torch.rand(count, 3, 1, 1, 1, generator=generator)
        return (grid - centre).abs()

    ball = distances().square().sum(1) < 4.5**2
    cube = distances().amax(1) < 3.5
    kinds = torch.where(cube, 2, ball.long())
    return kinds.float().clamp(max=1).unsqueeze(1) + 0.4 * torch.randn(count, 1, SIDE, SIDE, SIDE, generator=generator), kinds


def block(cin, cout, stride=1):
    return nn.Sequential(nn.Conv3d(cin, cout, 3, stride, 1, bias=False), nn.InstanceNorm3d(cout, affine=True), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down = nn.ModuleList([block(1, width), block(width, 2 * width, 2), block(2 * width, 4 * width, 2)])
        self.up = nn.ModuleList([nn.ConvTranspose3d(4 * width, 2 * width, 2, 2), nn.ConvTranspose3d(2 * width, width, 2, 2)])
        self.merge = nn.ModuleList([block(4 * width, 2 * width), block(2 * width, width)])
        self.head = nn.Conv3d(width, 3, 1)

    def forward(self, x):
        skips = []
        for down in self.down:
            x = down(x)
            skips.append(x)
        for up, merge, skip in zip(self.up, self.merge, (skips[1], skips[0])):
            x = merge(torch.cat([up(x), skip], 1))
        return self.head(x)


def train(model):
    """The loss of every step, the share of the solids' voxels that are marked right afterwards, and the fastest step's seconds."""
    generator = torch.Generator().manual_seed(5)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    weights = torch.tensor([0.2, 1.0, 1.0])
    losses, fastest = [], float("inf")
    for _ in range(STEPS):
        volumes, kinds = scenes(BATCH, generator)
        start = time.perf_counter()
        loss = functional.cross_entropy(model(volumes), kinds, weights)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        fastest = min(fastest, time.perf_counter() - start)
        losses.append(loss.item())
    with torch.no_grad():
        volumes, kinds = scenes(8, torch.Generator().manual_seed(6))
        right = model(volumes).argmax(1) == kinds
        return losses, right[kinds > 0].float().mean().item(), fastest


def main():
    torch.manual_seed(4)
    theirs = UNet()
    mine = copy.deepcopy(theirs)
    runs = [train(theirs)]
    with cubejit.torch.enable("ours"):
        runs.append(train(mine))
    curves, found, seconds = zip(*runs)
    print("step   PyTorch   cubejit")
    for step in range(0, STEPS, 8):
        print(f"{step:4d}" + "".join(f"  {losses[step]:8.5f}" for losses in curves))
    print("found " + "".join(f"  {share:8.3f}" for share in found))
    print("ms    " + "".join(f"  {1e3 * s:8.1f}" for s in seconds) + f"   a step, the fastest: {seconds[0] / seconds[1]:.2f}x\n")
    print(cubejit.torch.report())
    early = max(abs(a - b) for a, b in zip(curves[0][:5], curves[1]))
    learned = sum(curves[1][-5:]) < 0.7 * sum(curves[1][:5])
    caught = all(row["passed_on"] is None for row in cubejit.torch.report().rows)
    return 0 if learned and caught and early < 1e-3 and found[1] > found[0] - 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
