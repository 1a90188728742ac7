// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides how lowerings assemble a TileProgram: equal kernels and lists are stored once, axes and streams get their indices.
// Leaves what to assemble to the lowerings.
#pragma once

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/tile/program.h"

namespace cubejit {

/// (stream index, bytes) pairs of one axis step.
using Deltas = std::initializer_list<std::pair<int, std::int64_t>>;
using AxisDeltas = std::vector<std::pair<int, std::int64_t>>;

/// Steps and segments beyond kMostSteps end the lowering (limitWork).
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name) { program_.name = std::move(name); }

  /// Continues a program that is already there.
  explicit ProgramBuilder(TileProgram program);

  int addBuffer(std::string name, BufferRole role, std::int64_t bytes);
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
  /// `count` equal steps, `step` bytes apart.
  int addUniformAxis(std::string name, std::int64_t count, Deltas step);
  /// A new axis that partitions the steps of `axis` into `parts` contiguous windows of nearly equal size; part i has class i.
  int addPartition(std::string name, int axis, std::int64_t parts);
  /// A new axis that goes over steps [begin, end) of each window of `axis`, counted from where the window begins; `end` = 0: up to
  /// where it ends. Precondition: every window has that many steps.
  int addPartOfWindows(std::string name, int axis, int begin, int end);
  std::int64_t axisSteps(int axis) const;
  /// A step that is there moves `stream` by so many bytes more.
  void moveStep(int axis, std::int64_t step, int stream, std::int64_t bytes);
  Phase& phase() { return program_.phases.back(); }
  TileProgram finish();

  int bufferOf(BufferRole role) const;  ///< -1 if the program has none
  void makeShared(int buffer, std::string name);
  std::size_t phases() const { return program_.phases.size(); }
  /// Folds the phases from index `first` on; for phases added to a program that was there.
  void foldFrom(std::size_t first);
  /// The phases from index `first` on come before all others.
  void movePhasesToFront(std::size_t first);

 private:
  void countSteps(std::int64_t more);
  void dropUnusedLists();

  TileProgram program_;
  bool folds_ = true;  ///< false: the phases that were there are folded already
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

/// Folds runs of equal, evenly spaced steps of the innermost axes into one step with `repeat`, so that the kernel loops.
void foldRepeats(Phase& phase);

}  // namespace cubejit
