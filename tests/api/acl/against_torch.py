#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random problems through the C interface against PyTorch's aten::convolution_backward and aten::convolution in double.

Whole numbers, so that results must be equal:  against_torch.py LIBCUBEJIT_ACL.SO [COUNT] [SEED]
With CUBEJIT_SOC problems that break the part's rules are left out.
"""
import ctypes
import os
import random
import sys

import torch

FORMATS = {1: 2, 3: 47, 4: 0, 5: 30}  # ND, NCL, NCHW, NCDHW
TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 27}
Pointer, Int64s = ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64)


def load(path):
    acl = ctypes.CDLL(path)
    acl.aclCreateTensor.restype = acl.aclCreateIntArray.restype = acl.aclCreateBoolArray.restype = Pointer
    acl.aclCreateTensor.argtypes = [Int64s, ctypes.c_uint64, ctypes.c_int, Int64s, ctypes.c_int64, ctypes.c_int, Int64s,
                                    ctypes.c_uint64, Pointer]
    acl.aclCreateIntArray.argtypes = [Int64s, ctypes.c_uint64]
    acl.aclCreateBoolArray.argtypes = [ctypes.POINTER(ctypes.c_bool), ctypes.c_uint64]
    for destroy in (acl.aclDestroyTensor, acl.aclDestroyIntArray, acl.aclDestroyBoolArray, acl.aclrtFree,
                    acl.aclrtSynchronizeStream):
        destroy.argtypes = [Pointer]
    acl.aclrtMalloc.argtypes = [ctypes.POINTER(Pointer), ctypes.c_size_t, ctypes.c_int]
    acl.aclnnConvolutionBackwardGetWorkspaceSize.argtypes = (
        [Pointer] * 7 + [ctypes.c_bool, Pointer, ctypes.c_int, Pointer, ctypes.c_int8] + [Pointer] * 3 +
        [ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(Pointer)])
    acl.aclnnConvolutionGetWorkspaceSize.argtypes = (
        [Pointer] * 6 + [ctypes.c_bool, Pointer, ctypes.c_int64, Pointer, ctypes.c_int8,
                         ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(Pointer)])
    for run in (acl.aclnnConvolutionBackward, acl.aclnnConvolution):
        run.argtypes = [Pointer, ctypes.c_uint64, Pointer, Pointer]
    acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
    return acl


def int64s(values):
    return (ctypes.c_int64 * len(values))(*values)


class Handles:
    """What a call makes; destroyed together."""

    def __init__(self, acl):
        self.acl, self.made = acl, []

    def keep(self, handle, destroy):
        assert handle, self.acl.aclGetRecentErrMsg()
        self.made.append((handle, destroy))
        return handle

    def tensor(self, t):
        shape, strides = int64s(t.shape), int64s(t.stride())
        return self.keep(self.acl.aclCreateTensor(shape, t.dim(), TYPES[t.dtype], strides, 0, FORMATS[t.dim()], None,
                                                  0, t.data_ptr()), self.acl.aclDestroyTensor)

    def ints(self, values):
        return self.keep(self.acl.aclCreateIntArray(int64s(values), len(values)), self.acl.aclDestroyIntArray)

    def bools(self, values):
        array = (ctypes.c_bool * len(values))(*values)
        return self.keep(self.acl.aclCreateBoolArray(array, len(values)), self.acl.aclDestroyBoolArray)

    def close(self):
        for handle, destroy in self.made:
            assert destroy(handle) == 0


def random_problem(dice):
    while True:
        rank = dice.randint(1, 3)
        transposed, groups = dice.random() < 0.3, dice.choice([1, 1, 2, 3, 5])
        cin, cout = groups * dice.randint(1, 9), groups * dice.randint(1, 9)
        kernel = [dice.randint(1, 4 if rank < 3 else 3) for _ in range(rank)]
        stride = [dice.choice([1, 1, 2, 3]) for _ in range(rank)]
        padding = [dice.randint(0, 2) for _ in range(rank)]
        dilation = [dice.choice([1, 1, 2]) for _ in range(rank)]
        space = [dice.randint(1, [40, 12, 6][rank - 1]) for _ in range(rank)]
        extra = [dice.randint(0, s - 1) if transposed else 0 for s in stride]
        out = []
        for i in range(rank):
            reach = dilation[i] * (kernel[i] - 1)
            out.append((space[i] - 1) * stride[i] - 2 * padding[i] + reach + extra[i] + 1 if transposed else
                       (space[i] + 2 * padding[i] - reach - 1) // stride[i] + 1)
        if min(out) < 1:
            continue
        batch = dice.randint(1, 3)
        weight = ([cin, cout // groups] if transposed else [cout, cin // groups]) + kernel
        mask = [dice.random() < 0.8 for _ in range(3)]
        if any(mask):
            return dict(x=[batch, cin] + space, w=weight, y=[batch, cout] + out, stride=stride, padding=padding,
                        dilation=dilation, extra=extra, transposed=transposed, groups=groups, mask=mask)


def data(dice, shape, dtype):
    t = torch.randint(-4, 5, shape).to(dtype)
    if len(shape) > 2 and dice.random() < 0.3:  # channels in the fastest place, or an axis pair exchanged
        t = t.transpose(1, -1).contiguous().transpose(1, -1)
    return t


def phases(acl, p, one, two):
    """Whether the problem is computed; not if it breaks the part's rules. `one` is called with phase 1's results."""
    size, executor, workspace = ctypes.c_uint64(), Pointer(), Pointer()
    status = one(ctypes.byref(size), ctypes.byref(executor))
    if status == 161002 and "CUBEJIT_SOC" in os.environ:  # the part's rules
        return False
    assert status == 0, (status, acl.aclGetRecentErrMsg(), p)
    if size.value:
        assert acl.aclrtMalloc(ctypes.byref(workspace), size.value, 0) == 0
    status = two(workspace, size, executor, None)
    assert status == 0, (status, acl.aclGetRecentErrMsg(), p)
    assert acl.aclrtSynchronizeStream(None) == 0, acl.aclGetRecentErrMsg()
    if workspace:
        acl.aclrtFree(workspace)
    return True


def backward(acl, dice, p, h):
    dtype = dice.choice(list(TYPES))
    y, x, w = (data(dice, p[name], dtype) for name in ("y", "x", "w"))
    outputs = [data(dice, shape, dtype) for shape in (p["x"], p["w"], [p["y"][1]])]
    arguments = (h.tensor(y), h.tensor(x), h.tensor(w), h.ints([p["y"][1]]), h.ints(p["stride"]), h.ints(p["padding"]),
                 h.ints(p["dilation"]), p["transposed"], h.ints(p["extra"]), p["groups"], h.bools(p["mask"]),
                 dice.randint(0, 3), *[h.tensor(t) for t in outputs])
    if not phases(acl, p, lambda *results: acl.aclnnConvolutionBackwardGetWorkspaceSize(*arguments, *results),
                  acl.aclnnConvolutionBackward):
        return False
    wanted = torch.ops.aten.convolution_backward(
        y.double(), x.double(), w.double(), [p["y"][1]], p["stride"], p["padding"], p["dilation"], p["transposed"],
        p["extra"], p["groups"], p["mask"])
    for name, got, want, asked in zip(("gradInput", "gradWeight", "gradBias"), outputs, wanted, p["mask"]):
        if asked and not torch.equal(got, want.to(dtype)):
            raise AssertionError(f"{name} differs for {dtype}: {p}")
    return True


def forward(acl, dice, p, h):
    dtypes = [dice.choice(list(TYPES))] * 4 if dice.random() < 0.5 else [dice.choice(list(TYPES)) for _ in range(4)]
    x, w, bias, y = (data(dice, shape, dtype) for shape, dtype in zip((p["x"], p["w"], [p["y"][1]], p["y"]), dtypes))
    if dice.random() < 0.3:
        bias = None
    arguments = (h.tensor(x), h.tensor(w), None if bias is None else h.tensor(bias), h.ints(p["stride"]),
                 h.ints(p["padding"]), h.ints(p["dilation"]), p["transposed"], h.ints(p["extra"]), p["groups"],
                 h.tensor(y), dice.randint(0, 3))
    if not phases(acl, p, lambda *results: acl.aclnnConvolutionGetWorkspaceSize(*arguments, *results),
                  acl.aclnnConvolution):
        return False
    want = torch.ops.aten.convolution(x.double(), w.double(), None if bias is None else bias.double(), p["stride"],
                                      p["padding"], p["dilation"], p["transposed"], p["extra"], p["groups"])
    if not torch.equal(y, want.to(y.dtype)):
        raise AssertionError(f"output differs for {dtypes}{'' if bias is None else ', with a bias'}: {p}")
    return True


def run(acl, dice, p):
    h = Handles(acl)
    try:
        return (forward if dice.random() < 0.3 else backward)(acl, dice, p, h)
    finally:
        h.close()


def main():
    acl, count = load(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    dice = random.Random(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    computed = 0
    for index in range(count):
        try:
            computed += run(acl, dice, random_problem(dice))
        except AssertionError as error:
            print(f"problem {index} of seed {seed}: {error}", file=sys.stderr)
            return 1
    print(f"{computed} problems equal PyTorch {torch.__version__}, {count - computed} break rules of the part")
    return 0 if computed > count // 3 else 1


if __name__ == "__main__":
    sys.exit(main())
