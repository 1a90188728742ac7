// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the arrow cube plan -> TileProgram: the core split becomes tasks, base blocks and L1 steps become calls that stand for the units'
// instructions, L1, L0A, L0B, L0C and UB are buffers of the chip's sizes. What must be zero comes before the cubes' work, behind that of
// dW what the vector unit makes of the sums.
#include "algorithms/lower.h"

#include <algorithm>
#include <map>
#include <utility>

#include "algorithms/cube/gradient_tasks.h"
#include "algorithms/cube/lower/cube_sums.h"
#include "algorithms/cube/lower/result_calls.h"
#include "algorithms/cube/lower/task_axes.h"
#include "algorithms/cube/lower/unit_calls.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/tensor_binding.h"
#include "codegen/tile/unit_flags.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

class CubeLowering {
 public:
  CubeLowering(const CubeJob& job, int lanes, const CubeShortcuts& shortcuts)
      : job_(job),
        w_(job.work),
        dx_(job.work.pass == Pass::kDx),
        lanes_(lanes),
        shortcuts_(shortcuts),
        t_(tensorsOf(job)),
        sums_(job),
        b_(problemLabel(job.problem, job.work.pass) + "_" + job.machine.name) {}

  Result<TileProgram> run() {
    CUBEJIT_TRY(axes, TaskAxes::create(job_, t_, sums_));
    const GradientTasks tasks(job_);
    const bool add = dx_ && tasks.sums() > 1;
    parts_ = tasks.parts();
    addBuffers();
    // Blocks of channels that are not the chip's have padding that no task reaches.
    const TensorFormat format = formatOf(job_.problem, t_.result);
    const bool unreached = t_.resultMap.padded && (!dx_ || format.blockChannels() != w_.c0);
    const std::int64_t ubBytes = job_.machine.buffers.ubBytes;
    if (add || unreached)
      addZeroPhase(b_, "zero", result_, formatBytes(job_.problem, t_.result), buffers_.ub, ubBytes, lanes_);
    if (!dx_) addZeroPhase(b_, "zero_sums", buffers_.result, parts_ * sums_.bytes(), buffers_.ub, ubBytes, lanes_);
    addCubePhase(axes, add);
    if (tooLong_) return tooManyCalls(job_.plan.cube());
    if (!dx_) addCastPhase(b_, job_, t_, sums_, buffers_.result, parts_, result_, buffers_.ub, lanes_);
    TileProgram program = b_.finish();
    setElements(program, job_.problem);
    if (!shortcuts_.leavesOutZeros) setUnitFlags(program);  // else its calls are not all that the units do
    return program;
  }

 private:
  int tensor(TensorId t) { return b_.addTensor(t, formatBytes(job_.problem, t)); }

  void addBuffers() {
    buffers_.image = tensor(t_.image);
    buffers_.other = tensor(t_.other);
    result_ = tensor(t_.result);
    buffers_.result = dx_ ? result_ : b_.addBuffer("sums", Buffer::Use::kShared, parts_ * sums_.bytes());
    if (shortcuts_.leavesOutZeros) buffers_.panels = panelsOfBlock(job_);
    addCoreBuffers(b_, job_, Buffer::Use::kPrivate, buffers_);
  }

  void addCubePhase(const TaskAxes& axes, bool add) {
    b_.beginPhase("cube");
    const CubeStreams s = addStreams(b_, t_, buffers_, dx_ ? "dx" : "sums");
    std::vector<int> numbers, loops;
    for (const TaskAxis& axis : axes.axes()) {
      const int number = b_.addAxis(axis.name, std::max(1, static_cast<int>(axis.firsts.size())));
      for (const TaskStep& step : axis.steps) {
        const TaskPlaces& d = step.distance;
        b_.addStep(number, {{s.image, d.image}, {s.other, d.other}, {s.result, d.result}}, step.cls);
      }
      numbers.push_back(number);
      if (axis.summed)
        loops.push_back(number);
      else
        b_.phase().parallelAxes.push_back(number);
    }
    if (parts_ > 1) {
      const int part = b_.addPartition("part", loops.front(), parts_);
      for (std::int64_t p = 1; p < parts_; ++p) b_.moveStep(part, p, s.result, p * sums_.bytes());
      b_.phase().parallelAxes.push_back(part);
    }
    b_.phase().body = nest(loops, {tasks(axes, numbers, s, add)});
    const Mkn& gemm = w_.gemm;
    b_.phase().workCycles = static_cast<double>(w_.batch * w_.depths * w_.groups.count) * static_cast<double>(gemm.m) *
                            static_cast<double>(gemm.k) * static_cast<double>(gemm.n) / 16;
  }

  // A choice by the classes of all axes: the instructions of the task that stands for them.
  Node tasks(const TaskAxes& axes, const std::vector<int>& numbers, const CubeStreams& s, bool add) {
    UnitCalls units(job_, t_, s, lanes_, shortcuts_, b_);
    const ResultCalls results(job_, t_, s, sums_, add, lanes_);
    Node choice;
    choice.classAxes = numbers;
    std::int64_t combinations = 1;
    for (const TaskAxis& axis : axes.axes()) combinations *= static_cast<std::int64_t>(axis.firsts.size());
    std::map<std::vector<int>, Window> known;
    for (std::int64_t c = 0; c < combinations; ++c) {
      std::vector<std::size_t> steps(axes.axes().size());
      std::vector<int> alike;
      TaskPlaces from;
      std::int64_t rest = c;
      for (std::size_t i = axes.axes().size(); i-- > 0;) {
        const TaskAxis& axis = axes.axes()[i];
        const std::size_t cls = static_cast<std::size_t>(rest) % axis.firsts.size();
        steps[i] = axis.firsts[cls];
        alike.push_back(axis.alike[cls]);
        rest /= static_cast<std::int64_t>(axis.firsts.size());
        const TaskPlaces& d = axis.steps[steps[i]].distance;
        from = {from.image + d.image, from.other + d.other, from.result + d.result};
      }
      const CoreTask task = axes.taskOf(steps);
      alike.push_back(static_cast<int>(meetingDepths(job_, task).size()));
      const auto [window, fresh] = known.emplace(alike, Window{});
      if (fresh) {
        window->second.begin = static_cast<int>(choice.body.size());
        for (Node& node : instructions(task, units, results)) {
          // Written for the task that its classes are counted from.
          for (auto& [stream, offset] : {std::pair<int, std::int64_t&>{node.call.a, node.call.place.offset[0]},
                                         std::pair<int, std::int64_t&>{node.call.c, node.call.place.offset[2]}})
            offset -= stream == s.image    ? from.image
                      : stream == s.other  ? from.other
                      : stream == s.result ? from.result
                                           : 0;
          choice.body.push_back(std::move(node));
        }
        if (tooLong_) return choice;  // which nobody will look at
        window->second.end = static_cast<int>(choice.body.size());
      }
      choice.windows.push_back(window->second);
    }
    return choice;
  }

  std::vector<Node> instructions(const CoreTask& task, UnitCalls& units, const ResultCalls& results) {
    CallSequence calls(b_);
    BlockStream stream(job_, task);
    CubeBlock block;
    UnitProgram program;
    units.beginTask(task);
    while (!tooLong_ && stream.next(block, program)) {
      for (const UnitInstruction& instruction : program) units.add(instruction, calls);
      results.store(task, block, stream.l0c(), calls);
      tooLong_ = calls_ + calls.size() > kMostCubeCalls;
    }
    calls_ += calls.size();
    return calls.take();
  }

  const CubeJob& job_;
  const CubeWork& w_;
  const bool dx_;
  const int lanes_;
  const CubeShortcuts shortcuts_;
  const CubeTensors t_;
  const CubeSums sums_;
  ProgramBuilder b_;
  std::int64_t parts_ = 1;
  std::int64_t calls_ = 0;
  bool tooLong_ = false;
  CubeBuffers buffers_;
  int result_ = -1;
};

}  // namespace

Result<TileProgram> lower(const CubeJob& job, int lanes, const CubeShortcuts& shortcuts) {
  return CubeLowering(job, lanes, shortcuts).run();
}

}  // namespace cubejit
