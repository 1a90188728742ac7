// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a weight gradient with few pairs of channels a group, out of plain tensors: lanes are neighbouring pixels.
//   dw[g,s][b][k] = sum over images and pixels o:  small[n][g,s][o] * big[n][g,b][o*stride + k*dil - pad]
// Taps of a pair stay in registers for a reduction block, as vectors of partial sums; a last phase sums their lanes.
// Leaves rows, columns and taps to weight_sections, the sum of splits to weights_unpack.
#include <algorithm>
#include <utility>

#include "algorithms/kit/lower/chained_call.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/pixel_blocks.h"
#include "algorithms/kit/lower/weights_unpack.h"
#include "algorithms/kit/weight_order.h"
#include "algorithms/kit/work.h"
#include "algorithms/spatial/lower/weight_sections.h"
#include "algorithms/spatial/spatial.h"

namespace cubejit {
namespace {

class SpatialWeightsLowering {
 public:
  SpatialWeightsLowering(const Problem& problem, const SpatialWeightsPlan& plan, const Machine& machine)
      : plan_(plan),
        lanes_(machine.isa.lanes()),
        b_(problemLabel(problem, Pass::kDw)),
        v_(makeConvView(problem, Pass::kDw)),
        dw_(weightOrder(problem, TensorId::kDw)) {}

  TileProgram run() {
    const int x = b_.addTensor(TensorId::kX, v_.bigIsX ? v_.big.span : v_.small.span);
    const int dy = b_.addTensor(TensorId::kDy, v_.bigIsX ? v_.small.span : v_.big.span);
    const std::int64_t pairs = v_.groups * v_.small.channels * v_.big.channels;
    const int dw = b_.addTensor(TensorId::kDw, dw_.bytes);
    pixels_ = makePixelBlocks(v_, plan_.reduction, plan_.reductionParts);
    if (pixels_.blocks.empty() || pairs == 0) {
      addZeroPhase(b_, dw, dw_.bytes, lanes_);
      return b_.finish();
    }
    splits_ = std::clamp<std::int64_t>(plan_.reductionParts, 1, static_cast<std::int64_t>(pixels_.blocks.size()));
    const std::int64_t bytes = inLanes(dw_.bytes);
    const int scratch = b_.addBuffer("dw_acc", Buffer::Use::kShared, splits_ * bytes);
    big_ = Operand(v_.big, v_.bigIsX ? x : dy);
    small_ = Operand(v_.small, v_.bigIsX ? dy : x);
    multiplyPhase(scratch, bytes);
    if (splits_ > 1) addPartsCombine(b_, AddedParts{scratch, splits_, bytes, lanes_});
    sumPhase(scratch, dw, pairs * v_.taps());
    return b_.finish();
  }

 private:
  // Sums lie as dw does, a vector for each of its elements.
  std::int64_t inLanes(std::int64_t bytes) const { return bytes * lanes_; }

  void multiplyPhase(int scratch, std::int64_t splitBytes) {
    b_.beginPhase("multiply");
    big_.addStream(b_, "big");
    small_.addStream(b_, "small");
    const int acc = b_.addStream("acc", scratch);
    const int groups = b_.addUniformAxis(
        "g", v_.groups,
        {{big_.stream, v_.big.groupStride()}, {small_.stream, v_.small.groupStride()}, {acc, inLanes(dw_.group)}});
    const int smalls = b_.addUniformAxis("small_channel", v_.small.channels,
                                         {{small_.stream, v_.small.cStride}, {acc, inLanes(dw_.small)}});
    const int bigs =
        b_.addUniformAxis("big_channel", v_.big.channels, {{big_.stream, v_.big.cStride}, {acc, inLanes(dw_.big)}});
    const auto [blocks, split] = addReductionAxes(b_, v_, pixels_, big_, small_, acc, splits_, splitBytes);
    const int kd = b_.addAxis("kd", static_cast<int>(v_.kernel.d));
    for (std::int64_t k = 0; k < v_.kernel.d; ++k) b_.addStep(kd, {{acc, k * inLanes(dw_.tap.d)}}, static_cast<int>(k));

    const std::vector<TapTile> tiles = tapTiles();
    const int taps = b_.addAxis("taps", static_cast<int>(tiles.size()));
    std::vector<SpatialWeightsSections> sections;
    std::vector<int> kernels;
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      b_.addStep(taps, {{acc, inLanes(tiles[t].h.lo * dw_.tap.h + tiles[t].w.lo * dw_.tap.w)}}, static_cast<int>(t));
      sections.emplace_back(v_, pixels_, dw_.tap, tiles[t], plan_.registerH, lanes_);
      kernels.push_back(b_.addKernel(sections.back().contract()));
    }
    Call call{"multiply", big_.stream, small_.stream, acc, {blocks, kd, taps}, {}};
    for (int cls = 0; cls < pixels_.classes; ++cls) {
      const bool first = pixels_.ofClass(cls).first;
      for (std::int64_t k = 0; k < v_.kernel.d; ++k) {
        for (std::size_t t = 0; t < tiles.size(); ++t) {
          SegmentList list = sections[t].segments(cls, k);
          const bool idle = std::all_of(list.begin(), list.end(), [](const auto& section) { return section.empty(); });
          call.variants.push_back(idle && !first ? Variant{}
                                                 : Variant{kernels[t], b_.addList(std::move(list)), !first});
        }
      }
    }
    Phase& phase = b_.phase();
    phase.body = nest({blocks, kd, taps}, {chainedCall(b_, std::move(call))});
    phase.parallelAxes = {split, groups, smalls, bigs};
    phase.workCycles = multiplyAddVectors(v_, lanes_);
  }

  std::vector<TapTile> tapTiles() const {
    std::vector<TapTile> tiles;
    for (const Range& h : cutInto(v_.kernel.h, plan_.registerTapsH)) {
      for (const Range& w : cutInto(v_.kernel.w, plan_.registerTapsW)) tiles.push_back(TapTile{h, w});
    }
    return tiles;
  }

  // The lanes of each element's vector become the element.
  void sumPhase(int scratch, int dw, std::int64_t sums) {
    constexpr std::int64_t kSumsOfTask = 512;
    b_.beginPhase("sum_lanes");
    const int acc = b_.addStream("acc", scratch), out = b_.addStream("dw", dw);
    const int rows = b_.addAxis("sums", 2);
    Call call{"sum", acc, -1, out, {rows}, {}};
    const auto kernelOf = [&](std::int64_t count) {
      const LaneReduce sum{.lanes = lanes_, .rows = count, .srcPitch = inLanes(4), .label = "sum_lanes"};
      return Variant{count > 0 ? b_.addKernel(sum) : -1, -1, false};
    };
    for (std::int64_t at = 0; at < sums; at += kSumsOfTask)
      b_.addStep(rows, {{acc, inLanes(at * 4)}, {out, at * 4}}, at + kSumsOfTask <= sums ? 0 : 1);
    call.variants = {kernelOf(std::min(sums / kSumsOfTask, std::int64_t{1}) * kSumsOfTask),
                     kernelOf(sums % kSumsOfTask)};
    b_.phase().parallelAxes = {rows};
    b_.phase().body = {callNode(std::move(call))};
    b_.phase().workCycles = static_cast<double>(sums) * 4.0;
  }

  const SpatialWeightsPlan& plan_;
  const int lanes_;
  ProgramBuilder b_;
  const ConvView v_;
  const WeightOrder dw_;
  PixelBlocks pixels_;
  Operand big_, small_;
  std::int64_t splits_ = 1;
};

}  // namespace

Result<TileProgram> lowerSpatialWeights(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                        const ResultOps& /*none*/) {
  return SpatialWeightsLowering(problem, plan.as<SpatialWeightsPlan>(), machine).run();
}

}  // namespace cubejit
