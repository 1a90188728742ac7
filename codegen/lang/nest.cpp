// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides nothing further; see the header.
#include "codegen/lang/nest.h"

#include <algorithm>
#include <numeric>

namespace cubejit::lang {
namespace {

// Steps of all axes: each takes up to 200 bytes.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 20;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

void Nest::fail(std::string message, ErrorCode code) {
  if (!failure_) failure_ = Error{code, Stage::kTile, k_.name + ": " + std::move(message)};
}

Access Nest::addDimensions(const std::string& name, const std::vector<int>& indices) {
  Tensor t;
  t.name = name + "." + std::to_string(++values_);
  t.use = inLoop() ? Buffer::Use::kPrivate : Buffer::Use::kShared;
  Access access{static_cast<int>(k_.tensors.size()), {}};
  for (const int i : indices) {
    const bool looped = std::any_of(loops_.begin(), loops_.end(), [&](const Loop& loop) { return loop.index == i; });
    t.dimensions.push_back({index(i).seen(), 0, looped ? i : -1});
    access.at.push_back({{{i, 1}}, 0});
  }
  k_.tensors.push_back(std::move(t));
  return access;
}

Access Nest::addValue(const std::string& name, const std::vector<int>& indices, Element element, int packed) {
  Access access = addDimensions(name, indices);
  k_.tensors.back().element = element;
  k_.tensors.back().packed = packed;
  layOut(k_.tensors.back(), lanes_);
  return access;
}

Access Nest::addVectors(const std::string& name, const std::vector<int>& indices) {
  Access access = addDimensions(name, indices);
  k_.tensors.back().dimensions.push_back({lanes_, 0, -1});
  access.at.emplace_back();
  layOut(k_.tensors.back(), lanes_);
  return access;
}

int Nest::bufferOf(int tensor) {
  buffers_.resize(k_.tensors.size(), -1);
  int& buffer = buffers_[at(tensor)];
  if (buffer >= 0) return buffer;
  const Tensor& t = k_.tensors[at(tensor)];
  Buffer made{t.name, t.use, t.bytes(), {}, false, isValue(t) ? Element::kF32 : t.element};
  if (isValue(t)) made.bytes = (bytesOfValue(t, lanes_) + 63) / 64 * 64;
  if (t.use == Buffer::Use::kConstant) {
    made.values.resize(static_cast<std::size_t>(t.dimensions.front().extent));
    std::iota(made.values.begin(), made.values.end(), 0.0F);
  }
  buffer = static_cast<int>(program_.buffers.size());
  program_.buffers.push_back(std::move(made));
  return buffer;
}

void Nest::beginPhase(const std::string& name) {
  program_.phases.emplace_back().name = name;
  bodies_ = {{}};
  moved_.clear();
}

int Nest::addAxis(const std::string& name, std::int64_t steps, int classes) {
  steps_ += steps;
  if (steps_ > kMostSteps) {
    fail("loops of more than " + std::to_string(kMostSteps) + " steps in all, the last of them over " + name +
             "; larger tiles make fewer",
         ErrorCode::kLimitExceeded);
    steps = 1;
  }
  phase().axes.push_back({name, classes, std::vector<AxisStep>(static_cast<std::size_t>(steps))});
  return static_cast<int>(phase().axes.size()) - 1;
}

std::vector<std::int64_t> Nest::spansOf(int i) const {
  const int around = index(i).tileOf;
  if (around < 0) return {index(i).extent};
  std::vector<std::int64_t> spans{index(around).tile};
  if (hasTail(around)) spans.push_back(index(around).extent % index(around).tile);
  return spans;
}

void Nest::enter(int i) {
  const Index& loop = index(i);
  const std::vector<std::int64_t> spans = spansOf(i);
  // A shorter tile of the loop around has steps of its own.
  std::vector<Window> windows;
  int steps = 0;
  for (const std::int64_t span : spans) {
    const std::int64_t last = std::min<std::int64_t>(steps + (span + loop.tile - 1) / loop.tile, kMostSteps + 1);
    windows.push_back({steps, static_cast<int>(last)});
    steps = windows.back().end;
  }
  const int axis = addAxis(loop.name, steps, hasTail(i) ? 2 : 1);
  if (failure_) windows.clear();
  Axis& made = phase().axes[at(axis)];
  for (std::size_t w = 0; w < windows.size(); ++w) {
    if (spans[w] % loop.tile != 0) made.steps[at(windows[w].end - 1)].cls = 1;
  }
  if (windows.size() > 1) made.windowAxis = axisOf(loop.tileOf), made.windows = windows;
  loops_.push_back({i, axis});
  if (loop.loop == Index::Loop::kParallel)
    phase().parallelAxes.push_back(axis);
  else
    bodies_.emplace_back();
}

void Nest::leave() {
  const Loop loop = loops_.back();
  loops_.pop_back();
  if (index(loop.index).loop == Index::Loop::kParallel) {
    if (loops_.empty()) phase().body = std::move(bodies_.back());
    return;
  }
  Node node;
  node.axis = loop.axis;
  node.body = std::move(bodies_.back());
  bodies_.pop_back();
  bodies_.back().push_back(std::move(node));
  if (loops_.empty()) phase().body = bodies_.back();
}

void Nest::enterTiles(int i, std::int64_t tile) {
  k_.indices[at(i)].loop = Index::Loop::kSerial;
  k_.indices[at(i)].tile = tile;
  enter(i);
}

void Nest::leaveTiles() {
  const int i = loops_.back().index;
  leave();
  k_.indices[at(i)].loop = Index::Loop::kNone;
}

int Nest::axisOf(int i) const {
  const auto loop = std::find_if(loops_.begin(), loops_.end(), [&](const Loop& l) { return l.index == i; });
  return loop == loops_.end() ? -1 : loop->axis;
}

int Nest::streamOf(const Place& place, const std::vector<Loop>& around) {
  std::vector<std::pair<int, std::int64_t>> wanted;  // axis, bytes a step
  for (const Loop& l : loops_) wanted.emplace_back(l.axis, place.start[at(l.index)] * index(l.index).tile);
  for (const Loop& l : around) wanted.emplace_back(l.axis, place.apart[at(l.index)]);
  const int buffer = bufferOf(place.tensor);
  std::size_t stream = 0;
  for (; stream < moved_.size(); ++stream) {
    const auto moves = [&](const auto& step) {
      const auto known = moved_[stream].find(step.first);
      return known == moved_[stream].end() || known->second == step.second;
    };
    if (phase().streams[stream].buffer == buffer && std::all_of(wanted.begin(), wanted.end(), moves)) break;
  }
  if (stream == moved_.size()) {
    phase().streams.push_back({tensor(place.tensor).name, buffer, 0});
    moved_.emplace_back();
  }
  for (const auto& [axis, bytes] : wanted) {
    if (!moved_[stream].emplace(axis, bytes).second || bytes == 0) continue;
    Axis& moved = phase().axes[at(axis)];
    for (std::size_t s = 0, first = 0; s < moved.steps.size(); ++s) {
      const auto begins = [&](const Window& w) { return at(w.begin) == s; };
      if (std::any_of(moved.windows.begin(), moved.windows.end(), begins)) first = s;
      std::vector<std::int64_t>& delta = moved.steps[s].delta;
      delta.resize(std::max(delta.size(), stream + 1));
      delta[stream] = bytes * static_cast<std::int64_t>(s - first);
    }
  }
  return static_cast<int>(stream);
}

int Nest::kernelOf(Kernel kernel) {
  const auto known = std::find(program_.kernels.begin(), program_.kernels.end(), kernel);
  if (known != program_.kernels.end()) return static_cast<int>(known - program_.kernels.begin());
  program_.kernels.push_back(std::move(kernel));
  return static_cast<int>(program_.kernels.size()) - 1;
}

int Nest::listOf(const std::optional<SegmentList>& list) {
  if (!list) return -1;
  const auto known = std::find(program_.lists.begin(), program_.lists.end(), *list);
  if (known != program_.lists.end()) return static_cast<int>(known - program_.lists.begin());
  program_.lists.push_back(*list);
  return static_cast<int>(program_.lists.size()) - 1;
}

std::vector<int> Nest::tailed(const std::vector<int>& within) const {
  std::vector<int> found;
  for (const int i : within) {
    if (axisOf(i) >= 0 && hasTail(i) && !contains(found, i)) found.push_back(i);
  }
  return found;
}

std::vector<Sizes> Nest::variants(const std::vector<int>& within) const {
  const std::vector<int> shorter = tailed(within);
  std::vector<Sizes> all;
  for (std::size_t variant = 0; variant < std::size_t{1} << shorter.size(); ++variant) {
    all.emplace_back([this, shorter, variant](int i) {
      const auto t = std::find(shorter.begin(), shorter.end(), i) - shorter.begin();
      const bool tail = t < std::ssize(shorter) && (variant >> (std::ssize(shorter) - 1 - t) & 1U) != 0;
      return tail ? index(i).extent % index(i).tile : index(i).seen();
    });
  }
  return all;
}

void Nest::call(const NewCall& wanted, const std::function<Made(const Sizes&)>& make) {
  std::vector<Loop> around;
  for (const int i : wanted.around) {
    const int loop = axisOf(i), axis = addAxis(index(i).name + ".each", index(i).seen(), 1);
    if (loop >= 0 && hasTail(i)) {
      Axis& made = phase().axes[at(axis)];
      made.windowAxis = loop;
      made.windows = {{0, static_cast<int>(index(i).tile)}, {0, static_cast<int>(index(i).extent % index(i).tile)}};
    }
    around.push_back({i, axis});
  }
  Call call;
  call.name = wanted.name;
  const std::optional<Place>* const operands[] = {&wanted.a, &wanted.b, &wanted.c, &wanted.d};
  int* const streams[] = {&call.a, &call.b, &call.c, &call.d};
  for (std::size_t o = 0; o < 4; ++o) {
    const std::optional<Place>& place = *operands[o];
    if (!place) continue;
    *streams[o] = streamOf(*place, around);
    call.place.offset[o] = place->offset;
  }
  for (const int i : tailed(wanted.within)) call.classAxes.push_back(axisOf(i));
  double cycles = 0;
  for (const Sizes& sizes : variants(wanted.within)) {
    if (failure_) break;
    Made made = make(sizes);
    if (call.variants.empty()) cycles = made.cycles;
    call.variants.push_back({kernelOf(std::move(made.kernel)), listOf(made.list), made.accumulate});
  }
  for (const Loop& l : loops_)
    cycles *= static_cast<double>((spansOf(l.index).front() + index(l.index).tile - 1) / index(l.index).tile);
  for (const Loop& l : around) cycles *= static_cast<double>(phase().axes[at(l.axis)].steps.size());
  phase().workCycles += cycles;
  Node node;
  node.call = std::move(call);
  for (auto l = around.rbegin(); l != around.rend(); ++l) {
    Node outer;
    outer.axis = l->axis;
    outer.body.push_back(std::move(node));
    node = std::move(outer);
  }
  bodies_.back().push_back(std::move(node));
  if (loops_.empty()) phase().body = bodies_.back();
}

}  // namespace cubejit::lang
