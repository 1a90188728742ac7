// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a data gradient with few channels a group: lanes are result channels of several whole groups, and a
// block of result pixels, rows by a run along W, stays in registers while the reduction runs lane by lane over taps and the group's channels.
//   dx[n][i][g,c] = sum over taps k, channels j of the group:  dy[n][(i + pad - k*dil)/stride][g,j] * w[g,j][c][k]
// Where the ISA multiplies pairs of bf16, j counts pairs.
// Leaves pairs of results and taps to group_axis, instructions to data_sections, lane order to groups, sizes to the plan.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "algorithms/grouped/grouped.h"
#include "algorithms/grouped/groups_of_vector.h"
#include "algorithms/grouped/lower/data_sections.h"
#include "algorithms/grouped/shape.h"
#include "algorithms/kit/lower/class_numbers.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/epilogue.h"
#include "algorithms/kit/lower/operand.h"
#include "algorithms/kit/lower/panel_moves.h"
#include "algorithms/kit/panel_pitch.h"

namespace cubejit {
namespace {

// The part of an axis that one task works on.
struct CachePart {
  Range blocks, results, operands;
  int cls = 0;
};

struct CacheParts {
  std::vector<CachePart> all;
  std::vector<CachePart> ofClass;  // the first one of each class: others differ in where they lie
};

class GroupedDataLowering {
 public:
  GroupedDataLowering(const Problem& problem, const GroupedDataPlan& plan, const Machine& machine, const ResultOps& ops)
      : plan_(plan),
        b_(problemLabel(problem, Pass::kDx)),
        epilogue_(b_, ops, machine.isa.lanes()),
        g_(makeDataGradient(problem, OneAxis::kOnW)),
        lanes_(makeGroupLanes(machine.isa.lanes(), g_.view.groups, g_.result, g_.operand, plan.dotProducts)),
        bufferC_(buffersResults(g_.result, machine.isa)) {}

  Result<TileProgram> run() {
    if (lanes_.perBlock == 0) {
      return Error{ErrorCode::kUnsupported, Stage::kTile,
                   noGroupFits(lanes_.lanes, lanes_.vectorChannels, lanes_.permutedChannels)};
    }
    dy_ = Operand(g_.operand, b_.addTensor(TensorId::kDy, g_.operand.span));
    const int weights = b_.addTensor(TensorId::kW, g_.weightBytes);
    dx_ = Operand(g_.result, b_.addTensor(TensorId::kDx, g_.result.bytes));
    epilogue_.begin(g_.result, g_.view.groups, dx_.buffer);
    packedBuffer_ = b_.addBuffer("packed_w", Buffer::Use::kShared, lanes_.blocks * blockBytes());
    GroupWeights order{g_.wGroup, g_.wReduced, g_.wResult, g_.view.kernel, g_.wTap};
    if (plan_.dotProducts) {
      order.permutedPitch *= 2;
      order.pairPitch = g_.wReduced;
    }
    addGroupPack(b_, lanes_, order, weights, packedBuffer_);
    multiplyPhase();
    epilogue_.end();
    return b_.finish();
  }

 private:
  std::int64_t blockBytes() const { return g_.taps * lanes_.tapBytes(); }

  void multiplyPhase() {
    for (int i = 0; i < 3; ++i)
      axis(i) = makeGroupAxis(g_.relation[static_cast<std::size_t>(i)], block_[static_cast<std::size_t>(i)]);
    // The kernel itself loops over whole columns of one block if channels are outside; panels are for cache blocks of rows.
    const bool paneled = plan_.packA || bufferC_;
    const bool columns = plan_.order == IterateOrder::kChannelsOuter && !paneled;
    const std::array<std::int64_t, 3> cache{plan_.cache.d, g_.view.oneAxis ? 1 : plan_.cache.h,
                                            g_.view.oneAxis ? plan_.cache.h : 0};
    for (int i = 0; i < 3; ++i) {
      const std::int64_t count = axis(i).blocks();
      const std::int64_t each = block_[static_cast<std::size_t>(i)];
      const std::int64_t size = (cache[static_cast<std::size_t>(i)] + each - 1) / each;
      const bool whole = size <= 0 || (columns && i > 0);
      cutForCache(i, whole ? 1 : std::max<std::int64_t>(1, (count + size - 1) / size));
    }
    blockParts_ = columns ? units_ : std::clamp<std::int64_t>(plan_.groupParts, 1, units_);

    b_.beginPhase("multiply");
    makePanels();
    dy_.addStream(b_, "a");
    const int w = b_.addStream("b", packedBuffer_);
    dx_.addStream(b_, "c");
    // Tensors first, then panels.
    dy_.addTensorStream(b_, "dy");
    dx_.addTensorStream(b_, "dx");
    dy_.addPanelStream(b_, "panel");
    dx_.addPanelStream(b_, "panel_out");
    epilogue_.enterPhase();

    const int images =
        b_.addUniformAxis("n", g_.view.batch, {{dy_.tensor, g_.operand.nStride}, {dx_.tensor, g_.result.nStride}});
    std::array<int, 3> local{};
    for (int i = 0; i < 3; ++i) local[static_cast<std::size_t>(i)] = addLocalAxis(i);
    for (int i = 0; i < 3; ++i)
      cacheAxis_[static_cast<std::size_t>(i)] = addCacheAxis(i, local[static_cast<std::size_t>(i)]);
    const int blocks = b_.addAxis("block", 2);
    for (std::int64_t i = 0; i < units_; ++i) {
      const std::int64_t block = i * width_;
      AxisDeltas step{
          {dy_.stream, offsetOf(block, dy_)}, {w, block * blockBytes()}, {dx_.stream, offsetOf(block, dx_)}};
      if (!bufferC_) step.push_back(epilogue_.toChannel(block * blockChannels()));
      b_.addStep(blocks, step, lanes_.classOfUnit(i, width_));
    }
    if (!columns && blockParts_ > 1) {
      blockPartition_ = b_.addPartition("channel_part", blocks, blockParts_);
      for (const Operand* o : {&dy_, &dx_}) startAtPart(b_, blockPartition_, partOf(*o), *o);
      for (std::int64_t i = 0; bufferC_ && i < blockParts_; ++i) {
        const auto [bias, bytes] = epilogue_.toChannel(partOf(dx_).loadBegin(i));
        b_.moveStep(blockPartition_, i, bias, bytes);
      }
    }

    Call call{"multiply", dy_.stream, w, dx_.stream, {local[0], local[1], local[2], blocks}, {}};
    fillVariants(call);
    if (!bufferC_) epilogue_.finish(call);
    std::vector<Node> body;
    body.push_back(callNode(std::move(call)));
    Phase& phase = b_.phase();
    // The innermost axis has many equal steps, so that the kernel itself loops over them.
    phase.parallelAxes = {images, cacheAxis_[0], cacheAxis_[1], cacheAxis_[2]};
    if (columns) phase.parallelAxes.insert(phase.parallelAxes.begin(), blocks);
    if (blockPartition_ >= 0) phase.parallelAxes.insert(phase.parallelAxes.begin() + 1, blockPartition_);
    if (columns)
      body = g_.view.oneAxis ? nest({local[0], local[1], local[2]}, std::move(body))
                             : nest({local[0], local[2], local[1]}, std::move(body));
    else if (units_ == 1)
      body = nest({local[0], local[1], blocks, local[2]}, std::move(body));
    else
      body = nest({local[0], local[1], local[2], blocks}, std::move(body));
    if (plan_.packA) addPanelMove(true);
    for (Node& node : body) b_.phase().body.push_back(std::move(node));
    if (bufferC_) addPanelMove(false);
    const double macs = static_cast<double>(g_.view.batch) *
                        static_cast<double>(g_.view.small.extent.volume() * g_.taps) *
                        static_cast<double>(lanes_.blocks * lanes_.permutedChannels);
    b_.phase().workCycles = macs * 1.3 + 50.0 * static_cast<double>(b_.tasks());
  }

  GroupAxis& axis(int i) { return axes_[static_cast<std::size_t>(i)]; }
  std::int64_t blockChannels() const { return lanes_.perBlock * g_.result.channels; }
  // Bytes from the first block of groups to another, as kernels see them.
  std::int64_t offsetOf(std::int64_t block, const Operand& o) const {
    return o.pitch.c.to(block * lanes_.perBlock * o.view->channels);
  }
  // Pairs are words, wherever they lie.
  Element operandElement() const { return plan_.dotProducts ? Element::kF32 : dy_.element(); }

  void cutForCache(int i, std::int64_t parts) {
    const GroupAxis& a = axis(i);
    CacheParts& out = cacheParts_[static_cast<std::size_t>(i)];
    const std::int64_t count = a.blocks();
    ClassNumbers<std::vector<std::int64_t>> known;
    for (std::int64_t p = 0; p < std::min(parts, count); ++p) {
      CachePart part;
      part.blocks = {count * p / parts, count * (p + 1) / parts};
      const GroupBlock last = a.block(part.blocks.hi - 1);
      part.results = {a.block(part.blocks.lo).start, last.start + a.classes[static_cast<std::size_t>(last.cls)].length};
      // Rows of W are whole in panels unless W itself is cut, so that a plane's rows are one matrix.
      part.operands =
          i == 2 && parts == 1 ? Range{0, g_.operand.extent.w} : operandRange(a, part.blocks.lo, part.blocks.hi);
      const auto [cls, fresh] = known.of(a.patternOf(part.blocks));
      part.cls = cls;
      out.all.push_back(part);
      if (fresh) out.ofClass.push_back(part);
    }
  }

  std::int64_t most(int i, Range CachePart::* field) const {
    std::int64_t best = 1;
    for (const CachePart& part : cacheParts_[static_cast<std::size_t>(i)].ofClass)
      best = std::max(best, (part.*field).length());
    return best;
  }

  void makePanels() {
    const std::int64_t groups = (units_ + blockParts_ - 1) / blockParts_ * width_ * lanes_.perBlock;  // of a part
    const auto pack = [&](Operand& o, const char* name, std::int64_t channelBytes, Range CachePart::* field) {
      Pitches p;
      p.c.each = channelBytes;
      p.w = panelPitch(groups * o.view->channels * channelBytes);
      p.h = p.w * most(2, field);
      p.d = p.h * most(1, field);
      o.pack(b_, name, p, p.d * most(0, field));
    };
    if (plan_.packA) pack(dy_, "panel_dy", panelChannelBytes(panelElements()), &CachePart::operands);
    if (bufferC_) pack(dx_, "panel_dx", 4, &CachePart::results);
  }
  PanelElements panelElements() const {
    return plan_.dotProducts ? PanelElements::kChannelPairs : PanelElements::kWide;
  }

  // The blocks of a part of each class, from where it begins.
  int addLocalAxis(int i) {
    static constexpr const char* kNames[] = {"d", "h", "w"};
    const auto at = static_cast<std::size_t>(i);
    const int local = b_.addAxis(kNames[i], std::max(1, static_cast<int>(axis(i).classes.size())));
    for (const CachePart& part : cacheParts_[at].ofClass) {
      const GroupBlock first = axis(i).block(part.blocks.lo);
      for (std::int64_t b = part.blocks.lo; b < part.blocks.hi; ++b) {
        const GroupBlock block = axis(i).block(b);
        b_.addStep(local,
                   {{dy_.stream, (block.anchor - first.anchor) * dy_.pitch.of(at)},
                    {dx_.stream, (block.start - first.start) * dx_.pitch.of(at)}},
                   block.cls);
      }
    }
    return local;
  }

  // A panel's first position stands for the part's first.
  int addCacheAxis(int i, int local) {
    static constexpr const char* kNames[] = {"cache_d", "cache_h", "cache_w"};
    const auto at = static_cast<std::size_t>(i);
    const CacheParts& parts = cacheParts_[at];
    const int cache = b_.addAxis(kNames[i], static_cast<int>(std::max<std::size_t>(1, parts.ofClass.size())));
    for (const CachePart& part : parts.all) {
      AxisDeltas d;
      dy_.toBlock(d, at, {axis(i).block(part.blocks.lo).anchor, part.operands.lo, part.operands.lo});
      dx_.toBlock(d, at, {part.results.lo, part.results.lo, part.results.lo});
      b_.addStep(cache, d, part.cls);
    }
    if (parts.all.size() > 1) {
      Axis& dealt = b_.phase().axes[static_cast<std::size_t>(local)];
      dealt.windowAxis = cache;
      for (const CachePart& part : parts.ofClass) {
        const int begin = dealt.windows.empty() ? 0 : dealt.windows.back().end;
        dealt.windows.push_back(Window{begin, begin + static_cast<int>(part.blocks.length())});
      }
    }
    return cache;
  }

  // Whole units of blocks of groups.
  ChannelPart partOf(const Operand& o) const {
    const std::int64_t channels = o.view->channels;
    return {blockParts_, units_, width_ * lanes_.perBlock * channels, lanes_.groups * channels, 1};
  }

  // Blocks with as many rows and of one class along W share a kernel, and its sections.
  struct BlockKernel {
    GroupKernel kernel;
    std::vector<std::vector<TapRun>> runs;  // of every class along H; none of those with other rows
    std::array<int, 2> index{-1, -1};       // of full blocks of channels, and of the shorter last one
  };

  BlockKernel makeKernel(std::int64_t rows, const GroupBlockClass& columns) {
    BlockKernel block{GroupKernel(rows, columns, plan_.registerTaps), {}};
    for (const GroupBlockClass& h : axis(1).classes)
      block.runs.push_back(h.length == rows ? block.kernel.runsOf(h) : std::vector<TapRun>{});
    const std::int64_t storedGroups = g_.result.c0 > 0 && !bufferC_ ? lanes_.perBlock : 0;  // blocks are written whole
    for (int tail = 0; tail < 2; ++tail) {
      const GroupUnit unit{lanes_.groupsOfUnit(tail, width_), offsetOf(1, dy_), blockBytes(), offsetOf(1, dx_),
                           storedGroups};
      if (unit.groups.empty()) continue;
      Contract contract = groupedDataKernel(block.kernel, lanes_, unit, g_.view.kernel.w,
                                            KernelRow{dy_.pitch.h, dy_.pitch.w, operandElement()},
                                            KernelRow{dx_.pitch.h, dx_.pitch.w, dx_.element()}, plan_.dotProducts);
      const auto ofBlock = contract.accumulators.size() / unit.groups.size();
      if (!bufferC_)
        epilogue_.finish(contract,
                         [&](std::size_t i) { return static_cast<std::int64_t>(i / ofBlock) * blockChannels(); });
      block.index[static_cast<std::size_t>(tail)] = b_.addKernel(std::move(contract));
    }
    return block;
  }

  void fillVariants(Call& call) {
    std::map<std::pair<std::int64_t, std::size_t>, BlockKernel> kernels;  // by rows, and class along W
    for (const GroupBlockClass& d : axis(0).classes) {
      for (std::size_t h = 0; h < axis(1).classes.size(); ++h) {
        for (std::size_t w = 0; w < axis(2).classes.size(); ++w) {
          const std::int64_t rows = axis(1).classes[h].length;
          auto known = kernels.find({rows, w});
          if (known == kernels.end())
            known = kernels.emplace(std::pair{rows, w}, makeKernel(rows, axis(2).classes[w])).first;
          const BlockKernel& block = known->second;
          const int list = b_.addList(listOf(d, block.runs[h], block.kernel.sections().size()));
          for (int kernel : block.index) call.variants.push_back(kernel < 0 ? Variant{} : Variant{kernel, list, false});
        }
      }
    }
  }

  SegmentList listOf(const GroupBlockClass& d, const std::vector<TapRun>& runs, std::size_t sections) const {
    SegmentList list(sections);
    for (const TapPair& pd : d.pairs) {
      for (const TapRun& run : runs) {
        list[static_cast<std::size_t>(run.section)].push_back(
            Segment{pd.offset * dy_.pitch.d + run.row * dy_.pitch.h + run.column * dy_.pitch.w,
                    tapIndex(g_, pd.k, run.rowTap, run.columnTap) * lanes_.tapBytes(), 1});
      }
    }
    return list;
  }

  // Moves a cache block of dy into its panel (in) or a finished panel out to dx, plane by plane: [channel][pixel] <-> [pixel][channel].
  void addPanelMove(bool in) {
    const Operand& o = in ? dy_ : dx_;
    const TensorView& t = *o.view;
    Range CachePart::* const field = in ? &CachePart::operands : &CachePart::results;
    const std::int64_t planes = most(0, field);
    const int plane = b_.addAxis(in ? "plane_in" : "plane_out", static_cast<int>(planes));
    for (std::int64_t i = 0; i < planes; ++i)
      b_.addStep(plane, {{o.tensor, i * t.dStride}, {o.panel, i * o.pitch.d}}, static_cast<int>(i));
    const bool together = t.denseRows();  // a plane's rows are one matrix; others are moved one by one
    const std::int64_t rows = together ? 1 : most(1, field);
    int row = -1;
    if (!together) {
      row = b_.addAxis(in ? "row_in" : "row_out", static_cast<int>(rows));
      for (std::int64_t i = 0; i < rows; ++i)
        b_.addStep(row, {{o.tensor, i * t.hStride}, {o.panel, i * o.pitch.h}}, static_cast<int>(i));
    }
    Call call{in ? "load_panel" : "store_panel",
              in ? o.tensor : o.panel,
              -1,
              in ? o.panel : o.tensor,
              {cacheAxis_[0], cacheAxis_[1], cacheAxis_[2], plane},
              {}};
    if (!together) call.classAxes.push_back(row);
    if (blockPartition_ >= 0) call.classAxes.push_back(blockPartition_);
    const ChannelPart channels = partOf(o);
    for (const CachePart& d : cacheParts_[0].ofClass) {
      for (const CachePart& h : cacheParts_[1].ofClass) {
        for (const CachePart& w : cacheParts_[2].ofClass) {
          for (std::int64_t i = 0; i < planes * rows; ++i) {
            const bool exists = i / rows < (d.*field).length() && (together || i % rows < (h.*field).length());
            for (std::int64_t p = 0; p < blockParts_; ++p) {
              PanelMove move{lanes_.lanes, (together ? (h.*field).length() : 1) * (w.*field).length(), o.pitch.w};
              if (in) move.elements = panelElements();
              const ChannelPiece piece{0, 0, channels.count(p), 0};
              Variant variant;
              if (exists && move.pixels > 0)
                variant.kernel = b_.addKernel(in ? loadMove(t, piece, move) : storeMove(t, piece, move));
              call.variants.push_back(variant);
            }
          }
        }
      }
    }
    std::vector<Node> moves;
    if (in)
      moves.push_back(callNode(std::move(call)));
    else
      moves = epilogue_.storing(std::move(call), storedChannels(t));
    if (!together) moves = nest({row}, std::move(moves));
    b_.phase().body.push_back(loopNode(plane, std::move(moves)));
  }

  const GroupedDataPlan& plan_;
  ProgramBuilder b_;
  Epilogue epilogue_;
  const DataGradient g_;
  const GroupLanes lanes_;
  const bool bufferC_;
  const std::array<std::int64_t, 3> block_{1, plan_.registerH, plan_.registerW};  // results in registers: d, h, w
  const std::int64_t width_ = plan_.registerVectors;  // blocks of channels that a kernel works on side by side
  const std::int64_t units_ = lanes_.units(width_);
  std::array<GroupAxis, 3> axes_;
  std::array<CacheParts, 3> cacheParts_;
  Operand dy_, dx_;
  std::array<int, 3> cacheAxis_{};
  std::int64_t blockParts_ = 1;
  int packedBuffer_ = -1, blockPartition_ = -1;
};

}  // namespace

Result<TileProgram> lowerGroupedData(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                     const ResultOps& ops) {
  return GroupedDataLowering(problem, plan.as<GroupedDataPlan>(), machine, ops).run();
}

}  // namespace cubejit
