// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the form of a TileProgram: what is done, in which order, on which addresses. It is a value:
// buffers, distinct kernels (contracts, moves and maps), segment lists, and phases of loop nests that call the kernels.
// Leaves to lower_* how a plan becomes one, to units/ how a kernel becomes vector instructions, to runtime/exec/launch how it runs.
//
// Execution:
//   for each phase, in order (a barrier between phases):
//     the phase's tasks are the combinations of its parallel axes' steps; tasks may run in any order, on any thread;
//     a task runs the phase's body. Loops run their axis' steps in order; calls call a kernel.
//     A choice runs a part of its body, by the classes of enclosing axes.
//   Address of stream s at a call = base of its buffer + stream.offset + the call's own offset + sum over enclosing axes (parallel ones
//   included) of the current step's delta[s].  Private buffers are one per thread: their contents do not outlive a task.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "codegen/tile/contract.h"
#include "codegen/tile/map.h"
#include "codegen/tile/moves.h"
#include "codegen/tile/overloaded.h"
#include "codegen/tile/tile_product.h"

namespace cubejit {

struct Buffer {
  enum class Use : std::uint8_t {
    kInput,    ///< the caller's, only read
    kOutput,   ///< the caller's
    kShared,   ///< workspace, one for the run
    kPrivate,  ///< workspace, one per thread
    kConstant  ///< read-only f32 values held by the program (`values`)
  };
  std::string name;  ///< no two inputs or outputs have the same
  Use use = Use::kShared;
  std::int64_t bytes = 0;     ///< extent
  std::vector<float> values;  ///< kConstant only
  bool kept = false;          ///< kInput only: it stays the same for many runs (tile/prepack.h)
  Element element =
      Element::kF32;  ///< what an input or output has: f32, f16 or bf16; kernels may read it as words of f32, too
  bool isCallers() const { return use == Use::kInput || use == Use::kOutput; }
  bool isWorkspace() const { return use == Use::kShared || use == Use::kPrivate; }
  /// The name by which the caller binds it; empty for workspace and constants.
  std::string_view boundName() const { return isCallers() ? std::string_view(name) : std::string_view(); }
  friend bool operator==(const Buffer& x, const Buffer& y) = default;
};
constexpr const char* toString(Buffer::Use use) {
  constexpr const char* kNames[] = {"input", "output", "shared", "private", "constant"};
  return kNames[static_cast<std::size_t>(use)];
}

/// A logical pointer that calls use and axes move.
struct Stream {
  std::string name;
  int buffer = -1;
  std::int64_t offset = 0;  ///< bytes
  friend bool operator==(const Stream& x, const Stream& y) = default;
};

/// One iteration of an axis.
struct AxisStep {
  std::vector<std::int64_t> delta;  ///< bytes, one per stream of the phase; entries that are missing at the end are 0
  int cls = 0;                      ///< which variant calls below pick on this axis
  // A step may stand for `repeat` equal iterations that differ only by repeatDelta: the kernel itself loops over them.
  // Only allowed on the innermost axis of a nest whose body is one call.
  std::int64_t repeat = 1;
  std::vector<std::int64_t> repeatDelta;  ///< as `delta`
  friend bool operator==(const AxisStep& x, const AxisStep& y);
};

/// What a step's `delta` or `repeatDelta` says of a stream.
inline std::int64_t deltaOf(const std::vector<std::int64_t>& deltas, std::size_t stream) {
  return stream < deltas.size() ? deltas[stream] : 0;
}
inline bool sameDeltas(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& y) {
  for (std::size_t s = 0; s < std::max(x.size(), y.size()); ++s) {
    if (deltaOf(x, s) != deltaOf(y, s)) return false;
  }
  return true;
}
inline bool operator==(const AxisStep& x, const AxisStep& y) {
  return x.cls == y.cls && x.repeat == y.repeat && sameDeltas(x.delta, y.delta) &&
         sameDeltas(x.repeatDelta, y.repeatDelta);
}

/// Half-open range of an axis' steps.
struct Window {
  int begin = 0, end = 0;
  friend bool operator==(const Window& x, const Window& y) = default;
};

struct Axis {
  std::string name;
  int classes = 1;  ///< all steps' cls are in [0, classes)
  std::vector<AxisStep> steps;
  // With windowAxis >= 0 (an axis that encloses every loop over this one) a loop runs only the steps in
  // windows[cls of windowAxis' current step]. That is how a parallel axis deals out the steps of an inner one.
  int windowAxis = -1;
  std::vector<Window> windows{};
  friend bool operator==(const Axis& x, const Axis& y) = default;
};

/// What a call does for one combination of classes.
struct Variant {
  int kernel = -1;  ///< index into TileProgram::kernels; -1 = nothing to do
  int list = -1;    ///< index into TileProgram::lists (contracts)
  bool accumulate = false;
  int aligned = -1;  ///< a kernel to call instead where C lies at a vector's alignment: it means the same; -1 = none
  friend bool operator==(const Variant& x, const Variant& y) = default;
};

/// Where a call's operands are beside their streams, and how often its kernel repeats. Entries are of streams a, b, c, d, in bytes.
struct CallPlace {
  std::array<std::int64_t, 4> offset{};
  std::int64_t repeat = 1;  ///< 1 where the step of the innermost axis repeats
  std::array<std::int64_t, 4> repeatStep{};
  /// The least and the most offset of an operand over the repetitions.
  std::pair<std::int64_t, std::int64_t> reach(std::size_t operand) const {
    const std::int64_t last = (repeat - 1) * repeatStep[operand];
    return {offset[operand] + (last < 0 ? last : 0), offset[operand] + (last > 0 ? last : 0)};
  }
  friend bool operator==(const CallPlace& x, const CallPlace& y) = default;
};

/// A unit beside the processor that takes its instructions from a queue, in order. Queues run side by side.
struct MachineUnit {
  std::string name;
  int queue = 0;  ///< index into TileProgram::queues; units may share one
  friend bool operator==(const MachineUnit& x, const MachineUnit& y) = default;
};
inline constexpr std::size_t kMostUnitQueues = 8;

/// Order between queues, which run side by side otherwise. kSet: behind the call, `from` raises the flag when it has done all that was
/// issued to it so far. kWait: before the call, `to` waits until the flag is raised, and lowers it. kBarrier: before the call, every queue
/// waits for all that was issued. There is one before each task, and each iteration of the loops around a choice. A processor that runs
/// calls in order needs none of it.
struct UnitFlag {
  enum class Kind : std::uint8_t { kSet, kWait, kBarrier };
  Kind kind = Kind::kSet;
  int from = 0, to = 0;  ///< indices into TileProgram::queues
  std::uint8_t id = 0;   ///< below kUnitFlags; each pair of queues has its own
  friend bool operator==(const UnitFlag& x, const UnitFlag& y) = default;
};
inline constexpr std::uint8_t kUnitFlags = 8;

/// Calls kernels[v.kernel] on streams a, b, c, where v = variants[mixed radix number of the classes of classAxes' current
/// steps, first axis most significant]. Moves and maps use a (source) and c (destination), contracts that copy their B vectors d; expressions
/// read d through it, and e: TileProgram::residual.
struct Call {
  std::string name;
  int a = -1, b = -1, c = -1;
  std::vector<int> classAxes;     ///< indices into Phase::axes, each enclosing this call
  std::vector<Variant> variants;  ///< product of the classAxes' classes entries; 1 if there are none
  int d = -1;
  CallPlace place{};
  int unit = -1;  ///< index into TileProgram::units whose instruction it is, or a part of; -1: the processor's own work
  bool issues =
      false;  ///< an instruction of the unit begins with this call, and goes on with those of the unit that follow
  std::vector<UnitFlag> flags{};
  friend bool operator==(const Call& x, const Call& y) = default;
};

/// A node of a nest: a loop over an axis, a choice, or a call.
struct Node {
  int axis = -1;  ///< >= 0: loop over Phase::axes[axis] with `body`
  std::vector<Node> body;
  Call call;
  // A choice: runs the nodes windows[number of classAxes' classes, as in Call] of `body`. No windows: no choice.
  std::vector<int> classAxes{};
  std::vector<Window> windows{};
  bool isCall() const { return axis < 0 && windows.empty(); }
  friend bool operator==(const Node& x, const Node& y) = default;
};

struct Phase {
  std::string name;
  std::vector<Stream> streams;
  std::vector<Axis> axes;
  std::vector<int> parallelAxes;  ///< outermost first; the task index enumerates their steps, last axis fastest
  std::vector<Node> body;
  double workCycles = 0;  ///< estimate for the whole phase, one core; the runtime runs small phases on one thread
  friend bool operator==(const Phase& x, const Phase& y) = default;
};

using Kernel = std::variant<Contract, TileProduct, Copy, Transpose, Fill, Accumulate, LaneReduce, Map>;
/// Those that read one matrix and write one.
template <class K>
concept MatrixKernel = OneOf<K, Copy, Transpose, Fill, Accumulate, LaneReduce, Map>;

/// What is made of elements before they are stored; null of kernels that store them as they are.
inline const Expression* expressionOf(const Kernel& kernel) {
  return std::visit(overloaded{[](const Contract& k) -> const Expression* { return &k.epilogue; },
                               [](const Map& k) -> const Expression* { return &k.f; },
                               [](const OneOf<TileProduct, Copy, Transpose, Fill, Accumulate, LaneReduce> auto&)
                                   -> const Expression* { return nullptr; }},
                    kernel);
}
/// Whether operand d is only read, by an expression. Else it is written, if there is one.
inline bool readsD(const Kernel& kernel) {
  const Expression* f = expressionOf(kernel);
  return f != nullptr && f->readsD();
}
inline const std::string& labelOf(const Kernel& kernel) {
  return std::visit([](const auto& k) -> const std::string& { return k.label.text; }, kernel);
}
inline int lanesOf(const Kernel& kernel) {
  return std::visit([](const auto& k) { return k.lanes; }, kernel);
}

/// Whether it computes sums of products.
inline bool multiplies(const Kernel& kernel) {
  return std::holds_alternative<Contract>(kernel) || std::holds_alternative<TileProduct>(kernel);
}

/// Segment list of one variant: per section of its contract, its segments.
using SegmentList = std::vector<std::vector<Segment>>;

/// What expressions read as e: what lies in `addend` where c lies in `result`, of which it is as large.
struct Residual {
  int result = -1, addend = -1;  ///< buffers; -1: none of the program's expressions reads e
  friend bool operator==(const Residual& x, const Residual& y) = default;
};

struct TileProgram {
  std::string name;  ///< e.g. dx_f32_n4c64k64_1x56x56_k3s1p1
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;
  std::vector<SegmentList> lists;
  std::vector<Phase> phases;
  Residual residual{};
  std::vector<std::string> queues{};  ///< of units, at most kMostUnitQueues
  std::vector<MachineUnit> units{};
  friend bool operator==(const TileProgram& x, const TileProgram& y) = default;
};

/// Tasks of a phase: the product of its parallel axes' steps (1 if it has none, 0 if one of them is empty).
inline std::int64_t taskCount(const Phase& phase) {
  std::int64_t n = 1;
  for (int a : phase.parallelAxes) n *= static_cast<std::int64_t>(phase.axes[static_cast<std::size_t>(a)].steps.size());
  return n;
}

}  // namespace cubejit
