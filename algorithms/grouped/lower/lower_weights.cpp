// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a weight gradient with few channels a group: lanes are channels of several whole groups of one tensor,
// the other tensor's channels are permuted to them; a block of taps stays in registers while the reduction runs over pixels.
//   dw[g,s][b][k] = sum over images and pixels o:  small[n][o][g,s] * big[n][o*stride + k*dil - pad][g,b]
// Leaves sections to weight_cell_sections, pixel ranges to pixel_chunks, lane order to cells, the combine to weights_unpack.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "algorithms/grouped/grouped.h"
#include "algorithms/grouped/lower/weight_sections.h"
#include "algorithms/grouped/unrolled_uses.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/panel_moves.h"
#include "algorithms/kit/lower/weights_unpack.h"

namespace cubejit {
namespace {

// Lanes are the small tensor's channels for depthwise (its pixels are reused by all taps), the wider group's otherwise; groups of equal
// width permute the small tensor, whose pixels are fewer than the positions their taps reach.
bool lanesAreBig(const ConvView& v, int lanes) {
  if (v.small.channels > lanes) return true;
  if (v.big.channels > lanes) return false;
  return v.big.channels != 1 && v.big.channels >= v.small.channels;
}

class Lowering {
 public:
  Lowering(const Problem& problem, const GroupedWeightsPlan& plan, const Machine& machine)
      : plan_(plan),
        b_(problemLabel(problem, Gradient::kDw)),
        v_(makeConvView(problem, Gradient::kDw)),
        bigIsCell_(!lanesAreBig(v_, machine.isa.lanes())),
        lanes_(makeCellLanes(machine.isa.lanes(), v_.groups, bigIsCell_ ? v_.small : v_.big,
                             bigIsCell_ ? v_.big : v_.small, false)) {}

  Result<TileProgram> run() {
    if (lanes_.perBlock == 0) {
      return Error{ErrorCode::kUnsupported, Stage::kTile,
                   "a group of " + std::to_string(v_.big.channels) + " and " + std::to_string(v_.small.channels) +
                       " channels does not fit a vector of " + std::to_string(lanes_.lanes) +
                       " lanes; plan it with channel lanes"};
    }
    const std::int64_t splits = std::max<std::int64_t>(1, plan_.reductionParts);
    chunks_ =
        makeChunks(v_,
                   v_.line ? ChunkSizes{plan_.reduction.n, 1, 1, plan_.reduction.h}
                           : ChunkSizes{plan_.reduction.n, plan_.reduction.d, plan_.reduction.h, v_.small.extent.w},
                   splits);
    const int x = b_.addBuffer("x", BufferRole::kX, v_.bigIsX ? v_.big.bytes : v_.small.bytes);
    const int dy = b_.addBuffer("dy", BufferRole::kDy, v_.bigIsX ? v_.small.bytes : v_.big.bytes);
    bigBuffer_ = v_.bigIsX ? x : dy;
    smallBuffer_ = v_.bigIsX ? dy : x;
    const std::int64_t tap = v_.taps() * 4, smallPitch = v_.big.channels * tap;
    const int dw = b_.addBuffer("dw", BufferRole::kDw, v_.groups * v_.small.channels * smallPitch);
    if (chunks_.chunks.empty()) {
      addZeroPhase(b_, dw, v_.groups * v_.small.channels * smallPitch, lanes_.lanes);
      return b_.finish();
    }
    WeightsScratch scratch;
    scratch.laneBlocks = lanes_.blocks;
    scratch.rows = lanes_.cellChannels;
    scratch.taps = v_.taps();
    scratch.width = scratch.lanes = lanes_.lanes;
    scratch.splits = splits_ = std::min<std::int64_t>(splits, static_cast<std::int64_t>(chunks_.chunks.size()));
    scratch.scratchBuffer = scratch_ = b_.addBuffer("dw_acc", BufferRole::kShared, splits_ * scratchBytes(scratch));
    splitBytes_ = scratchBytes(scratch);
    blockParts_ = std::clamp<std::int64_t>(plan_.groupParts, 1, units_);
    contractPhase();
    if (splits_ > 1)
      addPartsCombine(b_, AddedParts{scratch.scratchBuffer, splits_, scratchBytes(scratch), scratch.lanes});
    addCellUnpack(b_, lanes_,
                  CellWeights{v_.small.channels * smallPitch, bigIsCell_ ? tap : smallPitch,
                              bigIsCell_ ? smallPitch : tap, v_.taps()},
                  scratch_, dw);
    return b_.finish();
  }

 private:
  // Bytes from the first block of channels to another.
  std::int64_t bigOffset(std::int64_t block) const { return offsetOf(block, v_.big, bigStaged()); }
  std::int64_t smallOffset(std::int64_t block) const { return offsetOf(block, v_.small, smallStaged()); }
  std::int64_t offsetOf(std::int64_t block, const TensorView& t, bool staged) const {
    const std::int64_t channel = block * lanes_.perBlock * t.channels;
    return staged ? channel * 4 : t.channelOffset(channel);
  }
  std::int64_t accumulatorBlock() const { return v_.taps() * lanes_.tapBytes(); }

  bool bigStaged() const { return bigIsCell_ ? plan_.packA : plan_.packB; }
  bool smallStaged() const { return bigIsCell_ ? plan_.packB : plan_.packA; }

  void contractPhase() {
    b_.beginPhase("contract");
    makePanels();
    // In a panel rows of W start at column 0; an unstaged big tensor is addressed from -pad.
    const std::int64_t origin =
        bigStaged() ? (v_.line ? 0 : -v_.pad.w * big_.w)
                    : -(v_.pad.d * v_.big.dStride + v_.pad.h * v_.big.hStride + v_.pad.w * v_.big.wStride);
    bigStream_ = b_.addStream("big", bigStaged() ? bigPanel_ : bigBuffer_, origin);
    smallStream_ = b_.addStream("small", smallStaged() ? smallPanel_ : smallBuffer_);
    const int c = b_.addStream("acc", scratch_);
    bigSource_ = bigStaged() ? b_.addStream("big_in", bigBuffer_) : bigStream_;
    bigSink_ = bigStaged() ? b_.addStream("big_panel", bigPanel_) : -1;
    smallSource_ = smallStaged() ? b_.addStream("small_in", smallBuffer_) : smallStream_;
    smallSink_ = smallStaged() ? b_.addStream("small_panel", smallPanel_) : -1;

    const int chunkAxis = addChunkAxis();
    const int splitAxis = b_.addDeal("split", chunkAxis, splits_);
    for (std::int64_t s = 0; s < splits_; ++s) b_.moveStep(splitAxis, s, c, s * splitBytes_);
    const int blocks = b_.addAxis("block", 2);
    for (std::int64_t i = 0; i < units_; ++i) {
      const std::int64_t block = i * width_;
      b_.addStep(blocks,
                 {{bigStream_, bigOffset(block)}, {smallStream_, smallOffset(block)}, {c, block * accumulatorBlock()}},
                 lanes_.classOfUnit(i, width_));
    }
    const int deal = addBlockDeal(blocks);
    const int kd = b_.addAxis("kd", static_cast<int>(v_.kernel.d));
    for (std::int64_t k = 0; k < v_.kernel.d; ++k)
      b_.addStep(kd, {{c, k * v_.kernel.h * v_.kernel.w * lanes_.tapBytes()}}, static_cast<int>(k));
    const std::vector<Range> tapsH = cut(v_.kernel.h, plan_.registerTapsH),
                             tapsW = cut(v_.kernel.w, plan_.registerTapsW),
                             channels = cut(lanes_.cellChannels, plan_.registerChannels);
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

    Call call{"contract", bigIsCell_ ? bigStream_ : smallStream_, bigIsCell_ ? smallStream_ : bigStream_,
              c,          {chunkAxis, tapAxis, kd, blocks},       {}};
    fillVariants(call, taps);
    std::vector<Node> body;
    if (bigStaged()) body.push_back(panelLoad(chunkAxis, deal, true));
    if (smallStaged()) body.push_back(panelLoad(chunkAxis, deal, false));
    body.push_back(nest({kd, tapAxis, blocks}, {callNode(std::move(call))}).front());
    Phase& phase = b_.phase();
    phase.body.push_back(loopNode(chunkAxis, std::move(body)));
    phase.parallelAxes = {splitAxis, deal};
    phase.workCycles = static_cast<double>(v_.batch) * static_cast<double>(v_.small.extent.volume() * v_.taps()) *
                       static_cast<double>(lanes_.blocks * lanes_.cellChannels) * 1.3;
  }

  int addChunkAxis() {
    const int axis = b_.addAxis("chunk", chunks_.classes);
    for (const PixelChunk& chunk : chunks_.chunks) {
      const Range* own[] = {&chunk.d, &chunk.h, &chunk.w};
      std::int64_t big = chunk.n.lo * v_.big.nStride, small = chunk.n.lo * v_.small.nStride, source = big, sink = 0;
      for (int i = 0; i < 3; ++i) {
        const BigRange range = rangeOn(i, *own[i]);
        big += own[i]->lo * v_.stride[i] * v_.big.strideOf(i);
        small += own[i]->lo * v_.small.strideOf(i);
        source += range.clipped.lo * v_.big.strideOf(i);
        if (i < 2 || v_.line) sink += (range.clipped.lo - range.origin) * (i == 0 ? big_.d : i == 1 ? big_.h : big_.w);
      }
      std::vector<std::pair<int, std::int64_t>> d{{bigSource_, bigStaged() ? source : big}, {smallSource_, small}};
      if (bigStaged()) d.emplace_back(bigSink_, sink);
      b_.addStep(axis, d, chunk.cls);
    }
    return axis;
  }

  BigRange rangeOn(int i, const Range& own) const {
    return bigRange(own, v_.kernel[i], v_.stride[i], v_.dilation[i], v_.pad[i], v_.big.extent[i]);
  }

  std::int64_t partBegin(std::int64_t part) const { return units_ * part / blockParts_ * width_; }  // a block

  // A part's panels hold only its own channels.
  int addBlockDeal(int blocks) {
    const int deal = b_.addDeal("channel_part", blocks, blockParts_);
    if (blockParts_ == 1)
      b_.phase().axes[static_cast<std::size_t>(blocks)].windowAxis = -1;  // nothing dealt: the kernel may loop
    for (std::int64_t p = 0; p < blockParts_; ++p) {
      const std::int64_t cells = partBegin(p) * lanes_.perBlock;
      for (const bool big : {true, false}) {
        const TensorView& t = big ? v_.big : v_.small;
        if (!(big ? bigStaged() : smallStaged())) continue;
        b_.moveStep(deal, p, big ? bigStream_ : smallStream_, -cells * t.channels * 4);
        b_.moveStep(deal, p, big ? bigSource_ : smallSource_, cells * t.groupStride());
      }
    }
    return deal;
  }

  static std::vector<Range> cut(std::int64_t count, std::int64_t most) {
    std::vector<Range> blocks;
    for (std::int64_t k = 0; k < count; k += most) blocks.push_back({k, std::min(k + most, count)});
    return blocks;
  }

  const PixelChunk& chunkOf(int cls) const {
    return chunks_.chunks[static_cast<std::size_t>(chunks_.representative[static_cast<std::size_t>(cls)])];
  }

  // Blocks with as many taps and the same channels share a kernel: most of their sections are the same.
  using BlockSize = std::array<std::int64_t, 4>;
  static BlockSize sizeOf(const TapBlock& taps) {
    return {taps.h.length(), taps.w.length(), taps.channels.lo, taps.channels.length()};
  }

  void fillVariants(Call& call, const std::vector<TapBlock>& blocks) {
    std::map<BlockSize, std::vector<PixelSection>> sections;
    std::vector<std::vector<PixelRun>> runs;  // by class, then block
    for (int cls = 0; cls < chunks_.classes; ++cls) {
      for (const TapBlock& taps : blocks)
        runs.push_back(makePixelRuns(v_, chunkOf(cls), taps, plan_.unroll, kUnrolledUses, sections[sizeOf(taps)]));
    }
    std::map<BlockSize, std::array<int, 2>> kernels;  // of both channel block classes
    for (const TapBlock& taps : blocks) {
      std::array<int, 2>& made = kernels.try_emplace(sizeOf(taps), std::array<int, 2>{-1, -1}).first->second;
      for (int tail = 0; tail < 2; ++tail) {
        int& kernel = made[static_cast<std::size_t>(tail)];
        const WeightCellUnit unit{lanes_.cellsOfUnit(tail, width_), bigOffset(1), smallOffset(1), accumulatorBlock()};
        if (kernel < 0 && !unit.cells.empty())
          kernel = b_.addKernel(
              weightCellContract(v_, sections[sizeOf(taps)], taps, lanes_, unit, bigIsCell_, big_, small_));
      }
    }
    auto run = runs.begin();
    for (int cls = 0; cls < chunks_.classes; ++cls) {
      for (const TapBlock& taps : blocks)
        addVariants(call, chunkOf(cls), taps, *run++, sections[sizeOf(taps)].size(), kernels[sizeOf(taps)]);
    }
  }

  // For every tap along D, both channel block classes.
  void addVariants(Call& call, const PixelChunk& chunk, const TapBlock& taps, const std::vector<PixelRun>& runs,
                   std::size_t sections, const std::array<int, 2>& kernels) {
    for (std::int64_t kd = 0; kd < v_.kernel.d; ++kd) {
      SegmentList list(sections);
      const Range depths = validPixels(chunk.d, kd, v_.stride.d, v_.dilation.d, v_.pad.d, v_.big.extent.d);
      for (std::int64_t n = 0; n < chunk.n.length(); ++n) {
        for (std::int64_t d = depths.lo; d < depths.hi; ++d) {
          for (const PixelRun& run : runs) list[run.section].push_back(segmentOf(n, d, kd, run, taps));
        }
      }
      const bool idle = runs.empty() || depths.length() == 0;
      const int index = b_.addList(std::move(list));
      for (int kernel : kernels) {
        call.variants.push_back(kernel < 0 || (idle && !chunk.first) ? Variant{}
                                                                     : Variant{kernel, index, !chunk.first});
      }
    }
  }

  Segment segmentOf(std::int64_t n, std::int64_t d, std::int64_t kd, const PixelRun& run, const TapBlock& taps) const {
    const std::int64_t small = n * small_.n + d * small_.d + run.row * small_.h + run.column * small_.w;
    const std::int64_t big = n * big_.n + (d * v_.stride.d + kd * v_.dilation.d) * big_.d +
                             (run.row * v_.stride.h + taps.h.lo * v_.dilation.h) * big_.h +
                             (run.column * v_.stride.w + taps.w.lo * v_.dilation.w) * big_.w;
    return bigIsCell_ ? Segment{big, small, run.outer} : Segment{small, big, run.outer};
  }

  void makePanels() {
    const auto inPlace = [](const TensorView& t) {
      return CellPitches{t.nStride, t.dStride, t.hStride, t.wStride, elementOf(t.dtype)};
    };
    big_ = inPlace(v_.big);
    small_ = inPlace(v_.small);
    std::int64_t depths = 1, rows = 1, columns = 1;
    images_ = 1;
    for (const PixelChunk& c : chunks_.chunks) {
      images_ = std::max(images_, c.n.length());
      depths = std::max(depths, c.d.length());
      rows = std::max(rows, c.h.length());
      columns = std::max(columns, c.w.length());
    }
    const auto span = [&](int axis, std::int64_t length) {
      return (length - 1) * v_.stride[axis] + (v_.kernel[axis] - 1) * v_.dilation[axis] + 1;
    };
    const auto pitches = [](std::int64_t pixelBytes, std::int64_t w, std::int64_t h, std::int64_t d) {
      CellPitches p;
      p.w = panelPitch(pixelBytes);
      p.h = p.w * w;
      p.d = p.h * h;
      p.n = p.d * d;
      return p;
    };
    const std::int64_t partCells = (units_ + blockParts_ - 1) / blockParts_ * width_ * lanes_.perBlock;
    bigPlanes_ = span(0, depths);
    smallPlanes_ = depths;
    if (bigStaged()) {
      big_ = pitches(partCells * v_.big.channels * 4, v_.line ? span(2, columns) : v_.big.extent.w,
                     v_.line ? 1 : span(1, rows), bigPlanes_);
      bigPanel_ = b_.addBuffer("panel_big", BufferRole::kPrivate, big_.n * images_);
    }
    if (smallStaged()) {
      small_ = pitches(partCells * v_.small.channels * 4, columns, rows, depths);
      smallPanel_ = b_.addBuffer("panel_small", BufferRole::kPrivate, small_.n * images_);
    }
  }

  // Moves the chunk's part of a tensor into its panel, plane by plane: [channel][pixel] -> [pixel][channel].
  Node panelLoad(int chunkAxis, int deal, bool big) {
    const TensorView& t = big ? v_.big : v_.small;
    const CellPitches& p = big ? big_ : small_;
    const int source = big ? bigSource_ : smallSource_, sink = big ? bigSink_ : smallSink_;
    const std::int64_t planes = big ? bigPlanes_ : smallPlanes_;
    const int image = b_.addAxis(big ? "n_big" : "n_small", static_cast<int>(images_));
    for (std::int64_t i = 0; i < images_; ++i)
      b_.addStep(image, {{source, i * t.nStride}, {sink, i * p.n}}, static_cast<int>(i));
    const int plane = b_.addAxis(big ? "d_big" : "d_small", static_cast<int>(planes));
    for (std::int64_t i = 0; i < planes; ++i)
      b_.addStep(plane, {{source, i * t.dStride}, {sink, i * p.d}}, static_cast<int>(i));
    Call call{big ? "load_big" : "load_small", source, -1, sink, {chunkAxis, image, plane, deal}, {}};
    for (int cls = 0; cls < chunks_.classes; ++cls) {
      const PixelChunk& c = chunkOf(cls);
      const auto extent = [&](int i, const Range& own) {
        return big ? rangeOn(i, own).clipped.length() : own.length();
      };
      const std::int64_t pixels = extent(1, c.h) * (v_.line ? extent(2, c.w) : big ? t.extent.w : c.w.length());
      for (std::int64_t i = 0; i < images_; ++i) {
        for (std::int64_t j = 0; j < planes; ++j) {
          for (std::int64_t part = 0; part < blockParts_; ++part) {
            const std::int64_t cells =
                std::min(partBegin(part + 1) * lanes_.perBlock, lanes_.groups) - partBegin(part) * lanes_.perBlock;
            Variant variant;
            if (i < c.n.length() && j < extent(0, c.d) && pixels > 0)
              variant.kernel = b_.addKernel(panelMove(t, p.w, pixels, cells * t.channels));
            call.variants.push_back(variant);
          }
        }
      }
    }
    return loopNode(image, {loopNode(plane, {callNode(std::move(call))})});
  }

  Move panelMove(const TensorView& t, std::int64_t pitch, std::int64_t pixels, std::int64_t channels) const {
    return loadMove(t, ChannelPiece{0, 0, channels, 0}, PanelMove{lanes_.lanes, pixels, pitch});
  }

  const GroupedWeightsPlan& plan_;
  ProgramBuilder b_;
  const ConvView v_;
  const bool bigIsCell_;  ///< the big tensor is the permuted one
  const CellLanes lanes_;
  const std::int64_t width_ = plan_.registerVectors;  // blocks of channels that a kernel works on side by side
  const std::int64_t units_ = lanes_.units(width_);
  ChunkList chunks_;
  CellPitches big_, small_;
  std::int64_t splits_ = 1, splitBytes_ = 0, blockParts_ = 1, images_ = 1, bigPlanes_ = 1, smallPlanes_ = 1;
  int bigBuffer_ = -1, smallBuffer_ = -1, scratch_ = -1, bigPanel_ = -1, smallPanel_ = -1;
  int bigStream_ = -1, smallStream_ = -1, bigSource_ = -1, bigSink_ = -1, smallSource_ = -1, smallSink_ = -1;
};

}  // namespace

Result<TileProgram> lowerWeightsCells(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  return Lowering(problem, plan.as<GroupedWeightsPlan>(), machine).run();
}

}  // namespace cubejit
