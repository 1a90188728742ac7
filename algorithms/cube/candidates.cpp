// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the candidates: base blocks that fill L0C, base.k that fills L0A and L0B, tasks that are one to all base blocks and divide
// well among the cores, and L1 steps from whole K down to what fits. Each level asks only what the levels before left open.
#include "algorithms/cube/candidates.h"

#include <algorithm>
#include <vector>

#include "algorithms/cube/footprint.h"
#include "algorithms/cube/rules.h"

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
    plan_.cube().tile.operand = w.type;
  }

  void run() {
    const std::int64_t mostN = std::min<std::int64_t>(roundUp(columns(), 16), 512);
    Sizes ns;
    for (const std::int64_t n : {16, 32, 48, 64, 96, 128, 192, 256, 384, 512}) {
      if (n <= mostN) addOnce(ns, n);
    }
    addOnce(ns, evenPiece(columns(), mostN, 16));
    if (mostN > 256) addOnce(ns, evenPiece(columns(), 256, 16));
    for (const std::int64_t n : ns) {
      for (const std::int64_t l0c : {1, 2}) blocks(n, l0c);
    }
    if (visited_ == 0) smallest();
  }

 private:
  // Rows and columns of the result a task can have at most.
  std::int64_t rows() const { return fixed_.singleShape.m > 0 ? std::min(fixed_.singleShape.m, w_.gemm.m) : w_.gemm.m; }
  std::int64_t columns() const {
    return fixed_.singleShape.n > 0 ? std::min(fixed_.singleShape.n, w_.gemm.n) : w_.gemm.n;
  }

  void blocks(std::int64_t n, std::int64_t l0c) {
    const std::int64_t whole = roundUp(rows(), 16);
    const std::int64_t fill = std::min({whole, m_.buffers.l0cBytes / (4 * n * l0c) / 16 * 16,
                                        m_.buffers.l0aBytes / (2 * step_.shape.k * w_.elementBytes) / 16 * 16});
    Sizes ms;
    for (std::int64_t share = 1; share <= 4; share *= 2) {
      const std::int64_t most = fill / share / 16 * 16;
      if (most < 16) break;
      addOnce(ms, most);
      addOnce(ms, evenPiece(rows(), most, 16));
      if (dx_ && most >= w_.row() && w_.row() % 16 == 0)
        addOnce(ms, most / w_.row() * w_.row());  // whole rows of pixels
    }
    plan_.cube().tile.base.n = n;
    plan_.cube().tile.buffersL0c = l0c;
    const auto with = [&](std::int64_t m) {
      plan_.cube().tile.base.m = m;
      depths();
    };
    const std::int64_t before = visited_;
    for (const std::int64_t m : ms) with(m);
    // L1 may be too small for what large blocks unfold.
    for (std::int64_t m = fill / 8 / 16 * 16; visited_ == before && m >= 16; m = m / 2 / 16 * 16) with(m);
  }

  // The least a plan can take. It does not fit either; the rules it breaks say why there is no plan.
  void smallest() {
    CubeTile& t = plan_.cube().tile;
    t.base = step_.shape;
    t.stepKa = t.stepKb = t.buffersL0a = t.buffersL0b = t.buffersL0c = t.buffersA1 = t.buffersB1 = 1;
    plan_.cube().singleShape = dx_ ? Mkn{w_.row(), w_.gemm.k * w_.kernel.d, w_.c0} : Mkn{16, w_.row(), w_.blockUnit()};
    plan_.cube().cores = splitOf(w_, plan_.cube().singleShape);
    visit();
  }

  void depths() {
    CubeTile& t = plan_.cube().tile;
    const std::int64_t unit = step_.shape.k, k = roundUp(dx_ ? w_.gemm.k : longestSum(), unit);
    const std::int64_t most = std::min({k, m_.buffers.l0aBytes / (2 * t.base.m * w_.elementBytes) / unit * unit,
                                        m_.buffers.l0bBytes / (2 * t.base.n * w_.elementBytes) / unit * unit,
                                        std::int64_t{4095} / unit * unit});
    if (most < unit) return;
    Sizes ks;
    addOnce(ks, evenPiece(k, most, unit));
    const std::int64_t block = dx_ ? w_.blockUnit() : w_.row();
    if (block % unit == 0) {  // whole blocks of taps, or equal parts of one: what L1 holds of them shares no block
      addOnce(ks, most >= block ? most / block * block : evenPiece(block, most, unit));
    }
    const auto with = [&](std::int64_t baseK) {
      t.base.k = baseK;
      tasks();
    };
    const std::int64_t before = visited_;
    for (const std::int64_t baseK : ks) with(baseK);
    for (std::int64_t less = most / 2 / unit * unit; visited_ == before && less >= unit; less = less / 2 / unit * unit)
      with(less);
  }

  std::int64_t longestSum() const {
    return fixed_.singleShape.k > 0 ? std::min(fixed_.singleShape.k, w_.gemm.k) : w_.gemm.k;
  }

  void tasks() {
    const CubeTile& t = plan_.cube().tile;
    const std::int64_t unitN = dx_ ? w_.c0 : w_.blockUnit();
    Sizes ns, others;
    if (fixed_.singleShape.n > 0) {
      addOnce(ns, fixed_.singleShape.n);
    } else {
      addOnce(ns, std::min(roundUp(t.base.n, unitN), roundUp(w_.gemm.n, unitN)));
      addOnce(ns, evenPiece(w_.gemm.n, w_.gemm.n / 2, unitN));
      addOnce(ns, w_.gemm.n);
    }
    if (dx_) {
      others = {w_.gemm.k * w_.kernel.d};
      // Few results and a long sum: its parts are added in memory, which only f32 results allow.
      const double most = static_cast<double>(w_.batch) * static_cast<double>(w_.groups.count) *
                          static_cast<double>(w_.depths) * static_cast<double>(w_.pixels.h) *
                          static_cast<double>(ceilDiv(w_.gemm.n, t.base.n));
      for (const std::int64_t parts : {2, 4, 8}) {
        if (w_.resultBytes == 4 && most < m_.cores && parts <= w_.blocks)
          addOnce(others, ceilDiv(w_.blocks, parts) * w_.blockUnit() * w_.kernel.d);
      }
    } else if (fixed_.singleShape.m > 0) {
      others = {fixed_.singleShape.m};
    } else {
      addOnce(others, std::min(t.base.m, w_.gemm.m));
      addOnce(others, w_.gemm.m);
    }
    for (const std::int64_t n : ns) {
      for (const std::int64_t other : others) {
        plan_.cube().singleShape.n = n;
        (dx_ ? plan_.cube().singleShape.k : plan_.cube().singleShape.m) = other;
        pixels();
      }
    }
  }

  void pixels() {
    std::int64_t& pixels = dx_ ? plan_.cube().singleShape.m : plan_.cube().singleShape.k;
    const std::int64_t given = dx_ ? fixed_.singleShape.m : fixed_.singleShape.k;
    if (given > 0) {
      pixels = given;
      steps();
      return;
    }
    pixels = w_.gemm.m;
    const double side = static_cast<double>(w_.batch) * static_cast<double>(w_.groups.count) *
                        static_cast<double>(w_.depths) *
                        static_cast<double>(ceilDiv(w_.gemm.n, plan_.cube().singleShape.n)) *
                        static_cast<double>(dx_ ? 1 : ceilDiv(w_.gemm.m, plan_.cube().singleShape.m));
    Sizes sizes;
    const auto cutInto = [&](std::int64_t parts) {
      parts = std::max<std::int64_t>(1, parts);
      if (parts <= w_.pixels.h)
        addOnce(sizes, ceilDiv(w_.pixels.h, parts) * w_.row());
      else if (!w_.wholeRows())
        addOnce(sizes, roundUp(ceilDiv(w_.row(), ceilDiv(parts, w_.pixels.h)), 16) < w_.row()
                           ? roundUp(ceilDiv(w_.row(), ceilDiv(parts, w_.pixels.h)), 16)
                           : w_.row());
      else
        addOnce(sizes, w_.row());
    };
    cutInto(1);
    for (const int rounds : {1, 2, 4}) cutInto(static_cast<std::int64_t>(rounds * m_.cores / side + 0.999));
    cutInto(w_.pixels.h);  // single rows need the least of L1
    // Rows that hold a few base blocks: few enough to balance, enough to keep the pipes filled.
    const std::int64_t block = dx_ ? plan_.cube().tile.base.m : std::max<std::int64_t>(plan_.cube().tile.base.k, 128);
    for (const std::int64_t blocks : {4, 16}) {
      if (w_.row() <= blocks * block)
        cutInto(ceilDiv(w_.pixels.h, std::max<std::int64_t>(1, blocks * block / w_.row())));
    }
    for (const std::int64_t size : sizes) {
      pixels = size;
      steps();
    }
  }

  void steps() {
    plan_.cube().cores = splitOf(w_, plan_.cube().singleShape);
    CubeTile& t = plan_.cube().tile;
    const std::int64_t whole = wholeSteps();
    t.stepKa = t.stepKb = t.buffersA1 = t.buffersB1 = 1;
    if (!worthWhile_(plan_)) return;
    bool any = false;
    for (const auto& [a, b] : {std::pair<std::int64_t, std::int64_t>{2, 2}, {1, 2}, {2, 1}, {1, 1}}) {
      if (any && a + b == 2) break;  // waiting for both operands pays only where nothing else fits
      t.buffersA1 = a;
      t.buffersB1 = b;
      t.stepKa = t.stepKb = 1;
      if (!fits()) continue;
      any = true;
      // Both sides equally cut; one side as whole as it fits and the other with what is left; whole blocks of taps.
      const std::int64_t both = largest([&](std::int64_t s) { t.stepKa = t.stepKb = s; }, whole);
      emit(both, both);
      if (both == whole) break;  // single buffers cannot do better
      t.stepKb = 1;
      const std::int64_t mostA = largest([&](std::int64_t s) { t.stepKa = s; }, whole);
      t.stepKa = mostA;
      const std::int64_t restB = largest([&](std::int64_t s) { t.stepKb = s; }, whole);
      if (mostA != both) emit(mostA, restB);
      t.stepKa = 1;
      const std::int64_t mostB = largest([&](std::int64_t s) { t.stepKb = s; }, whole);
      t.stepKb = mostB;
      const std::int64_t restA = largest([&](std::int64_t s) { t.stepKa = s; }, whole);
      if (mostB != both) emit(restA, mostB);
      const std::int64_t block = std::max<std::int64_t>(1, (dx_ ? w_.blockUnit() : w_.row()) / t.base.k);
      if (both > block && both % block != 0) emit(both / block * block, both / block * block);
    }
  }

  // base.k's in the sum of a task (dX: of one kernel depth).
  std::int64_t wholeSteps() const {
    const std::int64_t sum =
        dx_ ? plan_.cube().singleShape.k / w_.kernel.d : std::min(plan_.cube().singleShape.k, w_.gemm.k);
    return ceilDiv(sum, plan_.cube().tile.base.k);
  }

  bool fits() const { return footprintOf(w_, plan_).l1 <= m_.buffers.l1Bytes; }

  // The largest step up to `most` that fits L1, by halving; 1 fits.
  template <class Set>
  std::int64_t largest(const Set& set, std::int64_t most) {
    std::int64_t low = 1, high = most;
    set(high);
    if (fits()) return high;
    while (low + 1 < high) {
      const std::int64_t middle = low + (high - low) / 2;
      set(middle);
      (fits() ? low : high) = middle;
    }
    set(low);
    return low;
  }

  // Equal K blocks in L1: the fewest base.k's a block that still need as many blocks. The order of blocks matters if a side stays in L1.
  void emit(std::int64_t stepKa, std::int64_t stepKb) {
    CubeTile& t = plan_.cube().tile;
    const std::int64_t whole = wholeSteps();
    t.stepKa = ceilDiv(whole, ceilDiv(whole, stepKa));
    t.stepKb = ceilDiv(whole, ceilDiv(whole, stepKb));
    const bool stays = (t.stepKa >= whole || t.stepKb >= whole) && !(dx_ && w_.depthKinds.meets.back() > 1);
    for (const BlockOrder order : {BlockOrder::kNOuter, BlockOrder::kMOuter}) {
      const bool free = order == BlockOrder::kNOuter || stays || w_.kernels == CubeKernels::kVendor;
      t.order = order;
      if (fixed_.order ? *fixed_.order == order : free) visit();
    }
  }

  void visit() {
    ++visited_;
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
  std::int64_t visited_ = 0;
};

}  // namespace

void visitCubeCandidates(const CubeWork& work, const Machine& machine, const CubeFixed& fixed,
                         const std::function<void(const TilingPlan&)>& visit, const WorthWhile& worthWhile) {
  Search(work, machine, fixed, visit, worthWhile).run();
}

}  // namespace cubejit
