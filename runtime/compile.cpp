// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the order of the stages; every arrow of the pipeline is one line here.
#include "runtime/compile.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/kit/lower/convert.h"
#include "cubejit/index_map.h"
#include "runtime/chip_passes.h"
#include "runtime/diagnose/follow.h"
#include "runtime/interleave.h"
#include "runtime/load_programs.h"
#include "runtime/packed_weights.h"
#include "runtime/plan_gradients.h"
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

// Replaces programs of a chip by fast ones, if they are asked for.
Status makeFast(const Options& options, const Machine& machine, const Problem& problem,
                const std::vector<TilingPlan>& plans, std::vector<TileProgram>& programs,
                std::vector<std::optional<TileProgram>>& lowered, std::vector<std::optional<TileProgram>>& anyValues) {
  lowered.resize(programs.size());
  anyValues.resize(programs.size());
  for (std::size_t i = 0; machine.isNpu() && options.forwardCopies && i < programs.size(); ++i) {
    CUBEJIT_TRY(fast, fastProgram(programs[i], problem, plans[i], machine));
    if (!fast) continue;
    lowered[i] = std::exchange(programs[i], std::move(fast->tile));
    anyValues[i] = std::move(fast->anyValues);
  }
  return Unit{};
}

}  // namespace

Result<std::shared_ptr<Executable>> generateExecutable(const CompileRequest& request, const Machine& machine,
                                                       const Options& options) {
  CUBEJIT_TRY(legal, checkProblem(request.problem));
  static_cast<void>(legal);
  auto executable = std::make_shared<Executable>();
  Executable::State& state = executable->state();
  state.describe(request, machine, options);
  Stopwatch watch;
  CUBEJIT_TRY(chosen, planGradients(request, machine, options.algorithm));
  CUBEJIT_TRY(planned, planInterleaving(chosen.problem, chosen.plans, request.plans.empty(), machine));
  state.times.planNs = watch.lapNs();
  CUBEJIT_TRY(tiles, lowerEach(chosen.problem, planned.plans, machine));
  state.together = interleave(tiles, planned);
  std::vector<std::optional<TileProgram>> lowered, anyValues;
  CUBEJIT_TRY(fast, makeFast(options, machine, chosen.problem, planned.plans, tiles, lowered, anyValues));
  static_cast<void>(fast);
  state.times.lowerNs = watch.lapNs();
  if (chosen.sharesDy) {
    TileProgram tile = conversionProgram(request.problem, chosen.problem, TensorId::kDy, BufferRole::kDy,
                                         BufferRole::kDx, machine.isa.lanes());
    CUBEJIT_TRY(conversion, generate(std::move(tile), PlanBackend::kSession, machine.isa, options));
    state.sharedDy = std::move(conversion);
    state.sharedDyBytes = static_cast<std::size_t>(formatBytes(chosen.problem, TensorId::kDy));
  }
  CUBEJIT_TRY(parts, generateEach(std::move(tiles), chosen.problem, planned.plans, machine.isa, options));
  state.parts = std::move(parts);
  for (std::size_t i = 0; i < state.parts.size(); ++i) {
    CompiledGradient& part = *state.parts[i];
    part.lowered = std::move(lowered[i]);
    if (!anyValues[i]) continue;
    CUBEJIT_TRY(careful, generate(std::move(*anyValues[i]), part.plan.backend, machine.isa, options));
    careful->problem = part.problem;
    careful->plan = part.plan;
    part.anyValues = std::move(careful);
  }
  state.times.generateNs = watch.lapNs();
  for (const CompiledGradient* program : state.programs())
    state.times.kernels += static_cast<int>(program->tile.kernels.size());
  return executable;
}

Result<std::shared_ptr<Executable>> compileExecutable(const CompileRequest& request, const Machine& machine,
                                                      const Options& options) {
  CUBEJIT_TRY(executable, generateExecutable(request, machine, options));
  Executable::State& state = executable->state();
  Stopwatch watch;
  CUBEJIT_TRY(code, loadPrograms(state.programs(), options));
  state.keep(std::move(code));
  state.times.generateNs += watch.lapNs();
  CUBEJIT_TRY(followed, followLoad(state, machine));
  static_cast<void>(followed);
  state.packedTag = packedTagOf(state);
  return executable;
}

}  // namespace cubejit
