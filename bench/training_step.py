#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how whole training steps are compared: networks of PyTorch, their steps by PyTorch alone and with cubejit under the dispatcher,
turn by turn in one process. Prints a table, of CPU time (of all threads) beside wall time, since two threads beside a busy core mean nothing;
--json FILE keeps the samples. --profile adds what a step of PyTorch alone is made of, by its profiler, and by how much a step could be faster if
convolutions took no time. --report says who computes each layer, and which are slower with cubejit than without.

    PYTHONPATH=build/release/python_packages bench/training_step.py --models unet3d,r3d18 --threads 2
"""

import argparse
import json
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

import cubejit.torch

MOST_STEPS_OF_CHOOSING = 40


def block3d(cin, cout, stride=1):
    return nn.Sequential(nn.Conv3d(cin, cout, 3, stride, 1, bias=False), nn.InstanceNorm3d(cout, affine=True), nn.LeakyReLU(0.01),
                         nn.Conv3d(cout, cout, 3, 1, 1, bias=False), nn.InstanceNorm3d(cout, affine=True), nn.LeakyReLU(0.01))


class UNet3d(nn.Module):
    """nnU-Net's blocks on levels of so many channels; with heads on all levels but the deepest one if it is supervised deeply."""

    def __init__(self, widths=(32, 64, 128), deep=False):
        super().__init__()
        below = list(zip(widths, widths[1:]))
        self.down = nn.ModuleList([block3d(1, widths[0]), *(block3d(cin, cout, 2) for cin, cout in below)])
        self.up = nn.ModuleList(nn.ConvTranspose3d(cin, cout, 2, 2) for cout, cin in below[::-1])
        self.merge = nn.ModuleList(block3d(2 * cout, cout) for cout, _ in below[::-1])
        self.heads = nn.ModuleList(nn.Conv3d(cout, 3, 1) for cout, _ in (below if deep else below[:1])[::-1])

    def forward(self, x):
        skips = []
        for down in self.down:
            x = down(x)
            skips.append(x)
        levels = []
        for up, merge, skip in zip(self.up, self.merge, skips[-2::-1]):
            x = merge(torch.cat([up(x), skip], 1))
            levels.append(x)
        outputs = [head(level).flatten(1) for head, level in zip(self.heads, levels[-len(self.heads):])]
        return torch.cat(outputs, 1)


class Residual3d(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv3d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm3d(cout), nn.ReLU(),
                                  nn.Conv3d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm3d(cout))
        self.skip = nn.Identity() if cin == cout and stride == 1 else nn.Sequential(
            nn.Conv3d(cin, cout, 1, stride, bias=False), nn.BatchNorm3d(cout))

    def forward(self, x):
        return functional.relu(self.body(x) + self.skip(x))


def r3d18():
    layers = [nn.Conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False), nn.BatchNorm3d(64), nn.ReLU()]
    width = 64
    for cout, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual3d(width, cout, stride), Residual3d(cout, cout, 1)]
        width = cout
    return nn.Sequential(*layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(512, 10))


class Inverted3d(nn.Module):
    """X3D's block: 1x1x1, depthwise 3x3x3, 1x1x1."""

    def __init__(self, cin, cout, stride):
        super().__init__()
        wide = 2 * cin + cin // 4
        self.body = nn.Sequential(nn.Conv3d(cin, wide, 1, bias=False), nn.BatchNorm3d(wide), nn.ReLU(),
                                  nn.Conv3d(wide, wide, 3, (1, stride, stride), 1, groups=wide, bias=False), nn.BatchNorm3d(wide), nn.SiLU(),
                                  nn.Conv3d(wide, cout, 1, bias=False), nn.BatchNorm3d(cout))
        self.same = cin == cout and stride == 1

    def forward(self, x):
        return functional.relu(self.body(x) + x) if self.same else functional.relu(self.body(x))


def x3d():
    layers, width = [nn.Conv3d(3, 24, (1, 3, 3), (1, 2, 2), (0, 1, 1), bias=False), nn.BatchNorm3d(24), nn.ReLU()], 24
    for cout in (24, 48, 96):
        layers += [Inverted3d(width, cout, 2), Inverted3d(cout, cout, 1)]
        width = cout
    return nn.Sequential(*layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(96, 10))


class ConvNext(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.body = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.body(self.norm(self.depthwise(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)


def convnext():
    layers, width = [nn.Conv2d(3, 96, 4, 4)], 96
    for cout in (96, 192):
        layers += ([] if cout == width else [nn.Conv2d(width, cout, 2, 2)]) + [ConvNext(cout) for _ in range(2)]
        width = cout
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(192, 10))


class Conformer(nn.Module):
    """The convolution module of a Conformer."""

    def __init__(self, width=144, kernel=31):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(width, 2 * width, 1), nn.GLU(1), nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width),
                                  nn.BatchNorm1d(width), nn.SiLU(), nn.Conv1d(width, width, 1))

    def forward(self, x):
        return x + self.body(x)


class WaveNet(nn.Module):
    def __init__(self, width=64, layers=8):
        super().__init__()
        self.filters = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=2**i, padding=2**i) for i in range(layers))
        self.out = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(layers))

    def forward(self, x):
        for filters, out in zip(self.filters, self.out):
            a, b = filters(x)[..., :x.shape[-1]].chunk(2, 1)
            x = x + out(torch.tanh(a) * torch.sigmoid(b))
        return x


# name: network, shape of its input
MODELS = {
    "unet3d": (UNet3d, (1, 1, 48, 48, 48)),
    "nnunet": (lambda: UNet3d((32, 64, 128, 256), deep=True), (2, 1, 48, 48, 48)),
    "r3d18": (r3d18, (2, 3, 8, 56, 56)),
    "x3d": (x3d, (2, 3, 8, 80, 80)),
    "convnext": (convnext, (4, 3, 112, 112)),
    "conformer": (lambda: nn.Sequential(*(Conformer() for _ in range(4))), (8, 144, 200)),
    "wavenet": (WaveNet, (2, 64, 2000)),
}


class Step:
    """One network and its data; times of forward, backward and all with the optimiser's update, and CPU time of all, in ms."""

    def __init__(self, name, dtype, channels_last):
        torch.manual_seed(0)
        make, shape = MODELS[name]
        self.net, self.x = make(), torch.randn(shape)
        if channels_last and len(shape) > 3:
            order = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
            self.net, self.x = self.net.to(memory_format=order), self.x.to(memory_format=order)
        self.dtype = dtype
        self.optimiser = torch.optim.SGD(self.net.parameters(), lr=1e-3)

    def run(self):
        self.optimiser.zero_grad(set_to_none=True)
        cpu, start = time.process_time(), time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.dtype == "bf16"):
            loss = self.net(self.x).float().pow(2).mean()
        forward = time.perf_counter()
        loss.backward()
        backward = time.perf_counter()
        self.optimiser.step()
        end = time.perf_counter()
        return {"forward": 1e3 * (forward - start), "backward": 1e3 * (backward - forward), "step": 1e3 * (end - start),
                "step, CPU": 1e3 * (time.process_time() - cpu)}


def compare(name, dtype, channels_last, rounds, math):
    """Samples of both, turn by turn, after steps in which it was chosen who computes what, and one of each that warms up."""
    step = Step(name, dtype, channels_last)
    samples = {"torch": [], "cubejit": []}
    cubejit.torch.report(reset=True)
    for _ in range(MOST_STEPS_OF_CHOOSING):
        with cubejit.torch.enable(math=math):
            step.run()
        if all(row["decided"] for row in cubejit.torch.report().rows):
            break
    for warm in range(rounds + 1):
        for who in samples:
            if who == "torch":
                took = step.run()
            else:
                with cubejit.torch.enable(math=math):
                    took = step.run()
            if warm > 0:
                samples[who].append(took)
    return samples


# What operators are, by words of their names; the first that fits.
KINDS = {"convolutions": ("conv",), "norms": ("norm",), "matrix products": ("mm", "linear"),
         "activations": ("relu", "silu", "gelu", "glu", "tanh", "sigmoid"), "copies": ("copy", "cat", "clone", "contiguous", "to_copy"),
         "the optimiser": ("foreach", "optimizer")}


def parts_of(name, dtype, channels_last):
    """ms of a step of PyTorch alone by kind of operator, the most first."""
    step = Step(name, dtype, channels_last)
    step.run()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        step.run()
    parts = {}
    for event in profile.key_averages():
        kind = next((kind for kind, words in KINDS.items() if any(word in event.key.lower() for word in words)), "others")
        parts[kind] = parts.get(kind, 0.0) + event.self_cpu_time_total / 1e3
    return dict(sorted(parts.items(), key=lambda part: -part[1]))


def losing_layers():
    """Layers that cubejit was chosen for, and whose calls then took longer than PyTorch's in the trial that chose: name, pass, ratio."""
    return [(row["layer"], row["pass"], row["torch_ms"] * row["timed"] / row["ms"]) for row in cubejit.torch.report().rows
            if row["passed_on"] is None and row["timed"] and row["torch_ms"] and row["ms"] > row["torch_ms"] * row["timed"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--dtype", default="f32", choices=("f32", "bf16"))
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--report", action="store_true", help="what became of every convolution")
    parser.add_argument("--profile", action="store_true", help="what a step is made of")
    parser.add_argument("--math", choices=("strict", "relaxed"), help="as enable() takes it")
    parser.add_argument("--json", help="file for the samples")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print(f"PyTorch {torch.__version__}, {args.dtype}{', channels-last' if args.channels_last else ''}{f', {args.math} math' if args.math else ''}, "
          f"{args.threads} threads, best of {args.rounds} (median)\n")
    print("| network | pass | PyTorch ms | cubejit ms | ratio of the best | of medians |\n|---|---|---:|---:|---:|---:|")
    kept = {}
    for name in args.models.split(","):
        samples = kept[name] = compare(name, args.dtype, args.channels_last, args.rounds, args.math)
        for part in ("forward", "backward", "step", "step, CPU"):
            theirs, mine = ([s[part] for s in samples[who]] for who in ("torch", "cubejit"))
            medians = statistics.median(theirs), statistics.median(mine)
            print(f"| {name} | {part} | {min(theirs):.1f} ({medians[0]:.1f}) | {min(mine):.1f} ({medians[1]:.1f}) | "
                  f"{min(theirs) / min(mine):.2f} | {medians[0] / medians[1]:.2f} |", flush=True)
        if args.profile:
            parts = parts_of(name, args.dtype, args.channels_last)
            whole = sum(parts.values())
            made_of = ", ".join(f"{kind} {100 * ms / whole:.0f} %" for kind, ms in parts.items() if ms >= 0.01 * whole)
            print(f"| {name} | {made_of} | {whole:.1f} | | {whole / (whole - parts['convolutions']):.2f} at most | |", flush=True)
        if args.report:
            print(cubejit.torch.report())
            for layer, name_of_pass, ratio in losing_layers():
                print(f"slower than PyTorch in its trial: {layer} {name_of_pass} {ratio:.2f}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(kept, file)


if __name__ == "__main__":
    main()
