// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the sample.
#include "runtime/prove_forwarding.h"

#include <set>
#include <string>

#include "emulation/forward_proof.h"
#include "runtime/unit_loader.h"
#include "tiling/npu/block_stream.h"
#include "tiling/npu/gradient_tasks.h"

namespace cubejit {
namespace {

// Moves and Mmads of a program, without those that were seen before.
class DistinctSteps {
 public:
  void add(const UnitProgram& program) {
    UnitProgram step;
    std::string name;
    for (const UnitInstruction& instruction : program) {
      if (std::holds_alternative<LoadImage>(instruction) || std::holds_alternative<LoadWeights>(instruction) ||
          std::holds_alternative<LoadPixels>(instruction))
        continue;
      step.push_back(instruction);
      name += toString(instruction) + "\n";
      if (!std::holds_alternative<Mmad>(instruction)) continue;
      if (seen_.insert(name).second) steps_.push_back(step);
      step.clear();
      name.clear();
    }
  }
  /// `most` of them, from all over, one after the other.
  UnitProgram sample(std::int64_t most) const {
    UnitProgram program;
    const auto all = static_cast<std::int64_t>(steps_.size()), count = std::min(all, most);
    for (std::int64_t i = 0; i < count; ++i) {
      const UnitProgram& step = steps_[static_cast<std::size_t>(i * all / count)];
      program.insert(program.end(), step.begin(), step.end());
    }
    return program;
  }
  std::int64_t count(std::int64_t most) const { return std::min(static_cast<std::int64_t>(steps_.size()), most); }

 private:
  std::set<std::string> seen_;
  std::vector<UnitProgram> steps_;
};

}  // namespace

Result<std::int64_t> proveForwarding(const CubeJob& job, const Options& options, std::int64_t most) {
  constexpr std::int64_t kMostTasks = 32;
  const GradientTasks tasks(job);
  DistinctSteps steps;
  const std::int64_t visited = std::min(tasks.count(), kMostTasks);
  for (std::int64_t i = 0; i < visited; ++i) {
    BlockStream stream(job, tasks.task(i * tasks.count() / visited));
    CubeBlock block;
    UnitProgram program;
    while (stream.next(block, program)) steps.add(program);
  }
  const OperandTables none;  // moves from L1 read no tensor
  const UnitContext context{job.work, none};
  const UnitProgram program = steps.sample(most);
  CUBEJIT_TRY(forwarded, forwardProgram(program, context));
  for (const BackendKind kind : {BackendKind::kTileInterpreter, BackendKind::kInterpreter}) {
    Options interpreted = options;
    interpreted.backend = kind;
    CUBEJIT_TRY(units, loadUnits(job.work.type, interpreted));
    CUBEJIT_TRY(proven, proveForwarding(units->code, program, forwarded, context, job.machine));
    static_cast<void>(proven);
  }
  return steps.count(most);
}

}  // namespace cubejit
