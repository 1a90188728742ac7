// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides temporaries, loops and kernels of a separable transform.
#include "algorithms/kit/lower/linear_transforms.h"

#include <algorithm>
#include <string>
#include <utility>

namespace cubejit {

LinearTransform::LinearTransform(PassRoom& room, std::string name, const PassChannels& channels, int in, int out)
    : room_(room), name_(std::move(name)), channels_(channels) {
  // A step's class is the number of its channels.
  ProgramBuilder& b = room_.builder();
  const std::int64_t blockLanes = channels_.vectorsAtOnce * channels_.lanes;
  channelBlock_ = b.addAxis(name_ + "_channels");
  std::vector<Window> windows;
  for (const Range& range : channels_.ranges) {
    const auto begin = static_cast<int>(b.axisSteps(channelBlock_));
    for (std::int64_t at = range.lo / blockLanes * blockLanes; at < range.hi; at += blockLanes) {
      const std::int64_t count = std::min(blockLanes, range.hi - at);
      const auto known = std::find(counts_.begin(), counts_.end(), count);
      AxisDeltas step{{in, at * 4}, {out, at * 4}};
      if (channels_.epilogue != nullptr) step.push_back(channels_.epilogue->toChannel(at));
      b.addStep(channelBlock_, step, static_cast<int>(known - counts_.begin()));
      if (known == counts_.end()) counts_.push_back(count);
    }
    windows.push_back(Window{begin, static_cast<int>(b.axisSteps(channelBlock_))});
  }
  Axis& added = b.phase().axes[static_cast<std::size_t>(channelBlock_)];
  added.classes = static_cast<int>(std::max<std::size_t>(1, counts_.size()));
  added.windowAxis = channels_.windowAxis;
  if (channels_.windowAxis >= 0) added.windows = std::move(windows);
}

// Some passes that follow each other.
class LinearTransform::Passes {
 public:
  Passes(LinearTransform& of, const std::vector<PassAxis>& axes, const std::vector<PassLines>& lines, bool begins,
         bool ends)
      : of_(of),
        b_(of.room_.builder()),
        channels_(of.channels_),
        axes_(axes),
        lines_(lines),
        begins_(begins),
        ends_(ends) {}

  std::vector<Node> run(int in, int out) {
    std::vector<Node> body;
    int from = in;
    for (std::size_t pass = 0; pass < axes_.size(); ++pass) {
      const bool last = pass + 1 == axes_.size();
      const int to = last ? out : addTemporary(pass);
      body.push_back(passNode(pass, from, to));
      from = to;
    }
    return body;
  }

 private:
  std::int64_t vectorBytes() const { return channels_.lanes * 4; }
  std::int64_t blockBytes() const { return channels_.vectorsAtOnce * channels_.lanes * 4; }

  // Positions of axis q before pass `pass`: transformed already, or as in the source.
  std::int64_t positions(std::size_t q, std::size_t pass) const {
    return q < pass ? axes_[q].matrix.rows : axes_[q].matrix.cols;
  }

  // Strides of the array between passes: dense, lines inside of axes, the last one innermost.
  std::int64_t lineStride(std::size_t line) const {
    std::int64_t stride = blockBytes();
    for (std::size_t l = lines_.size(); l-- > line + 1;) stride *= lines_[l].range.hi;
    return stride;
  }
  std::int64_t temporaryStride(std::size_t axis, std::size_t pass) const {
    std::int64_t stride = lines_.empty() ? blockBytes() : lineStride(0) * lines_[0].range.hi;
    for (std::size_t q = axes_.size(); q-- > axis + 1;) stride *= positions(q, pass);
    return stride;
  }

  int addTemporary(std::size_t pass) {
    return of_.room_.temporary(pass % 2, temporaryStride(0, pass + 1) * positions(0, pass + 1));
  }

  std::int64_t inStride(std::size_t axis, std::size_t pass) const {
    return pass == 0 ? axes_[axis].inStride : temporaryStride(axis, pass);
  }
  std::int64_t outStride(std::size_t axis, std::size_t pass) const {
    return isLast(pass) ? axes_[axis].outStride : temporaryStride(axis, pass + 1);
  }

  bool isLast(std::size_t pass) const { return pass + 1 == axes_.size(); }
  bool finishes(std::size_t pass) const { return channels_.epilogue != nullptr && ends_ && isLast(pass); }

  Node passNode(std::size_t pass, int from, int to) {
    std::vector<int> loops;
    for (std::size_t q = 0; q < axes_.size(); ++q) {
      if (q != pass && positions(q, pass) > 1) loops.push_back(addLoop(q, pass, from, to));
    }
    for (std::size_t l = 0; l < lines_.size(); ++l) {
      const std::int64_t in = pass == 0 ? lines_[l].inStride : lineStride(l),
                         out = isLast(pass) ? lines_[l].outStride : lineStride(l), lo = lines_[l].range.lo;
      loops.push_back(b_.addAxis(loopName(pass) + "lines"));
      b_.addSteps(loops.back(), lines_[l].range.length(), {{from, lo * in}, {to, lo * out}}, {{from, in}, {to, out}},
                  0);
    }
    const PassAxis& axis = axes_[pass];
    Call call{of_.name_ + std::to_string(pass), of_.room_.coefficients(), from, to, {}, {}};
    if (axis.classAxis >= 0) call.classAxes.push_back(axis.classAxis);
    call.classAxes.push_back(of_.channelBlock_);
    for (std::size_t cls = 0; cls < axis.inputs.size(); ++cls) {
      for (const std::int64_t count : of_.counts_) call.variants.push_back(variant(pass, cls, count));
      if (of_.counts_.empty()) call.variants.emplace_back();
    }
    if (finishes(pass)) channels_.epilogue->finish(call);
    std::vector<Node> nodes = nest(loops, {callNode(std::move(call))});
    return std::move(nodes.front());
  }

  std::string loopName(std::size_t pass) const { return of_.name_ + std::to_string(pass) + "_"; }

  // A loop over the positions of an axis that this pass does not touch.
  int addLoop(std::size_t q, std::size_t pass, int from, int to) {
    const PassAxis& axis = axes_[q];
    const int loop = b_.addUniformAxis(loopName(pass) + std::to_string(q), positions(q, pass),
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
    const bool maskLoads = begins_ && pass == 0 && channels_.maskLoads,
               maskStores = ends_ && isLast(pass) && channels_.maskStores;
    Contract contract;
    contract.lanes = channels_.lanes;
    contract.label = of_.name_ + "_" + std::to_string(axis.matrix.rows) + "x" + std::to_string(axis.matrix.cols);
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
    const std::int64_t matrixAt = of_.room_.place(axis.matrix);
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

  LinearTransform& of_;
  ProgramBuilder& b_;
  const PassChannels& channels_;
  const std::vector<PassAxis>& axes_;
  const std::vector<PassLines>& lines_;
  const bool begins_, ends_;
};

std::vector<Node> LinearTransform::passes(const std::vector<PassAxis>& axes, const std::vector<PassLines>& lines,
                                          int in, int out, bool begins, bool ends) {
  return Passes(*this, axes, lines, begins, ends).run(in, out);
}

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

int PassRoom::rows(std::int64_t bytes) {
  if (rowBuffer_ < 0) rowBuffer_ = b_.addBuffer("rows", Buffer::Use::kPrivate, 0);
  std::int64_t& size = b_.bufferAt(rowBuffer_).bytes;
  size = std::max(size, bytes);
  if (rows_ < 0) rows_ = b_.addStream("rows", rowBuffer_);
  return rows_;
}

std::int64_t passVectors(const std::vector<PassAxis>& axes, std::int64_t registers, std::int64_t most) {
  std::int64_t vectors = most;
  for (const PassAxis& axis : axes) vectors = std::min(vectors, (registers - 1) / (axis.matrix.rows + 1));
  return std::max<std::int64_t>(1, vectors);
}

std::vector<Node> linearPasses(PassRoom& room, const std::string& name, const std::vector<PassAxis>& axes,
                               const PassChannels& channels, int in, int out) {
  LinearTransform transform(room, name, channels, in, out);
  return transform.overChannels(transform.passes(axes, {}, in, out, true, true));
}

}  // namespace cubejit
