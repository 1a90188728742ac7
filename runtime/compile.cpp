// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order of the stages; every arrow of the pipeline is one line here.
#include "runtime/compile.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "codegen/backend.h"
#include "codegen/lower.h"
#include "codegen/tile/interpret.h"
#include "codegen/vector/interpret.h"
#include "codegen/vector/legalize.h"
#include "codegen/vectorize.h"
#include "tiling/check_problem.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

std::int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Result<TilingPlan> planFor(const CompileRequest& request, Gradient gradient, const Machine& machine) {
  const auto given = std::find_if(request.plans.begin(), request.plans.end(),
                                  [&](const TilingPlan& p) { return p.gradient == gradient; });
  if (given == request.plans.end()) {
    CUBEJIT_TRY(choice, choosePlan(request.problem, gradient, machine, false));
    return choice.plan;
  }
  const std::vector<std::string> broken = checkPlan(request.problem, *given, machine);
  if (broken.empty()) return *given;
  std::string message = std::string("the plan given for ") + toString(gradient) + " is not legal:";
  for (const std::string& rule : broken) message += "\n" + rule;
  return Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan, message};
}

KernelRunner runnerFor(const CompiledGradient& part, const LoadedCode& code, std::size_t firstKernel,
                       BackendKind backend) {
  KernelRunner runner;
  runner.functions.assign(part.tile.kernels.size(), nullptr);
  runner.user = &part;
  if (backend == BackendKind::kXbyak) {
    for (std::size_t k = 0; k < part.codes.size(); ++k) runner.functions[k] = code.entry(firstKernel + k);
  } else if (backend == BackendKind::kInterpreter) {
    runner.interpret = [](const void* user, int kernel, const KernelArgs& args) {
      static_cast<void>(
          interpret(static_cast<const CompiledGradient*>(user)->vectors[static_cast<std::size_t>(kernel)], args));
    };
  } else {
    runner.interpret = [](const void* user, int kernel, const KernelArgs& args) {
      interpret(static_cast<const CompiledGradient*>(user)->tile.kernels[static_cast<std::size_t>(kernel)], args);
    };
  }
  return runner;
}

}  // namespace

Result<std::shared_ptr<Executable>> compileExecutable(const CompileRequest& request, const Machine& machine,
                                                      const Options& options) {
  CUBEJIT_TRY(checked, checkProblem(request.problem));
  static_cast<void>(checked);
  auto executable = std::make_shared<Executable>();
  Executable::State& state = executable->state();
  state.problem = request.problem;
  state.gradients = request.gradients;
  state.options = options;
  state.isa = machine.isa;
  state.threads = options.threads > 0 ? options.threads : defaultThreads();
  std::vector<Code> codes;
  std::vector<std::size_t> firstKernel;
  for (const Gradient gradient : {Gradient::kDx, Gradient::kDw, Gradient::kDb}) {
    if (!request.gradients.has(gradient)) continue;
    auto part = std::make_unique<CompiledGradient>();
    const std::int64_t start = nowNs();
    CUBEJIT_TRY(plan, planFor(request, gradient, machine));
    part->plan = plan;
    const std::int64_t planned = nowNs();
    CUBEJIT_TRY(tile, lower(request.problem, plan, machine));
    CUBEJIT_TRY(runs, launchable(tile));
    static_cast<void>(runs);
    part->tile = std::move(tile);
    const std::int64_t lowered = nowNs();
    firstKernel.push_back(codes.size());
    for (const Kernel& kernel : part->tile.kernels) {
      CUBEJIT_TRY(vector, vectorize(kernel, machine.isa));
      CUBEJIT_TRY(legal, legalize(vector));
      part->vectors.push_back(std::move(legal));
      if (options.backend != BackendKind::kXbyak) continue;
      CUBEJIT_TRY(code, emitXbyak(part->vectors.back()));
      codes.push_back(code);
      part->codes.push_back(std::move(code));
    }
    state.times.planNs += planned - start;
    state.times.lowerNs += lowered - planned;
    state.times.generateNs += nowNs() - lowered;
    state.times.kernels += static_cast<int>(part->tile.kernels.size());
    state.parts.push_back(std::move(part));
  }
  const std::int64_t start = nowNs();
  CUBEJIT_TRY(loaded, loadRaw(codes));
  state.code = std::move(loaded);
  for (std::size_t i = 0; i < state.parts.size(); ++i) {
    CompiledGradient& part = *state.parts[i];
    part.launch =
        std::make_unique<LaunchProgram>(part.tile, runnerFor(part, state.code, firstKernel[i], options.backend));
  }
  state.times.generateNs += nowNs() - start;
  return executable;
}

}  // namespace cubejit
