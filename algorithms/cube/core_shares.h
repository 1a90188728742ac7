// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which tasks each NPU core has: equal runs in the order of the tasks, as the vendor's operators deal them. Leaves the
// cost of a task to task_times.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "algorithms/cube/work.h"
#include "cubejit/plan.h"

namespace cubejit {

/// The order of tasks, outermost first: group, a cut of the sum's or the result's rows, image, depth, then two more cuts.
/// dX: group, rows (M), batch, depth, K, N. dW: group, pixels (K), batch, depth x kernel depth, N, M.
/// Every cut has full tasks and at most one tail; depths differ in how many kernel depths meet. Tasks of equal kinds cost the same.
class CoreShares {
 public:
  /// Kinds of a cut: full or tail; of a depth: an index into the work's DepthKinds.
  struct Kind {
    int outer = 0, depth = 0, middle = 0, inner = 0;
  };

  /// `work` must outlive this.
  CoreShares(const CubeWork& work, const TilingPlan& plan);

  int kindsOf(int cut) const { return cuts_[static_cast<std::size_t>(cut)].hasTail ? 2 : 1; }
  std::int64_t tasks() const { return tasks_; }
  /// How many tasks there are of a kind, all in all.
  double countOf(const Kind& kind) const;

  /// Sets what a task of a kind costs.
  void setCost(const Kind& kind, double cycles) { costs_[index(kind)] = cycles; }
  /// Sums of costs: call after the last setCost.
  void sum();
  double total() const { return static_cast<double>(groups_) * perGroup_; }
  /// Cost of each core: equal runs of tasks, the first ones longer by at most one. Precondition: sum().
  std::vector<double> perCore(std::int64_t cores) const;
  /// The most of any core; or that of the first one that exceeds `limit`. Precondition: sum().
  double slowestCore(std::int64_t cores, double limit) const;

 private:
  struct Cut {
    std::int64_t size = 1;
    bool hasTail = false;
    std::int64_t count(int kind) const { return kind == 1 ? 1 : size - (hasTail ? 1 : 0); }
    std::int64_t countBelow(int kind, std::int64_t x) const;
    int kindAt(std::int64_t x) const { return hasTail && x == size - 1 ? 1 : 0; }
  };
  static constexpr int kMostDepths = static_cast<int>(DepthKinds::kMost);
  /// A number of tasks as digits, each of a size of its own.
  struct Digits {
    std::int64_t group = 0, outer = 0, image = 0, depth = 0, middle = 0, inner = 0;
  };

  static std::size_t index(int outer, int depth) { return static_cast<std::size_t>(outer * kMostDepths + depth); }
  static std::size_t index(int outer, int depth, int middle) {
    return index(outer, depth) * 2 + static_cast<std::size_t>(middle);
  }
  static std::size_t index(const Kind& k) {
    return index(k.outer, k.depth, k.middle) * 2 + static_cast<std::size_t>(k.inner);
  }
  Digits digitsOf(std::int64_t tasks) const;
  Digits added(const Digits& a, const Digits& b, std::int64_t one) const;
  /// Cost of as many of the first tasks. Precondition: sum().
  double costOfFirst(const Digits& tasks) const;
  /// Calls visit(cycles) for each core, in order, until it returns false.
  template <class Visit>
  void visitCores(std::int64_t cores, const Visit& visit) const;

  std::array<Cut, 3> cuts_;  ///< outer, middle, inner
  std::int64_t groups_ = 1, batch_ = 1, depths_ = 1, tasks_ = 1;
  double perGroup_ = 0;
  const DepthKinds* kinds_;
  std::array<double, 2 * kMostDepths * 4> costs_{};
  std::array<double, 2 * kMostDepths * 2> perMiddle_{};  ///< all tasks of one middle cut
  std::array<double, 2 * kMostDepths> perDepth_{};
  std::array<double, 2> perImage_{};  ///< all depths of one image, by outer kind
};

}  // namespace cubejit
