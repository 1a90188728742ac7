// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the axes of a job's tasks: which of their numbers are axes of their own, which tasks are alike but for where their operands
// lie, and how far each is from the one that stands for them. Leaves what a task does to unit_calls and result_calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/cube/job.h"
#include "algorithms/cube/lower/task_keys.h"
#include "cubejit/result.h"

namespace cubejit {

/// One step of an axis: a share of the tasks.
struct TaskStep {
  CoreTask task;  ///< of the axis' numbers; the others are 0
  int cls = 0;
  TaskPlaces distance{};  ///< of its operands from those of the first step of the classes that are alike
};

/// What one number, or several together, choose. Steps of a class do the same, but for where their operands lie.
struct TaskAxis {
  std::string name;
  bool summed = false;  ///< tasks that differ in it only add to the same results, in the order of its steps
  std::vector<TaskStep> steps;
  std::vector<std::size_t> firsts;  ///< of each class, the first step
  std::vector<int> alike;           ///< of each class: those of a number differ only in which depths meet
};

class TaskAxes {
 public:
  /// kUnsupported: where operands lie is no sum over the axes.
  static Result<TaskAxes> create(const CubeJob& job, const CubeTensors& tensors, const CubeSums& sums);

  const std::vector<TaskAxis>& axes() const { return axes_; }
  /// The task of one step of each axis.
  CoreTask taskOf(const std::vector<std::size_t>& steps) const;

 private:
  TaskAxes(const CubeJob& job, const CubeTensors& tensors, const CubeSums& sums)
      : job_(&job), keys_(job, tensors, sums) {}
  /// `meets`: what the class depends on beside the key, by which depths meet.
  template <class KeyOf, class Meets>
  void add(std::string name, bool summed, const std::vector<CoreTask>& tasks, const KeyOf& keyOf, const Meets& meets);

  const CubeJob* job_;
  TaskKeys keys_;
  std::vector<TaskAxis> axes_;
};

/// The task that has the numbers of both.
CoreTask together(const CoreTask& a, const CoreTask& b);

}  // namespace cubejit
