// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a bias gradient: db[c] = sum over images and pixels of dy[n][c][p].
// Channels-last and blocked: lanes are channels; where there are few of them, neighbouring pixels are summed apart, so that sums
// do not wait for one another. Plain: lanes are pixels, and the lanes of a channel are added at the end. 16-bit elements are
// widened as they are read. Pixel ranges are summed apart (as many as the plan's reduction says) and combined in order.
#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/bias/bias.h"
#include "algorithms/bias/lower/parts.h"
#include "algorithms/bias/sums.h"
#include "algorithms/kit/lower/chained_call.h"
#include "algorithms/kit/lower/data_gradient.h"

namespace cubejit {
namespace {

constexpr std::int64_t kUnroll = kBiasUnroll;
constexpr std::int64_t kF32Bytes = 4;
constexpr std::int64_t kFewParts = 64;  // are added in a row

class BiasLowering {
 public:
  BiasLowering(const Problem& problem, const BiasPlan& plan, const Machine& machine)
      : plan_(plan),
        lanes_(machine.isa.lanes()),
        b_(problemLabel(problem, Pass::kDb)),
        v_(makeConvView(problem, Pass::kDb)),
        y_(v_.bigIsX ? v_.small : v_.big),
        element_(storedElement(y_.dtype)),
        channels_(v_.groups * y_.channels) {
    dyBuffer_ = b_.addTensor(TensorId::kDy, y_.span);
    dbBuffer_ = b_.addTensor(TensorId::kDb, channels_ * kF32Bytes);
  }

  TileProgram run() {
    if (y_.bytes == 0) {
      addZeroPhase(b_, dbBuffer_, channels_ * kF32Bytes, lanes_);
    } else if (y_.channelsLast || y_.c0 > 0) {
      channelLanes();
    } else {
      pixelLanes();
    }
    TileProgram program = b_.finish();
    if (onesBuffer_ >= 0) program.buffers[static_cast<std::size_t>(onesBuffer_)].values.assign(16, 1.0F);
    return program;
  }

 private:
  std::int64_t vectorBytes() const { return lanes_ * kF32Bytes; }
  std::int64_t vectors(std::int64_t channels) const { return (channels + lanes_ - 1) / lanes_; }
  int ones() {
    if (onesBuffer_ < 0) onesBuffer_ = b_.addBuffer("ones", Buffer::Use::kConstant, 64);
    return onesBuffer_;
  }
  LaneRange lanesLeft(std::int64_t left) const { return lanesUpTo(left, lanes_); }

  Contract sumOf(const char* label, std::int64_t count, Element element) const {
    Contract contract;
    contract.lanes = lanes_;
    contract.label = label + std::to_string(count);
    contract.vectorsB = element;
    contract.addsToC = true;
    return contract;
  }

  // acc[i] += 1 * b[i], for every vector loaded.
  static Step sumStep(std::vector<VectorLoad> loads) {
    Step step;
    AOperand one;
    for (std::size_t i = 0; i < loads.size(); ++i)
      one.uses.push_back(Use{static_cast<std::int16_t>(i), static_cast<std::int16_t>(i)});
    step.a.push_back(std::move(one));
    step.b = std::move(loads);
    return step;
  }

  // `count` vectors side by side, `steps` of them per iteration.
  static Section addSection(std::int64_t count, std::int64_t steps, std::int64_t vectorPitch, std::int64_t stepPitch,
                            LaneRange lanes) {
    Section section;
    section.bOuterStep = steps * stepPitch;
    for (std::int64_t s = 0; s < steps; ++s) {
      std::vector<VectorLoad> loads;
      for (std::int64_t v = 0; v < count; ++v)
        loads.push_back(VectorLoad{static_cast<std::int32_t>(s * stepPitch + v * vectorPitch), lanes});
      section.steps.push_back(sumStep(std::move(loads)));
    }
    return section;
  }

  // Rows of `channels` elements are summed down: what lies where, and where sums go.
  struct Rows {
    const char* name;
    int in;
    Element element;
    std::int64_t pitch;  // bytes from a row to the next
    std::vector<BiasPart> parts;
    std::int64_t block;  // channels a call sums
    int out;
    std::int64_t ways = 1;         // sums of a part, each in a row of its own
    std::int64_t outChannels = 0;  // of a row of sums; 0: they go to db itself
  };

  void channelLanes() {
    const PixelRuns runs = pixelRuns(y_, v_.batch);
    const BiasSums how = biasSums(v_, plan_, lanes_);
    Rows rows{"sum",
              dyBuffer_,
              element_,
              y_.wStride,
              cutRuns(runs.offsets, runs.pixels, y_.wStride, std::max<std::int64_t>(1, plan_.reductionParts)),
              how.block,
              dbBuffer_,
              how.side};
    const auto sums = static_cast<std::int64_t>(rows.parts.size()) * rows.ways;
    if (sums > 1) {
      rows.outChannels = vectors((channels_ + rows.block - 1) / rows.block * rows.block) * lanes_;
      rows.out = b_.addBuffer("db_parts", Buffer::Use::kShared, sums * rows.outChannels * kF32Bytes);
    }
    const Rows combine{"combine",
                       rows.out,
                       Element::kF32,
                       rows.outChannels * kF32Bytes,
                       cutRuns({0}, sums, rows.outChannels * kF32Bytes, 1),
                       plan_.registerVectors * lanes_,
                       dbBuffer_};
    sumRows(rows, kLongestChain);
    if (sums > 1) sumRows(combine, partsInARow(sums));
  }

  // The square root, so that there are no more partial sums than additions in each.
  static std::int64_t partsInARow(std::int64_t parts) {
    return std::max(kFewParts, static_cast<std::int64_t>(std::sqrt(static_cast<double>(parts))));
  }

  void sumRows(const Rows& rows, std::int64_t chain) {
    b_.beginPhase(rows.name);
    const int a = b_.addStream("ones", ones()), src = b_.addStream("in", rows.in), dst = b_.addStream("out", rows.out);
    const auto parts = static_cast<std::int64_t>(rows.parts.size());
    const std::int64_t outRow = rows.outChannels * kF32Bytes;
    const int part = b_.addAxis("part", static_cast<int>(parts));
    std::int64_t units = 0;
    for (std::int64_t p = 0; p < parts; ++p) {
      const BiasPart& pieces = rows.parts[static_cast<std::size_t>(p)];
      b_.addStep(part, {{src, pieces.front().offset}, {dst, p * rows.ways * outRow}}, static_cast<int>(p));
      for (const BiasPiece& piece : pieces) units += piece.units;
    }
    const int block = b_.addAxis("channels", 2);
    for (std::int64_t c = 0; c < channels_; c += rows.block) {
      const std::int64_t from = rows.in == dyBuffer_ ? y_.channelOffset(c) : c * kF32Bytes;
      b_.addStep(block, {{src, from}, {dst, c * kF32Bytes}}, c + rows.block <= channels_ ? 0 : 1);
    }
    Call call{rows.name, a, src, dst, {part, block}, {}};
    const int kernels[] = {channels_ >= rows.block ? rowKernel(rows, rows.block) : -1,
                           channels_ % rows.block > 0 ? rowKernel(rows, channels_ % rows.block) : -1};
    for (const BiasPart& pieces : rows.parts) {
      const int list = b_.addList(rowList(rows, pieces));
      for (const int kernel : kernels) call.variants.push_back(kernel < 0 ? Variant{} : Variant{kernel, list, false});
    }
    b_.phase().parallelAxes = {part, block};
    b_.phase().body.push_back(chainedCall(b_, std::move(call), chain));
    b_.phase().workCycles = static_cast<double>(units * channels_) * kF32Bytes / 16.0;
  }

  // Section 0 sums kUnroll rows of every way at once, section 1 what is left, row by row.
  int rowKernel(const Rows& rows, std::int64_t channels) {
    const std::int64_t count = vectors(channels), step = lanes_ * elementBytes(rows.element);
    Contract contract = sumOf("db_sum", rows.ways * count, rows.element);
    Section all, single;
    all.bOuterStep = kUnroll * rows.ways * rows.pitch;
    single.bOuterStep = rows.pitch;
    const auto stepOf = [&](std::int64_t ways, std::int64_t firstRow) {
      std::vector<VectorLoad> loads;
      for (std::int64_t w = 0; w < ways; ++w) {
        for (std::int64_t v = 0; v < count; ++v)
          loads.push_back(VectorLoad{static_cast<std::int32_t>((firstRow + w) * rows.pitch + v * step),
                                     lanesLeft(channels - v * lanes_)});
      }
      return sumStep(std::move(loads));
    };
    for (std::int64_t w = 0; w < rows.ways; ++w) {
      for (std::int64_t v = 0; v < count; ++v)
        contract.accumulators.push_back(
            Accumulator{static_cast<std::int32_t>((w * rows.outChannels + v * lanes_) * kF32Bytes),
                        lanesLeft((rows.outChannels > 0 ? rows.block : channels) - v * lanes_)});
    }
    for (std::int64_t s = 0; s < kUnroll; ++s) all.steps.push_back(stepOf(rows.ways, s * rows.ways));
    single.steps.push_back(stepOf(1, 0));
    contract.sections = {std::move(all), std::move(single)};
    return b_.addKernel(std::move(contract));
  }

  static SegmentList rowList(const Rows& rows, const BiasPart& pieces) {
    SegmentList list(2);
    const std::int64_t together = kUnroll * rows.ways;
    for (const BiasPiece& piece : pieces) {
      const std::int64_t at = piece.offset - pieces.front().offset, full = piece.units / together;
      if (full > 0) list[0].push_back(Segment{0, at, full});
      if (piece.units % together > 0)
        list[1].push_back(Segment{0, at + full * together * rows.pitch, piece.units % together});
    }
    return list;
  }

  // dy as [n][channel][pixel]: lanes run along a channel's pixels; a block of channels side by side.
  void pixelLanes() {
    const PixelRuns runs = pixelRuns(y_, v_.batch);
    const std::int64_t pixels = runs.pixels, rows = biasSums(v_, plan_, lanes_).side;
    const std::int64_t unitBytes = lanes_ * elementBytes(element_);
    const std::vector<BiasPart> cut = cutRuns(runs.offsets, (pixels + lanes_ - 1) / lanes_, unitBytes,
                                              std::max<std::int64_t>(1, plan_.reductionParts));
    const auto parts = static_cast<std::int64_t>(cut.size());
    const std::int64_t padded = (channels_ + lanes_ - 1) / lanes_ * lanes_;
    const int partial = b_.addBuffer("db_parts", Buffer::Use::kShared, parts * padded * vectorBytes());
    b_.beginPhase("sum");
    const int a = b_.addStream("ones", ones()), src = b_.addStream("dy", dyBuffer_),
              dst = b_.addStream("parts", partial);
    const int part = b_.addAxis("part", static_cast<int>(parts));
    for (std::int64_t p = 0; p < parts; ++p)
      b_.addStep(part, {{src, cut[static_cast<std::size_t>(p)].front().offset}, {dst, p * padded * vectorBytes()}},
                 static_cast<int>(p));
    const int block = b_.addAxis("channels", 2);
    for (std::int64_t c = 0; c < channels_; c += rows)
      b_.addStep(block, {{src, c * y_.cStride}, {dst, c * vectorBytes()}}, c + rows <= channels_ ? 0 : 1);
    Call call{"sum", a, src, dst, {part, block}, {}};
    const int kernels[] = {channels_ >= rows ? pixelKernel(rows, pixels % lanes_) : -1,
                           channels_ % rows > 0 ? pixelKernel(channels_ % rows, pixels % lanes_) : -1};
    for (const BiasPart& pieces : cut) {
      const int list = b_.addList(pixelList(pieces, unitBytes, pixels % lanes_ > 0));
      for (const int kernel : kernels) call.variants.push_back(kernel < 0 ? Variant{} : Variant{kernel, list, false});
    }
    b_.phase().parallelAxes = {part, block};
    b_.phase().body.push_back(chainedCall(b_, std::move(call)));
    b_.phase().workCycles = static_cast<double>(y_.bytes) / 16.0;
    addLanes(partial, parts, padded);
  }

  // Section 0 sums kUnroll vectors of each channel, section 1 one, section 2 the `tail` pixels an image may end with.
  int pixelKernel(std::int64_t channels, std::int64_t tail) {
    const std::int64_t step = lanes_ * elementBytes(element_);
    Contract contract = sumOf("db_lanes", channels, element_);
    for (std::int64_t r = 0; r < channels; ++r)
      contract.accumulators.push_back(Accumulator{static_cast<std::int32_t>(r * vectorBytes()), {}});
    contract.sections = {addSection(channels, kUnroll, y_.cStride, step, {}),
                         addSection(channels, 1, y_.cStride, step, {})};
    if (tail > 0) contract.sections.push_back(addSection(channels, 1, y_.cStride, step, lanesLeft(tail)));
    return b_.addKernel(std::move(contract));
  }

  static SegmentList pixelList(const BiasPart& pieces, std::int64_t unitBytes, bool tails) {
    SegmentList list(tails ? 3 : 2);
    for (const BiasPiece& piece : pieces) {
      const std::int64_t at = piece.offset - pieces.front().offset, tail = tails && piece.endsImage ? 1 : 0;
      const std::int64_t full = (piece.units - tail) / kUnroll, rest = (piece.units - tail) % kUnroll;
      if (full > 0) list[0].push_back(Segment{0, at, full});
      if (rest > 0) list[1].push_back(Segment{0, at + full * kUnroll * unitBytes, rest});
      if (tail > 0) list[2].push_back(Segment{0, at + (piece.units - 1) * unitBytes, 1});
    }
    return list;
  }

  // parts [part][channel][lane] -> db: add the parts, turn a block of channels, add the lanes.
  void addLanes(int partial, std::int64_t parts, std::int64_t padded) {
    const int square = b_.addBuffer("square", Buffer::Use::kPrivate, lanes_ * vectorBytes());
    const int transposed = b_.addBuffer("transposed", Buffer::Use::kPrivate, lanes_ * vectorBytes());
    b_.beginPhase("add_lanes");
    const int a = b_.addStream("ones", ones()), in = b_.addStream("parts", partial),
              out = b_.addStream("db", dbBuffer_);
    const int sq = b_.addStream("square", square), tu = b_.addStream("transposed", transposed);
    const int block = b_.addAxis("channels", 2);
    for (std::int64_t c = 0; c < channels_; c += lanes_)
      b_.addStep(block, {{in, c * vectorBytes()}, {out, c * kF32Bytes}}, c + lanes_ <= channels_ ? 0 : 1);
    const auto kernelOf = [&](const char* label, std::int64_t accs, std::int64_t vectorPitch, std::int64_t stepPitch,
                              LaneRange lanes) {
      Contract contract = sumOf(label, accs, Element::kF32);
      for (std::int64_t i = 0; i < accs; ++i)
        contract.accumulators.push_back(Accumulator{static_cast<std::int32_t>(i * vectorBytes()), lanes});
      contract.sections.push_back(addSection(accs, 1, vectorPitch, stepPitch, {}));
      return b_.addKernel(std::move(contract));
    };
    // Half a square at a time, so that it fits the registers of every ISA.
    const std::int64_t half = lanes_ / 2;
    const int halves = b_.addUniformAxis("half", 2, {{in, half * vectorBytes()}, {sq, half * vectorBytes()}});
    const Variant add{kernelOf("db_parts", half, vectorBytes(), padded * vectorBytes(), {}),
                      b_.addList({{Segment{0, 0, parts}}}), false};
    const Transpose turn{.lanes = lanes_,
                         .rows = lanes_,
                         .cols = lanes_,
                         .srcPitch = vectorBytes(),
                         .dstPitch = vectorBytes(),
                         .label = "db_turn"};
    Call last{"lanes", a, tu, out, {block}, {Variant{}, Variant{}}};
    for (int cls = 0; cls < 2; ++cls) {
      const std::int64_t lanes =
          cls == 0 ? std::min<std::int64_t>(lanes_, channels_ / lanes_ * lanes_) : channels_ % lanes_;
      if (lanes == 0) continue;
      last.variants[static_cast<std::size_t>(cls)] =
          Variant{kernelOf("db_out", 1, vectorBytes(), vectorBytes(), lanesLeft(lanes)),
                  b_.addList({{Segment{0, 0, lanes_}}}), false};
    }
    b_.phase().parallelAxes = {block};
    b_.phase().body.push_back(
        loopNode(halves, {chainedCall(b_, Call{"add", a, in, sq, {}, {add}}, partsInARow(parts))}));
    b_.phase().body.push_back(callNode(Call{"turn", sq, -1, tu, {}, {Variant{b_.addKernel(turn), -1, false}}}));
    b_.phase().body.push_back(callNode(std::move(last)));
    b_.phase().workCycles = static_cast<double>(parts * padded) * kF32Bytes;
  }

  const BiasPlan& plan_;
  const int lanes_;
  ProgramBuilder b_;
  const ConvView v_;
  const TensorView y_;
  const Element element_;
  const std::int64_t channels_;
  int dyBuffer_ = -1, dbBuffer_ = -1, onesBuffer_ = -1;
};

}  // namespace

Result<TileProgram> lowerBias(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                              const ResultOps& /*none*/) {
  return BiasLowering(problem, plan.as<BiasPlan>(), machine).run();
}

}  // namespace cubejit
