// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which candidate wins.
#include "algorithms/cube/planner.h"

#include <algorithm>
#include <limits>
#include <map>

#include "algorithms/cube/rules.h"

namespace cubejit {
namespace {

constexpr std::size_t kShown = 10, kMostRules = 12;

// Rules differ in their values; the words before the first number tell them apart.
std::string kindOfRule(const std::string& rule) { return rule.substr(0, rule.find_first_of("0123456789(")); }

// Where memory sets the time, the plan that keeps the cores least busy is the better one.
bool cheaper(const CubeCost& a, const CubeCost& b) {
  return a.totalCycles != b.totalCycles ? a.totalCycles < b.totalCycles : a.slowestCore < b.slowestCore;
}

class Ranking {
 public:
  Ranking(const CubeWork& w, const Machine& m, bool explain) : w_(w), m_(m), explain_(explain) {}

  void consider(const TilingPlan& plan) {
    const std::vector<std::string> broken = checkCubePlan(w_, plan, m_);
    if (!broken.empty()) {
      ++choice_.refused;
      for (const std::string& rule : broken) {
        if (rules_.size() < kMostRules) rules_.emplace(kindOfRule(rule), rule);
      }
      return;
    }
    ++choice_.legal;
    const CubeCost cost = cubeCost(w_, plan, m_, limit_);
    if (!cost.exact || cost.totalCycles > limit_) return;
    const auto at = std::upper_bound(kept_.begin(), kept_.end(), cost,
                                     [](const CubeCost& a, const CubeCandidate& b) { return cheaper(a, b.cost); });
    kept_.insert(at, CubeCandidate{plan, cost});
    if (kept_.size() > (explain_ ? kShown : 1)) kept_.pop_back();
    if (kept_.size() == (explain_ ? kShown : 1)) limit_ = kept_.back().cost.totalCycles;
  }

  /// Whether one of the plans that differ from this one in L1 alone may be among the best. Who wants an
  /// explanation is told of all.
  bool mayWin(const TilingPlan& plan) const {
    return explain_ || limit_ == std::numeric_limits<double>::infinity() || leastCost(w_, plan, m_, limit_) <= limit_;
  }

  Result<CubeChoice> take() {
    for (const auto& [kind, rule] : rules_) choice_.refusedBy.push_back(rule);
    if (kept_.empty()) {
      std::string message = std::string("no legal plan for ") + toString(w_.pass) + " of this problem on " + m_.name;
      for (const std::string& rule : choice_.refusedBy) message += "\n" + rule;
      return Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan, message};
    }
    choice_.plan = kept_.front().plan;
    choice_.cost = kept_.front().cost;
    if (explain_) choice_.best = std::move(kept_);
    return std::move(choice_);
  }

 private:
  const CubeWork& w_;
  const Machine& m_;
  const bool explain_;
  double limit_ = std::numeric_limits<double>::infinity();
  CubeChoice choice_;
  std::vector<CubeCandidate> kept_;
  std::map<std::string, std::string> rules_;
};

}  // namespace

Result<CubeChoice> chooseCubePlan(const CubeWork& w, const Machine& m, bool explain, const CubeFixed& fixed) {
  Ranking ranking(w, m, explain);
  visitCubeCandidates(
      w, m, fixed, [&](const TilingPlan& plan) { ranking.consider(plan); },
      [&](const TilingPlan& plan) { return ranking.mayWin(plan); });
  return ranking.take();
}

}  // namespace cubejit
