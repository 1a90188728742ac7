# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides which random convolutions are tried, and lists those that have hardly a term. Leaves what is asked of them to others."""

from math import prod

from definition import Convolution

MOST_MEETINGS = 1200  # pixels times taps: the definition takes about 20 microseconds for each
_CHANNELS = (1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33, 48, 65)


def _axis(random, transposed, most):
    """One axis: image, kernel, stride, dilation, before, after, output padding; or None where no output is left."""
    kernel = random.choice((1, 1, 2, 3, 3, 3, 4, 5, 7))
    stride = random.choice((1, 1, 1, 2, 2, 3, 4, 5))
    dilation = random.choice((1, 1, 1, 2, 3, 6))
    image = random.choice((1, 2, 3, 5, 7, 8, 13, random.randint(1, most)))
    reach = dilation * (kernel - 1)
    before, after = (random.choice((0, 0, kernel // 2, kernel // 2, reach, random.randint(0, reach + 3))) for _ in range(2))
    if random.random() < 0.6:
        after = before
    more = random.choice((0, 0, random.randint(0, max(stride, dilation) - 1))) if transposed else 0
    room = (image - 1) * stride - before - after + reach + more if transposed else image + before + after - reach - 1
    return None if room < 0 else (image, kernel, stride, dilation, before, after, more)


def convolution(random, most_meetings=MOST_MEETINGS, wide=False):
    """Any: of 1 to 3 axes, grouped or not, transposed or not, padded anyhow. wide: many pixels or channels, which loops are cut by."""
    grown = 8 if wide else 1
    least = 5e6 if wide else 0
    while True:
        rank = random.choice((1, 2, 2, 2, 3, 3))
        transposed = random.random() < 0.35
        axes = [_axis(random, transposed, (60, 16, 8)[rank - 1] * (3 if wide else 1)) for _ in range(rank)]
        if None in axes:
            continue
        image, kernel, stride, dilation, before, after, more = zip(*axes)
        groups = random.choice((1, 1, 1, 2, 3, random.choice(_CHANNELS)))
        inner, outer = random.choice(_CHANNELS), random.choice(_CHANNELS)
        if random.random() < 0.15:
            inner = 1
            outer = random.choice((1, 1, 2))  # depthwise
            groups = random.choice(_CHANNELS)
        batch = random.choice((1, 1, 2, 3, 5))
        c = Convolution(batch, inner * groups, outer * groups, image, kernel, stride, dilation, before, after, groups, transposed,
                        more if transposed else ())
        pixels = prod(c.image) if transposed else prod(c.out)
        meetings, pairs = pixels * prod(kernel), inner * outer * groups
        if meetings <= most_meetings * grown and max(map(prod, (c.x_shape, c.w_shape, c.y_shape))) <= 60000 * grown \
                and pairs <= 4500 * grown and meetings * pairs * batch >= least:
            return c


def _log_uniform(random, low, high):
    return int(low * (high / low) ** random.random())


def large(random):
    """A layer of a realistic size: 1e6 to 3e7 elements in the larger tensor, and at most 6e8 products a pass."""
    while True:
        rank = random.choice((1, 2, 2, 3))
        few = random.choice((1, 1, 2, 3, 4, 8, 16, 32, 64))
        inner, outer = few, random.choice((1, 2, 3, few, 2 * few))
        kernel = random.choice((1, 1, 2, 3, 3, 5, 7 if rank < 3 else 3))
        stride = random.choice((1, 1, 1, 2, kernel))
        dilation = random.choice((1, 1, 1, 2))
        groups = random.choice((1, 1, 1, 2, 8))
        if random.random() < 0.2:
            inner, outer, groups = 1, 1, random.choice((3, 8, 16, 24, 64))  # depthwise
        batch = random.choice((1, 1, 1, 2, 5))
        pixels = max(1, _log_uniform(random, 1e6, 3e7) // (batch * groups * max(inner, outer)))
        longest = pixels ** (1 / rank) * random.choice((1, 1, 2))
        image = [max(1, int(longest))] * (rank - 1)
        image.append(max(1, pixels // prod(image)))
        random.shuffle(image)
        transposed = random.random() < 0.2
        side = random.choice((0, dilation * (kernel - 1) // 2))
        if min(image) <= dilation * (kernel - 1):
            continue
        c = _make(batch, inner * groups, outer * groups, tuple(image), (kernel,) * rank, stride, side, dilation, groups, transposed)
        products = batch * prod(c.image if transposed else c.out) * kernel**rank * inner * outer * groups
        if min(c.out) > 0 and 1e6 <= max(prod(c.x_shape), prod(c.y_shape)) <= 3e7 and products <= 6e8:
            return c


def _make(batch, cin, cout, image, kernel, stride=1, padding=0, dilation=1, groups=1, transposed=False, more=0):
    def spread(value):
        return value if isinstance(value, tuple) else (value,) * len(image)

    sides = spread(padding)
    before, after = (sides[0::2], sides[1::2]) if len(sides) == 2 * len(image) else (sides, sides)
    return Convolution(batch, cin, cout, image, kernel, spread(stride), spread(dilation), before, after, groups, transposed,
                       spread(more) if transposed else ())


# Problems at the edge of what is legal; every option meets each.
DEGENERATE = {
    "no image": _make(0, 3, 5, (4, 6), (3, 3), padding=1),
    "no image, transposed, grouped": _make(0, 4, 6, (3,), (2,), stride=2, groups=2, transposed=True),
    "no image, 3D": _make(0, 16, 16, (2, 3, 4), (1, 3, 3), padding=(0, 1, 1)),
    "one of everything": _make(1, 1, 1, (1,), (1,)),
    "one of everything, 3D": _make(1, 1, 1, (1, 1, 1), (1, 1, 1)),
    "one pixel under a wide kernel": _make(2, 3, 4, (1, 1), (5, 5), padding=2),
    "no tap meets": _make(2, 3, 4, (2, 1), (2, 2), dilation=(9, 4), padding=(5, 3)),
    "one axis never meets": _make(1, 8, 8, (1, 6), (2, 3), dilation=(4, 1), padding=(2, 1)),
    "most pixels of y are of padding": _make(2, 5, 3, (2, 3), (1, 2), padding=(7, 0, 0, 9)),
    "no tap meets, stride jumps over the image": _make(1, 2, 2, (1,), (1,), stride=5, padding=(3, 4)),
    "stride larger than kernel": _make(2, 7, 9, (9, 11), (2, 1), stride=(4, 3)),
    "padding larger than image, transposed": _make(2, 3, 4, (5,), (3,), stride=2, padding=(4, 5), transposed=True, more=1),
    "taps of a transposed one fall outside": _make(1, 4, 3, (2, 2), (3, 3), padding=3, dilation=3, stride=2, transposed=True),
    "groups are the channels": _make(2, 17, 17, (3, 4), (3, 2), padding=1, groups=17),
    "groups are the channels, one pixel": _make(1, 33, 33, (1,), (1,), groups=33),
    "one channel in": _make(3, 1, 19, (6, 7), (3, 3), padding=1),
    "one channel out": _make(3, 19, 1, (6, 7), (3, 3), padding=1),
    "a row of pixels": _make(1, 4, 4, (1, 37), (1, 7), padding=(0, 3)),
    "output padding without a term": _make(1, 3, 3, (2, 2), (1, 1), stride=3, transposed=True, more=2),
    "a stride of a million": _make(1, 4, 5, (1,), (1,), stride=2**20, padding=(2**20, 0)),
    "a dilation of a million": _make(1, 4, 5, (3,), (2,), dilation=2**20, padding=(2**20, 0)),
    "kernel as large as the image": _make(4, 6, 10, (4, 3, 2), (4, 3, 2)),
}
