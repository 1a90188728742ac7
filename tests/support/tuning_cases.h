// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the problem, machine and records that tests of tuning share.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "cubejit/cubejit.hpp"
#include "runtime/tuning/fingerprint.h"
#include "runtime/tuning/record.h"
#include "tests/support/layers.h"
#include "tiling/planner.h"

namespace cubejit {

inline Problem smallConvolution(std::int64_t channels = 16) {
  Problem p = squareProblem(2, channels, channels, 12);
  p.name = "small";
  return p;
}

inline Machine planMachine() { return detectHost(runnableIsas().empty() ? IsaLevel::kAvx2 : runnableIsas().front()); }

inline TuneKey keyFor(const Problem& problem, Pass pass = Pass::kDx) {
  return {problem, pass, machineFingerprint(planMachine()), "xbyak", 2};
}

/// A verified winner with the planner's own plan, `relative` as fast as it.
inline TuneRecord winnerFor(const TuneKey& key, double relative, const std::string& run = "run") {
  TuneRecord r;
  r.key = key;
  r.version = version();
  r.run = run;
  r.code = "0123456789abcdef";
  const auto choice = choosePlan(key.problem, key.pass, planMachine(), false);
  r.plan = choice.value().plan;
  r.cost = choice.value().cost;
  r.won = r.verified = true;
  r.relative = relative;
  r.samplesNs = {1000, 1001, 1005};
  r.unixTime = 1700000000;
  return r;
}

/// A folder of its own, removed with the object.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("cubejit_" + name + "_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace cubejit
