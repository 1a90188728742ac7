// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides sums over runs of tasks without visiting each: tasks are digits of a number, and each digit has few kinds.
#include "algorithms/cube/core_shares.h"

#include <algorithm>

#include "algorithms/cube/rules.h"

namespace cubejit {

std::int64_t CoreShares::Cut::countBelow(int kind, std::int64_t x) const {
  if (kind == 1) return x == size ? 1 : 0;
  return std::min(x, size - (hasTail ? 1 : 0));
}

CoreShares::CoreShares(const CubeWork& w, const TilingPlan& plan)
    : batch_(w.batch), depths_(w.depths), kinds_(&w.depthKinds) {
  const Mkn& s = plan.cube().singleShape;
  const CoreSplit split = splitOf(w, s);
  const bool dx = w.pass == Pass::kDx;
  const std::int64_t pixels = dx ? s.m : s.k;
  // Where tasks are pieces of rows, the last one in each row may be shorter; it is costed as a full one.
  const bool shortRows = pixels >= w.row() && w.pixels.h % (pixels / w.row()) != 0;
  cuts_[0] = Cut{dx ? split.rows : split.reduction, shortRows};
  const std::int64_t allK = dx ? w.gemm.k * w.kernel.d : 0;
  cuts_[1] = dx ? Cut{split.reduction, allK % s.k != 0} : Cut{split.channelsN, w.gemm.n % s.n != 0};
  cuts_[2] = dx ? Cut{split.channelsN, w.gemm.n % s.n != 0} : Cut{split.channelsM, w.gemm.m % s.m != 0};
  groups_ = w.groups.count;
  tasks_ = w.groups.count * cuts_[0].size * batch_ * depths_ * cuts_[1].size * cuts_[2].size;
}

double CoreShares::countOf(const Kind& kind) const {
  return static_cast<double>(groups_) * static_cast<double>(batch_) * static_cast<double>(cuts_[0].count(kind.outer)) *
         static_cast<double>(kinds_->counts[static_cast<std::size_t>(kind.depth)]) *
         static_cast<double>(cuts_[1].count(kind.middle)) * static_cast<double>(cuts_[2].count(kind.inner));
}

void CoreShares::sum() {
  perGroup_ = 0;
  for (int p = 0; p < kindsOf(0); ++p) {
    double image = 0;
    for (int d = 0; d < static_cast<int>(kinds_->meets.size()); ++d) {
      double depth = 0;
      for (int q = 0; q < kindsOf(1); ++q) {
        double& middle = perMiddle_[index(p, d, q)] = 0;
        for (int r = 0; r < kindsOf(2); ++r)
          middle += static_cast<double>(cuts_[2].count(r)) * costs_[index(Kind{p, d, q, r})];
        depth += static_cast<double>(cuts_[1].count(q)) * middle;
      }
      perDepth_[index(p, d)] = depth;
      image += static_cast<double>(kinds_->counts[static_cast<std::size_t>(d)]) * depth;
    }
    perImage_[static_cast<std::size_t>(p)] = image;
    perGroup_ += static_cast<double>(cuts_[0].count(p)) * static_cast<double>(batch_) * image;
  }
}

CoreShares::Digits CoreShares::digitsOf(std::int64_t tasks) const {
  Digits digits;
  const auto take = [&](std::int64_t& digit, std::int64_t size) {
    digit = tasks % size;
    tasks /= size;
  };
  take(digits.inner, cuts_[2].size);
  take(digits.middle, cuts_[1].size);
  take(digits.depth, depths_);
  take(digits.image, batch_);
  take(digits.outer, cuts_[0].size);
  digits.group = tasks;
  return digits;
}

// a + b + one, where `one` is 0 or 1.
CoreShares::Digits CoreShares::added(const Digits& a, const Digits& b, std::int64_t one) const {
  Digits sum;
  std::int64_t carry = one;
  const auto add = [&](std::int64_t& digit, std::int64_t x, std::int64_t y, std::int64_t size) {
    digit = x + y + carry;
    carry = digit >= size ? 1 : 0;
    if (carry != 0) digit -= size;
  };
  add(sum.inner, a.inner, b.inner, cuts_[2].size);
  add(sum.middle, a.middle, b.middle, cuts_[1].size);
  add(sum.depth, a.depth, b.depth, depths_);
  add(sum.image, a.image, b.image, batch_);
  add(sum.outer, a.outer, b.outer, cuts_[0].size);
  sum.group = a.group + b.group + carry;
  return sum;
}

double CoreShares::costOfFirst(const Digits& tasks) const {
  double sum = static_cast<double>(tasks.group) * perGroup_;
  for (int kind = 0; kind < kindsOf(0); ++kind)
    sum += static_cast<double>(cuts_[0].countBelow(kind, tasks.outer)) * static_cast<double>(batch_) *
           perImage_[static_cast<std::size_t>(kind)];
  const int outer = cuts_[0].kindAt(tasks.outer);
  sum += static_cast<double>(tasks.image) * perImage_[static_cast<std::size_t>(outer)];
  int depth = 0;
  if (kinds_->kindOf.empty()) {
    sum += static_cast<double>(tasks.depth) * perDepth_[index(outer, 0)];
  } else {
    const auto at = static_cast<std::size_t>(tasks.depth);
    depth = kinds_->kindOf[at];
    for (std::size_t k = 0; k < kinds_->meets.size(); ++k) {
      const std::int32_t below = kinds_->below[at][k];
      if (below > 0) sum += static_cast<double>(below) * perDepth_[index(outer, static_cast<int>(k))];
    }
  }
  for (int kind = 0; kind < kindsOf(1); ++kind)
    sum += static_cast<double>(cuts_[1].countBelow(kind, tasks.middle)) * perMiddle_[index(outer, depth, kind)];
  const int middle = cuts_[1].kindAt(tasks.middle);
  for (int kind = 0; kind < kindsOf(2); ++kind)
    sum +=
        static_cast<double>(cuts_[2].countBelow(kind, tasks.inner)) * costs_[index(Kind{outer, depth, middle, kind})];
  return sum;
}

template <class Visit>
void CoreShares::visitCores(std::int64_t cores, const Visit& visit) const {
  const Digits share = digitsOf(tasks_ / cores);
  const std::int64_t longer = tasks_ % cores;
  Digits end;
  double before = 0;
  for (std::int64_t core = 0; core < cores; ++core) {
    end = added(end, share, core < longer ? 1 : 0);
    const double sum = end.group == groups_ ? total() : costOfFirst(end);
    if (!visit(sum - before)) return;
    before = sum;
  }
}

std::vector<double> CoreShares::perCore(std::int64_t cores) const {
  std::vector<double> all;
  visitCores(cores, [&](double cycles) { return all.push_back(cycles), true; });
  return all;
}

double CoreShares::slowestCore(std::int64_t cores, double limit) const {
  double most = 0;
  visitCores(cores, [&](double cycles) { return (most = std::max(most, cycles)) <= limit; });
  return most;
}

}  // namespace cubejit
