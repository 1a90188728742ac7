// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides temporaries, loops and kernels of a separable transform.
#include "algorithms/kit/lower/linear_transforms.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cubejit {
namespace {

class Passes {
 public:
  Passes(PassRoom& room, const std::string& name, const std::vector<PassAxis>& axes, const PassChannels& channels)
      : room_(room), b_(room.builder()), name_(name), axes_(axes), channels_(channels) {}

  std::vector<Node> run(int in, int out) {
    channelBlock_ = addChannelBlocks(in, out);
    std::vector<Node> body;
    int from = in;
    for (std::size_t pass = 0; pass < axes_.size(); ++pass) {
      const bool last = pass + 1 == axes_.size();
      const int to = last ? out : addTemporary(pass);
      body.push_back(passNode(pass, from, to));
      from = to;
    }
    return nest({channelBlock_}, std::move(body));
  }

 private:
  std::int64_t vectorBytes() const { return channels_.lanes * 4; }
  std::int64_t blockLanes() const { return channels_.vectorsAtOnce * channels_.lanes; }

  // A step's class is the number of its channels.
  int addChannelBlocks(int in, int out) {
    const int axis = b_.addAxis(name_ + "_channels");
    std::vector<Window> windows;
    for (const Range& range : channels_.ranges) {
      const auto begin = static_cast<int>(b_.axisSteps(axis));
      for (std::int64_t at = range.lo / blockLanes() * blockLanes(); at < range.hi; at += blockLanes()) {
        const std::int64_t count = std::min(blockLanes(), range.hi - at);
        const auto known = std::find(counts_.begin(), counts_.end(), count);
        AxisDeltas step{{in, at * 4}, {out, at * 4}};
        if (channels_.epilogue != nullptr) step.push_back(channels_.epilogue->toChannel(at));
        b_.addStep(axis, step, static_cast<int>(known - counts_.begin()));
        if (known == counts_.end()) counts_.push_back(count);
      }
      windows.push_back(Window{begin, static_cast<int>(b_.axisSteps(axis))});
    }
    Axis& added = b_.phase().axes[static_cast<std::size_t>(axis)];
    added.classes = static_cast<int>(std::max<std::size_t>(1, counts_.size()));
    added.windowAxis = channels_.windowAxis;
    if (channels_.windowAxis >= 0) added.windows = std::move(windows);
    return axis;
  }

  // Positions of axis q before pass `pass`: transformed already, or as in the source.
  std::int64_t positions(std::size_t q, std::size_t pass) const {
    return q < pass ? axes_[q].matrix.rows : axes_[q].matrix.cols;
  }

  // Strides of the array between passes: dense, the last axis innermost.
  std::int64_t temporaryStride(std::size_t axis, std::size_t pass) const {
    std::int64_t stride = blockLanes() * 4;
    for (std::size_t q = axes_.size(); q-- > axis + 1;) stride *= positions(q, pass);
    return stride;
  }

  int addTemporary(std::size_t pass) {
    return room_.temporary(pass % 2, temporaryStride(0, pass + 1) * positions(0, pass + 1));
  }

  std::int64_t inStride(std::size_t axis, std::size_t pass) const {
    return pass == 0 ? axes_[axis].inStride : temporaryStride(axis, pass);
  }
  std::int64_t outStride(std::size_t axis, std::size_t pass) const {
    return pass + 1 == axes_.size() ? axes_[axis].outStride : temporaryStride(axis, pass + 1);
  }

  bool finishes(std::size_t pass) const { return channels_.epilogue != nullptr && pass + 1 == axes_.size(); }

  Node passNode(std::size_t pass, int from, int to) {
    std::vector<int> loops;
    for (std::size_t q = 0; q < axes_.size(); ++q) {
      if (q != pass && positions(q, pass) > 1) loops.push_back(addLoop(q, pass, from, to));
    }
    const PassAxis& axis = axes_[pass];
    Call call{name_ + std::to_string(pass), room_.coefficients(), from, to, {}, {}};
    if (axis.classAxis >= 0) call.classAxes.push_back(axis.classAxis);
    call.classAxes.push_back(channelBlock_);
    for (std::size_t cls = 0; cls < axis.inputs.size(); ++cls) {
      for (const std::int64_t count : counts_) call.variants.push_back(variant(pass, cls, count));
      if (counts_.empty()) call.variants.emplace_back();
    }
    if (finishes(pass)) channels_.epilogue->finish(call);
    std::vector<Node> nodes = nest(loops, {callNode(std::move(call))});
    return std::move(nodes.front());
  }

  // A loop over the positions of an axis that this pass does not touch.
  int addLoop(std::size_t q, std::size_t pass, int from, int to) {
    const PassAxis& axis = axes_[q];
    const int loop = b_.addUniformAxis(name_ + std::to_string(pass) + "_" + std::to_string(q), positions(q, pass),
                                       {{from, inStride(q, pass)}, {to, outStride(q, pass)}});
    if (axis.classAxis < 0) return loop;
    Axis& added = b_.phase().axes[static_cast<std::size_t>(loop)];
    added.windowAxis = axis.classAxis;
    for (const Range& e : q < pass ? axis.outputs : axis.inputs)
      added.windows.push_back(Window{static_cast<int>(e.lo), static_cast<int>(e.hi)});
    return loop;
  }

  LaneRange lanesOf(std::int64_t vector, std::int64_t count, bool masked) const {
    return masked ? lanesUpTo(count - vector * channels_.lanes, channels_.lanes) : LaneRange{};
  }

  Variant variant(std::size_t pass, std::size_t cls, std::int64_t count) {
    const PassAxis& axis = axes_[pass];
    const Range &inputs = axis.inputs[cls], &outputs = axis.outputs[cls];
    if (outputs.hi <= outputs.lo) return Variant{};
    const std::int64_t vectors = (count + channels_.lanes - 1) / channels_.lanes;
    const bool maskLoads = pass == 0 && channels_.maskLoads,
               maskStores = pass + 1 == axes_.size() && channels_.maskStores;
    Contract contract;
    contract.lanes = channels_.lanes;
    contract.label = name_ + "_" + std::to_string(axis.matrix.rows) + "x" + std::to_string(axis.matrix.cols);
    for (std::int64_t o = outputs.lo; o < outputs.hi; ++o) {
      for (std::int64_t v = 0; v < vectors; ++v) {
        contract.accumulators.push_back(Accumulator{
            static_cast<std::int32_t>(o * outStride(pass, pass) + v * vectorBytes()), lanesOf(v, count, maskStores)});
      }
    }
    if (finishes(pass)) {
      channels_.epilogue->finish(
          contract, [&](std::size_t i) { return static_cast<std::int64_t>(i) % vectors * channels_.lanes; });
    }
    Section section;
    const std::int64_t matrixAt = room_.place(axis.matrix);
    const bool none = inputs.hi <= inputs.lo;  // then the list is empty, and the sums stay zero
    for (std::int64_t i = none ? 0 : inputs.lo; i < (none ? 1 : inputs.hi); ++i) {
      Step step;
      for (std::int64_t v = 0; v < vectors; ++v) {
        step.b.push_back(VectorLoad{static_cast<std::int32_t>(i * inStride(pass, pass) + v * vectorBytes()),
                                    lanesOf(v, count, maskLoads)});
      }
      for (std::int64_t o = outputs.lo; o < outputs.hi; ++o) {
        if (axis.matrix.at(o, i) == 0.0F) continue;
        AOperand coefficient;
        coefficient.offset = static_cast<std::int32_t>(matrixAt + (o * axis.matrix.cols + i) * 4);
        for (std::int64_t v = 0; v < vectors; ++v) {
          coefficient.uses.push_back(
              Use{static_cast<std::int16_t>((o - outputs.lo) * vectors + v), static_cast<std::int16_t>(v)});
        }
        step.a.push_back(std::move(coefficient));
      }
      if (!step.a.empty()) section.steps.push_back(std::move(step));
    }
    SegmentList list(1);
    if (!none && !section.steps.empty()) list[0].push_back(Segment{0, 0, 1});
    contract.sections.push_back(std::move(section));
    return Variant{b_.addKernel(std::move(contract)), b_.addList(std::move(list)), false};
  }

  PassRoom& room_;
  ProgramBuilder& b_;
  const std::string& name_;
  const std::vector<PassAxis>& axes_;
  const PassChannels& channels_;
  int channelBlock_ = -1;
  std::vector<std::int64_t> counts_;  ///< of channels, by class of the channel blocks
};

}  // namespace

int PassRoom::coefficients() {
  if (constants_ < 0) constants_ = b_.addBuffer("coefficients", Buffer::Use::kConstant, 0);
  if (coefficients_ < 0) coefficients_ = b_.addStream("coefficients", constants_);
  return coefficients_;
}

std::int64_t PassRoom::place(const Matrix& matrix) {
  Buffer& buffer = b_.bufferAt(constants_);
  const auto known =
      std::search(buffer.values.begin(), buffer.values.end(), matrix.values.begin(), matrix.values.end());
  const std::int64_t at = (known - buffer.values.begin()) * 4;
  if (known == buffer.values.end()) buffer.values.insert(known, matrix.values.begin(), matrix.values.end());
  buffer.bytes = static_cast<std::int64_t>(buffer.values.size()) * 4;
  return at;
}

int PassRoom::temporary(std::size_t index, std::int64_t bytes) {
  if (buffers_[index] < 0) buffers_[index] = b_.addBuffer("box" + std::to_string(index), Buffer::Use::kPrivate, 0);
  std::int64_t& size = b_.bufferAt(buffers_[index]).bytes;
  size = std::max(size, bytes);
  if (temporaries_[index] < 0) temporaries_[index] = b_.addStream("box" + std::to_string(index), buffers_[index]);
  return temporaries_[index];
}

std::int64_t passVectors(const std::vector<PassAxis>& axes, std::int64_t registers, std::int64_t most) {
  std::int64_t vectors = most;
  for (const PassAxis& axis : axes) vectors = std::min(vectors, (registers - 1) / (axis.matrix.rows + 1));
  return std::max<std::int64_t>(1, vectors);
}

std::vector<Node> linearPasses(PassRoom& room, const std::string& name, const std::vector<PassAxis>& axes,
                               const PassChannels& channels, int in, int out) {
  return Passes(room, name, axes, channels).run(in, out);
}

}  // namespace cubejit
