// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a weight gradient with few pairs of channels a group, out of plain tensors: lanes are neighbouring pixels.
//   dw[g,s][b][k] = sum over images and pixels o:  small[n][g,s][o] * big[n][g,b][o*stride + k*dil - pad]
// Taps of a pair stay in registers for whole images, as vectors of partial sums; a last phase sums their lanes.
// Leaves rows, columns and taps to weight_sections, the sum of splits to weights_unpack.
#include <algorithm>
#include <utility>

#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/weights_unpack.h"
#include "algorithms/kit/work.h"
#include "algorithms/spatial/lower/weight_sections.h"
#include "algorithms/spatial/spatial.h"

namespace cubejit {
namespace {

class Lowering {
 public:
  Lowering(const Problem& problem, const SpatialWeightsPlan& plan, const Machine& machine)
      : plan_(plan),
        lanes_(machine.isa.lanes()),
        b_(problemLabel(problem, Pass::kDw)),
        v_(makeConvView(problem, Pass::kDw)) {}

  TileProgram run() {
    const int x = b_.addBuffer("x", BufferRole::kX, v_.bigIsX ? v_.big.bytes : v_.small.bytes);
    const int dy = b_.addBuffer("dy", BufferRole::kDy, v_.bigIsX ? v_.small.bytes : v_.big.bytes);
    const std::int64_t pairs = v_.groups * v_.small.channels * v_.big.channels;
    const int dw = b_.addBuffer("dw", BufferRole::kDw, pairs * v_.taps() * 4);
    if (v_.batch * v_.small.extent.volume() == 0 || pairs == 0) {
      addZeroPhase(b_, dw, pairs * v_.taps() * 4, lanes_);
      return b_.finish();
    }
    passes_ = v_.batch / plan_.images;
    splits_ = std::clamp<std::int64_t>(plan_.reductionParts, 1, passes_);
    const std::int64_t bytes = pairs * pairBytes();
    const int scratch = b_.addBuffer("dw_acc", BufferRole::kShared, splits_ * bytes);
    multiplyPhase(v_.bigIsX ? x : dy, v_.bigIsX ? dy : x, scratch, bytes);
    if (splits_ > 1) addPartsCombine(b_, AddedParts{scratch, splits_, bytes, lanes_});
    sumPhase(scratch, dw, pairs * v_.taps());
    return b_.finish();
  }

 private:
  std::int64_t tapBytes() const { return lanes_ * 4; }
  std::int64_t pairBytes() const { return v_.taps() * tapBytes(); }

  void multiplyPhase(int bigBuffer, int smallBuffer, int scratch, std::int64_t splitBytes) {
    b_.beginPhase("multiply");
    const std::int64_t origin = -(v_.pad.d * v_.big.dStride + v_.pad.h * v_.big.hStride + v_.pad.w * v_.big.wStride);
    const int big = b_.addStream("big", bigBuffer, origin), small = b_.addStream("small", smallBuffer),
              acc = b_.addStream("acc", scratch);
    const std::int64_t smallBytes = v_.big.channels * pairBytes();
    const int groups = b_.addUniformAxis(
        "g", v_.groups,
        {{big, v_.big.groupStride()}, {small, v_.small.groupStride()}, {acc, v_.small.channels * smallBytes}});
    const int smalls =
        b_.addUniformAxis("small_channel", v_.small.channels, {{small, v_.small.cStride}, {acc, smallBytes}});
    const int bigs = b_.addUniformAxis("big_channel", v_.big.channels, {{big, v_.big.cStride}, {acc, pairBytes()}});
    const int images = b_.addAxis("n", 2);  // class 0: the first of a split
    std::int64_t next = 0;
    for (std::int64_t i = 0; i < passes_; ++i) {
      const bool first = i == passes_ * next / splits_;
      if (first) ++next;
      b_.addStep(images, {{big, i * plan_.images * v_.big.nStride}, {small, i * plan_.images * v_.small.nStride}},
                 first ? 0 : 1);
    }
    const int split = b_.addPartition("split", images, splits_);
    for (std::int64_t s = 0; s < splits_; ++s) b_.moveStep(split, s, acc, s * splitBytes);
    const int kd = b_.addAxis("kd", static_cast<int>(v_.kernel.d));
    for (std::int64_t k = 0; k < v_.kernel.d; ++k)
      b_.addStep(kd, {{acc, k * v_.kernel.h * v_.kernel.w * tapBytes()}}, static_cast<int>(k));

    const std::vector<TapTile> tiles = tapTiles();
    const int taps = b_.addAxis("taps", static_cast<int>(tiles.size()));
    Call call{"multiply", big, small, acc, {images, kd, taps}, {}};
    std::vector<std::vector<Variant>> variants(tiles.size());  // of each tap along D
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      b_.addStep(taps, {{acc, (tiles[t].h.lo * v_.kernel.w + tiles[t].w.lo) * tapBytes()}}, static_cast<int>(t));
      const SpatialWeightsSections sections(v_, tiles[t], plan_.registerH, lanes_);
      const int kernel = b_.addKernel(sections.contract());
      for (std::int64_t k = 0; k < v_.kernel.d; ++k)
        variants[t].push_back(Variant{kernel, b_.addList(sections.segments(k, plan_.images)), false});
    }
    for (const bool accumulate : {false, true}) {
      for (std::int64_t k = 0; k < v_.kernel.d; ++k) {
        for (const std::vector<Variant>& ofTap : variants) {
          call.variants.push_back(ofTap[static_cast<std::size_t>(k)]);
          call.variants.back().accumulate = accumulate;
        }
      }
    }
    Phase& phase = b_.phase();
    phase.body = nest({images, kd, taps}, {callNode(std::move(call))});
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

  // [pair][tap][lane] becomes [pair][tap].
  void sumPhase(int scratch, int dw, std::int64_t sums) {
    constexpr std::int64_t kSumsOfTask = 512;
    b_.beginPhase("sum_lanes");
    const int acc = b_.addStream("acc", scratch), out = b_.addStream("dw", dw);
    const int rows = b_.addAxis("sums", 2);
    Call call{"sum", acc, -1, out, {rows}, {}};
    const auto kernelOf = [&](std::int64_t count) {
      Move move;
      move.kind = MoveKind::kLaneSums;
      move.lanes = lanes_;
      move.rows = count;
      move.cols = lanes_;
      move.srcPitch = tapBytes();
      move.dstPitch = 4;
      move.label = "sum_lanes";
      return Variant{count > 0 ? b_.addKernel(move) : -1, -1, false};
    };
    for (std::int64_t at = 0; at < sums; at += kSumsOfTask)
      b_.addStep(rows, {{acc, at * tapBytes()}, {out, at * 4}}, at + kSumsOfTask <= sums ? 0 : 1);
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
  std::int64_t passes_ = 1, splits_ = 1;  ///< of `images` images, and parts they are partitioned into
};

}  // namespace

Result<TileProgram> lowerSpatialWeights(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  return Lowering(problem, plan.as<SpatialWeightsPlan>(), machine).run();
}

}  // namespace cubejit
