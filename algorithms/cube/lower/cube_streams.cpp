// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides names and sizes of a core's buffers.
#include "algorithms/cube/lower/cube_streams.h"

#include <algorithm>

#include "algorithms/cube/core_units.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

// Without maps.
CubeTensors idsOf(const CubeJob& job) {
  const bool dx = job.work.pass == Pass::kDx, transposed = job.problem.transposed;
  CubeTensors t;
  t.image = dx || transposed ? TensorId::kDy : TensorId::kX;
  t.other = dx ? TensorId::kW : transposed ? TensorId::kX : TensorId::kDy;
  t.result = dx ? TensorId::kDx : TensorId::kDw;
  return t;
}

}  // namespace

PanelBytes::PanelBytes(const CubeJob& job) {
  const Mkn& base = job.plan.cube().tile.base;
  const std::int64_t k = roundUp(base.k, job.work.c0);
  a = roundUp(base.m, 16) * k * 4;
  b = roundUp(base.n, 16) * k * 4;
}

std::int64_t panelsOfBlock(const CubeJob& job) {
  constexpr std::int64_t kMost = 1 << 19;  // half of the host's L2, or less
  const CubePlan& plan = job.plan.cube();
  const std::int64_t depths = job.work.pass == Pass::kDx ? job.work.kernel.d : 1;
  const std::int64_t steps = depths * ceilDiv(plan.singleShape.k, plan.tile.base.k);
  const PanelBytes bytes(job);
  return (bytes.a + bytes.b) * steps <= kMost ? steps : 1;
}

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

void addCoreUnits(ProgramBuilder& b) {
  std::vector<MachineUnit> units;
  for (std::size_t u = 0; u < kCoreUnits.size(); ++u)
    units.push_back({kCoreUnits[u], static_cast<int>(pipeOf(static_cast<CoreUnit>(u)))});
  b.addUnits({kUnitPipes.begin(), kUnitPipes.end()}, std::move(units));
}

void addCoreBuffers(ProgramBuilder& b, const CubeJob& job, Buffer::Use kept, CubeBuffers& buffers) {
  addCoreUnits(b);
  const Buffers& sizes = job.machine.buffers;
  const CubeWork& w = job.work;
  const CubeTile& tile = job.plan.cube().tile;
  const auto own = [&](const char* name, std::int64_t bytes) {
    return b.addBuffer(name, Buffer::Use::kPrivate, bytes);
  };
  buffers.l1 = b.addBuffer("L1", kept, sizes.l1Bytes);
  buffers.l0a = own("L0A", sizes.l0aBytes);
  buffers.l0b = own("L0B", sizes.l0bBytes);
  buffers.l0c = b.addBuffer("L0C", kept, sizes.l0cBytes);
  buffers.ub = own("UB", sizes.ubBytes);
  const std::int64_t n = roundUp(tile.base.n, 16), k = roundUp(tile.base.k, w.c0);
  if (w.pass == Pass::kDw) buffers.unfolded = own("unfolded", n * k * w.elementBytes);
  const PanelBytes panel(job);
  const std::int64_t panels = std::max<std::int64_t>(1, buffers.panels);
  buffers.aWords = own("a_words", panels * panel.a);
  buffers.bWords = own("b_words", panels * panel.b);
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
  s.panels = buffers.panels;
  return s;
}

}  // namespace cubejit
