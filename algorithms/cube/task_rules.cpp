// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "algorithms/cube/task_rules.h"

#include <utility>

#include "algorithms/cube/block_stream.h"
#include "algorithms/cube/rules.h"
#include "algorithms/kit/rules.h"

namespace cubejit {
namespace {

class TaskRules : public Rules {
 public:
  void range(const char* field, std::int64_t value, std::int64_t end) {
    require(value >= 0 && value < end, [&] {
      return std::string(field) + " = " + std::to_string(value) + " must be 0 to " + std::to_string(end - 1);
    });
  }
  void grid(const char* field, std::int64_t value, std::int64_t unit) {
    require(value % unit == 0, [&] {
      return std::string(field) + " = " + std::to_string(value) + " must be a multiple of " + std::to_string(unit);
    });
  }
};

std::vector<std::string> rulesOfTask(const CubeJob& job, const CoreTask& task) {
  const CubeWork& w = job.work;
  const bool dx = w.pass == Pass::kDx;
  TaskRules rules;
  rules.range("image", task.image, w.batch);
  rules.range("group", task.group, w.groups.count);
  rules.range("depth", task.depth, w.pixels.d);
  if (!dx) rules.range("tap depth", task.tapDepth, w.kernel.d);
  rules.range("start m", task.start.m, w.gemm.m);
  rules.range("start k", task.start.k, w.gemm.k * (dx ? w.kernel.d : 1));
  rules.range("start n", task.start.n, w.gemm.n);
  const std::int64_t pixels = dx ? task.extent.m : task.extent.k;
  if (pixels >= w.row()) rules.grid(dx ? "start m" : "start k", dx ? task.start.m : task.start.k, w.row());
  if (dx) {
    rules.grid("start k", task.start.k, w.blockUnit() * w.kernel.d);
    rules.grid("start n", task.start.n, w.c0);
  } else {
    rules.grid("start m", task.start.m, 16);
    rules.grid("start n", task.start.n, w.blockUnit());
  }
  rules.positive("single shape m", task.extent.m);
  rules.positive("single shape k", task.extent.k);
  rules.positive("single shape n", task.extent.n);
  return rules.take();
}

std::vector<std::string> rulesOfTiling(const CubeJob& job, const CoreTask& task) {
  const CubeWork& w = job.work;
  const bool dx = w.pass == Pass::kDx;
  TilingPlan plan = job.plan;
  CubePlan& cube = plan.cube();
  cube.singleShape = cutTask(job, task).count;
  if (dx) cube.singleShape.k *= w.kernel.d;
  if (cube.singleShape == job.plan.cube().singleShape) return {};  // checked when the job was made
  cube.cores = splitOf(w, cube.singleShape);
  CubeWork parts = w;
  if (cube.cores.reduction > 1 && dx) parts.resultBytes = 4;  // parts of a sum may be added by the caller
  return checkCubePlan(parts, plan, job.machine);
}

}  // namespace

std::vector<std::string> taskRules(const CubeJob& job, const CoreTask& task) {
  std::vector<std::string> broken = rulesOfTask(job, task);
  return broken.empty() ? rulesOfTiling(job, task) : broken;
}

}  // namespace cubejit
