// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the answers.
#include "runtime/tuning/model_lab.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/tuning/lab_verdict.h"
#include "tiling/planner.h"

namespace cubejit {
ModelLab::ModelLab(LabTask task, Machine machine) : task_(std::move(task)), machine_(std::move(machine)) {}

RaceRules ModelLab::rules() {
  RaceRules rules;
  rules.firstPairs = rules.enoughPairs = 1;
  rules.mostPairs = 3;
  rules.margin = 0;
  rules.mostSpread = rules.mostDrift = std::numeric_limits<double>::infinity();
  return rules;
}

LabReply ModelLab::load(int number, const TilingPlan& plan) {
  const std::vector<std::string> broken = checkPlan(task_.problem, plan, machine_);
  if (!broken.empty()) return {TrialStatus::kRefused, broken.front(), {}, {}};
  const double cycles = planCost(task_.problem, plan, machine_).totalCycles;
  const double ns = std::ceil(machine_.npu.mhz > 0 ? cycles * 1000 / machine_.npu.mhz : cycles);
  loaded_[number] = {plan, std::max<std::int64_t>(1, static_cast<std::int64_t>(ns))};
  return {};
}

LabReply ModelLab::verify(int number) {
  const auto found = loaded_.find(number);
  if (found == loaded_.end()) return {TrialStatus::kFailed, "the plan is not loaded", {}, {}};
  VerifyRequest request;
  request.problem = task_.problem;
  request.passes = maskOf(task_.pass);
  request.threads = {defaultThreads()};
  request.plans = {found->second.plan};
  request.sampleAbove = kVerifiedMultiplyAdds;
  Options options;
  options.tune = TuneMode::kOff;
  return replyOf(verifyOnNpu(machine_, options, request, true));
}

LabReply ModelLab::sample(const std::vector<int>& numbers, int rounds) {
  LabReply reply;
  for (const int number : numbers) {
    const auto found = loaded_.find(number);
    if (found == loaded_.end()) return {TrialStatus::kFailed, "the plan is not loaded", {}, {}};
    reply.samplesNs.emplace_back(static_cast<std::size_t>(std::max(1, rounds)), found->second.ns);
  }
  return reply;
}

}  // namespace cubejit
