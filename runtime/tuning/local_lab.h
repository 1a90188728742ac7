// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how plans are tried in this process. A plan that crashes ends it: strangers' plans belong into a child_lab.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "cubejit/cubejit.hpp"
#include "runtime/tuning/lab.h"
#include "runtime/tuning/measure.h"

namespace cubejit {

class LocalLab : public Lab {
 public:
  /// `turnFile`: locked while samples are taken, so that tuners on one machine do not time each other; empty: nobody waits.
  static Result<std::unique_ptr<LocalLab>> open(const LabTask& task, const std::string& turnFile);
  ~LocalLab() override;

  LabReply load(int number, const TilingPlan& plan) override;
  LabReply verify(int number) override;
  LabReply sample(const std::vector<int>& numbers, int rounds) override;
  void drop(int number) override { loaded_.erase(number); }
  LabReply renew() override;

 private:
  LocalLab(const LabTask& task, const Options& options, std::string turnFile);
  PassMask mask() const;
  struct Loaded {
    std::shared_ptr<const Executable> executable;
    TilingPlan plan;
    std::int64_t onceNs = 0;
  };
  LabTask task_;
  std::string turnFile_;
  Session session_;
  std::unique_ptr<Workload> workload_;
  std::map<int, Loaded> loaded_;
};

/// Digest of the programs generated for a pass: what is called in which order, and every byte of code.
std::string codeDigest(const Executable& executable, Pass pass);

}  // namespace cubejit
