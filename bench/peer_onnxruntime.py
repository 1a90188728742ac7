#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides how ONNX Runtime is measured: a model of one Conv node, its weights constants that the session packs before it runs, input and output
bound to memory that stays; problem lines in, JSON lines out (peer_program.py). Plain f32 tensors, forward. Leaves interleaving to compare_peers.py;
threads are pinned here, since they are not OpenMP's."""
import contextlib
import os

import numpy
import onnxruntime
from onnx import TensorProto, helper

import peer_program
from peer_program import spatial


@contextlib.contextmanager
def silence():
    """Debian's ONNX Runtime registers every operator a second time in its first session, with a line of complaint for each."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def model_of(problem, x, w, y_shape):
    ends = lambda last: spatial(problem, [problem["pad"][2 * axis + last] for axis in range(3)])
    node = helper.make_node("Conv", ["x", "w"], ["y"], group=problem["groups"], strides=spatial(problem, problem["stride"]),
                            dilations=spatial(problem, problem["dilation"]), pads=ends(0) + ends(1))
    tensor = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    weights = helper.make_tensor("w", TensorProto.FLOAT, w.shape, w.tobytes(), raw=True)
    graph = helper.make_graph([node], "one convolution", [tensor("x", x.shape)], [tensor("y", y_shape)], [weights])
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()


def options_of(processors, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    if threads > 1:  # of all but the calling thread, counted from 1
        options.add_session_config_entry("session.intra_op_thread_affinities", ";".join(str(p + 1) for p in processors[1:threads]))
    return options


def preparer(options):
    def prepare(problem, pass_, layout, dtype):
        if pass_ != "y":
            raise ValueError("it computes forward only")
        if layout != "ncdhw":
            raise ValueError("ONNX's Conv takes plain tensors only")
        if dtype != "f32":
            raise ValueError("its convolutions on CPUs are of f32; it refuses bf16 and converts f16")
        random = numpy.random.default_rng(7)
        make = lambda *shape: random.integers(-8, 9, shape).astype(numpy.float32) / 8
        x = make(problem["n"], problem["ci"], *spatial(problem, problem["input"]))
        w = make(problem["co"], problem["ci"] // problem["groups"], *spatial(problem, problem["kernel"]))
        y_shape = [problem["n"], problem["co"], *spatial(problem, problem["output"])]
        with silence():
            session = onnxruntime.InferenceSession(model_of(problem, x, w, y_shape), options, providers=["CPUExecutionProvider"])
        bound = session.io_binding()
        bound.bind_cpu_input("x", x)
        bound.bind_ortvalue_output("y", onnxruntime.OrtValue.ortvalue_from_shape_and_type(y_shape, numpy.float32, "cpu"))
        return lambda: session.run_with_iobinding(bound)

    return prepare


if __name__ == "__main__":
    processors = sorted(os.sched_getaffinity(0))
    threads = int(os.environ.get("OMP_NUM_THREADS", len(processors)))
    os.sched_setaffinity(0, processors[:1])
    peer_program.serve("onnxruntime " + onnxruntime.__version__, preparer(options_of(processors, threads)), (RuntimeError, ValueError))
