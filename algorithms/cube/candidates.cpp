// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the candidates: shapes of tasks, base blocks and steps in L1, each from a list of its own that no buffer's size changes, so that
// more memory never takes a plan away. The best bounds come first: what follows them is soon beyond what has been found.
#include "algorithms/cube/candidates.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "algorithms/cube/cost.h"
#include "algorithms/cube/footprint.h"
#include "algorithms/cube/rules.h"
#include "algorithms/cube/task_times.h"

namespace cubejit {
namespace {

using Sizes = std::vector<std::int64_t>;

void addOnce(Sizes& sizes, std::int64_t size) {
  if (size > 0 && std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
}

// The smallest multiple of `unit` that needs as many pieces for `all` as `most` does: what fits, without a ragged tail.
std::int64_t evenPiece(std::int64_t all, std::int64_t most, std::int64_t unit) {
  const std::int64_t pieces = ceilDiv(all, std::max(unit, most));
  return roundUp(ceilDiv(all, pieces), unit);
}

// 1, 2, 4, 8, ... times `unit`, up to `most`.
Sizes doubled(std::int64_t unit, std::int64_t most) {
  Sizes sizes;
  for (std::int64_t size = unit; size <= most; size *= 2) sizes.push_back(size);
  return sizes;
}

// 1, 2, 3, 4, 6, 8, 12, ... times `unit`, up to `most`.
Sizes spaced(std::int64_t unit, std::int64_t most) {
  Sizes sizes = doubled(unit, most);
  for (const std::int64_t size : doubled(3 * unit, most)) addOnce(sizes, size);
  return sizes;
}

// Pieces of `all` of these sizes, and as many equal ones; and all in one.
Sizes piecesOf(std::int64_t all, std::int64_t unit, std::int64_t most, const Sizes& asLargeAs) {
  Sizes sizes;
  for (const std::int64_t size : asLargeAs) {
    if (size > std::min(most, roundUp(all, unit))) continue;
    addOnce(sizes, size);
    addOnce(sizes, evenPiece(all, size, unit));
  }
  if (roundUp(all, unit) <= most) addOnce(sizes, roundUp(all, unit));
  return sizes;
}

class Search {
 public:
  Search(const CubeWork& w, const Machine& m, const CubeFixed& fixed,
         const std::function<void(const TilingPlan&)>& visit, const WorthWhile& worthWhile)
      : w_(w),
        m_(m),
        fixed_(fixed),
        visit_(visit),
        worthWhile_(worthWhile),
        step_(*m.npu.cube.product(w.type)),
        dx_(w.pass == Pass::kDx) {
    plan_.algorithm = CubePlan{};
    plan_.pass = w.pass;
    tile().operand = w.type;
  }

  void run() {
    const std::vector<Block> blocks = allBlocks();
    const std::vector<Task> tasks = blocks.empty() ? std::vector<Task>() : allTasks(blocks.front().perProduct());
    for (const Task& task : tasks) {
      if (!worthWhile_(task.least)) continue;
      for (const Block& block : blocks) {
        if (!worthWhile_(leastOf(task, block.perProduct()))) break;
        if (!holds(task, block)) continue;
        const LeastCost least = leastOf(task, block);
        if (!worthWhile_(least)) continue;
        for (const Depth& depth : block.depths) {
          if (!worthWhile_({leastOf(task, depth.perProduct).core, least.memory})) break;
          if (depth.k < 2 * roundUp(depthOf(task.shape), step_.shape.k))
            refine(task, {block.m, depth.k, block.n}, depth.buffersL0c);
        }
      }
    }
    if (!visited_) smallest();
  }

 private:
  struct Task {
    Mkn shape;
    CoreLoad load;
    LeastCost least;
  };
  struct Depth {  // what base blocks of one m and n differ in
    std::int64_t k, buffersL0c;
    double perProduct;  // the least cycles
  };
  struct Block {
    std::int64_t m, n;
    std::vector<Depth> depths;  // those of the least cycles first, as blocks are
    double perProduct() const { return depths.front().perProduct; }
  };

  CubeTile& tile() { return plan_.cube().tile; }

  // The sum of a task at one kernel depth, and the plan's in base.k's.
  std::int64_t depthOf(const Mkn& shape) const { return dx_ ? shape.k / w_.kernel.d : std::min(shape.k, w_.gemm.k); }
  std::int64_t wholeSteps() { return ceilDiv(depthOf(plan_.cube().singleShape), tile().base.k); }

  // A block of twice a task's extent does the work of a smaller one.
  bool holds(const Task& task, const Block& block) const {
    return block.m < 2 * roundUp(task.shape.m, 16) && block.n < 2 * roundUp(task.shape.n, 16);
  }

  static LeastCost leastOf(const Task& task, double perProduct) {
    return {task.load.first + task.load.products * perProduct, task.least.memory};
  }

  // Gives the plan a single shape, and a base block of all of its sum.
  void takeWholeSum(const Mkn& shape, std::int64_t baseM, std::int64_t baseN) {
    plan_.cube().singleShape = shape;
    tile().base = {baseM, roundUp(depthOf(shape), step_.shape.k), baseN};
    tile().stepKa = tile().stepKb = 1;
  }

  // The least cost of a task in blocks of this m and n, in whichever order.
  LeastCost leastOf(const Task& task, const Block& block) {
    takeWholeSum(task.shape, block.m, block.n);
    const CubeFootprint f = footprintOf(w_, plan_);
    const bool staysA = f.l1A < m_.buffers.l1Bytes, staysB = f.l1B < m_.buffers.l1Bytes;
    const auto in = [&](BlockOrder order) {
      tile().order = order;
      return leastCostOfBlock(w_, plan_, m_, block.perProduct(), staysA, staysB);
    };
    const LeastCost n = in(BlockOrder::kNOuter), m = in(BlockOrder::kMOuter);
    return {std::min(n.core, m.core), std::min(n.memory, m.memory)};
  }

  std::vector<Block> allBlocks() const {
    const Mkn& given = fixed_.singleShape;
    const auto extent = [](std::int64_t fixed, std::int64_t all) { return fixed > 0 ? std::min(fixed, all) : all; };
    const std::int64_t rows = extent(given.m, w_.gemm.m), unit = step_.shape.k,
                       depth = dx_ ? w_.gemm.k : extent(given.k, w_.gemm.k);
    const Sizes ns = piecesOf(extent(given.n, w_.gemm.n), 16, 512, spaced(16, 512));
    Sizes ms = piecesOf(rows, 16, kMostMmad, spaced(16, kMostMmad)),
          ks = piecesOf(depth, unit, kMostMmad, spaced(unit, kMostMmad));
    if (dx_ && w_.row() % 16 == 0) {  // whole rows of pixels
      for (const std::int64_t size : doubled(w_.row(), std::min(kMostMmad, roundUp(rows, 16)))) addOnce(ms, size);
    }
    const std::int64_t block = dx_ ? w_.blockUnit() : w_.row();
    if (block % unit == 0) {  // whole blocks of taps, or equal parts of one: what L1 holds of them shares no block
      for (const std::int64_t size : doubled(block, std::min(kMostMmad, roundUp(depth, unit)))) addOnce(ks, size);
      for (const std::int64_t size : doubled(unit, std::min(kMostMmad, block)))
        addOnce(ks, evenPiece(block, size, unit));
    }
    std::vector<Block> blocks;
    for (const std::int64_t n : ns)
      for (const std::int64_t m : ms) {
        Block next{m, n, {}};
        for (const std::int64_t k : ks) {
          if (2 * m * k * w_.elementBytes > m_.buffers.l0aBytes || 2 * n * k * w_.elementBytes > m_.buffers.l0bBytes)
            continue;
          for (const std::int64_t l0c : {1, 2}) {
            if (4 * m * n * l0c <= m_.buffers.l0cBytes)
              next.depths.push_back({k, l0c, leastCyclesPerProduct(w_, {m, k, n}, m_)});
          }
        }
        if (next.depths.empty()) continue;
        std::stable_sort(next.depths.begin(), next.depths.end(),
                         [](const Depth& a, const Depth& b) { return a.perProduct < b.perProduct; });
        blocks.push_back(std::move(next));
      }
    std::stable_sort(blocks.begin(), blocks.end(),
                     [](const Block& a, const Block& b) { return a.perProduct() < b.perProduct(); });
    return blocks;
  }

  std::vector<Task> allTasks(double perProduct) {
    const Mkn& given = fixed_.singleShape;
    const std::int64_t unitN = dx_ ? w_.c0 : w_.blockUnit(), sum = w_.gemm.k * w_.kernel.d;
    constexpr std::int64_t kAny = std::int64_t{1} << 40;
    Sizes ns = piecesOf(w_.gemm.n, unitN, kAny, spaced(unitN, w_.gemm.n)), others;
    if (given.n > 0) ns = {given.n};
    if (dx_) {
      others = {sum};
      // The parts of a long sum are added in memory, which only f32 results allow.
      for (const std::int64_t parts : {2, 4, 8}) {
        if (w_.resultBytes == 4 && parts <= w_.blocks)
          addOnce(others, ceilDiv(w_.blocks, parts) * w_.blockUnit() * w_.kernel.d);
      }
    } else if (given.m > 0) {
      others = {given.m};
    } else {
      others = piecesOf(w_.gemm.m, 16, kAny, spaced(16, w_.gemm.m));
    }
    std::vector<Task> tasks;
    for (const std::int64_t n : ns) {
      for (const std::int64_t other : others) {
        for (const std::int64_t size : pixelsOf(n, other)) {
          const Mkn shape = dx_ ? Mkn{size, other, n} : Mkn{other, size, n};
          takeWholeSum(shape, roundUp(shape.m, 16), roundUp(shape.n, 16));  // one block: the least that can be read
          tasks.push_back({shape, coreLoad(w_, plan_, m_), leastCostOfBlock(w_, plan_, m_, perProduct, true, true)});
        }
      }
    }
    std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) {
      return std::pair(a.least.total(), a.least.core) < std::pair(b.least.total(), b.least.core);
    });
    return tasks;
  }

  // Pixels of a task: all, equal rows for rounds of all cores, single rows and pieces of one.
  Sizes pixelsOf(std::int64_t n, std::int64_t other) const {
    const std::int64_t given = dx_ ? fixed_.singleShape.m : fixed_.singleShape.k;
    if (given > 0) return {given};
    const double side = static_cast<double>(w_.batch) * static_cast<double>(w_.groups.count) *
                        static_cast<double>(w_.depths) * static_cast<double>(ceilDiv(w_.gemm.n, n)) *
                        static_cast<double>(dx_ ? 1 : ceilDiv(w_.gemm.m, other));
    Sizes sizes;
    const auto cutInto = [&](std::int64_t parts) {
      if (parts <= w_.pixels.h) {
        addOnce(sizes, ceilDiv(w_.pixels.h, parts) * w_.row());
      } else {
        const std::int64_t piece = roundUp(ceilDiv(w_.row(), ceilDiv(parts, w_.pixels.h)), 16);
        addOnce(sizes, w_.wholeRows() ? w_.row() : std::min(piece, w_.row()));
      }
    };
    for (const std::int64_t parts : spaced(1, w_.pixels.h)) cutInto(parts);
    for (const int rounds : {1, 2, 3, 4, 8})
      cutInto(std::max<std::int64_t>(1, static_cast<std::int64_t>(rounds * m_.cores / side + 0.999)));
    cutInto(w_.pixels.h);
    return sizes;
  }

  // The least a plan can take. It does not fit either; the rules it breaks say why there is no plan.
  void smallest() {
    CubeTile& t = tile();
    t.base = step_.shape;
    t.stepKa = t.stepKb = t.buffersL0a = t.buffersL0b = t.buffersL0c = t.buffersA1 = t.buffersB1 = 1;
    plan_.cube().singleShape = dx_ ? Mkn{w_.row(), w_.gemm.k * w_.kernel.d, w_.c0} : Mkn{16, w_.row(), w_.blockUnit()};
    plan_.cube().cores = splitOf(w_, plan_.cube().singleShape);
    visit();
  }

  void refine(const Task& task, const Mkn& base, std::int64_t buffersL0c) {
    CubeTile& t = tile();
    plan_.cube().singleShape = task.shape;
    plan_.cube().cores = splitOf(w_, task.shape);
    t.base = base;
    t.buffersL0c = buffersL0c;
    t.stepKa = t.stepKb = t.buffersA1 = t.buffersB1 = 1;
    if (!fits()) return;
    t.stepKa = t.stepKb = wholeSteps();
    const auto mayWin = [&](BlockOrder order) {
      t.order = order;
      return worthWhile_(leastCost(w_, plan_, m_));
    };
    if (!mayWin(BlockOrder::kNOuter) && !mayWin(BlockOrder::kMOuter)) return;
    t.stepKa = t.stepKb = 1;
    const Sizes as = stepsOf(t.stepKa), bs = stepsOf(t.stepKb);
    for (const std::int64_t a : as) {
      for (const std::int64_t b : bs) {
        t.stepKa = a;
        t.stepKb = b;
        buffered();
      }
    }
  }

  // base.k's of one operand in L1 (`step` is that of the plan, and 1): those of which none needs less of L1 and reads less, and the whole sum,
  // which may stay. Equal blocks: the fewest base.k's a block that need as many blocks.
  Sizes stepsOf(std::int64_t& step) {
    const std::int64_t whole = wholeSteps(), block = (dx_ ? w_.blockUnit() : w_.row()) / tile().base.k;
    Sizes all = spaced(1, whole - 1), steps;
    if (block > 0) {
      for (const std::int64_t blocks : spaced(block, whole - 1)) addOnce(all, blocks);
    }
    for (std::int64_t& s : all) s = ceilDiv(whole, ceilDiv(whole, s));
    std::sort(all.begin(), all.end());
    double least = std::numeric_limits<double>::infinity();
    const Mkn& s = plan_.cube().singleShape;
    for (const std::int64_t next : all) {
      step = next;
      const TaskTimes t =
          timesOf(w_, plan_, footprintOf(w_, plan_), {s.m, depthOf(s), s.n, w_.depthKinds.meets.back()}, m_);
      if (t.bytesIn >= least) continue;
      least = t.bytesIn;
      addOnce(steps, next);
    }
    addOnce(steps, whole);
    step = 1;
    return steps;
  }

  bool fits() const { return footprintOf(w_, plan_).l1 <= m_.buffers.l1Bytes; }

  // Operands that are single in L1 pay only where more does not fit. The order of blocks matters if a side stays in L1.
  void buffered() {
    CubeTile& t = tile();
    const std::int64_t whole = wholeSteps();
    const bool stays = (t.stepKa >= whole || t.stepKb >= whole) && !(dx_ && w_.depthKinds.meets.back() > 1);
    bool doubled = false;
    for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{2, 2}, {1, 2}, {2, 1}, {1, 1}}) {
      if (doubled && a + b == 2) break;
      t.buffersA1 = a;
      t.buffersB1 = b;
      if (!fits()) continue;
      doubled = true;
      for (const BlockOrder order : {BlockOrder::kNOuter, BlockOrder::kMOuter}) {
        const bool free = order == BlockOrder::kNOuter || stays || w_.kernels == CubeKernels::kVendor;
        t.order = order;
        if (fixed_.order ? *fixed_.order == order : free) visit();
      }
      if (a + b == 4) break;
    }
  }

  void visit() {
    visited_ = true;
    visit_(plan_);
  }

  const CubeWork& w_;
  const Machine& m_;
  const CubeFixed& fixed_;
  const std::function<void(const TilingPlan&)>& visit_;
  const WorthWhile& worthWhile_;
  const MatrixProduct& step_;
  const bool dx_;
  TilingPlan plan_;
  bool visited_ = false;
};

}  // namespace

void visitCubeCandidates(const CubeWork& work, const Machine& machine, const CubeFixed& fixed,
                         const std::function<void(const TilingPlan&)>& visit, const WorthWhile& worthWhile) {
  Search(work, machine, fixed, visit, worthWhile).run();
}

}  // namespace cubejit
