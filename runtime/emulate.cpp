// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how an emulation runs: generated code, as a session makes it for the chip; or, for checking that, the models of the chip's
// units, one instruction after the other.
#include <cstring>
#include <string>
#include <utility>

#include "algorithms/kit/adjoint.h"
#include "algorithms/lower.h"
#include "codegen/tile/element.h"
#include "cubejit/cubejit.hpp"
#include "cubejit/emulation.h"
#include "emulation/cube_core.h"
#include "emulation/move_out.h"
#include "runtime/aligned_memory.h"
#include "runtime/chip_report.h"
#include "runtime/compile.h"
#include "runtime/prove_forwarding.h"
#include "runtime/weight_sums.h"
#include "tiling/no_throw.h"
#include "tiling/npu/gradient_tasks.h"
#include "tiling/npu/rule_lines.h"
#include "tiling/planner.h"

namespace cubejit {
namespace {

GlobalView viewOf(const Problem& p, TensorId t, const void* data) {
  return {static_cast<std::byte*>(const_cast<void*>(data)), formatBytes(p, t), formatOf(p, t).dtype, indexMap(p, t)};
}

Error broken(const std::string& message) { return Error{ErrorCode::kInvalidProblem, Stage::kRun, message}; }

// The units as plain loops: what a chip means.
class UnitModels {
 public:
  static Result<std::unique_ptr<UnitModels>> create(const Problem& problem, const TilingPlan& plan,
                                                    const Machine& chip) {
    std::unique_ptr<UnitModels> models(new UnitModels);
    CUBEJIT_TRY(tile, lower(problem, plan, chip));  // what is counted is read off it
    models->tile_ = std::move(tile);
    models->problem_ = problem;
    models->plan_ = plan;
    models->chip_ = chip;
    if (plan.pass == Pass::kDb) return models;
    CUBEJIT_TRY(job, makeCubeJob(problem, plan, chip));
    CUBEJIT_TRY(core, CubeCore::create(chip, 0));
    models->job_ = std::move(job);
    models->core_ = std::move(core);
    return models;
  }

  Status run(const Tensors& given) {
    const Pass g = solvedAs(plan_.pass);
    const Tensors tensors = plan_.pass == Pass::kY ? adjointTensors(given) : given;
    const void* result = g == Pass::kDx ? tensors.dx : g == Pass::kDw ? tensors.dw : tensors.db;
    if (result == nullptr) return broken(std::string(toString(plan_.pass)) + " is null");
    return g == Pass::kDb ? sumBias(tensors) : multiply(tensors);
  }

  EmulationReport report(bool trace, std::int64_t mostEvents) const {
    return chipReport(problem_, plan_, chip_, tile_, trace, mostEvents);
  }

 private:
  UnitModels() = default;

  // In the order n, d, h, w, in f32.
  Status sumBias(const Tensors& tensors) const {
    if (tensors.dy == nullptr) return broken("dy is null");
    const GlobalView dy = viewOf(problem_, TensorId::kDy, tensors.dy), db = viewOf(problem_, TensorId::kDb, tensors.db);
    const Dhw& out = problem_.out;
    for (std::int64_t c = 0; c < problem_.cout; ++c) {
      float sum = 0;
      for (std::int64_t i = 0; i < problem_.batch * out.volume(); ++i) {
        const std::int64_t place = dy.map.along(0, i / out.volume()) + dy.map.along(1, c) +
                                   dy.map.along(2, i / (out.h * out.w) % out.d) + dy.map.along(3, i / out.w % out.h) +
                                   dy.map.along(4, i % out.w);
        const std::byte* from = dy.data + place * byteSize(dy.type);
        sum += floatOf(readElement(elementOf(dy.type), reinterpret_cast<const char*>(from), 0));
      }
      storeElement(db.type, db.data + db.map.along(1, c) * byteSize(db.type), sum);
    }
    return Unit{};
  }

  Status multiply(const Tensors& tensors) {
    const Problem& problem = job_.problem;
    const bool dx = job_.plan.pass == Pass::kDx;
    const GradientTasks tasks(job_);
    const TensorId t = dx ? TensorId::kDx : TensorId::kDw;
    const GlobalView result = viewOf(problem, t, dx ? tensors.dx : tensors.dw);
    const GlobalOperands operands{viewOf(problem, TensorId::kDy, tensors.dy), viewOf(problem, TensorId::kX, tensors.x),
                                  viewOf(problem, TensorId::kW, tensors.w)};
    const bool add = !dx || tasks.sums() > 1;
    // Blocks of channels that are not the chip's have padding that no task reaches.
    const bool unreached = result.map.padded && (!dx || formatOf(problem, t).blockChannels() != job_.work.c0);
    if ((dx && add) || unreached) std::memset(result.data, 0, static_cast<std::size_t>(result.bytes));
    const std::int64_t parts = dx ? 1 : tasks.parts();
    if (!dx && !sums_) {
      CUBEJIT_TRY(made, WeightSums::create(job_, parts));
      sums_ = std::move(made);
    }
    for (std::int64_t region = 0; region < tasks.regions(); ++region) {
      for (std::int64_t part = 0; part < parts; ++part) {
        const GlobalView& to = dx ? result : sums_->view(part);
        const std::int64_t begin = part * tasks.sums() / parts, end = (part + 1) * tasks.sums() / parts;
        for (std::int64_t s = begin; s < end; ++s) {
          CUBEJIT_RETURN_IF_ERROR(runTask(operands, tasks, tasks.taskOf(region, s), to, add, s == begin));
        }
      }
    }
    if (!dx) sums_->finish(result);
    return Unit{};
  }

  // `first`: nobody has written to these results yet.
  Status runTask(const GlobalOperands& operands, const GradientTasks& tasks, std::int64_t index, const GlobalView& to,
                 bool add, bool first) {
    const CoreTask task = tasks.task(index);
    core_->becomes(tasks.coreOf(index));
    CUBEJIT_RETURN_IF_ERROR(core_->begin(job_, operands, task));
    const BlockTarget target{to, add, first};
    while (true) {
      CUBEJIT_TRY(more, core_->iterate());
      if (!more) return Unit{};
      CUBEJIT_RETURN_IF_ERROR(core_->write(target));
    }
  }

  Problem problem_;
  TilingPlan plan_;
  Machine chip_;
  TileProgram tile_;
  CubeJob job_;  ///< all but db; of y, of the adjoint
  std::unique_ptr<CubeCore> core_;
  std::optional<WeightSums> sums_;  ///< dw: memory that runs share
};

}  // namespace

struct Emulation::State {
  TilingPlan plan;
  std::shared_ptr<const Executable> executable;  ///< null: the models run
  std::unique_ptr<UnitModels> models;
  AlignedMemory workspace;
  std::size_t workspaceBytes = 0;
  std::optional<EmulationReport> counted;  ///< without events

  Result<EmulationReport> report(const EmulationRun& how) {
    if (!how.trace && counted) return *counted;
    CUBEJIT_TRY(report, executable == nullptr ? Result<EmulationReport>(models->report(how.trace, how.mostEvents))
                                              : executable->emulationReport(plan.pass, how.trace, how.mostEvents));
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
        return Error{
            ErrorCode::kInvalidProblem, Stage::kPlan,
            std::string("the plan is one of ") + toString(request.plan->pass) + ", not of " + toString(request.pass)};
      const std::vector<std::string> broken = checkOnNpu(request.problem, *request.plan, request.machine);
      if (!broken.empty()) return Error{ErrorCode::kInvalidProblem, Stage::kPlan, inLines(broken)};
      wanted.plans.push_back(*request.plan);
    }
    Options chosen = options;
    chosen.machine = request.machine;
    chosen.forwardCopies = request.fast;
    Session session(std::move(chosen));
    if (!request.scalarModels) {
      CUBEJIT_TRY(executable, session.compile(wanted));
      state.plan = executable->plan(request.pass);
      state.executable = std::move(executable);
      return emulation;
    }
    if (wanted.plans.empty()) {
      CUBEJIT_TRY(planned, session.plan(request.problem, request.pass));
      wanted.plans.push_back(planned.plan);
    }
    state.plan = wanted.plans.front();
    CUBEJIT_TRY(models, UnitModels::create(request.problem, state.plan, session.machine()));
    state.models = std::move(models);
    return emulation;
  });
}

Result<std::int64_t> Emulation::proveForwarding(std::int64_t most) const {
  return withoutThrowing(Stage::kRun, [&]() -> Result<std::int64_t> {
    if (state_->executable == nullptr) return std::int64_t{0};
    const Executable::State& state = state_->executable->state();
    return cubejit::proveForwarding(*state.parts.front(), *state.chip, state.options, most);
  });
}

Result<EmulationReport> Emulation::run(const Tensors& tensors, const EmulationRun& how) {
  return withoutThrowing(Stage::kRun, [&]() -> Result<EmulationReport> {
    State& s = *state_;
    if (s.executable == nullptr) {
      CUBEJIT_RETURN_IF_ERROR(s.models->run(tensors));
      return s.report(how);
    }
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
