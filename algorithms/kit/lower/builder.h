// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how lowerings assemble a TileProgram: equal kernels and lists are stored once, axes and streams get their indices, and equal, evenly
// spaced steps of an axis are one step that repeats.
// Leaves what to assemble to the lowerings.
#pragma once

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/tile/program.h"
#include "cubejit/problem.h"

namespace cubejit {

/// (stream index, bytes) pairs of one axis step.
using Deltas = std::initializer_list<std::pair<int, std::int64_t>>;
using AxisDeltas = std::vector<std::pair<int, std::int64_t>>;

/// Steps and segments beyond kMostSteps end the lowering (limitWork). Steps of the phase that is being made are numbered one by one, also in
/// windows, but lie in its axes as runs that repeat. When the next phase begins or the program is finished, those of an innermost loop around one
/// call stay so, and its kernel loops; all others are taken apart.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name) { program_.name = std::move(name); }

  /// Continues a program that is already there.
  explicit ProgramBuilder(TileProgram program);

  int addBuffer(std::string name, Buffer::Use use, std::int64_t bytes);
  /// Units that calls are instructions of, and the queues in which they wait.
  void addUnits(std::vector<std::string> queues, std::vector<MachineUnit> units);
  /// An input or output by the name of the convolution's tensor; weights are kept.
  int addTensor(TensorId tensor, std::int64_t bytes);
  void extendName(const std::string& more) { program_.name += more; }
  void setResidual(int result, int addend) { program_.residual = {result, addend}; }
  Buffer& bufferAt(int buffer) { return program_.buffers[static_cast<std::size_t>(buffer)]; }
  int addKernel(Kernel kernel);  ///< index of an equal kernel if there is one
  const Kernel& kernelAt(int kernel) const { return program_.kernels[static_cast<std::size_t>(kernel)]; }
  int addList(SegmentList list);  ///< the same for lists
  const SegmentList& listAt(int list) const { return program_.lists[static_cast<std::size_t>(list)]; }
  void beginPhase(std::string name);
  int addStream(std::string name, int buffer, std::int64_t offset = 0);
  int addAxis(std::string name, int classes = 1);
  void addStep(int axis, Deltas deltas, int cls = 0);
  void addStep(int axis, const AxisDeltas& deltas, int cls = 0);
  /// `count` steps of a class, the first one at `first` and each `step` bytes behind the one before.
  void addSteps(int axis, std::int64_t count, Deltas first, Deltas step, int cls);
  /// `count` equal steps, `step` bytes apart.
  int addUniformAxis(std::string name, std::int64_t count, Deltas step);
  /// A new axis that partitions the steps of `axis` into `parts` contiguous windows of nearly equal size; part i has class i.
  int addPartition(std::string name, int axis, std::int64_t parts);
  /// A new axis that goes over steps [begin, end) of each window of `axis`, counted from where the window begins; `end` = 0: up to
  /// where it ends. Precondition: every window has that many steps.
  int addPartOfWindows(std::string name, int axis, int begin, int end);
  std::int64_t axisSteps(int axis) const;
  /// Whether a window of the axis has a step of the class.
  bool occurs(int axis, int cls) const;
  std::int64_t tasks() const;  ///< of the phase
  /// A step that is there moves `stream` by so many bytes more.
  void moveStep(int axis, std::int64_t step, int stream, std::int64_t bytes);
  /// Step i of all moves `stream` by i times `bytes` more.
  void moveSteps(int axis, int stream, std::int64_t bytes);
  Phase& phase() { return program_.phases.back(); }
  TileProgram finish();

  int bufferOf(TensorId tensor) const;  ///< -1 if the program has none
  void makeShared(int buffer, std::string name);
  std::size_t phases() const { return program_.phases.size(); }
  /// The phases from index `first` on come before all others.
  void movePhasesToFront(std::size_t first);

 private:
  void countSteps(std::int64_t more);
  Axis& axisAt(int axis) { return program_.phases.back().axes[static_cast<std::size_t>(axis)]; }
  const Axis& axisAt(int axis) const { return program_.phases.back().axes[static_cast<std::size_t>(axis)]; }
  template <class Pairs>
  void addStepOf(int axis, const Pairs& deltas, int cls);
  void completePhase();
  void dropUnusedLists();

  TileProgram program_;
  bool open_ = false;                 ///< the last phase is being made
  std::vector<std::int64_t> counts_;  ///< steps of each axis of the phase
  std::vector<std::int64_t> step_;    ///< what is added now, of every stream: kept since programs have many steps
  std::unordered_map<std::string, std::vector<int>> kernelsByLabel_;
  std::unordered_map<std::string, int> listIndex_;
  std::int64_t steps_ = 0;   ///< of all axes, and segments of all lists
  std::int64_t listed_ = 0;  ///< segments of all lists that were added, also of those that were there
};

/// A loop over `axis` around `body`.
Node loopNode(int axis, std::vector<Node> body);
Node callNode(Call call);
/// `body` inside loops over `axes`, outermost first.
std::vector<Node> nest(const std::vector<int>& axes, std::vector<Node> body);

/// Steps that repeat become steps of their own; windows follow.
void takeOneByOne(Axis& axis);

}  // namespace cubejit
