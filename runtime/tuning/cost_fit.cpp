// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the arithmetic of the refit: ridge regression in the terms of a plan's cost, weights kept positive.
#include "runtime/tuning/cost_fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace cubejit {
namespace {

using Terms = FittedCost::Terms;
constexpr std::size_t kTerms = FittedCost::kTerms;

// The total, dealt to the terms by their proportions: weights of 1 give the model back.
Terms termsOf(const PlanCost& c) {
  const double named = c.computeCycles + c.memoryCycles + c.moveCycles + c.callCycles;
  if (named <= 0) return {c.totalCycles, 0, 0, 0};
  const double scale = c.totalCycles / named;
  return {c.computeCycles * scale, c.memoryCycles * scale, c.moveCycles * scale, c.callCycles * scale};
}

double dot(const Terms& a, const Terms& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

constexpr Terms kNeutral{1, 1, 1, 1};

// Solves (A + ridge I) (w - neutral) = residue by elimination; A is symmetric and, with the ridge, positive definite.
Terms solve(std::array<Terms, kTerms> a, Terms b) {
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t row = i + 1; row < kTerms; ++row) {
      const double factor = a[row][i] / a[i][i];
      for (std::size_t col = i; col < kTerms; ++col) a[row][col] -= factor * a[i][col];
      b[row] -= factor * b[i];
    }
  }
  for (std::size_t i = kTerms; i-- > 0;) {
    for (std::size_t col = i + 1; col < kTerms; ++col) b[i] -= a[i][col] * b[col];
    b[i] /= a[i][i];
  }
  return b;
}

// Positions in sorted order; equal values share the mean of theirs.
std::vector<double> ranksOf(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = 0.5 * static_cast<double>(i + end - 1);
    i = end;
  }
  return ranks;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const double n = static_cast<double>(a.size());
  const double meanA = std::accumulate(a.begin(), a.end(), 0.0) / n,
               meanB = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - meanA) * (b[i] - meanB);
    aa += (a[i] - meanA) * (a[i] - meanA);
    bb += (b[i] - meanB) * (b[i] - meanB);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

std::vector<FitPoint> usable(const std::vector<FitPoint>& points) {
  std::vector<FitPoint> out;
  for (const FitPoint& p : points) {
    if (p.time > 0 && p.cost.totalCycles > 0) out.push_back(p);
  }
  return out;
}

std::map<int, std::vector<FitPoint>> byProblem(const std::vector<FitPoint>& points) {
  std::map<int, std::vector<FitPoint>> groups;
  for (const FitPoint& p : usable(points)) groups[p.problem].push_back(p);
  return groups;
}

// Predicted cycles a unit of time of one problem: the median over its plans, so that a few bad predictions do not tilt it.
double scaleOf(const FittedCost& model, const std::vector<FitPoint>& group) {
  std::vector<double> ratios;
  ratios.reserve(group.size());
  for (const FitPoint& p : group) ratios.push_back(model.predict(p.cost, p.family) / p.time);
  std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
  return ratios[ratios.size() / 2];
}

RankQuality mean(const std::vector<RankQuality>& all) {
  RankQuality out;
  double weight = 0;
  for (const RankQuality& q : all) {
    const double w = q.plans - 1;
    out.spearman += w * q.spearman;
    out.kendall += w * q.kendall;
    out.regret += w * q.regret;
    out.plans += q.plans;
    weight += w;
  }
  if (weight > 0) {
    out.spearman /= weight;
    out.kendall /= weight;
    out.regret /= weight;
  }
  return out;
}

RankQuality rankGroup(const FittedCost& model, const std::vector<FitPoint>& group) {
  std::vector<double> predicted, measured;
  for (const FitPoint& p : group) {
    predicted.push_back(model.predict(p.cost, p.family));
    measured.push_back(p.time);
  }
  return rankQuality(predicted, measured);
}

}  // namespace

FittedCost FittedCost::fit(const std::vector<FitPoint>& points, double prior) {
  const std::map<int, std::vector<FitPoint>> groups = byProblem(points);
  FittedCost out;
  constexpr int kPasses = 3;  // weights and the problems' scales depend on each other; they settle quickly
  for (int pass = 0; pass < kPasses; ++pass) {
    std::map<std::string, std::array<Terms, kTerms>> products;
    std::map<std::string, Terms> residues;
    for (const auto& [problem, group] : groups) {
      static_cast<void>(problem);
      const double scale = scaleOf(out, group);
      for (const FitPoint& p : group) {
        Terms x = termsOf(p.cost);
        const double cycles = p.time * scale;
        for (double& term : x) term /= cycles;  // relative errors: a slow plan is not worth more than a fast one
        const double missing = 1 - dot(x, kNeutral), wrong = 1 - dot(x, out.weights(p.family));
        // A plan that is predicted badly anyhow says little about the order among good ones.
        const double weight = 1 / (1 + 4 * wrong * wrong);
        for (std::size_t i = 0; i < kTerms; ++i) {
          residues[p.family][i] += weight * x[i] * missing;
          for (std::size_t j = 0; j < kTerms; ++j) products[p.family][i][j] += weight * x[i] * x[j];
        }
      }
    }
    for (auto& [family, matrix] : products) {
      for (std::size_t i = 0; i < kTerms; ++i) matrix[i][i] += prior;
      Terms weights = solve(matrix, residues[family]);
      constexpr double kLeast = 0.05;  // more work never costs less
      for (std::size_t i = 0; i < kTerms; ++i) weights[i] = std::max(kLeast, kNeutral[i] + weights[i]);
      out.weights_[family] = weights;
    }
  }
  return out;
}

double FittedCost::choosePrior(const std::vector<FitPoint>& points) {
  constexpr std::size_t kFewest = 4;  // problems
  constexpr std::array kPriors{0.5, 2.0, 8.0, 32.0, 1e6};
  if (byProblem(points).size() < kFewest) return kUsualPrior;
  double best = kUsualPrior, bestRank = -2;
  for (const double prior : kPriors) {
    const double rank = crossValidated(points, prior).spearman;
    if (rank <= bestRank) continue;
    best = prior;
    bestRank = rank;
  }
  return best;
}

FittedCost::Terms FittedCost::weights(const std::string& family) const {
  const auto found = weights_.find(family);
  return found == weights_.end() ? kNeutral : found->second;
}

double FittedCost::predict(const PlanCost& cost, const std::string& family) const {
  return dot(termsOf(cost), weights(family));
}

RankQuality rankQuality(const std::vector<double>& predicted, const std::vector<double>& measured) {
  RankQuality out;
  out.plans = static_cast<int>(predicted.size());
  if (predicted.empty()) return out;
  const auto chosen = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
  out.regret = measured[static_cast<std::size_t>(chosen)] / *std::min_element(measured.begin(), measured.end()) - 1;
  if (predicted.size() < 3) return out;
  out.spearman = correlation(ranksOf(predicted), ranksOf(measured));
  double agree = 0, pairsA = 0, pairsB = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    for (std::size_t j = i + 1; j < predicted.size(); ++j) {
      const double a = predicted[i] - predicted[j], b = measured[i] - measured[j];
      agree += a * b > 0 ? 1 : a * b < 0 ? -1 : 0;
      pairsA += a != 0 ? 1 : 0;
      pairsB += b != 0 ? 1 : 0;
    }
  }
  out.kendall = pairsA > 0 && pairsB > 0 ? agree / std::sqrt(pairsA * pairsB) : 0;  // tau-b: ties are no opinion
  return out;
}

RankQuality rankModel(const FittedCost& model, const std::vector<FitPoint>& points) {
  std::vector<RankQuality> all;
  for (const auto& [problem, group] : byProblem(points)) {
    static_cast<void>(problem);
    if (group.size() >= 3) all.push_back(rankGroup(model, group));
  }
  return mean(all);
}

RankQuality crossValidated(const std::vector<FitPoint>& points, double prior) {
  std::vector<RankQuality> all;
  for (const auto& [problem, group] : byProblem(points)) {
    if (group.size() < 3) continue;
    std::vector<FitPoint> others;
    for (const FitPoint& p : points) {
      if (p.problem != problem) others.push_back(p);
    }
    all.push_back(rankGroup(FittedCost::fit(others, prior), group));
  }
  return mean(all);
}

}  // namespace cubejit
