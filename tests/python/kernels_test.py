# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides what is asked of the kernels that stand in kernels/ to be copied from: each computes what its comment says, in shapes that fit no tile and
with every value that its tile parameters may have."""

import itertools
import math
import pathlib
import re
import unittest

import numpy as np

import cubejit

try:
    import torch
    from torch.nn import functional
except ImportError:
    torch = None

KERNELS = pathlib.Path(__file__).resolve().parent.parent.parent / "kernels"
EPSILON = 1e-5


# What NumPy makes of the inputs, in float64: an array, or one for each output. `p` are the kernel's parameters.

def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def gemm_quantised(p, A, B, rows, columns, bias):
    """As the kernel rounds it: exact sums, and operations of float32."""
    sums, rows, columns, bias = (array.astype(np.float32) for array in (A @ B, rows, columns, bias))
    C = np.maximum(sums * columns * rows[:, None] + bias, 0)
    return np.clip(np.rint(C), -128, 127) if p["type"] == "i8" else C


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(p, Q, K, V):
    return softmax(Q @ K.transpose(0, 2, 1) / math.sqrt(Q.shape[2])) @ V


def causal_attention(p, Q, K, V):
    seen = np.tril(np.ones((p["T"], p["T"]), bool))
    return softmax(np.where(seen, Q @ K.transpose(0, 2, 1) / math.sqrt(Q.shape[2]), -np.inf)) @ V


def normalize(x, axes):
    """(x - mean) / sqrt(variance + epsilon) along these axes, the mean and 1 / sqrt(variance + epsilon)."""
    mean = x.mean(axis=axes, keepdims=True)
    scale = 1 / np.sqrt(x.var(axis=axes, keepdims=True) + EPSILON)
    return (x - mean) * scale, mean, scale


def normalize_backward(x, g, axes):
    """The gradient of x where g comes to normalize(x)."""
    normal, _, scale = normalize(x, axes)
    return (g - g.mean(axis=axes, keepdims=True) - normal * (g * normal).mean(axis=axes, keepdims=True)) * scale


def layer_norm(p, X, gamma, beta):
    return normalize(X, 1)[0] * gamma + beta


def layer_norm_backward(p, X, gamma, dY):
    return normalize_backward(X, dY * gamma, 1), (dY * normalize(X, 1)[0]).sum(axis=0), dY.sum(axis=0)


def batch_norm(p, X, gamma, beta):
    return normalize(X, 0)[0] * gamma + beta


def batch_norm_training(p, X, gamma, beta):
    normal, mean, scale = normalize(X, 0)
    return normal * gamma + beta, mean[0], scale[0]


def batch_norm_backward(p, X, gamma, mean, scale, dY):
    return normalize_backward(X, dY * gamma, 0), (dY * normalize(X, 0)[0]).sum(axis=0), dY.sum(axis=0)


def instance_norm(p, X, gamma, beta):
    normal, mean, scale = normalize(X, 1)
    return normal * gamma + beta, mean[:, 0], scale[:, 0]


def instance_norm_backward(p, X, gamma, mean, scale, dY):
    return normalize_backward(X, dY * gamma, 1), (dY * normalize(X, 1)[0]).sum(axis=(0, 1)), dY.sum(axis=(0, 1))


def grouped(p, x):
    return x.reshape(p["N"], p["P"], p["G"], p["S"])


def group_norm(p, X, gamma, beta):
    normal, mean, scale = normalize(grouped(p, X), (1, 3))
    return normal.reshape(X.shape) * gamma + beta, mean[:, 0, :, 0], scale[:, 0, :, 0]


def group_norm_backward(p, X, gamma, mean, scale, dY):
    normal = normalize(grouped(p, X), (1, 3))[0].reshape(X.shape)
    dX = normalize_backward(grouped(p, X), grouped(p, dY * gamma), (1, 3)).reshape(X.shape)
    return dX, (dY * normal).sum(axis=(0, 1)), dY.sum(axis=(0, 1))


def windows(x, size, stride):
    """Of images in channels last: the elements at one place of each window, for all places row by row."""
    rows, columns = ((extent - size) // stride + 1 for extent in x.shape[1:3])
    return [x[:, i:i + (rows - 1) * stride + 1:stride, j:j + (columns - 1) * stride + 1:stride] for i in range(size) for j in range(size)]


def pooling(p, X):
    elements = windows(X, 3, 2)
    return np.max(elements, axis=0), np.mean(elements, axis=0)


def max_pooling_backward(p, X, dY):
    dX = np.zeros_like(X)
    first = np.argmax(windows(X, 2, 2), axis=0)
    for place, elements in enumerate(windows(dX, 2, 2)):
        elements[...] = np.where(first == place, dY, 0)
    return dX


def average_pooling_backward(p, dY):
    dX = np.zeros((p["N"], p["H"], p["W"], p["C"]))
    for elements in windows(dX, p["window"], p["stride"]):
        elements += dY / p["window"]**2
    return dX


def depthwise(p, X, w):
    sums = sum(elements * weights for elements, weights in zip(windows(X, 3, 1), w.reshape(9, -1)))
    return sums / (1 + np.exp(-sums))


def stencil_2d(p, X, w):
    return sum(elements * weight for elements, weight in zip(windows(X[np.newaxis], 3, 1), w.reshape(9)))[0]


def stencil_3d(p, X):
    z, y, x = (slice(1, -1),) * 3
    beside = X[:-2, y, x] + X[2:, y, x] + X[z, :-2, x] + X[z, 2:, x] + X[z, y, :-2] + X[z, y, 2:]
    return X[z, y, x] * 0.4 + beside * 0.1


def gemm_gelu(p, A, B, bias):
    x = A @ B + bias
    return x / 2 * (1 + erf(x / math.sqrt(2)))


# What the inputs are where not any numbers will do: made of random ones.

def softmax_backward_inputs(p, Y, dY):
    return {"Y": softmax(Y), "dY": dY}


def statistics_inputs(forward):
    def inputs(p, X, gamma, mean, scale, dY):
        _, mean, scale = forward(p, X, gamma, gamma)
        return {"X": X, "gamma": gamma, "mean": mean, "scale": scale, "dY": dY}
    return inputs


def equal_inputs(p, X, dY):
    return {"X": np.round(X), "dY": dY}


def quantised_inputs(p, A, B, rows, columns, bias):
    """Scales with which results are of all sizes that i8 holds, and some beyond."""
    return {"A": A, "B": B, "rows": rows, "columns": columns * 40 / (5400 * math.sqrt(p["K"])), "bias": 20 * bias}


INPUTS = {
    "gemm_quantised": quantised_inputs,
    "softmax_backward": softmax_backward_inputs,
    "batch_norm_backward": statistics_inputs(batch_norm_training),
    "instance_norm_backward": statistics_inputs(instance_norm),
    "group_norm_backward": statistics_inputs(group_norm),
    "max_pooling_backward": equal_inputs,
}

# Of each kernel what it computes, and settings: small ones, primes, ones, more than a tile and a multiple of tiles.
GEMMS = [{"M": 7, "N": 19, "K": 5}, {"M": 1, "N": 1, "K": 1}, {"M": 1, "N": 33, "K": 13}, {"M": 37, "N": 1, "K": 67}, {"M": 24, "N": 64, "K": 32},
         {"M": 61, "N": 71, "K": 131}]
BATCHES_OF_GEMMS = [{"batch": batch, **setting} for setting in GEMMS for batch in (1, 3)]
ROWS = [{"M": 5, "N": 19}, {"M": 1, "N": 1}, {"M": 1, "N": 77}, {"M": 13, "N": 1}, {"M": 16, "N": 64}, {"M": 37, "N": 331}]
BATCHES = [{"P": 7, "C": 19}, {"P": 1, "C": 1}, {"P": 1, "C": 37}, {"P": 131, "C": 1}, {"P": 64, "C": 32}, {"P": 211, "C": 83}]
IMAGES = [{"N": 2, **setting} for setting in BATCHES] + [{"N": 1, "P": 5, "C": 17}, {"N": 7, "P": 13, "C": 47}]
GROUPS = [{"N": 2, "P": 7, "G": 3, "S": 5}, {"N": 1, "P": 1, "G": 1, "S": 1}, {"N": 3, "P": 11, "G": 1, "S": 37}, {"N": 1, "P": 13, "G": 41, "S": 1},
          {"N": 2, "P": 1, "G": 2, "S": 3}, {"N": 2, "P": 64, "G": 4, "S": 16}, {"N": 5, "P": 101, "G": 7, "S": 11}]
POOLS = [{"N": 2, "H": 5, "W": 7, "C": 3}, {"N": 1, "H": 3, "W": 3, "C": 1}, {"N": 1, "H": 8, "W": 6, "C": 37}, {"N": 3, "H": 19, "W": 23, "C": 17}]
HEADS = [{"H": 2, "T": 7, "D": 5}, {"H": 1, "T": 1, "D": 1}, {"H": 3, "T": 1, "D": 16}, {"H": 1, "T": 131, "D": 1}, {"H": 2, "T": 64, "D": 32},
         {"H": 3, "T": 293, "D": 37}]
CASES = {
    "argmax": (lambda p, X: X.argmax(axis=1), ROWS + [{"M": 3, "N": 5003}]),
    "attention": (attention, HEADS),
    "causal_attention": (causal_attention, HEADS),
    "flash_attention": (attention, HEADS),
    "average_pooling_backward": (average_pooling_backward, POOLS + [{**s, "window": 2, "stride": w} for s in POOLS for w in (1, 2, 3)]),
    "batch_norm": (batch_norm, BATCHES),
    "batch_norm_backward": (batch_norm_backward, BATCHES),
    "batch_norm_training": (batch_norm_training, BATCHES),
    "depthwise": (depthwise, POOLS),
    "gemm": (lambda p, A, B, bias: np.maximum(A @ B + bias, 0), GEMMS),
    "gemm_batched": (lambda p, A, B: A @ B, BATCHES_OF_GEMMS),
    "gemm_blocked": (lambda p, A, B: A @ B, GEMMS + [{"M": 5, "N": 17, "K": 128}, {"M": 13, "N": 40, "K": 129}, {"M": 9, "N": 16, "K": 523}]),
    "gemm_direct": (lambda p, A, B: A @ B, BATCHES_OF_GEMMS),
    "gemm_few_columns": (lambda p, A, B: A @ B, GEMMS),
    "gemm_gelu": (gemm_gelu, GEMMS),
    "gemm_i8": (lambda p, A, B: A @ B, GEMMS + [{"M": 5, "N": 35, "K": 1021}]),
    "gemm_quantised": (gemm_quantised, GEMMS + [{"M": 5, "N": 35, "K": 1021}]),
    "gemm_nt": (lambda p, A, B: A @ B.T, GEMMS),
    "gemm_nt_few_rows": (lambda p, A, B: A @ B.T, GEMMS),
    "gemm_tall": (lambda p, A, B: A @ B, GEMMS),
    "gemm_tn": (lambda p, A, B: A.T @ B, GEMMS),
    "gemm_tn_direct": (lambda p, A, B: A.T @ B, GEMMS),
    "gemm_tt": (lambda p, A, B: A.T @ B.T, GEMMS),
    "gemm_tt_direct": (lambda p, A, B: A.T @ B.T, GEMMS),
    "group_norm": (group_norm, GROUPS),
    "group_norm_backward": (group_norm_backward, GROUPS),
    "instance_norm": (instance_norm, IMAGES),
    "instance_norm_backward": (instance_norm_backward, IMAGES),
    "layer_norm": (layer_norm, ROWS),
    "layer_norm_backward": (layer_norm_backward, ROWS),
    "max_pooling_backward": (max_pooling_backward, POOLS + [{"N": 1, "H": 2, "W": 2, "C": 5}]),
    "pooling": (pooling, POOLS),
    "softmax": (lambda p, X: softmax(X), ROWS),
    "softmax_backward": (lambda p, Y, dY: Y * (dY - (dY * Y).sum(axis=1, keepdims=True)), ROWS),
    "stencil_2d": (stencil_2d, [{"H": 7, "W": 5}, {"H": 3, "W": 3}, {"H": 3, "W": 67}, {"H": 41, "W": 3}, {"H": 34, "W": 66}, {"H": 53, "W": 131}]),
    "stencil_3d": (stencil_3d, [{"D": 4, "H": 5, "W": 7}, {"D": 3, "H": 3, "W": 3}, {"D": 5, "H": 13, "W": 67}]),
    "total": (lambda p, X: np.array([X.sum()]), [{"parts": 3, "N": 7}, {"parts": 1, "N": 1}, {"parts": 1, "N": 131}, {"parts": 37, "N": 1}]),
    "transpose": (lambda p, X: X.T, ROWS),
}


# What PyTorch makes of them where it has the operation, in float64: what the formulas above are compared with.

def backward(forward, gradient, *operands):
    operands = [operand.clone().requires_grad_() for operand in operands]
    forward(*operands).backward(gradient)
    return tuple(operand.grad for operand in operands)


def torch_attention(p, Q, K, V):
    return torch.softmax(Q @ K.transpose(1, 2) / math.sqrt(p["D"]), dim=2) @ V


def torch_causal_attention(p, Q, K, V):
    hidden = torch.ones(p["T"], p["T"]).triu(1).bool()
    return torch.softmax((Q @ K.transpose(1, 2) / math.sqrt(p["D"])).masked_fill(hidden, -math.inf), dim=2) @ V


def torch_batch_norm(x, gamma, beta):
    return functional.batch_norm(x, None, None, gamma, beta, training=True, eps=EPSILON)


def torch_instance_norm(x, gamma, beta):
    return functional.instance_norm(x.transpose(1, 2), weight=gamma, bias=beta, eps=EPSILON).transpose(1, 2)


def torch_group_norm(p):
    return lambda x, gamma, beta: functional.group_norm(x.transpose(1, 2), p["G"], gamma, beta, EPSILON).transpose(1, 2)


def torch_max_pooling_backward(p, X, dY):
    return backward(lambda x: functional.max_pool2d(x.movedim(-1, 1), 2).movedim(1, -1), dY, X)


def torch_average_pooling_backward(p, dY):
    x = torch.zeros(p["N"], p["H"], p["W"], p["C"], dtype=torch.float64)
    return backward(lambda x: functional.avg_pool2d(x.movedim(-1, 1), p["window"], p["stride"]).movedim(1, -1), dY, x)


def torch_pooling(p, X):
    x = X.movedim(-1, 1)
    return functional.max_pool2d(x, 3, 2).movedim(1, -1), functional.avg_pool2d(x, 3, 2).movedim(1, -1)


def torch_depthwise(p, X, w):
    return functional.silu(functional.conv2d(X.movedim(-1, 1), w.movedim(-1, 0)[:, None], groups=p["C"])).movedim(1, -1)


TORCH = {
    "argmax": lambda p, X: torch.argmax(X, dim=1),
    "attention": torch_attention,
    "causal_attention": torch_causal_attention,
    "average_pooling_backward": torch_average_pooling_backward,
    "batch_norm": lambda p, X, gamma, beta: torch_batch_norm(X, gamma, beta),
    "batch_norm_training": lambda p, X, gamma, beta: (torch_batch_norm(X, gamma, beta),),
    "batch_norm_backward": lambda p, X, gamma, mean, scale, dY: backward(torch_batch_norm, dY, X, gamma, torch.zeros_like(gamma)),
    "depthwise": torch_depthwise,
    "gemm_gelu": lambda p, A, B, bias: functional.gelu(A @ B + bias),
    "group_norm": lambda p, X, gamma, beta: (torch_group_norm(p)(X, gamma, beta),),
    "group_norm_backward": lambda p, X, gamma, mean, scale, dY: backward(torch_group_norm(p), dY, X, gamma, torch.zeros_like(gamma)),
    "instance_norm": lambda p, X, gamma, beta: (torch_instance_norm(X, gamma, beta),),
    "instance_norm_backward": lambda p, X, gamma, mean, scale, dY: backward(torch_instance_norm, dY, X, gamma, torch.zeros_like(gamma)),
    "layer_norm": lambda p, X, gamma, beta: functional.layer_norm(X, (p["N"],), gamma, beta, EPSILON),
    "layer_norm_backward": lambda p, X, gamma, dY: backward(lambda x, g, b: functional.layer_norm(x, (p["N"],), g, b, EPSILON), dY, X, gamma,
                                                           torch.zeros_like(gamma)),
    "max_pooling_backward": torch_max_pooling_backward,
    "pooling": torch_pooling,
    "softmax": lambda p, X: torch.softmax(X, dim=1),
    "stencil_2d": lambda p, X, w: functional.conv2d(X[None, None], w[None, None])[0, 0],
}


# How far results may be from the reference, as a share of the largest one.
WITHIN = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2, "int8": 0, "int32": 0}


def stored(array, type):
    """Rounded to a tensor's type; NumPy has no bfloat16."""
    return torch.from_numpy(array.astype(np.float32)).bfloat16() if type == "bfloat16" else array.astype(type)


def random(generator, shape, type):
    if type == "int8":
        return generator.integers(-128, 128, shape, dtype=np.int8)
    return stored(generator.standard_normal(shape), type)


def wide(array):
    if isinstance(array, np.ndarray) and array.dtype == np.uint16:  # bits of bfloat16, where no operand was PyTorch's
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64) if isinstance(array, np.ndarray) else array.double().numpy()


def tuple_of(results):
    return results if isinstance(results, tuple) else (results,)


def tiles(name):
    """The tile parameters of a kernel and their values: those of which its text lists numbers."""
    text = (KERNELS / f"{name}.tile").read_text(encoding="utf-8")
    found = re.findall(r"^parameter (\w+) in ([\d ]+)$", text, re.MULTILINE)
    return {parameter: [int(value) for value in values.split()] for parameter, values in found}


class Kernels(unittest.TestCase):
    def setUp(self):
        self.generator = np.random.default_rng(5)

    def made(self, name, **parameters):
        """A kernel and operands for it."""
        kernel = cubejit.Kernel(KERNELS / f"{name}.tile", **parameters)
        types = {tensor: of for tensor, _, of, _, _ in kernel.tensors}
        inputs = {tensor: random(self.generator, shape, of) for tensor, output, of, shape, _ in kernel.tensors if not output}
        if name in INPUTS:
            made = INPUTS[name](kernel.parameters, **{tensor: wide(array) for tensor, array in inputs.items()})
            inputs = {tensor: stored(array, types[tensor]) for tensor, array in made.items()}
        return kernel, inputs

    def wanted(self, name, kernel, inputs):
        return tuple_of(CASES[name][0](kernel.parameters, **{tensor: wide(array) for tensor, array in inputs.items()}))

    def check(self, name, parameters):
        kernel, inputs = self.made(name, **parameters)
        results, wanted = tuple_of(kernel(**inputs)), self.wanted(name, kernel, inputs)
        outputs = [(tensor, of) for tensor, output, of, *_ in kernel.tensors if output]
        self.assertEqual(len(wanted), len(outputs))
        for (output, of), result, right in zip(outputs, results, wanted):
            self.assertEqual(tuple(result.shape), right.shape, output)
            within = WITHIN[of]
            np.testing.assert_allclose(wide(result), right, rtol=within, atol=within * max(1, np.abs(right).max()), err_msg=output)
        return kernel, inputs, results

    def test_each_kernel_has_a_case(self):
        self.assertEqual(sorted(CASES), sorted(path.stem for path in KERNELS.glob("*.tile")))

    def test_shapes(self):
        for name, (_, settings) in CASES.items():
            for parameters in settings:
                with self.subTest(kernel=name, **parameters):
                    self.check(name, parameters)

    def test_types(self):
        for type in ("f16", "bf16") if torch else ("f16",):
            for name, (_, settings) in CASES.items():
                if not re.search("^parameter type ", (KERNELS / f"{name}.tile").read_text(encoding="utf-8"), re.MULTILINE):
                    continue
                for parameters in (settings[0], settings[-1]):
                    with self.subTest(kernel=name, type=type, **parameters):
                        self.check(name, {**parameters, "type": type})

    def test_sizes_of_the_text(self):
        for name in CASES:
            with self.subTest(kernel=name):
                self.check(name, {})

    def test_tiles(self):
        for name, (_, settings) in CASES.items():
            values, ran = tiles(name), 0
            for chosen in itertools.product(*values.values()):
                tile = dict(zip(values, chosen))
                with self.subTest(kernel=name, **tile):
                    try:
                        for parameters in (settings[0], settings[-1]):
                            self.check(name, {**parameters, **tile})
                        ran += 1
                    except cubejit.Error as error:  # values that its text says do not fit together; tiles that another CPU's registers hold
                        if error.code != "limit_exceeded" and ": requires " not in str(error):
                            raise
            self.assertGreater(ran, 0, name)

    def test_bits_are_the_interpreters_and_one_threads(self):
        for name, (_, settings) in CASES.items():
            with self.subTest(kernel=name):
                kernel, inputs, results = self.check(name, settings[0])
                for others in (kernel.interpret(**inputs), kernel(**inputs, threads=1), kernel(**inputs, threads=3)):
                    for result, other in zip(results, tuple_of(others)):
                        np.testing.assert_array_equal(result, other)

    def test_first_of_equal_ones(self):
        kernel, inputs = self.made("argmax", M=37, N=331)
        X = np.round(inputs["X"])
        np.testing.assert_array_equal(kernel(X), X.argmax(axis=1))
        X[X == X.max(axis=1, keepdims=True)] = np.nan
        np.testing.assert_array_equal(kernel(X), np.nanargmax(X, axis=1))
        X[5], X[7], X[8] = np.nan, -np.inf, np.inf
        np.testing.assert_array_equal(kernel(X)[[5, 7, 8]], [331, 0, 0])

    def test_extents_of_zero(self):
        empty = {"softmax": ({"M": 0}, {"N": 0}), "gemm": ({"M": 0}, {"N": 0}, {"K": 0}), "layer_norm": ({"M": 0},), "argmax": ({"M": 0},),
                 "attention": ({"H": 0}, {"T": 0}), "flash_attention": ({"T": 0},), "total": ({"parts": 0}, {"N": 0}), "transpose": ({"N": 0},)}
        for name, settings in empty.items():
            for parameters in settings:
                with self.subTest(kernel=name, **parameters):
                    kernel, inputs = self.made(name, **parameters)
                    shapes = [shape for _, output, _, shape, _ in kernel.tensors if output]
                    for results in (kernel(**inputs), kernel(**inputs, threads=3), kernel.interpret(**inputs),
                                    cubejit.jit(KERNELS / f"{name}.tile")(**inputs)):
                        self.assertEqual([result.shape for result in tuple_of(results)], shapes)
        nothing = np.zeros((3, 0), np.float32)
        np.testing.assert_array_equal(cubejit.jit(KERNELS / "gemm.tile")(nothing, np.zeros((0, 5), np.float32), np.float32([-1, 0, 1, 2, 3])),
                                      [[0, 0, 1, 2, 3]] * 3)
        self.assertEqual(cubejit.jit(KERNELS / "total.tile")(nothing), 0)
        if torch:  # whose tensors without elements have no address
            self.assertEqual(cubejit.jit(KERNELS / "softmax.tile")(torch.zeros(0, 5)).shape, (0, 5))
        with self.assertRaisesRegex(cubejit.InvalidProblem, "^line 13, column 27: argmax over j, which has no numbers; type is f32, M is 3, N is 0, rows is 16$"):
            cubejit.jit(KERNELS / "argmax.tile")(nothing)
        with self.assertRaisesRegex(cubejit.InvalidProblem, "expected a tile's size, 1 to 2\\^31, got 0; .*, rows is 0, columns is 32"):
            text = (KERNELS / "transpose.tile").read_text(encoding="utf-8").replace("parameter rows in ", "parameter rows in 0 ")
            cubejit.Kernel(text, rows=0)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_integers_of_pytorch(self):
        kernel, inputs = self.made("gemm_i8", M=7, N=19, K=5)
        result = kernel(**{tensor: torch.from_numpy(array) for tensor, array in inputs.items()})
        self.assertEqual(result.dtype, torch.int32)
        np.testing.assert_array_equal(result.numpy(), kernel(**inputs))

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_formulas_are_those_of_pytorch(self):
        for name, reference in TORCH.items():
            for parameters in CASES[name][1]:
                # PyTorch refuses statistics of one element.
                if "norm" in name and parameters.get("P", 2) * (parameters.get("S", 1) if "group" in name else 1) == 1:
                    continue
                with self.subTest(kernel=name, **parameters):
                    kernel, inputs = self.made(name, **parameters)
                    operands = {tensor: torch.from_numpy(array.astype(np.float64)) for tensor, array in inputs.items()}
                    for right, result in zip(tuple_of(reference(kernel.parameters, **operands)), self.wanted(name, kernel, inputs)):
                        np.testing.assert_allclose(result, right.numpy(), rtol=1e-9, atol=1e-9)


if __name__ == "__main__":
    unittest.main()
