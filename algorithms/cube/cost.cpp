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

// Calls visit(kind) for all kinds of tasks, most of the tasks first, until it says no; whether it never did.
template <class Visit>
bool visitKinds(const CubeWork& w, const CoreShares& shares, const Visit& visit) {
  CoreShares::Kind kind;
  for (kind.outer = 0; kind.outer < shares.kindsOf(0); ++kind.outer)
    for (kind.depth = 0; kind.depth < static_cast<int>(w.depthKinds.meets.size()); ++kind.depth)
      for (kind.middle = 0; kind.middle < shares.kindsOf(1); ++kind.middle)
        for (kind.inner = 0; kind.inner < shares.kindsOf(2); ++kind.inner)
          if (!visit(kind)) return false;
  return true;
}

// What the kinds of tasks cost, by `costOf` their times, as shares of cores, and the sum of their times. Stops once `goOn` says no; whether
// it never did.
template <class CostOf, class GoOn>
bool sumKinds(const CubeWork& w, const TilingPlan& plan, const Machine& machine, CoreShares& shares, TaskTimes& sums,
              const CostOf& costOf, const GoOn& goOn) {
  const CubeFootprint f = footprintOf(w, plan);
  const bool all = visitKinds(w, shares, [&](const CoreShares::Kind& kind) {
    const TaskTimes t = timesOf(w, plan, f, extentsOf(w, plan, kind), machine);
    shares.setCost(kind, costOf(t));
    add(sums, t, shares.countOf(kind));
    return goOn();
  });
  if (all) shares.sum();
  return all;
}

// Sets what a task of each kind costs, by costOf(kind, its extents), as shares of cores.
template <class CostOf>
void costKinds(const CubeWork& w, const TilingPlan& plan, CoreShares& shares, const CostOf& costOf) {
  visitKinds(w, shares, [&](const CoreShares::Kind& kind) {
    shares.setCost(kind, costOf(kind, extentsOf(w, plan, kind)));
    return true;
  });
  shares.sum();
}

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

double totalOf(const TaskTimes& t) { return t.total; }

// Memory gives each tensor once; what is read again comes from L2 as far as L2 holds the tensors.
void addMemory(const CubeWork& w, const Machine& m, CubeCost& cost) {
  const TaskTimes& sums = cost.sums;
  const double once = std::min(w.readBytes, sums.bytesIn), again = sums.bytesIn - once;
  const double missed = std::max(0.0, 1.0 - static_cast<double>(m.buffers.l2Bytes) / std::max(1.0, once));
  const double read = once + again * missed;
  cost.memoryBytes = read + w.writtenBytes;
  const PathRates& r = m.npu.paths;
  const auto parts = static_cast<double>(m.cores);
  cost.memoryCycles = read / (r.ddrRead * parts) + w.writtenBytes / (r.ddrWrite * parts);
}

}  // namespace

CubeCost cubeCost(const CubeWork& w, const TilingPlan& plan, const Machine& machine, double limit) {
  CubeCost cost;
  CoreShares shares(w, plan);
  const bool all =
      sumKinds(w, plan, machine, shares, cost.sums, totalOf, [&] { return cost.sums.total / machine.cores <= limit; });
  cost.tasks = shares.tasks();
  if (!all) {
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
  TaskTimes sums;
  sumKinds(w, plan, machine, shares, sums, totalOf, [] { return true; });
  return shares.perCore(machine.cores);
}

LeastCost leastCost(const CubeWork& w, const TilingPlan& plan, const Machine& machine) {
  CoreShares shares(w, plan);
  CubeCost cost;
  sumKinds(
      w, plan, machine, shares, cost.sums,
      [](const TaskTimes& t) { return t.least > 0 ? std::max(t.least, kFirstByteCycles + t.stage) : 0; },
      [] { return true; });
  addMemory(w, machine, cost);
  return {shares.slowestCore(machine.cores, kNoLimit), cost.memoryCycles};
}

LeastCost leastCostOfBlock(const CubeWork& w, const TilingPlan& plan, const Machine& machine, double perProduct,
                           bool staysA, bool staysB) {
  CoreShares shares(w, plan);
  CubeCost cost;
  const CubeFootprint f = footprintOf(w, plan);
  costKinds(w, plan, shares, [&](const CoreShares::Kind& kind, const TaskExtents& task) {
    if (task.meets == 0) return 0.0;
    const bool one = task.meets == 1;
    const auto [a, b] = stagedBytes(w, plan, f, task, machine, staysA && one, staysB && one);
    cost.sums.bytesIn += (a + b) * shares.countOf(kind);
    return kFirstByteCycles + std::max({productsOf(w, task, machine) * perProduct, (a + b) / machine.npu.paths.l2Read,
                                        storeCyclesOf(w, task, machine)});
  });
  addMemory(w, machine, cost);
  return {shares.slowestCore(machine.cores, kNoLimit), cost.memoryCycles};
}

CoreLoad coreLoad(const CubeWork& w, const TilingPlan& plan, const Machine& machine) {
  CoreLoad load;
  CoreShares shares(w, plan);
  costKinds(w, plan, shares,
            [&](const CoreShares::Kind&, const TaskExtents& task) { return productsOf(w, task, machine); });
  load.products = shares.slowestCore(machine.cores, kNoLimit);
  const std::vector<std::int64_t>& meets = w.depthKinds.meets;
  if (std::find(meets.begin(), meets.end(), 0) == meets.end())  // else a core may have nothing but tasks that it skips
    load.first = kFirstByteCycles * static_cast<double>(shares.tasks() / machine.cores);
  return load;
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
