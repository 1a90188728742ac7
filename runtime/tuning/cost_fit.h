// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how measurements correct the planner's cost model, and how well a model ranks plans. Pure arithmetic.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tiling/planner.h"

namespace cubejit {

/// A plan that was measured: what the model said about it, and its time (in any unit that is the same within a problem).
struct FitPoint {
  PlanCost cost;
  std::string family;  ///< planFamily()
  double time = 0;
  int problem = 0;  ///< times are compared, and scaled, within one problem only
};

/// Corrects PlanCost::totalCycles: the shares that its terms have in it get a positive weight each, one set of weights per
/// family of plans. What the total adds beyond the terms (idle cores, tasks) scales with them.
class FittedCost {
 public:
  static constexpr std::size_t kTerms = 4;
  static constexpr double kUsualPrior = 2;
  using Terms = std::array<double, kTerms>;

  /// All weights 1: the model as it is.
  FittedCost() = default;

  /// Least squares on relative errors, drawn towards weights of 1 as strongly as `prior` points would: few measurements
  /// correct little. Points without time or cost are left out.
  static FittedCost fit(const std::vector<FitPoint>& points, double prior = kUsualPrior);

  /// How strongly to hold on to the model as it is, chosen by how well each problem is ranked by a fit to the others. Where
  /// refitting would rank worse, the choice is so strong that the model stays. Few problems: the usual prior.
  static double choosePrior(const std::vector<FitPoint>& points);

  /// In cycles of the planner's scale; only the order means something.
  double predict(const PlanCost& cost, const std::string& family) const;
  /// Weights of compute, memory, move and call cycles.
  Terms weights(const std::string& family) const;

 private:
  std::map<std::string, Terms> weights_;
};

/// How well predictions rank measurements.
struct RankQuality {
  double spearman = 0, kendall = 0;  ///< -1 to 1; 0 for fewer than 3 plans
  double regret = 0;  ///< among the ranked plans: time of the one predicted best / time of the best, minus 1
  int plans = 0;
};
RankQuality rankQuality(const std::vector<double>& predicted, const std::vector<double>& measured);

/// The mean over problems (weighted by plans - 1) of the ranks that a model gives to points, each problem by itself.
RankQuality rankModel(const FittedCost& model, const std::vector<FitPoint>& points);

/// The same where each problem is ranked by a model fitted to the others only: what a refit is worth for a new problem.
RankQuality crossValidated(const std::vector<FitPoint>& points, double prior = FittedCost::kUsualPrior);

}  // namespace cubejit
