// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a weight gradient with few channels a group: lanes are channels of several whole groups of one tensor,
// the other tensor's channels are permuted to them; a block of taps stays in registers while the reduction runs over pixels.
//   dw[g,s][b][k] = sum over images and pixels o:  small[n][o][g,s] * big[n][o*stride + k*dil - pad][g,b]
// Leaves sections to weight_sections, pixel ranges to pixel_blocks, lane order to groups, the combine to weights_unpack.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "algorithms/grouped/grouped.h"
#include "algorithms/grouped/groups_of_vector.h"
#include "algorithms/grouped/lower/weight_sections.h"
#include "algorithms/grouped/shape.h"
#include "algorithms/grouped/unrolled_uses.h"
#include "algorithms/kit/lower/chained_call.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/pixel_panels.h"
#include "algorithms/kit/lower/weights_unpack.h"
#include "algorithms/kit/panel_pitch.h"
#include "algorithms/kit/weight_order.h"

namespace cubejit {
namespace {

class GroupedWeightsLowering {
 public:
  GroupedWeightsLowering(const Problem& problem, const GroupedWeightsPlan& plan, const Machine& machine)
      : plan_(plan),
        b_(problemLabel(problem, Pass::kDw)),
        v_(makeConvView(problem, Pass::kDw)),
        order_(weightOrder(problem, TensorId::kDw)),
        bigIsPermuted_(permutesBig(v_, machine.isa.lanes())),
        lanes_(makeGroupLanes(machine.isa.lanes(), v_.groups, bigIsPermuted_ ? v_.small : v_.big,
                              bigIsPermuted_ ? v_.big : v_.small, false)) {}

  Result<TileProgram> run() {
    if (lanes_.perBlock == 0) {
      return Error{ErrorCode::kUnsupported, Stage::kTile,
                   noGroupFits(lanes_.lanes, lanes_.vectorChannels, lanes_.permutedChannels)};
    }
    const std::int64_t splits = std::max<std::int64_t>(1, plan_.reductionParts);
    pixels_ = makePixelBlocks(v_, plan_.reduction, splits);
    const int x = b_.addTensor(TensorId::kX, v_.bigIsX ? v_.big.span : v_.small.span);
    const int dy = b_.addTensor(TensorId::kDy, v_.bigIsX ? v_.small.span : v_.big.span);
    big_ = Operand(v_.big, v_.bigIsX ? x : dy);
    small_ = Operand(v_.small, v_.bigIsX ? dy : x);
    const int dw = b_.addTensor(TensorId::kDw, order_.bytes);
    if (pixels_.blocks.empty()) {
      addZeroPhase(b_, dw, order_.bytes, lanes_.lanes);
      return b_.finish();
    }
    WeightsScratch scratch;
    scratch.laneBlocks = lanes_.blocks;
    scratch.rows = lanes_.permutedChannels;
    scratch.taps = v_.taps();
    scratch.width = scratch.lanes = lanes_.lanes;
    scratch.splits = splits_ = std::min<std::int64_t>(splits, static_cast<std::int64_t>(pixels_.blocks.size()));
    scratch.scratchBuffer = scratch_ = b_.addBuffer("dw_acc", Buffer::Use::kShared, splits_ * scratchBytes(scratch));
    splitBytes_ = scratchBytes(scratch);
    blockParts_ = std::clamp<std::int64_t>(plan_.groupParts, 1, units_);
    multiplyPhase();
    if (splits_ > 1)
      addPartsCombine(b_, AddedParts{scratch.scratchBuffer, splits_, scratchBytes(scratch), scratch.lanes});
    addGroupUnpack(b_, lanes_,
                   GroupWeights{order_.group, bigIsPermuted_ ? order_.big : order_.small,
                                bigIsPermuted_ ? order_.small : order_.big, v_.kernel, order_.tap},
                   scratch_, dw);
    return b_.finish();
  }

 private:
  // Bytes from the first block of channels to another.
  std::int64_t offsetOf(std::int64_t block, const Operand& o) const {
    return o.pitch.c.to(block * lanes_.perBlock * o.view->channels);
  }
  std::int64_t accumulatorBlock() const { return v_.taps() * lanes_.tapBytes(); }

  void multiplyPhase() {
    b_.beginPhase("multiply");
    makePanels();
    big_.addStream(b_, "big");
    small_.addStream(b_, "small");
    const int c = b_.addStream("acc", scratch_);
    big_.addTensorStream(b_, "big_in");
    big_.addPanelStream(b_, "big_panel");
    small_.addTensorStream(b_, "small_in");
    small_.addPanelStream(b_, "small_panel");

    const auto [blockAxis, splitAxis] = addReductionAxes(b_, v_, pixels_, big_, small_, c, splits_, splitBytes_);
    const int blocks = b_.addAxis("block", 2);
    for (std::int64_t i = 0; i < units_; ++i) {
      const std::int64_t block = i * width_;
      b_.addStep(blocks,
                 {{big_.stream, offsetOf(block, big_)},
                  {small_.stream, offsetOf(block, small_)},
                  {c, block * accumulatorBlock()}},
                 lanes_.classOfUnit(i, width_));
    }
    const int partition = addBlockDeal(blocks);
    const int kd = b_.addAxis("kd", static_cast<int>(v_.kernel.d));
    for (std::int64_t k = 0; k < v_.kernel.d; ++k)
      b_.addStep(kd, {{c, k * v_.kernel.h * v_.kernel.w * lanes_.tapBytes()}}, static_cast<int>(k));
    const std::vector<Range> tapsH = cutInto(v_.kernel.h, plan_.registerTapsH),
                             tapsW = cutInto(v_.kernel.w, plan_.registerTapsW),
                             channels = cutInto(lanes_.permutedChannels, plan_.registerChannels);
    std::vector<TapBlock> taps;
    const int tapAxis = b_.addAxis("taps", static_cast<int>(tapsH.size() * tapsW.size() * channels.size()));
    for (const Range& h : tapsH) {
      for (const Range& w : tapsW) {
        for (const Range& j : channels) {
          b_.addStep(tapAxis, {{c, (h.lo * v_.kernel.w + w.lo) * lanes_.tapBytes() + j.lo * lanes_.lanes * 4}},
                     static_cast<int>(taps.size()));
          taps.push_back(TapBlock{h, w, j});
        }
      }
    }

    Call call{"multiply", (bigIsPermuted_ ? big_ : small_).stream, (bigIsPermuted_ ? small_ : big_).stream,
              c,          {blockAxis, tapAxis, kd, blocks},        {}};
    fillVariants(call, taps);
    std::vector<Node> body;
    for (const bool big : {true, false}) {
      const Operand& o = big ? big_ : small_;
      if (!o.packed()) continue;
      body.push_back(packPixels(
          b_, v_, pixels_,
          PackedPixels{big, o, panelExtent(v_, pixels_, big), partOf(o), PanelMove{lanes_.lanes, 0, o.pitch.w}},
          blockAxis, partition));
    }
    body.push_back(nest({kd, tapAxis, blocks}, {chainedCall(b_, std::move(call))}).front());
    Phase& phase = b_.phase();
    phase.body.push_back(loopNode(blockAxis, std::move(body)));
    phase.parallelAxes = {splitAxis, partition};
    phase.workCycles = static_cast<double>(v_.batch) * static_cast<double>(v_.small.extent.volume() * v_.taps()) *
                       static_cast<double>(lanes_.blocks * lanes_.permutedChannels) * 1.3;
  }

  // A part is whole units of blocks of groups.
  ChannelPart partOf(const Operand& o) const {
    const std::int64_t channels = o.view->channels;
    return {blockParts_, units_, width_ * lanes_.perBlock * channels, lanes_.groups * channels, 1};
  }

  // A part's panels hold only its own channels.
  int addBlockDeal(int blocks) {
    const int partition = b_.addPartition("channel_part", blocks, blockParts_);
    if (blockParts_ == 1)
      b_.phase().axes[static_cast<std::size_t>(blocks)].windowAxis = -1;  // nothing partitioned: the kernel may loop
    for (const Operand* o : {&big_, &small_}) startAtPart(b_, partition, partOf(*o), *o);
    return partition;
  }

  // Blocks with as many taps and the same channels share a kernel: most of their sections are the same.
  using BlockSize = std::array<std::int64_t, 4>;
  static BlockSize sizeOf(const TapBlock& taps) {
    return {taps.h.length(), taps.w.length(), taps.channels.lo, taps.channels.length()};
  }

  void fillVariants(Call& call, const std::vector<TapBlock>& blocks) {
    std::map<BlockSize, std::vector<PixelSection>> sections;
    std::vector<std::vector<PixelRun>> runs;  // by class, then block
    for (int cls = 0; cls < pixels_.classes; ++cls) {
      for (const TapBlock& taps : blocks)
        runs.push_back(
            makePixelRuns(v_, pixels_.ofClass(cls), taps, plan_.unroll, kUnrolledUses, sections[sizeOf(taps)]));
    }
    std::map<BlockSize, std::array<int, 2>> kernels;  // of both channel block classes
    for (const TapBlock& taps : blocks) {
      std::array<int, 2>& made = kernels.try_emplace(sizeOf(taps), std::array<int, 2>{-1, -1}).first->second;
      for (int tail = 0; tail < 2; ++tail) {
        int& kernel = made[static_cast<std::size_t>(tail)];
        const GroupWeightsUnit unit{lanes_.groupsOfUnit(tail, width_), offsetOf(1, big_), offsetOf(1, small_),
                                    accumulatorBlock()};
        if (kernel < 0 && !unit.groups.empty())
          kernel = b_.addKernel(
              groupedWeightsKernel(v_, sections[sizeOf(taps)], taps, lanes_, unit, bigIsPermuted_, big_, small_));
      }
    }
    auto run = runs.begin();
    for (int cls = 0; cls < pixels_.classes; ++cls) {
      for (const TapBlock& taps : blocks)
        addVariants(call, pixels_.ofClass(cls), taps, *run++, sections[sizeOf(taps)].size(), kernels[sizeOf(taps)]);
    }
  }

  // For every tap along D, both channel block classes.
  void addVariants(Call& call, const PixelBlock& run, const TapBlock& taps, const std::vector<PixelRun>& runs,
                   std::size_t sections, const std::array<int, 2>& kernels) {
    for (std::int64_t kd = 0; kd < v_.kernel.d; ++kd) {
      SegmentList list(sections);
      const Range depths = usedPixels(v_, 0, run, kd);
      for (std::int64_t n = 0; n < run.n.length(); ++n) {
        for (std::int64_t d = depths.lo; d < depths.hi; ++d) {
          for (const PixelRun& run : runs) list[run.section].push_back(segmentOf(n, d, kd, run, taps));
        }
      }
      const bool idle = runs.empty() || depths.length() == 0;
      const int index = b_.addList(std::move(list));
      for (int kernel : kernels) {
        call.variants.push_back(kernel < 0 || (idle && !run.first) ? Variant{} : Variant{kernel, index, !run.first});
      }
    }
  }

  Segment segmentOf(std::int64_t n, std::int64_t d, std::int64_t kd, const PixelRun& run, const TapBlock& taps) const {
    const Pitches &bp = big_.pitch, &sp = small_.pitch;
    const std::int64_t small = n * sp.n + d * sp.d + run.row * sp.h + run.column * sp.w;
    const std::int64_t big = n * bp.n + (d * v_.stride.d + kd * v_.dilation.d) * bp.d +
                             (run.row * v_.stride.h + taps.h.lo * v_.dilation.h) * bp.h +
                             (run.column * v_.stride.w + taps.w.lo * v_.dilation.w) * bp.w;
    return bigIsPermuted_ ? Segment{big, small, run.outer} : Segment{small, big, run.outer};
  }

  void makePanels() {
    const std::int64_t groups = (units_ + blockParts_ - 1) / blockParts_ * width_ * lanes_.perBlock;  // of a part
    for (const bool big : {true, false}) {
      if (!(big == bigIsPermuted_ ? plan_.packA : plan_.packB)) continue;
      Operand& o = big ? big_ : small_;
      const PanelExtent extent = panelExtent(v_, pixels_, big);
      const Pitches pitches = panelPitches(extent, panelPitch(groups * o.view->channels * 4));
      o.pack(b_, big ? "panel_big" : "panel_small", pitches, pitches.n * extent.images);
    }
  }

  const GroupedWeightsPlan& plan_;
  ProgramBuilder b_;
  const ConvView v_;
  const WeightOrder order_;   ///< of dw
  const bool bigIsPermuted_;  ///< the big tensor is the permuted one
  const GroupLanes lanes_;
  const std::int64_t width_ = plan_.registerVectors;  // blocks of channels that a kernel works on side by side
  const std::int64_t units_ = lanes_.units(width_);
  PixelBlocks pixels_;
  Operand big_, small_;
  std::int64_t splits_ = 1, splitBytes_ = 0, blockParts_ = 1;
  int scratch_ = -1;
};

}  // namespace

Result<TileProgram> lowerGroupedWeights(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                        const ResultOps& /*none*/) {
  return GroupedWeightsLowering(problem, plan.as<GroupedWeightsPlan>(), machine).run();
}

}  // namespace cubejit
