// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides names and sizes of a core's buffers.
#include "algorithms/cube/lower/cube_streams.h"

#include "tiling/rounding.h"

namespace cubejit {
namespace {

// Without maps.
CubeTensors idsOf(const CubeJob& job) {
  const bool dx = job.work.gradient == Gradient::kDx, transposed = job.problem.transposed;
  CubeTensors t;
  t.image = dx || transposed ? TensorId::kDy : TensorId::kX;
  t.other = dx ? TensorId::kW : transposed ? TensorId::kX : TensorId::kDy;
  t.result = dx ? TensorId::kDx : TensorId::kDw;
  return t;
}

}  // namespace

CubeTensors tensorsOf(const CubeJob& job, const IndexMap& image, const IndexMap& other) {
  CubeTensors t = idsOf(job);
  t.imageMap = image;
  t.otherMap = other;
  t.resultMap = indexMap(job.problem, t.result);
  return t;
}

CubeTensors tensorsOf(const CubeJob& job) {
  const CubeTensors t = idsOf(job);
  return tensorsOf(job, indexMap(job.problem, t.image), indexMap(job.problem, t.other));
}

void addCoreBuffers(ProgramBuilder& b, const CubeJob& job, BufferRole kept, CubeBuffers& buffers) {
  const Buffers& sizes = job.machine.buffers;
  const CubeWork& w = job.work;
  const CubeTile& tile = job.plan.cube().tile;
  const auto own = [&](const char* name, std::int64_t bytes) { return b.addBuffer(name, BufferRole::kPrivate, bytes); };
  buffers.l1 = b.addBuffer("L1", kept, sizes.l1Bytes);
  buffers.l0a = own("L0A", sizes.l0aBytes);
  buffers.l0b = own("L0B", sizes.l0bBytes);
  buffers.l0c = b.addBuffer("L0C", kept, sizes.l0cBytes);
  buffers.ub = own("UB", sizes.ubBytes);
  const std::int64_t m = roundUp(tile.base.m, 16), n = roundUp(tile.base.n, 16), k = roundUp(tile.base.k, w.c0);
  if (w.gradient == Gradient::kDw) buffers.unfolded = own("unfolded", n * k * w.elementBytes);
  buffers.aWords = own("a_words", m * k * 4);
  buffers.bWords = own("b_words", n * k * 4);
}

CubeStreams addStreams(ProgramBuilder& b, const CubeTensors& tensors, const CubeBuffers& buffers, const char* result) {
  CubeStreams s;
  s.image = b.addStream(toString(tensors.image), buffers.image);
  s.other = b.addStream(toString(tensors.other), buffers.other);
  s.result = b.addStream(result, buffers.result);
  s.l1 = b.addStream("L1", buffers.l1);
  s.l0a = b.addStream("L0A", buffers.l0a);
  s.l0b = b.addStream("L0B", buffers.l0b);
  s.l0c = b.addStream("L0C", buffers.l0c);
  s.ub = b.addStream("UB", buffers.ub);
  if (buffers.unfolded >= 0) s.unfolded = b.addStream("unfolded", buffers.unfolded);
  s.aWords = b.addStream("a_words", buffers.aWords);
  s.bWords = b.addStream("b_words", buffers.bWords);
  return s;
}

}  // namespace cubejit
