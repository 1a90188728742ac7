// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the cost of a plan from the times of its kinds of tasks.
#include "algorithms/cube/cost.h"

#include <algorithm>

#include "algorithms/cube/core_shares.h"
#include "algorithms/cube/rules.h"

namespace cubejit {
namespace {

// Extents of a task of a kind.
TaskExtents extentsOf(const CubeWork& w, const TilingPlan& plan, const CoreShares::Kind& kind) {
  const Mkn& s = plan.cube().singleShape;
  const auto cut = [](std::int64_t all, std::int64_t piece, int tail) {
    return tail == 1 ? all % piece : std::min(all, piece);
  };
  const std::int64_t meets = w.depthKinds.meets[static_cast<std::size_t>(kind.depth)];
  const auto pixels = [&](std::int64_t piece) {
    return piece < w.row() ? piece : cut(w.pixels.h, piece / w.row(), kind.outer) * w.row();
  };
  if (w.pass == Pass::kDx)
    return {pixels(s.m), cut(w.gemm.k, s.k / w.kernel.d, kind.middle), cut(w.gemm.n, s.n, kind.inner), meets};
  return {cut(w.gemm.m, s.m, kind.inner), pixels(s.k), cut(w.gemm.n, s.n, kind.middle), meets};
}

void add(TaskTimes& sums, const TaskTimes& t, double count) {
  sums.total += t.total * count;
  sums.least += t.least * count;
  sums.cube += t.cube * count;
  sums.load += t.load * count;
  sums.stage += t.stage * count;
  sums.store += t.store * count;
  sums.fill += t.fill * count;
  sums.bytesIn += t.bytesIn * count;
  sums.bytesOut += t.bytesOut * count;
  sums.products += t.products * count;
}

// Costs of all kinds of tasks, most of the tasks first. Stops once `sumOf` the tasks' times exceeds what all cores have until `limit`.
template <class SumOf>
TaskTimes fillKinds(const CubeWork& w, const TilingPlan& plan, const Machine& machine, CoreShares& shares, double limit,
                    const SumOf& sumOf) {
  const CubeFootprint f = footprintOf(w, plan);
  TaskTimes sums;
  CoreShares::Kind kind;
  for (kind.outer = 0; kind.outer < shares.kindsOf(0); ++kind.outer)
    for (kind.depth = 0; kind.depth < static_cast<int>(w.depthKinds.meets.size()); ++kind.depth)
      for (kind.middle = 0; kind.middle < shares.kindsOf(1); ++kind.middle)
        for (kind.inner = 0; kind.inner < shares.kindsOf(2); ++kind.inner) {
          const TaskTimes t = timesOf(w, plan, f, extentsOf(w, plan, kind), machine);
          shares.setCost(kind, t.total);
          add(sums, t, shares.countOf(kind));
          if (sumOf(sums) / machine.cores > limit) return sums;
        }
  shares.sum();
  return sums;
}

double totalOf(const TaskTimes& t) { return t.total; }

// Memory gives each tensor once; what is read again comes from L2 as far as L2 holds the tensors.
void addMemory(const CubeWork& w, const Machine& m, CubeCost& cost) {
  const TaskTimes& sums = cost.sums;
  const double once = std::min(w.readBytes, sums.bytesIn), again = sums.bytesIn - once;
  const double missed = std::max(0.0, 1.0 - static_cast<double>(m.buffers.l2Bytes) / std::max(1.0, once));
  const PathRates& r = m.npu.paths;
  const double parts = static_cast<double>(m.cores), read = once + again * missed;
  cost.memoryBytes = read + w.writtenBytes;
  cost.memoryCycles = read / (r.ddrRead * parts) + w.writtenBytes / (r.ddrWrite * parts);
}

}  // namespace

CubeCost cubeCost(const CubeWork& w, const TilingPlan& plan, const Machine& machine, double limit) {
  CubeCost cost;
  CoreShares shares(w, plan);
  cost.sums = fillKinds(w, plan, machine, shares, limit, totalOf);
  cost.tasks = shares.tasks();
  if (cost.sums.total / machine.cores > limit) {
    cost.totalCycles = cost.sums.total / machine.cores;
    cost.exact = false;
    return cost;
  }
  cost.meanCore = shares.total() / machine.cores;
  addMemory(w, machine, cost);
  cost.totalCycles = std::max(cost.meanCore, cost.memoryCycles);
  if (cost.totalCycles > limit) {
    cost.exact = false;
    return cost;
  }
  cost.slowestCore = shares.slowestCore(machine.cores, limit);
  cost.totalCycles = std::max(cost.slowestCore, cost.memoryCycles);
  cost.exact = cost.slowestCore <= limit;
  return cost;
}

std::vector<double> coreCycles(const CubeWork& w, const TilingPlan& plan, const Machine& machine) {
  CoreShares shares(w, plan);
  fillKinds(w, plan, machine, shares, std::numeric_limits<double>::infinity(), totalOf);
  return shares.perCore(machine.cores);
}

double leastCost(const CubeWork& w, const TilingPlan& plan, const Machine& machine, double limit) {
  CoreShares shares(w, plan);
  return fillKinds(w, plan, machine, shares, limit, [](const TaskTimes& t) { return t.least; }).least / machine.cores;
}

std::string boundOf(const CubeCost& cost) {
  if (cost.memoryCycles >= cost.slowestCore) return "memory";
  const TaskTimes& s = cost.sums;
  const struct {
    const char* name;
    double cycles;
  } pipes[] = {{"cube", s.cube}, {"l1_to_l0", s.load}, {"gm_to_l1", s.stage}, {"l0c_to_gm", s.store}, {"fill", s.fill}};
  const auto* longest = std::max_element(std::begin(pipes), std::end(pipes),
                                         [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
  return longest->name;
}

}  // namespace cubejit
