// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how a pass is cut into a core's tasks, as plain loops: what a chip means.
#include "tests/support/unit_models/run_units.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/cube/gradient_tasks.h"
#include "algorithms/cube/job.h"
#include "algorithms/kit/adjoint.h"
#include "codegen/tile/element.h"
#include "cubejit/index_map.h"
#include "tests/support/unit_models/cube_core.h"
#include "tests/support/unit_models/move_out.h"
#include "tests/support/unit_models/weight_sums.h"

namespace cubejit {
namespace {

GlobalView viewOf(const Problem& p, TensorId t, const void* data) {
  return {static_cast<std::byte*>(const_cast<void*>(data)), formatBytes(p, t), formatOf(p, t).dtype, indexMap(p, t)};
}

// The units as plain loops: what a chip means.
class UnitModels {
 public:
  static Result<std::unique_ptr<UnitModels>> create(const Problem& problem, const TilingPlan& plan,
                                                    const Machine& chip) {
    std::unique_ptr<UnitModels> models(new UnitModels);
    models->problem_ = problem;
    models->plan_ = plan;
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
    if (result == nullptr) return invalidInput(std::string(toString(plan_.pass)) + " is null", Stage::kRun);
    return g == Pass::kDb ? sumBias(tensors) : multiply(tensors);
  }

 private:
  UnitModels() = default;

  // In the order n, d, h, w, in f32.
  Status sumBias(const Tensors& tensors) const {
    if (tensors.dy == nullptr) return invalidInput("dy is null", Stage::kRun);
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
    std::optional<WeightSums> sums;
    if (!dx) {
      CUBEJIT_TRY(made, WeightSums::create(job_, parts));
      sums = std::move(made);
    }
    for (std::int64_t region = 0; region < tasks.regions(); ++region) {
      for (std::int64_t part = 0; part < parts; ++part) {
        const GlobalView& to = dx ? result : sums->view(part);
        const std::int64_t begin = part * tasks.sums() / parts, end = (part + 1) * tasks.sums() / parts;
        for (std::int64_t s = begin; s < end; ++s) {
          CUBEJIT_RETURN_IF_ERROR(runTask(operands, tasks, tasks.taskOf(region, s), to, add, s == begin));
        }
      }
    }
    if (!dx) sums->finish(result);
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
  CubeJob job_;  ///< all but db; of y, of the adjoint
  std::unique_ptr<CubeCore> core_;
};

}  // namespace

Status runUnits(const EmulationRequest& request, const Tensors& tensors) {
  CUBEJIT_TRY(emulation, Emulation::create(request));
  CUBEJIT_TRY(models, UnitModels::create(request.problem, emulation->plan(), request.machine));
  return models->run(tensors);
}

}  // namespace cubejit
