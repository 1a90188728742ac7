// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order of the stages; every arrow of the pipeline is one line here.
#include "runtime/pipeline/compile.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/chip/chip_sanitizer.h"
#include "runtime/chip/chip_transforms.h"
#include "runtime/loader/load_programs.h"
#include "runtime/pipeline/packed_weights.h"
#include "runtime/pipeline/plan_call.h"
#include "tiling/check_problem.h"

namespace cubejit {
namespace {

class Stopwatch {
 public:
  std::int64_t lapNs() {
    const Clock::time_point begin = std::exchange(start_, Clock::now());
    return std::chrono::nanoseconds(start_ - begin).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

Status generateParts(Executable::State& state, std::vector<ProgramForms> forms, const Problem& problem,
                     const std::vector<TilingPlan>& plans) {
  CUBEJIT_TRY(parts, generateEach(std::move(forms), problem, plans, state.options));
  state.parts = std::move(parts);
  state.measureWorkspace();
  return Unit{};
}

Status load(Executable::State& state) {
  CUBEJIT_TRY(code, loadPrograms(state.programs(), state.options));
  state.keep(std::move(code));
  return Unit{};
}

}  // namespace

Machine machineFor(const Options& options) {
  const std::vector<IsaLevel> runnable = runnableIsas();
  Machine host = detectHost(options.isa ? *options.isa : runnable.empty() ? IsaLevel::kAvx2 : runnable.front());
  if (options.threads > 0) host.cores = std::min(options.threads, kMostThreads);
  if (!options.machine) return host;
  Machine chip = *options.machine;
  chip.isa = host.isa;
  chip.isa.bf16Dot = false;  // its conversions and products take denormals for zero; a chip's do not
  return chip;
}

Result<std::shared_ptr<Executable>> generateExecutable(const CompileRequest& request, const Machine& machine,
                                                       const Options& options) {
  CUBEJIT_RETURN_IF_ERROR(checkProblem(request.problem));
  auto executable = std::make_shared<Executable>();
  Executable::State& state = executable->state();
  state.describe(request, machine, options);
  Stopwatch watch;
  CUBEJIT_TRY(call, planCall(request, machine, options));
  const std::vector<TilingPlan>& plans = call.interleaving.plans;
  state.times.planNs = watch.lapNs();
  CUBEJIT_TRY(lowered, lowerCall(request, call, machine));
  CUBEJIT_RETURN_IF_ERROR(sanitizeEach(lowered.tiles, call.problem, plans, machine, options));
  state.together = std::move(lowered.together);
  CUBEJIT_TRY(forms, formsOf(std::move(lowered.tiles), call.problem, plans, machine, options));
  state.times.lowerNs = watch.lapNs();
  for (SharedTensorProgram& shared : lowered.shared) {
    CUBEJIT_TRY(program, generate(std::move(shared.tile), PlanBackend::kSession, machine.isa, options));
    state.shared.push_back({shared.tensor, state.workspace.keep(shared.bytes), std::move(program)});
  }
  CUBEJIT_RETURN_IF_ERROR(generateParts(state, std::move(forms), call.problem, plans));
  state.times.generateNs = watch.lapNs();
  for (const CompiledPass* program : state.programs())
    state.times.kernels += static_cast<int>(program->tile.kernels.size());
  return executable;
}

Result<std::shared_ptr<Executable>> compileExecutable(const CompileRequest& request, const Machine& machine,
                                                      const Options& options) {
  CUBEJIT_TRY(executable, generateExecutable(request, machine, options));
  Executable::State& state = executable->state();
  Stopwatch watch;
  CUBEJIT_RETURN_IF_ERROR(load(state));
  state.times.generateNs += watch.lapNs();
  state.packedTag = packedTagOf(state);
  return executable;
}

Result<std::shared_ptr<Executable>> compileLowered(const Problem& problem, const TilingPlan& plan, TileProgram program,
                                                   const Machine& machine, const Options& options) {
  auto executable = std::make_shared<Executable>();
  Executable::State& state = executable->state();
  state.describe({problem, maskOf(plan.pass), {}}, machine, options);
  std::vector<ProgramForms> forms(1);
  forms[0].tile = std::move(program);
  forms[0].isa = machine.isa;
  CUBEJIT_RETURN_IF_ERROR(generateParts(state, std::move(forms), problem, {plan}));
  CUBEJIT_RETURN_IF_ERROR(load(state));
  return executable;
}

}  // namespace cubejit
