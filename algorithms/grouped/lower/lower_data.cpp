// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a data gradient with few channels a group: lanes are result channels of several whole groups, and a
// block of result pixels, rows by a run along W, stays in registers while the reduction runs lane by lane over taps and the group's channels.
//   dx[n][i][g,c] = sum over taps k, channels j of the group:  dy[n][(i + pad - k*dil)/stride][g,j] * w[g,j][c][k]
// Where the ISA multiplies pairs of bf16, j counts pairs.
// Leaves pairs of results and taps to cell_axis, instructions to cell_sections, lane order to cells, sizes to the plan.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "algorithms/grouped/grouped.h"
#include "algorithms/grouped/lower/data_sections.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/panel_moves.h"

namespace cubejit {
namespace {

// The part of an axis that one task works on.
struct Slab {
  std::int64_t result = 0, results = 0;  // first position, count
  std::int64_t operand = 0, operands = 0;
};

class Lowering {
 public:
  Lowering(const Problem& problem, const GroupedDataPlan& plan, const Machine& machine)
      : plan_(plan),
        b_(problemLabel(problem, Gradient::kDx)),
        g_(makeDataGradient(problem, false)),
        lanes_(makeCellLanes(machine.isa.lanes(), g_.view.groups, g_.result, g_.operand, plan.dotProducts)) {}

  Result<TileProgram> run() {
    if (lanes_.perBlock == 0) {
      return Error{ErrorCode::kUnsupported, Stage::kTile,
                   "a group of " + std::to_string(lanes_.laneChannels) + " result and " +
                       std::to_string(lanes_.cellChannels) + " reduced channels does not fit a vector of " +
                       std::to_string(lanes_.lanes) + " lanes; plan it with channel lanes"};
    }
    operandBuffer_ = b_.addBuffer("dy", BufferRole::kDy, g_.operand.bytes);
    const int weights = b_.addBuffer("w", BufferRole::kW, g_.weightBytes);
    resultBuffer_ = b_.addBuffer("dx", BufferRole::kDx, g_.result.bytes);
    packedBuffer_ = b_.addBuffer("packed_w", BufferRole::kShared, lanes_.blocks * blockBytes());
    CellWeights order{g_.wGroup, g_.wReduced, g_.wResult, g_.taps};
    if (plan_.dotProducts) {
      order.cellPitch *= 2;
      order.pairPitch = g_.wReduced;
    }
    addCellPack(b_, lanes_, order, weights, packedBuffer_);
    contractPhase();
    return b_.finish();
  }

 private:
  std::int64_t blockBytes() const { return g_.taps * lanes_.tapBytes(); }

  void contractPhase() {
    for (int i = 0; i < 3; ++i)
      axis(i) = makeCellAxis(g_.relation[static_cast<std::size_t>(i)], block_[static_cast<std::size_t>(i)]);
    // Whole columns of one block are walked inside the kernel if channels are outside; panels are for slabs of rows.
    const bool paneled = plan_.packA || plan_.bufferC;
    const bool columns = plan_.order == IterateOrder::kChannelsOuter && !paneled;
    const std::array<std::int64_t, 3> slab{plan_.cache.d, g_.view.line ? 1 : plan_.cache.h,
                                           g_.view.line ? plan_.cache.h : 0};
    for (int i = 0; i < 3; ++i) {
      const auto count = static_cast<std::int64_t>(axis(i).blocks.size());
      const std::int64_t each = block_[static_cast<std::size_t>(i)];
      const std::int64_t size = (slab[static_cast<std::size_t>(i)] + each - 1) / each;
      const bool whole = size <= 0 || (columns && i > 0);
      makeSlabs(i, whole ? 1 : std::max<std::int64_t>(1, (count + size - 1) / size));
    }
    blockParts_ = columns ? units_ : std::clamp<std::int64_t>(plan_.groupParts, 1, units_);

    b_.beginPhase("contract");
    makePanels();
    a_ = b_.addStream("a", plan_.packA ? panelABuffer_ : operandBuffer_);
    const int w = b_.addStream("b", packedBuffer_);
    c_ = b_.addStream("c", plan_.bufferC ? panelCBuffer_ : resultBuffer_);
    source_ = plan_.packA ? b_.addStream("dy", operandBuffer_) : a_;
    sink_ = plan_.bufferC ? b_.addStream("dx", resultBuffer_) : c_;
    panel_ = plan_.packA ? b_.addStream("panel", panelABuffer_) : -1;
    result_ = plan_.bufferC ? b_.addStream("panel_out", panelCBuffer_) : -1;

    const int images =
        b_.addUniformAxis("n", g_.view.batch, {{source_, g_.operand.nStride}, {sink_, g_.result.nStride}});
    std::array<int, 3> local{};
    for (int i = 0; i < 3; ++i) local[static_cast<std::size_t>(i)] = addLocalAxis(i);
    for (int i = 0; i < 3; ++i)
      slabAxis_[static_cast<std::size_t>(i)] = addSlabAxis(i, local[static_cast<std::size_t>(i)]);
    const int blocks = b_.addAxis("block", 2);
    for (std::int64_t i = 0; i < units_; ++i) {
      const std::int64_t block = i * width_;
      b_.addStep(blocks, {{a_, operandOffset(block)}, {w, block * blockBytes()}, {c_, resultOffset(block)}},
                 lanes_.classOfUnit(i, width_));
    }
    blockDeal_ = columns || blockParts_ == 1 ? -1 : addBlockDeal(blocks);

    Call call{"contract", a_, w, c_, {local[0], local[1], local[2], blocks}, {}};
    fillVariants(call);
    std::vector<Node> body;
    body.push_back(callNode(std::move(call)));
    Phase& phase = b_.phase();
    // The innermost axis has many equal steps, so that the kernel itself loops over them.
    phase.parallelAxes = {images, slabAxis_[0], slabAxis_[1], slabAxis_[2]};
    if (columns) phase.parallelAxes.insert(phase.parallelAxes.begin(), blocks);
    if (blockDeal_ >= 0) phase.parallelAxes.insert(phase.parallelAxes.begin() + 1, blockDeal_);
    if (columns)
      body = g_.view.line ? nest({local[0], local[1], local[2]}, std::move(body))
                          : nest({local[0], local[2], local[1]}, std::move(body));
    else
      body = nest({local[0], local[1], local[2], blocks}, std::move(body));
    if (plan_.packA) addPanelMove(true);
    for (Node& node : body) b_.phase().body.push_back(std::move(node));
    if (plan_.bufferC) addPanelMove(false);
    const double macs = static_cast<double>(g_.view.batch) *
                        static_cast<double>(g_.view.small.extent.volume() * g_.taps) *
                        static_cast<double>(lanes_.blocks * lanes_.cellChannels);
    b_.phase().workCycles = macs * 1.3 + 50.0 * static_cast<double>(taskCount(b_.phase()));
  }

  CellAxis& axis(int i) { return axes_[static_cast<std::size_t>(i)]; }
  // Channels of a block lie side by side in what a kernel reads and writes, be it tensor or panel.
  std::int64_t operandBlock() const { return lanes_.perBlock * lanes_.cellChannels * elementBytes(operandElement()); }
  std::int64_t resultBlock() const { return lanes_.perBlock * lanes_.laneChannels * elementBytes(resultElement()); }
  std::int64_t operandOffset(std::int64_t block) const {
    return plan_.packA ? block * operandBlock()
                       : g_.operand.channelOffset(block * lanes_.perBlock * g_.operand.channels);
  }
  std::int64_t resultOffset(std::int64_t block) const {
    return plan_.bufferC ? block * resultBlock()
                         : g_.result.channelOffset(block * lanes_.perBlock * g_.result.channels);
  }
  // Pairs are words, wherever they lie.
  Element operandElement() const {
    return plan_.packA || plan_.dotProducts ? Element::kF32 : elementOf(g_.operand.dtype);
  }
  Element resultElement() const { return plan_.bufferC ? Element::kF32 : elementOf(g_.result.dtype); }

  void makeSlabs(int i, std::int64_t parts) {
    std::vector<Slab>& slabs = slabs_[static_cast<std::size_t>(i)];
    const CellAxis& a = axis(i);
    const auto count = static_cast<std::int64_t>(a.blocks.size());
    for (std::int64_t p = 0; p < std::min(parts, count); ++p) {
      const auto begin = static_cast<std::size_t>(count * p / parts),
                 end = static_cast<std::size_t>(count * (p + 1) / parts);
      Slab slab;
      slab.result = a.blocks[begin].start;
      slab.results =
          a.blocks[end - 1].start + a.classes[static_cast<std::size_t>(a.blocks[end - 1].cls)].length - slab.result;
      const OperandRange range = operandRange(a, static_cast<int>(begin), static_cast<int>(end));
      // Rows of W are whole in panels unless W itself is cut, so that a plane's rows are one matrix.
      const bool whole = i == 2 && parts == 1;
      slab.operand = whole ? 0 : range.lo;
      slab.operands = whole ? g_.operand.extent.w : range.hi - range.lo;
      slabs.push_back(slab);
    }
  }

  std::int64_t most(int i, std::int64_t Slab::* field) const {
    std::int64_t best = 1;
    for (const Slab& slab : slabs_[static_cast<std::size_t>(i)]) best = std::max(best, slab.*field);
    return best;
  }

  void makePanels() {
    const std::int64_t partBlocks = (units_ + blockParts_ - 1) / blockParts_ * width_;
    operandPitch_ = {g_.operand.dStride, g_.operand.hStride, g_.operand.wStride};
    resultPitch_ = {g_.result.dStride, g_.result.hStride, g_.result.wStride};
    const auto pitches = [&](std::int64_t pixelBytes, std::int64_t Slab::* field) {
      std::array<std::int64_t, 3> pitch{};
      pitch[2] = panelPitch(pixelBytes);
      pitch[1] = pitch[2] * most(2, field);
      pitch[0] = pitch[1] * most(1, field);
      return pitch;
    };
    if (plan_.packA) {
      operandPitch_ = pitches(partBlocks * operandBlock(), &Slab::operands);
      panelABuffer_ = b_.addBuffer("panel_dy", BufferRole::kPrivate, operandPitch_[0] * most(0, &Slab::operands));
    }
    if (plan_.bufferC) {
      resultPitch_ = pitches(partBlocks * resultBlock(), &Slab::results);
      panelCBuffer_ = b_.addBuffer("panel_dx", BufferRole::kPrivate, resultPitch_[0] * most(0, &Slab::results));
    }
  }

  int addLocalAxis(int i) {
    static constexpr const char* kNames[] = {"d", "h", "w"};
    const auto at = static_cast<std::size_t>(i);
    const int local = b_.addAxis(kNames[i], std::max(1, static_cast<int>(axis(i).classes.size())));
    for (const CellBlock& block : axis(i).blocks) {
      b_.addStep(local, {{a_, block.anchor * operandPitch_[at]}, {c_, block.start * resultPitch_[at]}}, block.cls);
    }
    return local;
  }

  // Deals the blocks of an axis out to tasks. A panel's first position stands for the slab's first.
  int addSlabAxis(int i, int local) {
    static constexpr const char* kNames[] = {"slab_d", "slab_h", "slab_w"};
    const auto at = static_cast<std::size_t>(i);
    const std::vector<Slab>& slabs = slabs_[at];
    const int deal = slabs.size() > 1 ? b_.addDeal(kNames[i], local, static_cast<std::int64_t>(slabs.size()))
                                      : b_.addAxis(kNames[i]);
    Phase& phase = b_.phase();
    if (slabs.size() == 1) b_.addStep(deal, Deltas{});
    for (std::size_t p = 0; p < slabs.size(); ++p) {
      std::vector<std::int64_t>& delta = phase.axes[static_cast<std::size_t>(deal)].steps[p].delta;
      if (plan_.packA) {
        delta[static_cast<std::size_t>(a_)] = -slabs[p].operand * operandPitch_[at];
        delta[static_cast<std::size_t>(source_)] = slabs[p].operand * g_.operand.strideOf(i);
      }
      if (plan_.bufferC) {
        delta[static_cast<std::size_t>(c_)] = -slabs[p].result * resultPitch_[at];
        delta[static_cast<std::size_t>(sink_)] = slabs[p].result * g_.result.strideOf(i);
      }
    }
    return deal;
  }

  std::int64_t partBegin(std::int64_t part) const { return units_ * part / blockParts_ * width_; }  // a block

  int addBlockDeal(int blocks) {
    const int deal = b_.addDeal("channel_part", blocks, blockParts_);
    for (std::int64_t p = 0; p < blockParts_; ++p) {
      std::vector<std::int64_t>& delta =
          b_.phase().axes[static_cast<std::size_t>(deal)].steps[static_cast<std::size_t>(p)].delta;
      const std::int64_t cells = partBegin(p) * lanes_.perBlock;
      if (plan_.packA) {
        delta[static_cast<std::size_t>(a_)] = -partBegin(p) * operandBlock();
        delta[static_cast<std::size_t>(source_)] = cells * g_.operand.groupStride();
      }
      if (plan_.bufferC) {
        delta[static_cast<std::size_t>(c_)] = -partBegin(p) * resultBlock();
        delta[static_cast<std::size_t>(sink_)] = cells * g_.result.groupStride();
      }
    }
    return deal;
  }

  // Blocks with as many rows and of one class along W share a kernel, and its sections.
  struct BlockKernel {
    CellKernel kernel;
    std::vector<std::vector<CellChunk>> chunks;  // of every class along H; none of those with other rows
    std::array<int, 2> index{-1, -1};            // of full blocks of channels, and of the shorter last one
  };

  BlockKernel makeKernel(std::int64_t rows, const CellBlockClass& columns) {
    BlockKernel block{CellKernel(rows, columns, plan_.registerTaps), {}};
    for (const CellBlockClass& h : axis(1).classes)
      block.chunks.push_back(h.length == rows ? block.kernel.chunksOf(h) : std::vector<CellChunk>{});
    const std::int64_t storedCells =
        g_.result.c0 > 0 && !plan_.bufferC ? lanes_.perBlock : 0;  // blocks are written whole
    for (int tail = 0; tail < 2; ++tail) {
      const CellUnit unit{lanes_.cellsOfUnit(tail, width_), operandOffset(1), blockBytes(), resultOffset(1),
                          storedCells};
      if (unit.cells.empty()) continue;
      block.index[static_cast<std::size_t>(tail)] = b_.addKernel(cellContract(
          block.kernel, lanes_, unit, g_.view.kernel.w, CellRow{operandPitch_[1], operandPitch_[2], operandElement()},
          CellRow{resultPitch_[1], resultPitch_[2], resultElement()}, plan_.dotProducts));
    }
    return block;
  }

  void fillVariants(Call& call) {
    std::map<std::pair<std::int64_t, std::size_t>, BlockKernel> kernels;  // by rows, and class along W
    for (const CellBlockClass& d : axis(0).classes) {
      for (std::size_t h = 0; h < axis(1).classes.size(); ++h) {
        for (std::size_t w = 0; w < axis(2).classes.size(); ++w) {
          const std::int64_t rows = axis(1).classes[h].length;
          auto known = kernels.find({rows, w});
          if (known == kernels.end())
            known = kernels.emplace(std::pair{rows, w}, makeKernel(rows, axis(2).classes[w])).first;
          const BlockKernel& block = known->second;
          const int list = b_.addList(listOf(d, block.chunks[h], block.kernel.sections().size()));
          for (int kernel : block.index) call.variants.push_back(kernel < 0 ? Variant{} : Variant{kernel, list, false});
        }
      }
    }
  }

  SegmentList listOf(const CellBlockClass& d, const std::vector<CellChunk>& chunks, std::size_t sections) const {
    SegmentList list(sections);
    for (const CellPair& pd : d.pairs) {
      for (const CellChunk& chunk : chunks) {
        list[static_cast<std::size_t>(chunk.section)].push_back(
            Segment{pd.offset * operandPitch_[0] + chunk.row * operandPitch_[1] + chunk.column * operandPitch_[2],
                    tapIndex(g_, pd.k, chunk.rowTap, chunk.columnTap) * lanes_.tapBytes(), 1});
      }
    }
    return list;
  }

  // Moves a slab's dy into its panel (in) or a finished panel out to dx, plane by plane: [channel][pixel] <-> [pixel][channel].
  void addPanelMove(bool in) {
    const TensorView& t = in ? g_.operand : g_.result;
    const std::array<std::int64_t, 3>& pitch = in ? operandPitch_ : resultPitch_;
    const int tensor = in ? source_ : sink_, panel = in ? panel_ : result_;
    std::int64_t Slab::* const field = in ? &Slab::operands : &Slab::results;
    const std::int64_t planes = most(0, field);
    const int plane = b_.addAxis(in ? "plane_in" : "plane_out", static_cast<int>(planes));
    for (std::int64_t i = 0; i < planes; ++i)
      b_.addStep(plane, {{tensor, i * t.dStride}, {panel, i * pitch[0]}}, static_cast<int>(i));
    Call call{in ? "load_panel" : "store_panel",
              in ? tensor : panel,
              -1,
              in ? panel : tensor,
              {slabAxis_[0], slabAxis_[1], slabAxis_[2], plane},
              {}};
    if (blockDeal_ >= 0) call.classAxes.push_back(blockDeal_);
    for (const Slab& d : slabs_[0]) {
      for (const Slab& h : slabs_[1]) {
        for (const Slab& w : slabs_[2]) {
          for (std::int64_t i = 0; i < planes; ++i) {
            for (std::int64_t p = 0; p < blockParts_; ++p) {
              const std::int64_t pixels = h.*field * w.*field;
              const std::int64_t cells =
                  std::min(partBegin(p + 1) * lanes_.perBlock, lanes_.groups) - partBegin(p) * lanes_.perBlock;
              Variant variant;
              if (i < d.*field && pixels > 0)
                variant.kernel = b_.addKernel(panelMove(in, t, pitch[2], pixels, cells * t.channels));
              call.variants.push_back(variant);
            }
          }
        }
      }
    }
    b_.phase().body.push_back(loopNode(plane, {callNode(std::move(call))}));
  }

  Move panelMove(bool in, const TensorView& t, std::int64_t pitch, std::int64_t pixels, std::int64_t channels) const {
    PanelMove move{lanes_.lanes, pixels, pitch};
    if (in && plan_.dotProducts) move.elements = PanelElements::kChannelPairs;
    const ChannelPiece all{0, 0, channels, 0};
    return in ? loadMove(t, all, move) : storeMove(t, all, move);
  }

  const GroupedDataPlan& plan_;
  ProgramBuilder b_;
  const DataGradient g_;
  const CellLanes lanes_;
  const std::array<std::int64_t, 3> block_{1, plan_.registerH, plan_.registerW};  // results in registers: d, h, w
  const std::int64_t width_ = plan_.registerVectors;  // blocks of channels that a kernel works on side by side
  const std::int64_t units_ = lanes_.units(width_);
  std::array<CellAxis, 3> axes_;
  std::array<std::vector<Slab>, 3> slabs_;
  std::array<std::int64_t, 3> operandPitch_{}, resultPitch_{};  // d, h, w
  std::array<int, 3> slabAxis_{};
  std::int64_t blockParts_ = 1;
  int operandBuffer_ = -1, resultBuffer_ = -1, packedBuffer_ = -1, panelABuffer_ = -1, panelCBuffer_ = -1;
  int a_ = -1, c_ = -1, source_ = -1, sink_ = -1, panel_ = -1, result_ = -1, blockDeal_ = -1;
};

}  // namespace

Result<TileProgram> lowerDataCells(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  return Lowering(problem, plan.as<GroupedDataPlan>(), machine).run();
}

}  // namespace cubejit
