// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides indices and sharing inside a TileProgram under construction.
#include "algorithms/kit/lower/builder.h"

#include <algorithm>
#include <cmath>

#include "codegen/tile/buffer_of.h"
#include "tiling/work_limit.h"

namespace cubejit {
namespace {

// As many entries as there are up to the last stream that is moved: programs may have a million steps.
std::vector<std::int64_t> dense(const AxisDeltas& deltas) {
  std::size_t entries = 0;
  for (const auto& [stream, bytes] : deltas) {
    if (bytes != 0) entries = std::max(entries, static_cast<std::size_t>(stream) + 1);
  }
  std::vector<std::int64_t> out(entries, 0);
  for (const auto& [stream, bytes] : deltas) {
    if (bytes != 0) out[static_cast<std::size_t>(stream)] += bytes;
  }
  return out;
}

// How far a step is from one before it.
void setDistance(const AxisStep& from, const AxisStep& to, std::vector<std::int64_t>& distance) {
  for (std::size_t s = 0; s < distance.size(); ++s) distance[s] = deltaOf(to.delta, s) - deltaOf(from.delta, s);
}

const std::string& labelOf(const Kernel& kernel) {
  return std::visit([](const auto& k) -> const std::string& { return k.label; }, kernel);
}

// The steps [begin, end) with runs of equal class and constant distance made one step with repeat.
void foldRange(Axis& axis, std::size_t streams, std::size_t begin, std::size_t end, std::vector<AxisStep>& folded) {
  std::vector<std::int64_t> distance(streams), step(streams);
  std::size_t i = begin;
  while (i < end) {
    std::size_t next = i + 1;
    while (next < end && axis.steps[next].cls == axis.steps[i].cls) {
      setDistance(axis.steps[next - 1], axis.steps[next], next == i + 1 ? distance : step);
      if (next > i + 1 && step != distance) break;
      ++next;
    }
    AxisStep first = axis.steps[i];
    first.repeat = static_cast<std::int64_t>(next - i);
    if (first.repeat > 1) first.repeatDelta = distance;
    folded.push_back(std::move(first));
    i = next;
  }
}

// Runs do not cross the windows of an axis that is partitioned.
void foldAxis(Axis& axis, std::size_t streams) {
  std::vector<AxisStep> folded;
  if (axis.windowAxis < 0) {
    foldRange(axis, streams, 0, axis.steps.size(), folded);
  } else {
    for (Window& window : axis.windows) {
      const std::size_t start = folded.size();
      foldRange(axis, streams, static_cast<std::size_t>(window.begin), static_cast<std::size_t>(window.end), folded);
      window = Window{static_cast<int>(start), static_cast<int>(folded.size())};
    }
  }
  axis.steps = std::move(folded);
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

void foldNodes(Phase& phase, const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    if (node.axis < 0 || node.body.size() != 1 || !node.body.front().isCall()) {
      foldNodes(phase, node.body);
    } else if (loopsOver(node.axis, phase.body) == 1) {  // another loop may need the steps one by one
      foldAxis(phase.axes[static_cast<std::size_t>(node.axis)], phase.streams.size());
    }
  }
}

}  // namespace

ProgramBuilder::ProgramBuilder(TileProgram program) : program_(std::move(program)), folds_(false) {
  for (std::size_t k = 0; k < program_.kernels.size(); ++k)
    kernelsByLabel_[labelOf(program_.kernels[k])].push_back(static_cast<int>(k));
}

int ProgramBuilder::bufferOf(BufferRole role) const { return cubejit::bufferOf(program_.buffers, role); }

void ProgramBuilder::makeShared(int buffer, std::string name) {
  program_.buffers[static_cast<std::size_t>(buffer)].role = BufferRole::kShared;
  program_.buffers[static_cast<std::size_t>(buffer)].name = std::move(name);
}

void ProgramBuilder::foldFrom(std::size_t first) {
  for (std::size_t i = first; i < program_.phases.size(); ++i) foldRepeats(program_.phases[i]);
}

void ProgramBuilder::movePhasesToFront(std::size_t first) {
  std::rotate(program_.phases.begin(), program_.phases.begin() + static_cast<std::ptrdiff_t>(first),
              program_.phases.end());
}

int ProgramBuilder::addBuffer(std::string name, BufferRole role, std::int64_t bytes) {
  program_.buffers.push_back(Buffer{std::move(name), role, bytes, {}});
  return static_cast<int>(program_.buffers.size()) - 1;
}

int ProgramBuilder::addKernel(Kernel kernel) {
  constexpr std::int64_t kMostPairBytes = std::int64_t{1} << 30;  // beside displacements of rows
  if (const auto* move = std::get_if<Move>(&kernel))
    limitWork(std::abs(static_cast<double>(move->pairPitch)), kMostPairBytes, "bytes between the members of a pair");
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
  return static_cast<int>(phase().axes.size()) - 1;
}

void ProgramBuilder::addStep(int axis, Deltas deltas, int cls) { addStep(axis, AxisDeltas(deltas), cls); }

void ProgramBuilder::countSteps(std::int64_t more) {
  steps_ += more;
  limitWork(static_cast<double>(steps_), FewerSteps::most(), "steps of axes and segments of kernels");
}

void ProgramBuilder::addStep(int axis, const AxisDeltas& deltas, int cls) {
  countSteps(1);
  AxisStep step;
  step.delta = dense(deltas);
  step.cls = cls;
  phase().axes[static_cast<std::size_t>(axis)].steps.push_back(std::move(step));
}

int ProgramBuilder::addUniformAxis(std::string name, std::int64_t count, Deltas step) {
  limitWork(static_cast<double>(count), kMostSteps, "equal steps of an axis");
  const int axis = addAxis(std::move(name));
  for (std::int64_t i = 0; i < count; ++i) {
    AxisDeltas deltas(step);
    for (auto& entry : deltas) entry.second *= i;
    addStep(axis, deltas);
  }
  return axis;
}

int ProgramBuilder::addPartition(std::string name, int axis, std::int64_t parts) {
  const std::int64_t count = axisSteps(axis);
  const int partition = addAxis(std::move(name), static_cast<int>(parts));
  Axis& source = phase().axes[static_cast<std::size_t>(axis)];
  source.windowAxis = partition;
  for (std::int64_t i = 0; i < parts; ++i) {
    source.windows.push_back(Window{static_cast<int>(count * i / parts), static_cast<int>(count * (i + 1) / parts)});
  }
  for (std::int64_t i = 0; i < parts; ++i) addStep(partition, Deltas{}, static_cast<int>(i));
  return partition;
}

int ProgramBuilder::addPartOfWindows(std::string name, int axis, int begin, int end) {
  Axis part = phase().axes[static_cast<std::size_t>(axis)];
  part.name = std::move(name);
  for (Window& w : part.windows) w = Window{w.begin + begin, end == 0 ? w.end : w.begin + end};
  phase().axes.push_back(std::move(part));
  return static_cast<int>(phase().axes.size()) - 1;
}

void ProgramBuilder::moveStep(int axis, std::int64_t step, int stream, std::int64_t bytes) {
  auto& delta = phase().axes[static_cast<std::size_t>(axis)].steps[static_cast<std::size_t>(step)].delta;
  delta.resize(std::max(delta.size(), static_cast<std::size_t>(stream) + 1), 0);
  delta[static_cast<std::size_t>(stream)] += bytes;
}

std::int64_t ProgramBuilder::axisSteps(int axis) const {
  return static_cast<std::int64_t>(program_.phases.back().axes[static_cast<std::size_t>(axis)].steps.size());
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
  for (Phase& phase : program_.phases) {
    if (folds_) foldRepeats(phase);
  }
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

void foldRepeats(Phase& phase) { foldNodes(phase, phase.body); }

}  // namespace cubejit
