// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the time of a task. Four pipes run side by side: memory to L1, L1 to L0A and L0B, the cube, and L0C to memory; a buffer
// that is not doubled makes the pipes at its two ends wait for each other. Rates are the machine's.
#include "algorithms/cube/task_times.h"

#include <algorithm>

namespace cubejit {
namespace {

double real(std::int64_t v) { return static_cast<double>(v); }
double over(double bytes, double rate) { return rate > 0 ? bytes / rate : 0; }

struct Loop {
  Loop(const TaskExtents& task, const CubeTile& c)
      : m(ceilDiv(task.m, c.base.m)),
        k(ceilDiv(task.k, c.base.k)),
        n(ceilDiv(task.n, c.base.n)),
        stepsM(ceilDiv(task.m, c.base.m * c.stepM)),
        stepsN(ceilDiv(task.n, c.base.n * c.stepN)) {}
  std::int64_t m, k, n, stepsM, stepsN;
};

// How often an operand is brought to L1: sweeps over all of its K for one block (or one step of blocks, if all K stays).
// `blocks`, `steps` along its own side; `otherBlocks`, `otherSteps` along the other; `outer`: its own loop is outside.
std::int64_t sweeps(bool wholeK, bool outer, std::int64_t blocks, std::int64_t steps, std::int64_t otherBlocks,
                    std::int64_t otherSteps) {
  if (!wholeK) return blocks * otherBlocks;
  return outer || steps == 1 ? steps : steps * otherSteps;
}

}  // namespace

double productsOf(const CubeWork& w, const TaskExtents& task, const Machine& machine) {
  const Mkn& step = machine.npu.cube.product(w.type)->shape;
  return real(roundUp(task.m, step.m)) * real(roundUp(task.n, step.n)) *
         (real(roundUp(task.k, step.k)) * real(task.meets));
}

double storeCyclesOf(const CubeWork& w, const TaskExtents& task, const Machine& machine) {
  const Mkn& step = machine.npu.cube.product(w.type)->shape;
  const PathRates& r = machine.npu.paths;
  const double n = real(roundUp(task.n, step.n)), results = real(task.m) * n, bytesOut = results * real(w.resultBytes);
  const double read = over(real(roundUp(task.m, step.m)) * n * 4, r.l0cToUb);
  if (machine.npu.fixpipe) return std::max(read, over(bytesOut, r.l2Write));
  const double convert = over(results * 4, real(machine.npu.vectorBytes));
  return std::max({read, convert, over(bytesOut, std::min(r.ubToL2, r.l2Write))});
}

double leastCyclesPerProduct(const CubeWork& w, const Mkn& base, const Machine& machine) {
  const MatrixProduct& step = *machine.npu.cube.product(w.type);
  const PathRates& r = machine.npu.paths;
  const double issued = kIssueCycles / (real(base.m) * real(base.k) * real(base.n)), element = real(w.elementBytes);
  return std::max(step.cycles / (real(step.shape.m) * real(step.shape.k) * real(step.shape.n)) + issued,
                  over(element / real(base.n), r.l1ToL0a) + over(element / real(base.m), r.l1ToL0b) + 2 * issued);
}

// A sweep brings every K block of one step; of the unfolded operand, the rows and columns that step needs.
StagedBytes stagedBytes(const CubeWork& w, const TilingPlan& plan, const CubeFootprint& f, const TaskExtents& task,
                        const Machine& machine, bool staysA, bool staysB) {
  const CubeTile& c = plan.cube().tile;
  const MatrixProduct& step = *machine.npu.cube.product(w.type);
  const Loop loop(task, c);
  const double meets = real(task.meets), element = real(w.elementBytes);
  const double m = real(roundUp(task.m, step.shape.m)), n = real(roundUp(task.n, step.shape.n)),
               k = real(roundUp(task.k, step.shape.k)) * meets;
  const bool dx = w.pass == Pass::kDx;
  const std::int64_t kBlocksA = ceilDiv(loop.k, c.stepKa), kBlocksB = ceilDiv(loop.k, c.stepKb);
  const double piece = real(f.piece.rowsRead) * real(f.piece.columnsRead) * real(f.piece.blocks) * real(w.c0) * element;
  const double wholeBlocks = real(ceilDiv(dx ? task.k : task.n, w.blockUnit()));
  const double perBlock = piece / std::max(1.0, real(f.piece.blocks));
  const double plainA = std::min(real(c.stepM * c.base.m), m) * k * element;
  const double plainB = std::min(real(c.stepN * c.base.n), n) * k * element;
  const double sweepA =
      dx ? meets * std::max(real(kBlocksA) * std::min(piece, perBlock * wholeBlocks), perBlock * wholeBlocks) : plainA;
  const double sweepB = dx ? plainB : real(kBlocksB) * std::min(piece, perBlock * wholeBlocks);
  const bool mOuter = c.order == BlockOrder::kMOuter;
  const double bytesA = sweepA * real(sweeps(staysA, mOuter, loop.m, loop.stepsM, loop.n, loop.stepsN));
  const double bytesB = sweepB * real(sweeps(staysB, !mOuter, loop.n, loop.stepsN, loop.m, loop.stepsM));
  return {bytesA, bytesB};
}

TaskTimes timesOf(const CubeWork& w, const TilingPlan& plan, const CubeFootprint& f, const TaskExtents& task,
                  const Machine& machine) {
  TaskTimes t;
  if (task.meets == 0) return t;  // nothing meets: the task is skipped, its results were zeroed before
  const CubeTile& c = plan.cube().tile;
  const MatrixProduct& step = *machine.npu.cube.product(w.type);
  const PathRates& r = machine.npu.paths;
  const Loop loop(task, c);
  const double meets = real(task.meets), element = real(w.elementBytes);
  const double m = real(roundUp(task.m, step.shape.m)), n = real(roundUp(task.n, step.shape.n)),
               k = real(roundUp(task.k, step.shape.k)) * meets;
  const double blocks = real(loop.m * loop.n), instructions = blocks * real(loop.k) * meets;

  t.cube = m / real(step.shape.m) * (n / real(step.shape.n)) * (k / real(step.shape.k)) * step.cycles +
           instructions * kIssueCycles;
  t.products = productsOf(w, task, machine);
  const double loadA = over(m * k * real(loop.n) * element, r.l1ToL0a) + instructions * kIssueCycles;
  const double loadB = over(n * k * real(loop.m) * element, r.l1ToL0b) + instructions * kIssueCycles;
  t.load = loadA + loadB;

  const bool wholeA = ceilDiv(loop.k, c.stepKa) == 1 && task.meets == 1,
             wholeB = ceilDiv(loop.k, c.stepKb) == 1 && task.meets == 1;
  const auto [bytesA, bytesB] = stagedBytes(w, plan, f, task, machine, wholeA, wholeB);
  t.bytesIn = bytesA + bytesB;
  const double stageA = over(bytesA, r.l2Read), stageB = over(bytesB, r.l2Read);
  t.stage = stageA + stageB;

  t.bytesOut = real(task.m) * n * real(w.resultBytes);
  t.store = storeCyclesOf(w, task, machine);

  // What is doubled overlaps, but for the first piece in and the last piece out; what is not is waited for.
  const double hiddenLoad = (c.buffersL0a == 2 ? loadA : 0) + (c.buffersL0b == 2 ? loadB : 0);
  const double firstLoad = hiddenLoad / instructions;
  const double inner = std::max(t.cube, hiddenLoad - firstLoad) + firstLoad + (t.load - hiddenLoad);
  const double hiddenStage = (c.buffersA1 == 2 ? stageA : 0) + (c.buffersB1 == 2 ? stageB : 0);
  const double firstStage = over(
      (c.buffersA1 == 2 ? std::min(real(f.l1A), bytesA) : 0) + (c.buffersB1 == 2 ? std::min(real(f.l1B), bytesB) : 0),
      r.l2Read);
  const double fed = std::max(inner, hiddenStage - firstStage) + firstStage + (t.stage - hiddenStage);
  const double lastStore = c.buffersL0c == 2 ? t.store / blocks : t.store;
  t.fill = kFirstByteCycles + firstLoad + firstStage + (c.buffersL0c == 2 ? lastStore : 0);
  t.least = kFirstByteCycles + std::max(inner, t.store - lastStore) + lastStore;
  t.total = kFirstByteCycles + std::max(fed, t.store - lastStore) + lastStore;
  return t;
}

}  // namespace cubejit
