// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the four strategies.
#include "runtime/tuning/strategy.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "runtime/tuning/json_record.h"
#include "tiling/words.h"

namespace cubejit {
namespace {

// The problem that is searched for; those of `earlier` have numbers from 0.
constexpr int kThisProblem = -1;

class Base : public Strategy {
 protected:
  explicit Base(const SearchSpace& space) : space_(space) {}
  bool isNew(const TilingPlan& plan) const { return known_.count(planIdentity(plan)) == 0; }
  std::optional<SearchPlan> give(const SearchPlan& plan) {
    known_.insert(planIdentity(plan.plan));
    return plan;
  }
  const SearchSpace& space_;
  std::set<std::string> known_;
};

// A fixed order of the enumerated plans.
class InOrder : public Base {
 public:
  InOrder(const SearchSpace& space, bool shuffled, std::uint64_t seed) : Base(space), plans_(space.enumerated()) {
    std::mt19937_64 random(seed);
    if (shuffled) std::shuffle(plans_.begin(), plans_.end(), random);
  }
  std::optional<SearchPlan> next() override {
    while (at_ < plans_.size()) {
      const SearchPlan& plan = plans_[at_++];
      if (isNew(plan.plan)) return give(plan);
    }
    return std::nullopt;
  }
  void learn(const SearchPlan& plan, std::optional<double>) override { known_.insert(planIdentity(plan.plan)); }

 private:
  std::vector<SearchPlan> plans_;
  std::size_t at_ = 0;
};

// Predicted best first, by a model that follows the measurements.
class ByModel : public Base {
 public:
  ByModel(const SearchSpace& space, std::vector<FitPoint> earlier)
      : Base(space), points_(std::move(earlier)), left_(space.enumerated()), prior_(FittedCost::choosePrior(points_)) {
    refit();
  }
  std::optional<SearchPlan> next() override {
    if (fresh_ >= kRefitAfter) refit();
    const auto cheaper = [&](const SearchPlan& a, const SearchPlan& b) { return expected(a) < expected(b); };
    while (!left_.empty()) {
      const auto best = std::min_element(left_.begin(), left_.end(), cheaper);
      const SearchPlan plan = std::move(*best);
      *best = left_.back();
      left_.pop_back();
      if (isNew(plan.plan)) return give(plan);
    }
    return std::nullopt;
  }
  void learn(const SearchPlan& plan, std::optional<double> relative) override {
    known_.insert(planIdentity(plan.plan));
    if (!relative) return;
    points_.push_back({plan.cost, planFamily(plan.plan), *relative, kThisProblem});
    ++fresh_;
  }

 protected:
  double expected(const SearchPlan& plan) const { return model_.predict(plan.cost, planFamily(plan.plan)); }

 private:
  static constexpr int kRefitAfter = 4;
  void refit() {
    model_ = FittedCost::fit(points_, prior_);
    fresh_ = 0;
  }
  std::vector<FitPoint> points_;
  std::vector<SearchPlan> left_;
  double prior_;
  FittedCost model_;
  int fresh_ = 0;
};

// The model's first plans, then turns: a mutation of one of the best, and now and then the model's next.
class Evolve : public ByModel {
 public:
  Evolve(const SearchSpace& space, std::uint64_t seed, std::vector<FitPoint> earlier)
      : ByModel(space, std::move(earlier)), random_(seed) {}
  std::optional<SearchPlan> next() override {
    ++turn_;
    if (turn_ > kFirst && turn_ % kModelEvery != 0) {
      if (auto child = mutant()) return child;
    }
    if (auto plan = ByModel::next()) return plan;
    return mutant();
  }
  void learn(const SearchPlan& plan, std::optional<double> relative) override {
    ByModel::learn(plan, relative);
    if (!relative) return;
    const auto slower = [](const Parent& p, double time) { return p.relative < time; };
    parents_.insert(std::lower_bound(parents_.begin(), parents_.end(), *relative, slower), Parent{plan, *relative});
    if (parents_.size() > kParents) parents_.pop_back();
  }

 private:
  struct Parent {
    SearchPlan plan;
    double relative;
  };
  static constexpr int kFirst = 8, kModelEvery = 4;
  static constexpr std::size_t kParents = 5, kBrood = 12;

  // Among some new mutations of a good parent the one that the model likes best; better parents have children more often.
  std::optional<SearchPlan> mutant() {
    for (std::size_t attempt = 0; attempt < 2 * kParents && !parents_.empty(); ++attempt) {
      const std::size_t a = random_() % parents_.size(), b = random_() % parents_.size();
      std::optional<SearchPlan> best;
      std::size_t seen = 0;
      for (const SearchPlan& child : space_.mutations(parents_[std::min(a, b)].plan.plan, random_)) {
        if (!isNew(child.plan)) continue;
        if (!best || expected(child) < expected(*best)) best = child;
        if (++seen >= kBrood) break;
      }
      if (best) return give(*best);
    }
    return std::nullopt;
  }

  std::mt19937_64 random_;
  std::vector<Parent> parents_;  ///< best first
  int turn_ = 0;
};

}  // namespace

Result<StrategyKind> parseStrategy(const std::string& name) {
  return parseWord(
      "strategy", name,
      std::array{StrategyKind::kModel, StrategyKind::kEvolve, StrategyKind::kRandom, StrategyKind::kExhaustive},
      Stage::kPlan);
}

std::unique_ptr<Strategy> makeStrategy(StrategyKind kind, const SearchSpace& space, std::uint64_t seed,
                                       std::vector<FitPoint> earlier) {
  if (kind == StrategyKind::kModel) return std::make_unique<ByModel>(space, std::move(earlier));
  if (kind == StrategyKind::kEvolve) return std::make_unique<Evolve>(space, seed, std::move(earlier));
  return std::make_unique<InOrder>(space, kind == StrategyKind::kRandom, seed);
}

}  // namespace cubejit
