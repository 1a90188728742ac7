// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order of the stages; every arrow of the pipeline is one line here.
#include "runtime/compile.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "algorithms/kit/lower/convert.h"
#include "algorithms/kit/reorder.h"
#include "algorithms/lower.h"
#include "codegen/tile/interpret.h"
#include "codegen/tile/isa_rounding.h"
#include "codegen/vector/interpret.h"
#include "codegen/vector/legalize.h"
#include "codegen/vectorize.h"
#include "cubejit/index_map.h"
#include "runtime/backends.h"
#include "runtime/diagnose/follow.h"
#include "runtime/emit_kernels.h"
#include "runtime/packed_weights.h"
#include "tiling/back_to_back_plans.h"
#include "tiling/check_problem.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

std::int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Plans for every gradient asked for, and the problem they are plans of.
struct Planned {
  Problem problem;
  std::vector<TilingPlan> plans;
  double cycles = 0;
  bool sharesDy = false;
};

Result<TilingPlan> givenPlan(const CompileRequest& request, const TilingPlan& given, const Machine& machine) {
  const std::vector<std::string> broken = checkPlan(request.problem, given, machine);
  if (broken.empty()) return given;
  std::string message = std::string("the plan given for ") + toString(given.gradient) + " is not legal:";
  for (const std::string& rule : broken) message += "\n" + rule;
  return Error{ErrorCode::kNoFeasiblePlan, Stage::kPlan, message};
}

Result<Planned> planAll(const CompileRequest& request, const Problem& problem, const Machine& machine,
                        std::optional<LaneRole> algorithm) {
  Planned out{problem, {}, 0, false};
  for (const Gradient gradient : {Gradient::kDx, Gradient::kDw, Gradient::kDb}) {
    if (!request.gradients.has(gradient)) continue;
    const auto given = std::find_if(request.plans.begin(), request.plans.end(),
                                    [&](const TilingPlan& p) { return p.gradient == gradient; });
    if (given != request.plans.end()) {
      CUBEJIT_TRY(plan, givenPlan(request, *given, machine));
      out.plans.push_back(plan);
    } else {
      CUBEJIT_TRY(choice, choosePlan(problem, gradient, machine, false, request.weights, algorithm));
      out.plans.push_back(choice.plan);
      out.cycles += choice.cost.totalCycles;
    }
  }
  return out;
}

// Gradients asked for together may share one conversion of dy, if that is cheaper than each taking dy as it is.
Result<Planned> planShared(const CompileRequest& request, const Machine& machine, std::optional<LaneRole> algorithm) {
  CUBEJIT_TRY(apart, planAll(request, request.problem, machine, algorithm));
  Problem shared = request.problem;
  shared.formats[static_cast<std::size_t>(TensorId::kDy)] = coreFormat(TensorId::kDy);
  const bool alike = formatOf(shared, TensorId::kDy) == formatOf(request.problem, TensorId::kDy);
  if (apart.plans.size() < 2 || !request.plans.empty() || alike) return apart;
  auto together = planAll(request, shared, machine, algorithm);
  if (!together.ok()) return apart;
  together->cycles += conversionCycles(request.problem, TensorId::kDy, machine) / machine.cores;
  together->sharesDy = true;
  return together->cycles < apart.cycles ? together : apart;
}

// What is planned, lowered.
struct Lowered {
  std::vector<TilingPlan> plans;
  std::vector<TileProgram> tiles;
  std::optional<BackToBack> together;
};

Result<std::vector<TileProgram>> lowerAll(const Problem& problem, const std::vector<TilingPlan>& plans,
                                          const Machine& machine) {
  std::vector<TileProgram> tiles;
  for (const TilingPlan& plan : plans) {
    CUBEJIT_TRY(tile, lower(problem, plan, machine));
    tiles.push_back(std::move(tile));
  }
  return tiles;
}

// Gradients may read dy block by block, one after the other, with plans that have tasks of such blocks. Plans that the caller gives
// stay as they are, and so do those of gradients that do not take part.
Result<Lowered> lowerTogether(const CompileRequest& request, const Planned& planned, const Machine& machine) {
  Lowered out{planned.plans, {}, std::nullopt};
  const DyBlocks blocks = planned.plans.size() < 2 ? DyBlocks{} : dyBlocks(planned.problem, machine);
  if (blocks.bytes > 0 && request.plans.empty()) {
    for (TilingPlan& plan : out.plans) plan = planInBlocks(planned.problem, plan, machine, blocks.bytes);
  }
  CUBEJIT_TRY(tiles, lowerAll(planned.problem, out.plans, machine));
  out.tiles = std::move(tiles);
  if (blocks.bytes <= 0) return out;
  std::vector<const TileProgram*> programs;
  for (const TileProgram& tile : out.tiles) programs.push_back(&tile);
  out.together = backToBack(programs, blocks);
  for (std::size_t i = 0; i < out.plans.size(); ++i) {
    const bool cut = out.plans[i].cores.reduction != planned.plans[i].cores.reduction;
    if (!cut || (out.together && out.together->includes(i))) continue;
    out.plans[i] = planned.plans[i];
    CUBEJIT_TRY(tile, lower(planned.problem, out.plans[i], machine));
    out.tiles[i] = std::move(tile);
  }
  return out;
}

KernelRunner runnerFor(const CompiledGradient& part, const LoadedCode& code, std::size_t firstKernel,
                       BackendKind backend) {
  KernelRunner runner;
  runner.functions.assign(part.tile.kernels.size(), nullptr);
  runner.user = &part;
  if (emitsCode(backend)) {
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

// From a TileProgram to code, for one program after the other.
struct Generator {
  const Machine& machine;
  const CodeBackend& backend;
  const Options& options;
  StageTimes& times;

  Result<std::unique_ptr<CompiledGradient>> generate(TileProgram tile) {
    auto part = std::make_unique<CompiledGradient>();
    CUBEJIT_TRY(runs, launchable(tile));
    static_cast<void>(runs);
    useIsaRounding(tile, machine.isa);
    part->tile = std::move(tile);
    const std::int64_t start = nowNs();
    for (const Kernel& kernel : part->tile.kernels) {
      CUBEJIT_TRY(vector, vectorize(kernel, machine.isa));
      CUBEJIT_TRY(legal, legalize(vector));
      part->vectors.push_back(std::move(legal));
    }
    CUBEJIT_TRY(codes, emitKernels(part->vectors, backend, options));
    part->codes = std::move(codes);
    times.generateNs += nowNs() - start;
    times.kernels += static_cast<int>(part->tile.kernels.size());
    return part;
  }
};

}  // namespace

Result<std::shared_ptr<Executable>> generateExecutable(const CompileRequest& request, const Machine& machine,
                                                       const Options& options) {
  CUBEJIT_TRY(checked, checkProblem(request.problem));
  static_cast<void>(checked);
  auto executable = std::make_shared<Executable>();
  Executable::State& state = executable->state();
  state.problem = request.problem;
  for (const TensorId t : kTensorIds) {
    state.extents[static_cast<std::size_t>(t)] = {formatBytes(request.problem, t),
                                                  byteSize(formatOf(request.problem, t).dtype)};
  }
  state.gradients = request.gradients;
  state.options = options;
  state.isa = machine.isa;
  state.threads = options.threads > 0 ? options.threads : defaultThreads();
  const std::int64_t start = nowNs();
  CUBEJIT_TRY(planned, planShared(request, machine, options.algorithm));
  state.times.planNs = nowNs() - start;
  CUBEJIT_TRY(backend, codeBackend(options));
  Generator generator{machine, backend, options, state.times};
  if (planned.sharesDy) {
    CUBEJIT_TRY(conversion,
                generator.generate(conversionProgram(request.problem, planned.problem, TensorId::kDy, BufferRole::kDy,
                                                     BufferRole::kDx, machine.isa.lanes())));
    state.sharedDy = std::move(conversion);
    state.sharedDyBytes = static_cast<std::size_t>(formatBytes(planned.problem, TensorId::kDy));
  }
  const std::int64_t before = nowNs();
  CUBEJIT_TRY(lowered, lowerTogether(request, planned, machine));
  state.times.lowerNs += nowNs() - before;
  state.together = std::move(lowered.together);
  for (std::size_t i = 0; i < lowered.plans.size(); ++i) {
    const TilingPlan& plan = lowered.plans[i];
    CUBEJIT_TRY(own, codeBackend(plan.backend, options));
    CUBEJIT_TRY(part, (Generator{machine, own, options, state.times}.generate(std::move(lowered.tiles[i]))));
    part->plan = plan;
    part->problem = planned.problem;
    state.parts.push_back(std::move(part));
  }
  return executable;
}

Result<std::shared_ptr<Executable>> compileExecutable(const CompileRequest& request, const Machine& machine,
                                                      const Options& options) {
  CUBEJIT_TRY(executable, generateExecutable(request, machine, options));
  Executable::State& state = executable->state();
  const std::int64_t loading = nowNs();
  std::vector<CompiledGradient*> programs;
  if (state.sharedDy != nullptr) programs.push_back(state.sharedDy.get());
  for (const auto& part : state.parts) programs.push_back(part.get());
  // Neighbours of one backend are loaded together: they share pages.
  for (std::size_t i = 0; i < programs.size();) {
    const PlanBackend wanted = programs[i]->plan.backend;
    std::vector<Code> codes;
    for (; i < programs.size() && programs[i]->plan.backend == wanted; ++i)
      codes.insert(codes.end(), programs[i]->codes.begin(), programs[i]->codes.end());
    CUBEJIT_TRY(backend, codeBackend(wanted, options));
    CUBEJIT_TRY(loaded, backend.load(codes));
    state.code.append(std::move(loaded));
  }
  std::size_t firstKernel = 0;
  for (CompiledGradient* part : programs) {
    part->launch =
        std::make_unique<LaunchProgram>(part->tile, runnerFor(*part, state.code, firstKernel, options.backend));
    if (options.timeKernels) part->launch->keepTimes(state.threads);
    firstKernel += part->codes.size();
  }
  for (const auto& part : state.parts) state.launches.push_back(part->launch.get());
  state.times.generateNs += nowNs() - loading;
  CUBEJIT_TRY(followed, followLoad(state, machine));
  static_cast<void>(followed);
  state.packedTag = packedTagOf(state);
  return executable;
}

Result<std::unique_ptr<CompiledGradient>> compileProgram(TileProgram tile, const Machine& machine,
                                                         const Options& options, LoadedCode& code) {
  StageTimes times;
  CUBEJIT_TRY(backend, codeBackend(options));
  Generator generator{machine, backend, options, times};
  CUBEJIT_TRY(part, generator.generate(std::move(tile)));
  CUBEJIT_TRY(loaded, backend.load(part->codes));
  code = std::move(loaded);
  part->launch = std::make_unique<LaunchProgram>(part->tile, runnerFor(*part, code, 0, options.backend));
  return std::move(part);
}

}  // namespace cubejit
