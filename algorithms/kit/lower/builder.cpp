// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides indices and sharing inside a TileProgram under construction.
#include "algorithms/kit/lower/builder.h"

#include <algorithm>
#include <cmath>

#include "codegen/tile/caller_buffers.h"
#include "tiling/work_limit.h"

namespace cubejit {
namespace {

void dropZeros(std::vector<std::int64_t>& deltas) {
  while (!deltas.empty() && deltas.back() == 0) deltas.pop_back();
}

template <class Pairs>
void setDense(std::vector<std::int64_t>& dense, const Pairs& deltas) {
  dense.clear();
  for (const auto& [stream, bytes] : deltas) {
    if (bytes == 0) continue;
    if (const auto s = static_cast<std::size_t>(stream); s >= dense.size()) dense.resize(s + 1, 0);
    dense[static_cast<std::size_t>(stream)] += bytes;
  }
  dropZeros(dense);
}

// What deltas are `times` other ones further.
void advance(std::vector<std::int64_t>& deltas, const std::vector<std::int64_t>& by, std::int64_t times) {
  if (times == 0) return;
  if (deltas.size() < by.size()) deltas.resize(by.size(), 0);
  for (std::size_t s = 0; s < by.size(); ++s) deltas[s] += times * by[s];
  dropZeros(deltas);
}

// Whether `next` is one more step of the run. Of a single step it is, at any distance, which the run then has.
bool joins(AxisStep& run, const std::vector<std::int64_t>& next) {
  const std::size_t streams = std::max(run.delta.size(), next.size());
  if (run.repeat == 1) {
    run.repeatDelta.resize(streams);
    for (std::size_t s = 0; s < streams; ++s) run.repeatDelta[s] = deltaOf(next, s) - deltaOf(run.delta, s);
    dropZeros(run.repeatDelta);
    return true;
  }
  for (std::size_t s = 0; s < std::max(streams, run.repeatDelta.size()); ++s) {
    if (deltaOf(next, s) != deltaOf(run.delta, s) + run.repeat * deltaOf(run.repeatDelta, s)) return false;
  }
  return true;
}

// Puts steps behind those from `begin` on. Each run is as long as it can be, the first ones first.
void append(std::vector<AxisStep>& steps, std::size_t begin, AxisStep run) {
  while (steps.size() > begin && steps.back().cls == run.cls && joins(steps.back(), run.delta)) {
    AxisStep& last = steps.back();
    if (run.repeat == 1 || run.repeatDelta == last.repeatDelta) {
      last.repeat += run.repeat;
      return;
    }
    ++last.repeat;
    advance(run.delta, run.repeatDelta, 1);
    --run.repeat;
  }
  if (run.repeat == 1) run.repeatDelta.clear();
  steps.push_back(std::move(run));
}

// Steps [from, to) of a run.
AxisStep partOf(const AxisStep& run, std::int64_t from, std::int64_t to) {
  AxisStep part = run;
  advance(part.delta, run.repeatDelta, from);
  part.repeat = to - from;
  if (part.repeat == 1) part.repeatDelta.clear();
  return part;
}

// Number of the first step of each run, and of the one behind the last.
std::vector<std::int64_t> firstsOf(const Axis& axis) {
  std::vector<std::int64_t> firsts{0};
  for (const AxisStep& run : axis.steps) firsts.push_back(firsts.back() + run.repeat);
  return firsts;
}

// Calls visit(run, from, to) for the parts of runs that steps [begin, end) are.
template <class Visit>
void forEachPart(const Axis& axis, const std::vector<std::int64_t>& firsts, Window window, Visit visit) {
  auto run =
      static_cast<std::size_t>(std::upper_bound(firsts.begin(), firsts.end(), window.begin) - firsts.begin()) - 1;
  for (std::int64_t at = window.begin; at < window.end; ++run) {
    const std::int64_t to = std::min<std::int64_t>(window.end, firsts[run + 1]);
    visit(axis.steps[run], at - firsts[run], to - firsts[run]);
    at = to;
  }
}

// Windows of steps become windows of runs, which do not cross them.
void cutAtWindows(Axis& axis) {
  const std::vector<std::int64_t> firsts = firstsOf(axis);
  std::vector<AxisStep> runs;
  for (Window& window : axis.windows) {
    const std::size_t begin = runs.size();
    forEachPart(axis, firsts, window, [&](const AxisStep& run, std::int64_t from, std::int64_t to) {
      append(runs, begin, partOf(run, from, to));
    });
    window = Window{static_cast<int>(begin), static_cast<int>(runs.size())};
  }
  axis.steps = std::move(runs);
}

std::vector<AxisStep> oneByOne(const std::vector<AxisStep>& runs) {
  std::vector<AxisStep> all;
  for (const AxisStep& run : runs) {
    for (std::int64_t r = 0; r < run.repeat; ++r) all.push_back(partOf(run, r, r + 1));
  }
  return all;
}

template <class Visit>
void visitCalls(std::vector<Node>& nodes, const Visit& visit) {
  for (Node& node : nodes) {
    if (node.isCall()) visit(node.call);
    visitCalls(node.body, visit);
  }
}

int loopsOver(int axis, const std::vector<Node>& nodes) {
  int loops = 0;
  for (const Node& node : nodes) {
    loops += (node.axis == axis ? 1 : 0) + loopsOver(axis, node.body);
  }
  return loops;
}

// Axes whose only loop is around one call.
void findInnermost(const Phase& phase, const std::vector<Node>& nodes, std::vector<bool>& innermost) {
  for (const Node& node : nodes) {
    if (node.axis < 0 || node.body.size() != 1 || !node.body.front().isCall())
      findInnermost(phase, node.body, innermost);
    else if (loopsOver(node.axis, phase.body) == 1)
      innermost[static_cast<std::size_t>(node.axis)] = true;
  }
}

}  // namespace

ProgramBuilder::ProgramBuilder(TileProgram program) : program_(std::move(program)) {
  for (std::size_t k = 0; k < program_.kernels.size(); ++k)
    kernelsByLabel_[labelOf(program_.kernels[k])].push_back(static_cast<int>(k));
}

int ProgramBuilder::bufferOf(TensorId tensor) const { return bufferNamed(program_.buffers, toString(tensor)); }

void ProgramBuilder::makeShared(int buffer, std::string name) {
  Buffer& made = bufferAt(buffer);
  made.use = Buffer::Use::kShared;
  made.kept = false;
  made.name = std::move(name);
}

void ProgramBuilder::movePhasesToFront(std::size_t first) {
  completePhase();
  std::rotate(program_.phases.begin(), program_.phases.begin() + static_cast<std::ptrdiff_t>(first),
              program_.phases.end());
}

void ProgramBuilder::addUnits(std::vector<std::string> queues, std::vector<MachineUnit> units) {
  program_.queues = std::move(queues);
  program_.units = std::move(units);
}

int ProgramBuilder::addBuffer(std::string name, Buffer::Use use, std::int64_t bytes) {
  program_.buffers.push_back(Buffer{std::move(name), use, bytes, {}});
  return static_cast<int>(program_.buffers.size()) - 1;
}

int ProgramBuilder::addTensor(TensorId tensor, std::int64_t bytes) {
  const int buffer = addBuffer(toString(tensor), isResult(tensor) ? Buffer::Use::kOutput : Buffer::Use::kInput, bytes);
  bufferAt(buffer).kept = tensor == TensorId::kW;
  return buffer;
}

int ProgramBuilder::addKernel(Kernel kernel) {
  constexpr std::int64_t kMostPairBytes = std::int64_t{1} << 30;  // beside displacements of rows
  const auto pairPitch = std::visit(
      overloaded{
          [](const OneOf<Copy, Transpose> auto& k) { return k.pairPitch; },
          [](const OneOf<Contract, TileProduct, Fill, Accumulate, LaneReduce, Map> auto&) { return std::int64_t{0}; }},
      kernel);
  limitWork(std::abs(static_cast<double>(pairPitch)), kMostPairBytes, "bytes between the members of a pair");
  std::vector<int>& same = kernelsByLabel_[labelOf(kernel)];
  for (int index : same) {
    if (program_.kernels[static_cast<std::size_t>(index)] == kernel) return index;
  }
  same.push_back(static_cast<int>(program_.kernels.size()));
  program_.kernels.push_back(std::move(kernel));
  return same.back();
}

int ProgramBuilder::addList(SegmentList list) {
  std::string key;
  for (const auto& section : list) {
    const std::size_t count = section.size();
    key.append(reinterpret_cast<const char*>(&count), sizeof(count));
    key.append(reinterpret_cast<const char*>(section.data()), count * sizeof(Segment));
    listed_ += static_cast<std::int64_t>(count);
  }
  limitWork(static_cast<double>(listed_), kMostListed * FewerSteps::most(), "segments of all variants of its calls");
  const auto [it, fresh] = listIndex_.emplace(std::move(key), static_cast<int>(program_.lists.size()));
  if (fresh) {
    for (const auto& section : list) countSteps(static_cast<std::int64_t>(section.size()));
    program_.lists.push_back(std::move(list));
  }
  return it->second;
}

void ProgramBuilder::beginPhase(std::string name) {
  completePhase();
  open_ = true;
  counts_.clear();
  program_.phases.emplace_back();
  phase().name = std::move(name);
}

int ProgramBuilder::addStream(std::string name, int buffer, std::int64_t offset) {
  phase().streams.push_back(Stream{std::move(name), buffer, offset});
  return static_cast<int>(phase().streams.size()) - 1;
}

int ProgramBuilder::addAxis(std::string name, int classes) {
  Axis axis;
  axis.name = std::move(name);
  axis.classes = classes;
  phase().axes.push_back(std::move(axis));
  counts_.push_back(0);
  return static_cast<int>(phase().axes.size()) - 1;
}

void ProgramBuilder::addStep(int axis, Deltas deltas, int cls) { addStepOf(axis, deltas, cls); }
void ProgramBuilder::addStep(int axis, const AxisDeltas& deltas, int cls) { addStepOf(axis, deltas, cls); }

void ProgramBuilder::countSteps(std::int64_t more) {
  steps_ += more;
  limitWork(static_cast<double>(steps_), FewerSteps::most(), "steps of axes and segments of kernels");
}

template <class Pairs>
void ProgramBuilder::addStepOf(int axis, const Pairs& deltas, int cls) {
  setDense(step_, deltas);
  ++counts_[static_cast<std::size_t>(axis)];
  std::vector<AxisStep>& steps = axisAt(axis).steps;
  if (!steps.empty() && steps.back().cls == cls && joins(steps.back(), step_)) {
    ++steps.back().repeat;
    return;
  }
  countSteps(1);
  steps.push_back(AxisStep{step_, cls, 1, {}});
}

int ProgramBuilder::addUniformAxis(std::string name, std::int64_t count, Deltas step) {
  limitWork(static_cast<double>(count), kMostSteps, "equal steps of an axis");
  const int axis = addAxis(std::move(name));
  addSteps(axis, count, {}, step, 0);
  return axis;
}

void ProgramBuilder::addSteps(int axis, std::int64_t count, Deltas first, Deltas step, int cls) {
  if (count <= 0) return;
  AxisStep run{{}, cls, count, {}};
  setDense(run.delta, first);
  if (count > 1) setDense(run.repeatDelta, step);
  countSteps(1);
  counts_[static_cast<std::size_t>(axis)] += count;
  append(axisAt(axis).steps, 0, std::move(run));
}

int ProgramBuilder::addPartition(std::string name, int axis, std::int64_t parts) {
  const std::int64_t count = axisSteps(axis);
  const int partition = addAxis(std::move(name), static_cast<int>(parts));
  Axis& source = axisAt(axis);
  source.windowAxis = partition;
  for (std::int64_t i = 0; i < parts; ++i) {
    source.windows.push_back(Window{static_cast<int>(count * i / parts), static_cast<int>(count * (i + 1) / parts)});
  }
  for (std::int64_t i = 0; i < parts; ++i) addStep(partition, Deltas{}, static_cast<int>(i));
  return partition;
}

int ProgramBuilder::addPartOfWindows(std::string name, int axis, int begin, int end) {
  Axis part = axisAt(axis);
  part.name = std::move(name);
  for (Window& w : part.windows) w = Window{w.begin + begin, end == 0 ? w.end : w.begin + end};
  counts_.push_back(axisSteps(axis));
  phase().axes.push_back(std::move(part));
  return static_cast<int>(phase().axes.size()) - 1;
}

void ProgramBuilder::moveStep(int axis, std::int64_t step, int stream, std::int64_t bytes) {
  if (bytes == 0) return;  // runs stay whole
  std::vector<AxisStep>& steps = axisAt(axis).steps;
  auto run = steps.begin();
  if (axisSteps(axis) == std::ssize(steps)) {  // none repeats
    run += step;
    step = 0;
  }
  while (step >= run->repeat) step -= (run++)->repeat;
  if (run->repeat > 1) {
    const AxisStep whole = *run;
    run = steps.erase(run);
    if (step + 1 < whole.repeat) run = steps.insert(run, partOf(whole, step + 1, whole.repeat));
    run = steps.insert(run, partOf(whole, step, step + 1));
    if (step > 0) run = steps.insert(run, partOf(whole, 0, step)) + 1;
    countSteps(2);
  }
  setDense(step_, Deltas{{stream, bytes}});
  advance(run->delta, step_, 1);
}

void ProgramBuilder::moveSteps(int axis, int stream, std::int64_t bytes) {
  setDense(step_, Deltas{{stream, bytes}});
  std::int64_t step = 0;
  for (AxisStep& run : axisAt(axis).steps) {
    advance(run.delta, step_, step);
    if (run.repeat > 1) advance(run.repeatDelta, step_, 1);
    step += run.repeat;
  }
}

std::int64_t ProgramBuilder::axisSteps(int axis) const { return counts_[static_cast<std::size_t>(axis)]; }

bool ProgramBuilder::occurs(int axis, int cls) const {
  const Axis& a = axisAt(axis);
  const std::vector<std::int64_t> firsts = firstsOf(a);
  bool found = false;
  for (const Window& window : a.windows) {
    forEachPart(a, firsts, window,
                [&](const AxisStep& run, std::int64_t, std::int64_t) { found = found || run.cls == cls; });
  }
  return found;
}

std::int64_t ProgramBuilder::tasks() const {
  std::int64_t n = 1;
  for (const int axis : program_.phases.back().parallelAxes) n *= axisSteps(axis);
  return n;
}

void ProgramBuilder::completePhase() {
  if (!open_) return;
  open_ = false;
  std::vector<bool> innermost(phase().axes.size());
  findInnermost(phase(), phase().body, innermost);
  for (std::size_t i = 0; i < innermost.size(); ++i) {
    Axis& axis = phase().axes[i];
    if (!innermost[i]) {
      countSteps(counts_[i] - std::ssize(axis.steps));
      axis.steps = oneByOne(axis.steps);
    } else if (axis.windowAxis >= 0) {
      cutAtWindows(axis);
    }
  }
}

// Lists of calls that were replaced by others are left over.
void ProgramBuilder::dropUnusedLists() {
  std::vector<int> place(program_.lists.size(), -1);
  for (Phase& phase : program_.phases)
    visitCalls(phase.body, [&](Call& call) {
      for (const Variant& v : call.variants) {
        if (v.list >= 0) place[static_cast<std::size_t>(v.list)] = 0;
      }
    });
  std::vector<SegmentList> used;
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (place[i] < 0) continue;
    place[i] = static_cast<int>(used.size());
    used.push_back(std::move(program_.lists[i]));
  }
  program_.lists = std::move(used);
  for (Phase& phase : program_.phases)
    visitCalls(phase.body, [&](Call& call) {
      for (Variant& v : call.variants) {
        if (v.list >= 0) v.list = place[static_cast<std::size_t>(v.list)];
      }
    });
}

TileProgram ProgramBuilder::finish() {
  completePhase();
  dropUnusedLists();
  return std::move(program_);
}

Node loopNode(int axis, std::vector<Node> body) {
  Node node;
  node.axis = axis;
  node.body = std::move(body);
  return node;
}

Node callNode(Call call) {
  Node node;
  node.call = std::move(call);
  return node;
}

std::vector<Node> nest(const std::vector<int>& axes, std::vector<Node> body) {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    std::vector<Node> outer;
    outer.push_back(loopNode(*axis, std::move(body)));
    body = std::move(outer);
  }
  return body;
}

void takeOneByOne(Axis& axis) {
  const std::vector<std::int64_t> firsts = firstsOf(axis);
  const auto first = [&](int run) { return static_cast<int>(firsts[static_cast<std::size_t>(run)]); };
  for (Window& w : axis.windows) w = Window{first(w.begin), first(w.end)};
  axis.steps = oneByOne(axis.steps);
}

}  // namespace cubejit
