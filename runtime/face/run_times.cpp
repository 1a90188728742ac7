// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides what an executable tells about the time of its runs.
#include <variant>

#include "runtime/pipeline/compile.h"

namespace cubejit {
namespace {

void add(RunTimes& all, const CompiledPass& part) {
  const KernelTimes* times = part.launch->times();
  if (times == nullptr) return;
  const Pass pass = part.plan.pass;
  for (std::size_t k = 0; k < part.vectors.size(); ++k) {
    all.kernels.push_back({pass, part.vectors[k].name, multiplies(part.tile.kernels[k]), times->kernel(k)});
  }
  for (std::size_t i = 0; i < part.tile.phases.size(); ++i)
    all.phases.push_back({pass, part.tile.phases[i].name, times->phase(i)});
}

}  // namespace

RunTimes Executable::runTimes() const {
  RunTimes all;
  if (!state_->options.timeKernels) return all;
  all.runs = {state_->timedRuns.load(std::memory_order_relaxed),
              static_cast<double>(state_->timedNs.load(std::memory_order_relaxed))};
  for (const SharedTensor& shared : state_->shared) add(all, *shared.program);
  for (const auto& part : state_->parts) add(all, *part);
  return all;
}

}  // namespace cubejit
