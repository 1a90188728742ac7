// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how an emulation runs: generated code, as a session makes it for the chip.
#include <string>
#include <utility>

#include "cubejit/cubejit.hpp"
#include "cubejit/emulation.h"
#include "runtime/chip/prove_elision.h"
#include "runtime/host/aligned_memory.h"
#include "runtime/pipeline/compile.h"
#include "tiling/no_throw.h"
#include "tiling/rule_lines.h"

namespace cubejit {

struct Emulation::State {
  TilingPlan plan;
  std::shared_ptr<const Executable> executable;
  AlignedMemory workspace;
  std::size_t workspaceBytes = 0;
  std::optional<EmulationReport> counted;  ///< without events

  Result<EmulationReport> report(const EmulationRun& how) {
    if (!how.trace && counted) return *counted;
    CUBEJIT_TRY(report, executable->emulationReport(plan.pass, how.trace, how.mostEvents));
    if (!how.trace) counted = report;
    return std::move(report);
  }
};

Emulation::Emulation() = default;
Emulation::~Emulation() = default;
const TilingPlan& Emulation::plan() const { return state_->plan; }

Result<std::unique_ptr<Emulation>> Emulation::create(const EmulationRequest& request, const Options& options) {
  return withoutThrowing(Stage::kPlan, [&]() -> Result<std::unique_ptr<Emulation>> {
    std::unique_ptr<Emulation> emulation(new Emulation);
    emulation->state_ = std::make_unique<State>();
    State& state = *emulation->state_;
    CompileRequest wanted{request.problem, {}, {}};
    wanted.passes = maskOf(request.pass);
    if (request.plan && request.pass != Pass::kDb) {
      if (request.plan->pass != request.pass)
        return invalidInput(
            std::string("the plan is one of ") + toString(request.plan->pass) + ", not of " + toString(request.pass),
            Stage::kPlan);
      const std::vector<std::string> broken = checkOnNpu(request.problem, *request.plan, request.machine);
      if (!broken.empty()) return invalidInput(inLines(broken), Stage::kPlan);
      wanted.plans.push_back(*request.plan);
    }
    Options chosen = options;
    chosen.machine = request.machine;
    chosen.elideCopies = request.fast;
    Session session(std::move(chosen));
    CUBEJIT_TRY(executable, session.compile(wanted));
    state.plan = executable->plan(request.pass);
    state.executable = std::move(executable);
    return emulation;
  });
}

Result<std::int64_t> Emulation::proveElision(std::int64_t most) const {
  return withoutThrowing(Stage::kRun, [&]() -> Result<std::int64_t> {
    const Executable::State& state = state_->executable->state();
    return cubejit::proveElision(*state.parts.front(), *state.chip, state.options, most);
  });
}

Result<EmulationReport> Emulation::run(const Tensors& tensors, const EmulationRun& how) {
  return withoutThrowing(Stage::kRun, [&]() -> Result<EmulationReport> {
    State& s = *state_;
    const int threads = how.threads != 0 ? how.threads : s.executable->threads();
    const std::size_t bytes = s.executable->workspaceBytes(threads);
    if (bytes > s.workspaceBytes) {
      s.workspace = alignedMemory(bytes);
      s.workspaceBytes = s.workspace == nullptr ? 0 : bytes;
      if (s.workspace == nullptr)
        return Error{ErrorCode::kLimitExceeded, Stage::kRun,
                     "no memory for the buffers of " + std::to_string(threads) + " cores, " + std::to_string(bytes) +
                         " bytes; use fewer threads"};
    }
    CUBEJIT_RETURN_IF_ERROR(s.executable->run(tensors, s.workspace.get(), bytes, threads));
    return s.report(how);
  });
}

}  // namespace cubejit
