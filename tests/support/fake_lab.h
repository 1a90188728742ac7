// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how plans behave that are tried in no machine: times from a formula, with noise, drift, and chosen misbehaviour.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "runtime/tuning/json_record.h"
#include "runtime/tuning/lab.h"

namespace cubejit {

class FakeLab : public Lab {
 public:
  /// The plan's time in nanoseconds when nothing disturbs it.
  std::function<double(const TilingPlan&)> time = [](const TilingPlan&) { return 1e6; };
  /// kMeasured, or how the plan fails: refused and failed when loaded, wrong when verified, crashed and timed out when sampled.
  std::function<TrialStatus(const TilingPlan&)> fate = [](const TilingPlan&) { return TrialStatus::kMeasured; };
  double noise = 0.01;  ///< standard deviation of the logarithm
  double slowdown = 1;  ///< of everything: a machine that got busy
  int spikeEvery = 0;   ///< every so many samples one takes five times as long
  std::map<std::string, int> sampledPlans;
  int verifications = 0;

  LabReply load(int number, const TilingPlan& plan) override {
    const TrialStatus status = fate(plan);
    if (status == TrialStatus::kRefused || status == TrialStatus::kFailed) return {status, "injected", {}, {}};
    plans_[number] = plan;
    LabReply reply;
    reply.code = codeOf ? codeOf(plan) : planIdentity(plan);
    if (bitsOf) reply.results = bitsOf(plan);
    return reply;
  }
  LabReply verify(int number) override {
    ++verifications;
    if (fate(plans_.at(number)) == TrialStatus::kWrong)
      return {TrialStatus::kWrong, "dx: 1 of 1 elements differ", {}, {}};
    return {};
  }
  LabReply sample(const std::vector<int>& numbers, int rounds) override {
    LabReply reply;
    reply.samplesNs.resize(numbers.size());
    for (const int number : numbers) {
      const TrialStatus status = fate(plans_.at(number));
      if (status == TrialStatus::kCrashed || status == TrialStatus::kTimedOut) return {status, "injected", {}, {}};
      ++sampledPlans[planIdentity(plans_.at(number))];
    }
    std::normal_distribution<double> log(0, noise);
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        double ns = time(plans_.at(numbers[i])) * slowdown * std::exp(log(random_));
        if (spikeEvery > 0 && ++samples_ % spikeEvery == 0) ns *= 5;
        reply.samplesNs[i].push_back(static_cast<std::int64_t>(ns));
      }
    }
    return reply;
  }
  void drop(int number) override { plans_.erase(number); }

  std::function<std::string(const TilingPlan&)> codeOf, bitsOf;

 private:
  std::map<int, TilingPlan> plans_;
  std::mt19937_64 random_{7};
  int samples_ = 0;
};

}  // namespace cubejit
