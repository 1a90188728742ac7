// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a test verifies plans of one kind: of random problems a few candidates each, made into that kind, where they are legal; in
// every type, on every ISA level that this CPU runs, by every backend.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_convolution.h"
#include "tests/support/run_code.h"
#include "tests/support/verify_plan.h"
#include "tiling/planner.h"

namespace cubejit {

struct Setting {
  IsaLevel level = IsaLevel::kAvx2;
  DType dtype = DType::kF32;  ///< of all tensors
  BackendKind backend = kUsualBackend;
};

/// What most kinds draw.
inline Problem inAnyLayout(RandomConvolution& random, int i) {
  Problem problem = random.next();
  problem.layout = random.layoutOf(i);
  return problem;
}

template <class Plan>
struct RandomPlans {
  RandomConvolution random;  ///< as it is before the first problem
  std::function<Problem(RandomConvolution& random, int i)> problem;
  std::function<std::vector<Plan>(const Problem& problem, const Machine& machine)> candidates;
  /// The candidate made into a plan of the kind; nothing if that cannot be.
  std::function<std::optional<TilingPlan>(const Problem& problem, Plan candidate, RandomConvolution& random)> plan;
  int most = 1;  ///< plans of a problem
  std::function<Machine(IsaLevel level)> machine = machineOfSmallL2;
};

struct VerifiedPlan {
  Problem problem;
  TilingPlan plan;
};

/// The plans that were verified; the first wrong one fails the test and is the last.
template <class Plan>
std::vector<VerifiedPlan> verifyPlans(const RandomPlans<Plan>& kind, const Setting& setting, int problems) {
  Options options = eagerOptions(setting.level);
  options.backend = setting.backend;
  Session session(options);
  const Machine machine = kind.machine(setting.level);
  RandomConvolution random = kind.random;
  std::vector<VerifiedPlan> verified;
  for (int i = 0; i < problems; ++i) {
    Problem problem = kind.problem(random, i);
    problem.dtype = setting.dtype;
    for (std::optional<TensorFormat>& format : problem.formats) {
      if (format) format->dtype = setting.dtype;
    }
    std::vector<Plan> candidates = kind.candidates(problem, machine);
    std::shuffle(candidates.begin(), candidates.end(), random.engine());
    int left = kind.most;
    for (Plan& candidate : candidates) {
      if (left == 0) break;
      const std::optional<TilingPlan> plan = kind.plan(problem, std::move(candidate), random);
      if (!plan || !checkPlan(problem, *plan, machine).empty()) continue;
      --left;
      verified.push_back({problem, *plan});
      if (!planIsRight(session, problem, *plan, static_cast<std::uint64_t>(i))) return verified;
    }
  }
  return verified;
}

/// How many of them the predicate holds for.
template <class Plan, class Predicate>
std::size_t countPlans(const std::vector<VerifiedPlan>& verified, Predicate&& holds) {
  std::size_t count = 0;
  for (const VerifiedPlan& one : verified) count += holds(one.plan.as<Plan>()) ? 1 : 0;
  return count;
}

/// Calls test(setting) for all types on those of the levels that this CPU runs.
template <class Test>
void inSettings(std::initializer_list<IsaLevel> levels, std::initializer_list<DType> types, Test&& test) {
  for (const IsaLevel level : levels) {
    if (!hostRuns(level)) continue;
    for (const DType dtype : types) {
      SCOPED_TRACE(std::string(toString(level)) + " " + toString(dtype));
      test(Setting{level, dtype, kUsualBackend});
    }
  }
}

/// The same for the interpreters of vector and of tile programs.
template <class Test>
void inInterpreters(std::initializer_list<DType> types, Test&& test) {
  const IsaLevel level = hostRuns(IsaLevel::kAvx512Bf16) ? IsaLevel::kAvx512Bf16 : IsaLevel::kAvx2;
  for (const BackendKind backend : {BackendKind::kInterpreter, BackendKind::kTileInterpreter}) {
    for (const DType dtype : types) {
      SCOPED_TRACE(std::string(toString(backend)) + " " + toString(dtype));
      test(Setting{level, dtype, backend});
    }
  }
}

}  // namespace cubejit
