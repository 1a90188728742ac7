// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a bias gradient: db[c] = sum over images and pixels of dy[n][c][p].
// Channels-last: lanes are channels. Plain: lanes are pixels, and the lanes of a channel are added at the end.
// Pixel ranges are summed apart (as many as the plan's reduction says) and combined in order.
#include <algorithm>
#include <utility>

#include "codegen/lower/data_gradient.h"

namespace cubejit {
namespace {

class Lowering {
 public:
  Lowering(const Problem& problem, const TilingPlan& plan, const Machine& machine)
      : plan_(plan),
        lanes_(machine.isa.lanes()),
        b_(problemLabel(problem, plan)),
        v_(makeConvView(problem, Gradient::kDb)),
        y_(v_.bigIsX ? v_.small : v_.big),
        channels_(v_.groups * y_.channels) {
    dyBuffer_ = b_.addBuffer("dy", BufferRole::kDy, y_.bytes);
    dbBuffer_ = b_.addBuffer("db", BufferRole::kDb, channels_ * 4);
  }

  TileProgram run() {
    if (y_.bytes == 0) {
      addZeroPhase(b_, dbBuffer_, channels_ * 4, lanes_);
    } else if (y_.channelsLast) {
      channelLanes();
    } else {
      pixelLanes();
    }
    TileProgram program = b_.finish();
    if (onesBuffer_ >= 0) program.buffers[static_cast<std::size_t>(onesBuffer_)].values.assign(16, 1.0F);
    return program;
  }

 private:
  std::int64_t vectorBytes() const { return lanes_ * 4; }
  int ones() {
    if (onesBuffer_ < 0) onesBuffer_ = b_.addBuffer("ones", BufferRole::kConstant, 64);
    return onesBuffer_;
  }
  LaneRange lanesLeft(std::int64_t left) const { return lanesUpTo(left, lanes_); }

  // acc[v] += 1 * b[v]: `count` vectors side by side, `steps` of them per iteration.
  Section addSection(std::int64_t count, std::int64_t steps, std::int64_t vectorPitch, std::int64_t stepPitch,
                     std::int64_t lanes, bool lanesAcross) const {
    Section section;
    section.bOuterStep = steps * stepPitch;
    for (std::int64_t s = 0; s < steps; ++s) {
      Step step;
      AOperand one;
      for (std::int64_t v = 0; v < count; ++v) {
        step.b.push_back(VectorLoad{static_cast<std::int32_t>(s * stepPitch + v * vectorPitch),
                                    lanesLeft(lanesAcross ? lanes - v * lanes_ : lanes)});
        one.uses.push_back(Use{static_cast<std::int16_t>(v), static_cast<std::int16_t>(v)});
      }
      step.a.push_back(std::move(one));
      section.steps.push_back(std::move(step));
    }
    return section;
  }

  // dy as [pixel][channel]: a block of channels is summed down the pixels of a part.
  void channelLanes() {
    const std::int64_t pixels = v_.batch * y_.extent.volume();
    const std::int64_t width = plan_.baseVectors * lanes_;
    const std::int64_t length = (pixels + plan_.cores.reduction - 1) / std::max<std::int64_t>(1, plan_.cores.reduction);
    const std::int64_t parts = (pixels + length - 1) / length;  // none of them empty
    const std::int64_t padded = (channels_ + width - 1) / width * width;
    const int partial = parts == 1 ? dbBuffer_ : b_.addBuffer("db_parts", BufferRole::kShared, parts * padded * 4);
    sumRows("sum", dyBuffer_, y_.wStride, pixels, parts, partial, padded, parts > 1);
    if (parts > 1) sumRows("combine", partial, padded * 4, parts, 1, dbBuffer_, 0, false);
  }

  // Sums `rows` rows of channels_ f32, in `parts` parts, into rows of `out` that are outRow elements apart.
  void sumRows(const char* name, int in, std::int64_t pitch, std::int64_t rows, std::int64_t parts, int out,
               std::int64_t outRow, bool fullStore) {
    b_.beginPhase(name);
    const int a = b_.addStream("ones", ones()), src = b_.addStream("in", in), dst = b_.addStream("out", out);
    const std::int64_t width = plan_.baseVectors * lanes_, length = (rows + parts - 1) / parts, unroll = 4;
    const int part = b_.addAxis("part", 2);
    for (std::int64_t p = 0; p < parts; ++p) {
      const std::int64_t begin = std::min(p * length, rows), here = std::min(length, rows - begin);
      b_.addStep(part, {{src, begin * pitch}, {dst, p * outRow * 4}}, here == length ? 0 : 1);
    }
    const std::int64_t lastLength = std::max<std::int64_t>(0, rows - (parts - 1) * length);
    const int block = b_.addAxis("channels", 2);
    for (std::int64_t c = 0; c < channels_; c += width)
      b_.addStep(block, {{src, c * 4}, {dst, c * 4}}, c + width <= channels_ ? 0 : 1);
    Call call{name, a, src, dst, {part, block}, {}};
    for (const std::int64_t count : {length, lastLength}) {
      for (const std::int64_t lanes : {std::min(width, channels_ / width * width), channels_ % width}) {
        Variant variant;
        if (lanes > 0) {
          Contract contract;
          contract.lanes = lanes_;
          contract.label = "db_sum" + std::to_string((lanes + lanes_ - 1) / lanes_);
          const std::int64_t vectors = (lanes + lanes_ - 1) / lanes_;
          for (std::int64_t v = 0; v < vectors; ++v) {
            contract.accumulators.push_back(Accumulator{static_cast<std::int32_t>(v * vectorBytes()),
                                                        fullStore ? LaneRange{} : lanesLeft(lanes - v * lanes_)});
          }
          contract.sections.push_back(addSection(vectors, unroll, vectorBytes(), pitch, lanes, true));
          contract.sections.push_back(addSection(vectors, 1, vectorBytes(), pitch, lanes, true));
          SegmentList list(2);
          if (count / unroll > 0) list[0].push_back(Segment{0, 0, count / unroll});
          if (count % unroll > 0) list[1].push_back(Segment{0, count / unroll * unroll * pitch, count % unroll});
          variant.kernel = b_.addKernel(std::move(contract));
          variant.list = b_.addList(std::move(list));
        }
        call.variants.push_back(variant);
      }
    }
    b_.phase().parallelAxes = {part, block};
    b_.phase().body.push_back(callNode(std::move(call)));
    b_.phase().workCycles = static_cast<double>(rows * channels_) * 4 / 16.0;
  }

  // dy as [n][channel][pixel]: lanes run along a channel's pixels; a block of channels side by side.
  void pixelLanes() {
    const std::int64_t pixels = y_.extent.volume(), rows = std::min<std::int64_t>(lanes_, 8);
    const std::int64_t vectorsAll = (pixels + lanes_ - 1) / lanes_;
    const std::int64_t parts = std::clamp<std::int64_t>(plan_.cores.reduction, 1, vectorsAll);
    const std::int64_t length = (vectorsAll + parts - 1) / parts * lanes_;  // pixels a part
    const std::int64_t padded = (channels_ + lanes_ - 1) / lanes_ * lanes_;
    const int partial = b_.addBuffer("db_parts", BufferRole::kShared, parts * padded * vectorBytes());
    b_.beginPhase("sum");
    const int a = b_.addStream("ones", ones()), src = b_.addStream("dy", dyBuffer_),
              dst = b_.addStream("parts", partial);
    const int part = b_.addAxis("part", static_cast<int>(parts));
    for (std::int64_t p = 0; p < parts; ++p)
      b_.addStep(part, {{src, p * length * 4}, {dst, p * padded * vectorBytes()}}, static_cast<int>(p));
    const int block = b_.addAxis("channels", 2);
    for (std::int64_t c = 0; c < channels_; c += rows)
      b_.addStep(block, {{src, c * y_.cStride}, {dst, c * vectorBytes()}}, c + rows <= channels_ ? 0 : 1);
    Call call{"sum", a, src, dst, {part, block}, {}};
    for (std::int64_t p = 0; p < parts; ++p) {
      const std::int64_t here = std::clamp<std::int64_t>(pixels - p * length, 0, length);
      for (const std::int64_t count : {std::min(rows, channels_ / rows * rows), channels_ % rows}) {
        Variant variant;
        if (count > 0) {
          const std::int64_t unroll = 4, full = here / lanes_, tail = here % lanes_;
          Contract contract;
          contract.lanes = lanes_;
          contract.label = "db_lanes" + std::to_string(count);
          for (std::int64_t r = 0; r < count; ++r)
            contract.accumulators.push_back(Accumulator{static_cast<std::int32_t>(r * vectorBytes()), {}});
          contract.sections.push_back(addSection(count, unroll, y_.cStride, vectorBytes(), lanes_, false));
          contract.sections.push_back(addSection(count, 1, y_.cStride, vectorBytes(), lanes_, false));
          SegmentList list(2);
          if (tail > 0) {
            contract.sections.push_back(addSection(count, 1, y_.cStride, vectorBytes(), tail, false));
            list.emplace_back();
          }
          for (std::int64_t n = 0; n < v_.batch; ++n) {
            const std::int64_t base = n * y_.nStride;
            if (full / unroll > 0) list[0].push_back(Segment{0, base, full / unroll});
            if (full % unroll > 0)
              list[1].push_back(Segment{0, base + full / unroll * unroll * vectorBytes(), full % unroll});
            if (tail > 0) list[2].push_back(Segment{0, base + full * vectorBytes(), 1});
          }
          variant.kernel = b_.addKernel(std::move(contract));
          variant.list = b_.addList(std::move(list));
        }
        call.variants.push_back(variant);
      }
    }
    b_.phase().parallelAxes = {part, block};
    b_.phase().body.push_back(callNode(std::move(call)));
    b_.phase().workCycles = static_cast<double>(y_.bytes) / 16.0;
    addLanes(partial, parts, padded);
  }

  // parts [part][channel][lane] -> db: add the parts, turn a block of channels, add the lanes.
  void addLanes(int partial, std::int64_t parts, std::int64_t padded) {
    const int square = b_.addBuffer("square", BufferRole::kPrivate, lanes_ * vectorBytes());
    const int turned = b_.addBuffer("turned", BufferRole::kPrivate, lanes_ * vectorBytes());
    b_.beginPhase("add_lanes");
    const int a = b_.addStream("ones", ones()), in = b_.addStream("parts", partial),
              out = b_.addStream("db", dbBuffer_);
    const int sq = b_.addStream("square", square), tu = b_.addStream("turned", turned);
    const int block = b_.addAxis("channels", 2);
    for (std::int64_t c = 0; c < channels_; c += lanes_)
      b_.addStep(block, {{in, c * vectorBytes()}, {out, c * 4}}, c + lanes_ <= channels_ ? 0 : 1);
    const auto contractOf = [&](const char* label, std::int64_t accs, std::int64_t vectorPitch, std::int64_t stepPitch,
                                LaneRange lanes) {
      Contract contract;
      contract.lanes = lanes_;
      contract.label = label;
      for (std::int64_t i = 0; i < accs; ++i)
        contract.accumulators.push_back(Accumulator{static_cast<std::int32_t>(i * vectorBytes()), lanes});
      contract.sections.push_back(addSection(accs, 1, vectorPitch, stepPitch, lanes_, false));
      return b_.addKernel(std::move(contract));
    };
    // Half a square at a time, so that it fits the registers of every ISA.
    const std::int64_t half = lanes_ / 2;
    const int halves = b_.addUniformAxis("half", 2, {{in, half * vectorBytes()}, {sq, half * vectorBytes()}});
    const Variant add{contractOf("db_parts", half, vectorBytes(), padded * vectorBytes(), {}),
                      b_.addList({{Segment{0, 0, parts}}}), false};
    Move turn{MoveKind::kTranspose, lanes_, lanes_, lanes_, vectorBytes(), vectorBytes(), 0, false, "db_turn"};
    Call last{"lanes", a, tu, out, {block}, {Variant{}, Variant{}}};
    for (int cls = 0; cls < 2; ++cls) {
      const std::int64_t lanes =
          cls == 0 ? std::min<std::int64_t>(lanes_, channels_ / lanes_ * lanes_) : channels_ % lanes_;
      if (lanes == 0) continue;
      last.variants[static_cast<std::size_t>(cls)] =
          Variant{contractOf("db_out", 1, vectorBytes(), vectorBytes(), lanesLeft(lanes)),
                  b_.addList({{Segment{0, 0, lanes_}}}), false};
    }
    b_.phase().parallelAxes = {block};
    b_.phase().body.push_back(loopNode(halves, {callNode(Call{"add", a, in, sq, {}, {add}})}));
    b_.phase().body.push_back(callNode(Call{"turn", sq, -1, tu, {}, {Variant{b_.addKernel(turn), -1, false}}}));
    b_.phase().body.push_back(callNode(std::move(last)));
    b_.phase().workCycles = static_cast<double>(parts * padded) * 4;
  }

  const TilingPlan& plan_;
  const int lanes_;
  ProgramBuilder b_;
  const ConvView v_;
  const TensorView y_;
  const std::int64_t channels_;
  int dyBuffer_ = -1, dbBuffer_ = -1, onesBuffer_ = -1;
};

}  // namespace

Result<TileProgram> lowerBias(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  return Lowering(problem, plan, machine).run();
}

}  // namespace cubejit
