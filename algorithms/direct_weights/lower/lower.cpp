// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a dense or grouped weight gradient: a tile of (channels x taps) rows by a few vectors of channels
// stays in registers while the reduction runs over pixels.
//   dw[s][b][k] = sum over images and pixels o:  small[n][o][s] * big[n][o*stride + k*dil - pad][b]
// kChannels: lanes are channels of the big tensor, rows are channels of the small one (broadcast), taps side by side.
// kTaps:     lanes are (taps along W x channels) of the big tensor, which lie side by side; rows are channels of the small one.
// kSwapped:  lanes are channels of the small tensor, rows are (taps x channels of the big one).
// Leaves pixel ranges to pixel_blocks, the steps of a kernel to weights_sections, and the way out of the accumulators to weights_unpack.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "algorithms/direct_weights/direct_stores.h"
#include "algorithms/direct_weights/direct_weights.h"
#include "algorithms/direct_weights/lower/accumulator_sets.h"
#include "algorithms/direct_weights/lower/column_patterns.h"
#include "algorithms/direct_weights/lower/weight_tiles.h"
#include "algorithms/direct_weights/lower/weights_sections.h"
#include "algorithms/direct_weights/weight_view.h"
#include "algorithms/kit/lower/chained_call.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/pixel_blocks.h"
#include "algorithms/kit/lower/pixel_panels.h"
#include "algorithms/kit/lower/weights_unpack.h"
#include "algorithms/kit/panel_pitch.h"
#include "algorithms/kit/work.h"
#include "codegen/tile/copies.h"

namespace cubejit {
namespace {

class DirectWeightsLowering {
 public:
  DirectWeightsLowering(const Problem& problem, const DirectWeightsPlan& plan, const Machine& machine)
      : plan_(plan),
        machine_(machine),
        lanes_(machine.isa.lanes()),
        b_(problemLabel(problem, Pass::kDw)),
        view_(weightView(problem, plan.dotProducts, plan.matrixUnit)),
        operandsTransposed_(plan.vectorize == WeightVectors::kTransposed),
        kernelWidth_(plan.vectorize == WeightVectors::kKernelWidth) {
    lane_ = operandsTransposed_ ? &v_.small : &v_.big;
    row_ = operandsTransposed_ ? &v_.big : &v_.small;
    width_ = kernelWidth_ ? lane_->channels : plan.registerVectors * lanes_;
    laneBlocks_ = (lane_->channels + width_ - 1) / width_;
    rowBlocks_ = (row_->channels + plan.registerRows - 1) / plan.registerRows;
    const std::int64_t tapsOfBlock = kernelWidth_ ? v_.kernel.w : plan.registerTaps;
    tapBlocks_ = cutInto(v_.kernel.w, tapsOfBlock);
    const std::int64_t splits = std::max<std::int64_t>(1, plan.reductionParts);
    pixels_ = makePixelBlocks(v_, {view_.blockImages(plan.reduction.n), plan.reduction.d, plan.reduction.h}, splits);
    // Lanes that are read where they lie are widened, or paired, as they are loaded.
    if (!plan.packsVectors()) vectorElement_ = pairs_ == PixelPairs::kNone ? elementOf(lane_->dtype) : Element::kPair;
    out_.groups = v_.groups;
    out_.laneBlocks = laneBlocks_;
    out_.rows = row_->channels;
    out_.taps = v_.taps();
    out_.width = width_;
    out_.lanes = lanes_;
    out_.laneChannels = lane_->channels;
    out_.operandsTransposed = operandsTransposed_;
    out_.kernel = v_.kernel;
    out_.dw = weightOrder(problem, TensorId::kDw);
    out_.splits =
        std::min<std::int64_t>(splits, std::max<std::int64_t>(1, static_cast<std::int64_t>(pixels_.blocks.size())));
    private_ = plan.bufferC;
    atOnce_ = private_ && pixels_.blocks.size() == 1 && !plan.packsOnFirstUse();
    rowPart_ = ChannelPart{std::min(plan.rowParts, rowBlocks_), rowBlocks_, plan.registerRows, row_->channels,
                           std::max<std::int64_t>(1, row_->c0)};
    lanePart_ = ChannelPart{std::min(plan.vectorParts, laneBlocks_), laneBlocks_, width_, lane_->channels,
                            std::max<std::int64_t>(1, lane_->c0)};
    out_.dwElement = elementOf(formatOf(problem, TensorId::kDw).dtype);
    if (plan.matrixUnit) tiles_.emplace(v_, pixels_, bigPart(), smallPart(), lanes_);
    direct_ = storesSumsDirectly(view_.asked, plan, formatOf(problem, TensorId::kDw).dtype, machine.isa);
  }

  TileProgram run() {
    const int x = b_.addTensor(TensorId::kX, v_.bigIsX ? v_.big.span : v_.small.span);
    const int dy = b_.addTensor(TensorId::kDy, v_.bigIsX ? v_.small.span : v_.big.span);
    big_ = Operand(v_.big, v_.bigIsX ? x : dy);
    small_ = Operand(v_.small, v_.bigIsX ? dy : x);
    out_.dwBuffer = b_.addTensor(TensorId::kDw, out_.dw.bytes);
    if (pixels_.blocks.empty()) {
      addZeroPhase(b_, out_.dwBuffer, out_.dw.bytes, lanes_);
      return b_.finish();
    }
    if (!direct_ && !private_)
      out_.scratchBuffer = b_.addBuffer("dw_acc", Buffer::Use::kShared, out_.splits * scratchBytes(out_));
    multiplyPhase();
    if (!direct_ && !private_) addWeightsUnpack(b_, out_);
    return b_.finish();
  }

 private:
  void multiplyPhase() {
    b_.beginPhase("multiply");
    makePanels();
    big_.addStream(b_, "big");
    small_.addStream(b_, "small");
    const Operand &rowsFrom = operandsTransposed_ ? big_ : small_, &vectorsFrom = operandsTransposed_ ? small_ : big_;
    const std::int64_t rowParts = rowPart_.parts, laneParts = lanePart_.parts;
    const std::int64_t rowBytes = direct_ ? out_.laneChannels * sumBytes() : out_.taps * width_ * 4;
    std::int64_t blockBytes = plan_.registerRows * rowBytes;
    std::int64_t laneBytes = direct_ ? width_ * sumBytes() : out_.rows * rowBytes;
    if (private_) {
      laneBytes = (rowBlocks_ + rowParts - 1) / rowParts * blockBytes;
      const std::int64_t bytes = atOnce_ ? blockBytes : (laneBlocks_ + laneParts - 1) / laneParts * laneBytes;
      out_.scratchBuffer = b_.addBuffer("panel_dw", Buffer::Use::kPrivate, bytes);
      if (atOnce_) blockBytes = laneBytes = 0;  // one block after another takes the same place
    }
    const int c = b_.addStream("acc", direct_ ? out_.dwBuffer : out_.scratchBuffer);
    const int dw = private_ ? b_.addStream("dw", out_.dwBuffer) : -1;
    big_.addTensorStream(b_, "big_in");
    big_.addPanelStream(b_, "big_panel");
    small_.addTensorStream(b_, "small_in");
    small_.addPanelStream(b_, "small_panel");

    const bool ownDw = direct_ || private_;
    const int groups =
        b_.addUniformAxis("g", v_.groups,
                          {{direct_ || !private_ ? c : dw, ownDw ? out_.dw.group : groupScratchBytes(out_)},
                           {big_.tensor, v_.big.groupStride()},
                           {small_.tensor, v_.small.groupStride()}});
    const auto [blockAxis, splitAxis] =
        addReductionAxes(b_, v_, pixels_, big_, small_, c, out_.splits, scratchBytes(out_));
    const int rows = b_.addAxis("rows", 2);
    for (std::int64_t i = 0; i < rowBlocks_; ++i) {
      b_.addStep(rows, {{rowsFrom.stream, rowsFrom.pitch.c.to(i * plan_.registerRows)}, {c, i * blockBytes}},
                 (i + 1) * plan_.registerRows <= out_.rows ? 0 : 1);
    }
    const int lanes = b_.addAxis("lanes", 2);
    for (std::int64_t i = 0; i < laneBlocks_; ++i) {
      b_.addStep(lanes, {{vectorsFrom.stream, vectorsFrom.pitch.c.to(i * width_)}, {c, i * laneBytes}},
                 (i + 1) * width_ <= out_.laneChannels ? 0 : 1);
    }
    const int rowPartition = b_.addPartition("row_part", rows, rowParts);
    const int lanePartition = b_.addPartition("lane_part", lanes, laneParts);
    if (private_ && !atOnce_) {
      // Private accumulators hold only the part's.
      for (std::int64_t i = 0; i < rowParts; ++i) b_.moveStep(rowPartition, i, c, -rowPart_.begin(i) * rowBytes);
      for (std::int64_t i = 0; i < laneParts; ++i)
        b_.moveStep(lanePartition, i, c, -lanePart_.begin(i) * (laneBytes / width_));
    }
    const int bigPartition = operandsTransposed_ ? rowPartition : lanePartition,
              smallPartition = operandsTransposed_ ? lanePartition : rowPartition;
    startAtPart(b_, bigPartition, bigPart(), big_);
    startAtPart(b_, smallPartition, smallPart(), small_);
    const int kd = tapAxis("kd", v_.kernel.d, v_.kernel.h * v_.kernel.w, c);
    const int kh = tapAxis("kh", v_.kernel.h, v_.kernel.w, c);
    const int kw = b_.addAxis("kw", static_cast<int>(tapBlocks_.size()));
    for (std::size_t i = 0; i < tapBlocks_.size(); ++i)
      b_.addStep(kw, {{c, tapBlocks_[i].lo * width_ * 4}}, static_cast<int>(i));

    if (!tiles_) collectPatterns();
    std::vector<Node> inner;
    if (plan_.packsOnFirstUse()) {
      inner = firstUseNodes(rowsFrom.stream, vectorsFrom.stream, c, {blockAxis, kd, kh, kw, lanes}, rows);
    } else if (tiles_) {
      inner = tileNodes(rowsFrom.stream, vectorsFrom.stream, c, {blockAxis, kd, kh, kw, lanes, rows});
    } else {
      Call call{"multiply", rowsFrom.stream, vectorsFrom.stream, c, {blockAxis, kd, kh, kw, lanes, rows}, {}};
      fillVariants(call, VectorSource::kAsPlanned);
      inner.push_back(chainedCall(b_, std::move(call)));
    }
    const bool channelsOuter = plan_.order == IterateOrder::kChannelsOuter;
    if (atOnce_) {
      inner = nest({kd, kh, kw}, std::move(inner));
      for (Node& node : unpackBlock(b_, out_, plan_.registerRows, UnpackStreams{c, dw}, rows, lanes))
        inner.push_back(std::move(node));
      inner = channelsOuter ? nest({rows, lanes}, std::move(inner)) : nest({lanes, rows}, std::move(inner));
    } else if (plan_.packsOnFirstUse()) {
      inner = nest({lanes, kd, kh, kw}, std::move(inner));
    } else {
      inner = channelsOuter ? nest({rows, lanes, kd, kh, kw}, std::move(inner))
                            : nest({lanes, kd, kh, kw, rows}, std::move(inner));
    }
    std::vector<Node> blockBody;
    if (tiles_) blockBody = tiles_->load(b_, big_, small_, blockAxis, bigPartition, smallPartition);
    if (!tiles_ && big_.packed())
      blockBody.push_back(packPixels(b_, v_, pixels_, packed(true), blockAxis, bigPartition));
    if (!tiles_ && small_.packed())
      blockBody.push_back(packPixels(b_, v_, pixels_, packed(false), blockAxis, smallPartition));
    for (Node& node : inner) blockBody.push_back(std::move(node));
    Phase& phase = b_.phase();
    phase.body.push_back(loopNode(blockAxis, std::move(blockBody)));
    if (private_ && !atOnce_)
      phase.body.push_back(unpackTask(b_, out_, plan_.registerRows, UnpackStreams{c, dw}, rows, lanes));
    phase.parallelAxes = {groups, splitAxis, lanePartition, rowPartition};
    phase.workCycles = multiplyAddVectors(v_, lanes_);
  }

  // A sum where the kernel stores it.
  std::int64_t sumBytes() const { return direct_ ? elementBytes(out_.dwElement) : 4; }

  PackedPixels packed(bool big) const {
    PackedPixels p{big, big ? big_ : small_, panelExtent(v_, pixels_, big), big ? bigPart() : smallPart(), {}};
    const std::int64_t spacing = wordSpacing(v_, pairs_, big);
    p.move = PanelMove{lanes_, 0, p.operand.pitch.w * spacing};
    if (pairs_ == PixelPairs::kNone) return p;
    p.move.elements = PanelElements::kPixelPairs;
    p.move.pairBytes = pairBytes(v_, pairs_, big);
    // Behind the last columns the tensor may end.
    p.move.singles = pairs_ == PixelPairs::kImages ? 0 : pairColumns(v_, big);
    p.move.wordSpacing = spacing;
    return p;
  }
  const ChannelPart& bigPart() const { return operandsTransposed_ ? rowPart_ : lanePart_; }
  const ChannelPart& smallPart() const { return operandsTransposed_ ? lanePart_ : rowPart_; }

  int tapAxis(const char* name, std::int64_t count, std::int64_t tapsEach, int c) {
    const int axis = b_.addAxis(name, static_cast<int>(count));
    for (std::int64_t k = 0; k < count; ++k) b_.addStep(axis, {{c, k * tapsEach * width_ * 4}}, static_cast<int>(k));
    return axis;
  }

  // Between pixels of a panel. Scalars, and vectors along the kernel, follow each other; vectors begin where a line does.
  std::int64_t pixelPitch(bool big) const {
    const std::int64_t bytes = (big ? bigPart() : smallPart()).mostLoaded() * 4;
    // A panel of pairs has a word for every so many pixels; pitches count pixels.
    const std::int64_t spacing = wordSpacing(v_, pairs_, big);
    const bool scalars = big == operandsTransposed_ && bytes < 64 && spacing == 1;
    return scalars || (kernelWidth_ && big) ? bytes : panelPitch(bytes) / spacing;
  }

  void makePanels() {
    if (tiles_) {
      tiles_->pack(b_, big_, small_);
      return;
    }
    for (const bool big : {true, false}) {
      if (!(big == operandsTransposed_ ? plan_.packA : plan_.packsVectors())) continue;
      const PanelExtent extent = panelExtent(v_, pixels_, big);
      const Pitches pitches = panelPitches(extent, pixelPitch(big), wordSpacing(v_, pairs_, big));
      (big ? big_ : small_).pack(b_, big ? "panel_big" : "panel_small", pitches, pitches.n * extent.images);
    }
  }

  /// Where a microkernel finds its lanes.
  enum class VectorSource : std::uint8_t {
    kAsPlanned,  ///< in the tensor, or in the panel that was filled before
    kCopied,     ///< in the tensor; they are copied to a panel
    kCopies      ///< in that panel
  };

  // The first block of rows of each part copies its lanes, and the others read the copies.
  std::vector<Node> firstUseNodes(int a, int lane, int c, std::vector<int> classAxes, int rows) {
    const int copies = b_.addBuffer("panel_lanes", Buffer::Use::kPrivate, 0);
    const int panel = b_.addStream("lanes_panel", copies);
    const int first = b_.addPartOfWindows("first_rows", rows, 0, 1),
              others = b_.addPartOfWindows("other_rows", rows, 1, 0);
    classAxes.push_back(first);
    Call touch{"multiply_first", a, lane, c, classAxes, {}, panel};
    b_.bufferAt(copies).bytes = fillVariants(touch, VectorSource::kCopied);
    classAxes.back() = others;
    Call again{"multiply", a, panel, c, std::move(classAxes), {}};
    fillVariants(again, VectorSource::kCopies);
    return {loopNode(first, {callNode(std::move(touch))}), loopNode(others, {callNode(std::move(again))})};
  }

  // Products of a part's first reduction block are its sums; those of the others go to a panel, and are added.
  std::vector<Node> tileNodes(int a, int b, int c, const std::vector<int>& classAxes) {
    const std::int64_t rowBytes = out_.taps * width_ * 4;
    Call first{"multiply", a, b, c, classAxes, {}}, more = first, add = first;
    more.name = "multiply_more";
    add.name = "add";
    if (std::any_of(pixels_.blocks.begin(), pixels_.blocks.end(), [](const PixelBlock& block) { return !block.first; }))
      more.c = add.a =
          b_.addStream("sums", b_.addBuffer("panel_sums", Buffer::Use::kPrivate, plan_.registerRows * width_ * 4));
    add.b = -1;
    forEachTile([&](int cls, const Dhw& tap, std::int64_t rows, std::int64_t width, int /*laneTail*/, int /*rowTail*/) {
      const bool isFirst = pixels_.ofClass(cls).first;
      SegmentList segments = rows > 0 && width > 0 ? tiles_->segments(cls, tap) : SegmentList(1);
      const bool none = rows == 0 || width == 0 || (!isFirst && segments.front().empty());
      Variant product, sum;
      if (!none) {
        product.kernel = b_.addKernel(tiles_->product(cls, rows, width, isFirst ? rowBytes : width_ * 4));
        product.list = b_.addList(std::move(segments));
        sum.kernel = b_.addKernel(Accumulate{.lanes = lanes_,
                                             .rows = rows,
                                             .cols = roundUp(width, lanes_),
                                             .srcPitch = width_ * 4,
                                             .dstPitch = rowBytes,
                                             .label = "add"});
      }
      first.variants.push_back(isFirst ? product : Variant{});
      more.variants.push_back(isFirst ? Variant{} : product);
      add.variants.push_back(isFirst ? Variant{} : sum);
    });
    std::vector<Node> nodes{callNode(std::move(first))};
    if (add.a == a) return nodes;
    nodes.push_back(callNode(std::move(more)));
    nodes.push_back(callNode(std::move(add)));
    return nodes;
  }

  // Calls visit(class, tap, rows, width, lane tail, row tail) for the classes of a call's axes, in their order; rows or width are 0 where there are none.
  template <class Visit>
  void forEachTile(Visit visit) const {
    const auto tail = [](std::int64_t all, std::int64_t each, int last) {
      return last ? all % each : std::min(each, all / each * each);
    };
    for (int cls = 0; cls < pixels_.classes; ++cls)
      for (std::int64_t kd = 0; kd < v_.kernel.d; ++kd)
        for (std::int64_t kh = 0; kh < v_.kernel.h; ++kh)
          for (std::size_t t = 0; t < tapBlocks_.size(); ++t)
            for (int laneTail = 0; laneTail < 2; ++laneTail)
              for (int rowTail = 0; rowTail < 2; ++rowTail)
                visit(cls, Dhw{kd, kh, static_cast<std::int64_t>(t)}, tail(out_.rows, plan_.registerRows, rowTail),
                      tail(out_.laneChannels, width_, laneTail), laneTail, rowTail);
  }

  void collectPatterns() {
    for (int cls = 0; cls < pixels_.classes; ++cls) {
      for (const Range& taps : tapBlocks_) {
        std::vector<ColumnPattern>& known = patterns_[taps.length()];
        for (const ColumnPatternUse& use : columnPatterns(v_, plan_, pairs_, pixels_.ofClass(cls), taps)) {
          if (std::find(known.begin(), known.end(), use.pattern) == known.end()) known.push_back(use.pattern);
        }
      }
    }
  }

  // For a call whose last class axis is one of blocks of rows; returns the most bytes that a variant copies.
  std::int64_t fillVariants(Call& call, VectorSource source) {
    std::int64_t copied = 0;
    const std::array<bool, 2> met{b_.occurs(call.classAxes.back(), 0), b_.occurs(call.classAxes.back(), 1)};
    int list = -1;
    forEachTile([&](int cls, const Dhw& tap, std::int64_t rows, std::int64_t width, int laneTail, int rowTail) {
      const auto t = static_cast<std::size_t>(tap.w);
      if (laneTail == 0 && rowTail == 0) list = listFor(pixels_.ofClass(cls), tap.d, tap.h, t);
      const bool first = pixels_.ofClass(cls).first;
      Variant variant;
      if (width > 0 && rows > 0 && met[static_cast<std::size_t>(rowTail)] && (first || list >= 0)) {
        variant.kernel = kernelFor(tapBlocks_[t].length(), rows, width, source);
        variant.list = list >= 0 ? list : b_.addList(SegmentList(patterns_.at(tapBlocks_[t].length()).size()));
        if (source != VectorSource::kAsPlanned) {
          const auto& contract = std::get<Contract>(b_.kernelAt(variant.kernel));
          copied = std::max(copied, copiedBytes(contract, b_.listAt(variant.list)));
          if (source == VectorSource::kCopies)
            variant.list = b_.addList(readingCopies(contract, b_.listAt(variant.list)));
        }
        variant.accumulate = !first;
      }
      call.variants.push_back(variant);
    });
    return copied;
  }

  // Segments of one (reduction block, kd, kh, tap block); -1 if no pixel takes part.
  int listFor(const PixelBlock& block, std::int64_t kd, std::int64_t kh, std::size_t t) {
    const Range depths = usedPixels(v_, 0, block, kd);
    const Range rows = usedPixels(v_, 1, block, kh);
    const std::vector<ColumnPatternUse> uses = columnPatterns(v_, plan_, pairs_, block, tapBlocks_[t]);
    if (depths.length() == 0 || rows.length() == 0 || uses.empty()) return -1;
    const std::vector<ColumnPattern>& patterns = patterns_.at(tapBlocks_[t].length());
    SegmentList list(patterns.size());
    for (std::int64_t n = 0; n < block.n.length(); ++n) {
      for (std::int64_t d = depths.lo; d < depths.hi; ++d) {
        for (const ColumnPatternUse& use : uses) {
          auto& section = list[static_cast<std::size_t>(std::find(patterns.begin(), patterns.end(), use.pattern) -
                                                        patterns.begin())];
          const std::int64_t end = use.pattern.alongRows ? rows.lo + 1 : rows.hi;
          for (std::int64_t h = rows.lo; h < end; ++h) {
            const std::int64_t small =
                n * small_.pitch.n + d * small_.pitch.d + h * small_.pitch.h + use.start * small_.pitch.w;
            const std::int64_t big = n * big_.pitch.n + (d * v_.stride.d + kd * v_.dilation.d) * big_.pitch.d +
                                     (h * v_.stride.h + kh * v_.dilation.h) * big_.pitch.h +
                                     (use.start * v_.stride.w + tapBlocks_[t].lo * v_.dilation.w) * big_.pitch.w;
            const std::int64_t outer = use.pattern.alongRows ? rows.length() : use.outer;
            section.push_back(operandsTransposed_ ? Segment{big, small, outer} : Segment{small, big, outer});
          }
        }
      }
    }
    return b_.addList(std::move(list));
  }

  // One for all tap blocks of a length: most of their sections are the same, and they run one after another.
  int kernelFor(std::int64_t taps, std::int64_t rows, std::int64_t width, VectorSource source) {
    for (const KernelKey& k : kernels_) {
      if (k.taps == taps && k.rows == rows && k.width == width && k.source == source) return k.kernel;
    }
    Contract contract;
    contract.lanes = lanes_;
    contract.products = plan_.dotProducts ? Products::kPairs : Products::kF32;
    contract.vectorsB = vectorElement_;
    if (vectorElement_ == Element::kPair) contract.pairPitchB = pairBytes(v_, pairs_, !operandsTransposed_);
    const TileOfSums tile{rows, taps, width, lanes_, vectorElement_, kernelWidth_};
    const std::int64_t vectors = tile.vectors();
    contract.label = "dw_" + std::to_string(rows) + "x" + std::to_string(taps) + (kernelWidth_ ? "j" : "t") +
                     std::to_string(vectors);
    const std::int64_t rowBytes = direct_ ? out_.laneChannels * sumBytes() : out_.taps * width_ * 4;
    if (direct_) contract.result = out_.dwElement;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t tap = 0; tap < tile.tapsApart(); ++tap) {
        for (std::int64_t vec = 0; vec < vectors; ++vec) {
          contract.accumulators.push_back(
              Accumulator{static_cast<std::int32_t>(r * rowBytes + tap * width_ * 4 + vec * lanes_ * sumBytes()),
                          direct_ || kernelWidth_ ? tile.lanesOf(vec) : LaneRange{}});
        }
      }
    }
    for (const ColumnPattern& pattern : patterns_.at(taps))
      contract.sections.push_back(
          weightSection(v_, {big_.pitch, small_.pitch, operandsTransposed_, pairs_}, pattern, tile));
    contract.prefetchResults = direct_ && plan_.prefetchResults;
    contract.addsToC = true;
    contract.copiesB = source == VectorSource::kCopied;
    if (contract.copiesB) contract.label.text += "_copy";
    if (source == VectorSource::kCopies) contract = readingCopies(contract);
    contract.sets = accumulatorSets(contract, machine_);
    kernels_.push_back(KernelKey{taps, rows, width, source, b_.addKernel(std::move(contract))});
    return kernels_.back().kernel;
  }

  struct KernelKey {
    std::int64_t taps, rows, width;
    VectorSource source;
    int kernel;
  };

  const DirectWeightsPlan& plan_;
  const Machine& machine_;
  const int lanes_;
  ProgramBuilder b_;
  const WeightView view_;
  const PixelPairs pairs_ = view_.pairs;
  const ConvView& v_ = view_.words;
  const bool operandsTransposed_;
  const bool kernelWidth_;  ///< lanes are taps and channels together
  const TensorView *lane_ = nullptr, *row_ = nullptr;
  std::int64_t width_ = 16, laneBlocks_ = 1, rowBlocks_ = 1;
  std::vector<Range> tapBlocks_;
  PixelBlocks pixels_;
  ChannelPart rowPart_, lanePart_;
  Element vectorElement_ = Element::kF32;  ///< of lanes where the kernel reads them
  bool direct_ = false;                    ///< accumulators are rows of dw itself
  bool private_ = false;                   ///< accumulators are a panel of the task, unpacked when its sum is complete
  bool atOnce_ = false;  ///< a block's sum is complete after one pass: it is unpacked before the next block
  WeightsScratch out_;
  Operand big_, small_;
  std::optional<WeightTiles> tiles_;                             ///< if sums are in them
  std::map<std::int64_t, std::vector<ColumnPattern>> patterns_;  ///< by taps of a block
  std::vector<KernelKey> kernels_;
};

}  // namespace

Result<TileProgram> lowerDirectWeights(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                       const ResultOps& /*none*/) {
  return DirectWeightsLowering(problem, plan.as<DirectWeightsPlan>(), machine).run();
}

}  // namespace cubejit
