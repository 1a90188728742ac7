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
  groups_ = static_cast<double>(w.groups.count);
  tasks_ = w.groups.count * cuts_[0].size * batch_ * depths_ * cuts_[1].size * cuts_[2].size;
}

double CoreShares::countOf(const Kind& kind) const {
  return groups_ * static_cast<double>(batch_) * static_cast<double>(cuts_[0].count(kind.outer)) *
         static_cast<double>(kinds_->counts[static_cast<std::size_t>(kind.depth)]) *
         static_cast<double>(cuts_[1].count(kind.middle)) * static_cast<double>(cuts_[2].count(kind.inner));
}

double CoreShares::perMiddle(int outer, int depth, int middle) const {
  double sum = 0;
  for (int r = 0; r < kindsOf(2); ++r)
    sum += static_cast<double>(cuts_[2].count(r)) * costs_[index(Kind{outer, depth, middle, r})];
  return sum;
}

double CoreShares::perDepth(int outer, int depth) const {
  double sum = 0;
  for (int q = 0; q < kindsOf(1); ++q) sum += static_cast<double>(cuts_[1].count(q)) * perMiddle(outer, depth, q);
  return sum;
}

void CoreShares::sum() {
  perGroup_ = 0;
  for (int p = 0; p < kindsOf(0); ++p) {
    double image = 0;
    for (std::size_t d = 0; d < kinds_->meets.size(); ++d)
      image += static_cast<double>(kinds_->counts[d]) * perDepth(p, static_cast<int>(d));
    perImage_[static_cast<std::size_t>(p)] = image;
    perGroup_ += static_cast<double>(cuts_[0].count(p)) * static_cast<double>(batch_) * image;
  }
}

double CoreShares::costOfFirst(std::int64_t count) const {
  const std::int64_t inner = cuts_[2].size, middle = cuts_[1].size * inner, image = depths_ * middle,
                     outer = batch_ * image, group = cuts_[0].size * outer;
  double sum = static_cast<double>(count / group) * perGroup_;
  count %= group;
  const std::int64_t p = count / outer;
  for (int kind = 0; kind < kindsOf(0); ++kind)
    sum += static_cast<double>(cuts_[0].countBelow(kind, p)) * static_cast<double>(batch_) *
           perImage_[static_cast<std::size_t>(kind)];
  count %= outer;
  if (count == 0) return sum;
  const int outerKind = cuts_[0].kindAt(p);
  sum += static_cast<double>(count / image) * perImage_[static_cast<std::size_t>(outerKind)];
  count %= image;
  const std::int64_t d = count / middle;
  if (kinds_->kindOf.empty()) {
    sum += static_cast<double>(d) * perDepth(outerKind, 0);
  } else {
    const DepthKinds::Counts& below = kinds_->below[static_cast<std::size_t>(d)];
    for (std::size_t k = 0; k < kinds_->meets.size(); ++k)
      if (below[k] > 0) sum += static_cast<double>(below[k]) * perDepth(outerKind, static_cast<int>(k));
  }
  count %= middle;
  if (count == 0) return sum;
  const int depthKind = kinds_->kindOf.empty() ? 0 : kinds_->kindOf[static_cast<std::size_t>(d)];
  const std::int64_t q = count / inner;
  for (int kind = 0; kind < kindsOf(1); ++kind)
    sum += static_cast<double>(cuts_[1].countBelow(kind, q)) * perMiddle(outerKind, depthKind, kind);
  count %= inner;
  const int middleKind = count == 0 ? 0 : cuts_[1].kindAt(q);
  for (int kind = 0; kind < kindsOf(2); ++kind)
    sum += static_cast<double>(cuts_[2].countBelow(kind, count)) *
           costs_[index(Kind{outerKind, depthKind, middleKind, kind})];
  return sum;
}

std::int64_t CoreShares::firstOf(std::int64_t core, std::int64_t cores) const {
  return core * (tasks_ / cores) + std::min(core, tasks_ % cores);
}

template <class Visit>
void CoreShares::visitCores(std::int64_t cores, const Visit& visit) const {
  double before = 0;
  for (std::int64_t core = 1; core <= cores; ++core) {
    const std::int64_t end = firstOf(core, cores);
    const double sum = end == tasks_ ? total() : costOfFirst(end);
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
