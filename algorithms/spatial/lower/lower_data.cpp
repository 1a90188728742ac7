// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a data gradient with few channels: lanes are neighbouring pixels of a residue class along W, the
// accumulator rows are (residue class x result channel), weights are broadcast.
//   dx[c][residue + stride*j] += w[o][c][k] * dy[o][j + offset(residue, k)]     lanes j
// Operand rows are read in place from plain tensors, or transposed into a panel [d][h][channel][w] from channels-last ones.
// Leaves which taps reach which rows to blocked_axis, what lies where along W to data_tiles, kernels to data_sections, and the way out
// of interleaved results to data_results.
#include <array>
#include <set>
#include <utility>

#include "algorithms/kit/panel_pitch.h"
#include "algorithms/kit/work.h"
#include "algorithms/spatial/lower/data_results.h"
#include "algorithms/spatial/lower/data_sections.h"
#include "algorithms/spatial/spatial.h"

namespace cubejit {
namespace {

constexpr std::int64_t kSmallWeights = 4096;  // bytes

class SpatialDataLowering {
 public:
  SpatialDataLowering(const Problem& problem, const SpatialDataPlan& plan, const Machine& machine, const ResultOps& ops)
      : problem_(problem),
        plan_(plan),
        b_(problemLabel(problem, Pass::kDx)),
        epilogue_(b_, ops, machine.isa.lanes()),
        shape_(problem, plan, machine),
        g_(shape_.g) {
    axes_[0] = makeBlockedAxis(g_.relation[0], 1, plan.cache.d);
    axes_[1] = makeBlockedAxis(g_.relation[1], plan.registerH, plan.cache.h);
  }

  TileProgram run() {
    dy_ = Operand(g_.operand, b_.addTensor(TensorId::kDy, g_.operand.span));
    weightBuffer_ = b_.addTensor(TensorId::kW, g_.weightBytes);
    resultBuffer_ = b_.addTensor(TensorId::kDx, g_.result.bytes);
    epilogue_.begin(g_.result, g_.view.groups, resultBuffer_);
    if (g_.hasGaps) epilogue_.fill(problem_);
    if (!shape_.residues.empty()) {
      packWeights();
      multiplyPhase();
    }
    epilogue_.end();
    return b_.finish();
  }

 private:
  // What kernels see: panels are of f32. A panel of results is [row of a tile][residue][channel][j], one of dy [d][h][channel][w].
  SpatialPitches pitches() const {
    SpatialPitches p;
    p.operand = plan_.packA ? Element::kF32 : elementOf(g_.operand.dtype);
    p.result = plan_.bufferC ? Element::kF32 : elementOf(g_.result.dtype);
    p.operandRow = axes_[1].operandStep;
    p.operandPitch = dy_.pitch;
    p.cut = !plan_.bufferC;
    if (plan_.bufferC) {
      p.resultChannel = panelPitch(shape_.blocks() * shape_.blockLanes * 4);
      p.resultResidue = p.resultChannel * plan_.registerChannels;
      p.resultRow = p.resultChannel * shape_.rowsPacked;
    } else {
      p.resultChannel = g_.result.cStride;
      p.resultRow = axes_[1].resultStep * g_.result.hStride;
    }
    return p;
  }

  void packWeights() {
    packedBuffer_ =
        b_.addBuffer("packed_w", Buffer::Use::kShared, g_.view.groups * shape_.channelBlocks * shape_.blockBytes());
    b_.beginPhase("pack_weights");
    const int src = b_.addStream("w", weightBuffer_), dst = b_.addStream("packed", packedBuffer_);
    const int groups =
        b_.addUniformAxis("g", g_.view.groups, {{src, g_.wGroup}, {dst, shape_.channelBlocks * shape_.blockBytes()}});
    const int channels = b_.addAxis("channel");
    for (std::int64_t c = 0; c < g_.result.channels; ++c) {
      b_.addStep(channels, {{src, c * g_.wResult},
                            {dst, c / plan_.registerChannels * shape_.blockBytes() + c % plan_.registerChannels * 4}});
    }
    const int kd = b_.addUniformAxis("kd", g_.view.kernel.d, {{src, g_.wTap.d}, {dst, shape_.slotOf(1, 0, 0)}});
    const int kh = b_.addUniformAxis("kh", g_.view.kernel.h, {{src, g_.wTap.h}, {dst, shape_.slotOf(0, 1, 0)}});
    const int kw = b_.addAxis("kw");
    for (std::size_t s = 0; s < shape_.shifts.size(); ++s) {
      for (std::size_t p = 0; p < shape_.residues.size(); ++p) {
        if (shape_.shifts[s].kernelW[p] < 0) continue;
        b_.addStep(kw, {{src, shape_.shifts[s].kernelW[p] * g_.wTap.w},
                        {dst, shape_.slotOf(0, 0, s) + static_cast<std::int64_t>(p) * plan_.registerChannels * 4}});
      }
    }
    const Copy move{.lanes = shape_.lanes,
                    .rows = shape_.reduced,
                    .cols = 1,
                    .srcPitch = g_.wReduced,
                    .dstPitch = shape_.rowsPacked * 4,
                    .label = "pack_w"};
    b_.phase().parallelAxes = {groups, channels};
    b_.phase().body =
        nest({kd, kh, kw}, {callNode(Call{"pack", src, -1, dst, {}, {Variant{b_.addKernel(move), -1, false}}})});
    b_.phase().workCycles = static_cast<double>(g_.weightBytes) / 4 * 2;
  }

  void multiplyPhase() {
    const bool direct = !plan_.bufferC;
    if (plan_.packA) {
      Pitches p;
      p.w = 4;
      p.c.each = panelPitch(g_.operand.extent.w * 4);
      p.h = p.c.each * shape_.reduced;
      p.d = p.h * axes_[1].panelOperands;
      dy_.pack(b_, "panel_dy", p, p.d * axes_[0].panelOperands);
    }
    const SpatialPitches pitch = pitches();
    const int rowBuffer =
        direct ? -1 : b_.addBuffer("row_dx", Buffer::Use::kPrivate, plan_.registerH * pitch.resultRow);
    b_.beginPhase("multiply");
    const int a = b_.addStream("a", packedBuffer_);
    dy_.addStream(b_, "b");
    const int c = b_.addStream("c", direct ? resultBuffer_ : rowBuffer);
    dy_.addTensorStream(b_, "dy");
    dy_.addPanelStream(b_, "panel");
    const int sink = direct ? c : b_.addStream("dx", resultBuffer_);
    epilogue_.enterPhase();
    const int groups = b_.addUniformAxis("g", g_.view.groups,
                                         {{a, shape_.channelBlocks * shape_.blockBytes()},
                                          {dy_.tensor, g_.operand.groupStride()},
                                          {sink, g_.result.groupStride()},
                                          epilogue_.toChannel(g_.result.channels)});
    const int images =
        b_.addUniformAxis("n", g_.view.batch, {{dy_.tensor, g_.operand.nStride}, {sink, g_.result.nStride}});
    std::array<int, 2> cacheAxis{}, registerAxis{};
    for (std::size_t i = 0; i < 2; ++i) {
      const BlockedAxis& of = axes_[i];
      const std::int64_t out = g_.result.strideOf(static_cast<int>(i));
      cacheAxis[i] = b_.addAxis(i == 0 ? "cache_d" : "cache_h", of.cacheClasses);
      for (const AxisCacheBlock& block : of.cacheBlocks) {
        AxisDeltas d{{sink, block.results.lo * out}};
        dy_.toBlock(d, i, block.operandStart);
        b_.addStep(cacheAxis[i], d, block.cls);
      }
      registerAxis[i] = b_.addAxis(i == 0 ? "d" : "h", of.registerClasses);
      for (const AxisRegisterBlock& block : of.registerBlocks) {
        b_.addStep(registerAxis[i],
                   {{dy_.stream, block.operandOffset * dy_.pitch.of(i)}, {sink, block.resultOffset * out}}, block.cls);
      }
    }
    const int channels = b_.addAxis("channels", 2);
    for (std::int64_t i = 0; i < shape_.channelBlocks; ++i) {
      b_.addStep(channels,
                 {{a, i * shape_.blockBytes()},
                  {sink, i * plan_.registerChannels * g_.result.cStride},
                  epilogue_.toChannel(i * plan_.registerChannels)},
                 (i + 1) * plan_.registerChannels <= g_.result.channels ? 0 : 1);
    }
    std::vector<std::int64_t> blockOf;  // the first one of each class
    const int w = b_.addAxis("w");
    const std::int64_t read = shape_.blockLanes * elementBytes(pitch.operand),
                       written = shape_.blockLanes * elementBytes(pitch.result);
    for (const LaneBlocks& run : shape_.blockRuns()) {
      if (run.cls == std::ssize(blockOf)) blockOf.push_back(run.first);
      b_.addSteps(w, run.count, {{dy_.stream, run.first * read}, {c, run.first * written}},
                  {{dy_.stream, read}, {c, written}}, run.cls);
    }
    b_.phase().axes[static_cast<std::size_t>(w)].classes = static_cast<int>(blockOf.size());

    SpatialDataSections sections(b_, shape_, plan_, pitch, direct ? &epilogue_ : nullptr);
    Call call{"multiply", a, dy_.stream, c, {cacheAxis[0], cacheAxis[1], registerAxis[0], registerAxis[1], channels, w},
              {}};
    forEachClass(axes_, [&](const std::array<const BlockClass*, 2>& of) {
      for (int tail = 0; tail < 2; ++tail) {
        const bool exists = of[0] != nullptr && of[1] != nullptr && channelsOf(tail) > 0;
        for (const std::int64_t block : blockOf)
          call.variants.push_back(exists ? sections.variant(*of[0], *of[1], channelsOf(tail), block) : Variant{});
      }
    });
    if (direct) epilogue_.finish(call);
    std::vector<Node> perBlock = nest({w}, {callNode(std::move(call))});
    if (!direct) {
      for (Node& node :
           storeRows(c, sink, pitch, {cacheAxis[0], cacheAxis[1], registerAxis[0], registerAxis[1], channels}))
        perBlock.push_back(std::move(node));
    }
    Phase& phase = b_.phase();
    if (dy_.packed()) phase.body.push_back(panelLoad(cacheAxis));
    for (Node& node : nest({registerAxis[0], registerAxis[1], channels}, std::move(perBlock)))
      phase.body.push_back(std::move(node));
    // Weights of a group that fit L1 beside everything else are loaded for each image; then tasks follow each other in plain tensors.
    const bool small = shape_.channelBlocks * shape_.blockBytes() <= kSmallWeights;
    phase.parallelAxes = {small ? images : groups, small ? groups : images, cacheAxis[0], cacheAxis[1]};
    phase.workCycles = multiplyAddVectors(g_.view, shape_.lanes);
  }

  // Tiles of the same number of rows leave their panel alike.
  std::vector<Node> storeRows(int panel, int sink, const SpatialPitches& pitch, const std::vector<int>& classAxes) {
    std::set<std::int64_t> lengths;
    for (const BlockClass& block : axes_[1].classes) lengths.insert(block.length);
    std::vector<Node> moves;
    for (const std::int64_t length : lengths) {
      SpatialResults results{shape_.lanes, plan_.registerChannels, pitch.resultChannel,
                             &g_.result,   &shape_.residues,       g_.relation[2].gather ? g_.view.stride.w : 1};
      if (plan_.registerH > 1) {
        results.rowAxis = b_.addUniformAxis(
            "row", length, {{panel, pitch.resultRow}, {sink, axes_[1].resultStep * g_.result.hStride}});
      }
      std::vector<bool> exists;
      forEachClass(axes_, [&](const std::array<const BlockClass*, 2>& of) {
        exists.push_back(of[0] != nullptr && of[1] != nullptr && of[1]->length == length);
      });
      addSpatialResults(b_, epilogue_, results, panel, sink, classAxes, exists, {channelsOf(0), channelsOf(1)}, moves);
    }
    return moves;
  }

  std::int64_t channelsOf(int tail) const {
    const std::int64_t whole = g_.result.channels / plan_.registerChannels * plan_.registerChannels;
    return tail == 1 ? g_.result.channels - whole : std::min(plan_.registerChannels, whole);
  }

  Node panelLoad(const std::array<int, 2>& cacheAxis) {
    const std::int64_t planes = axes_[0].panelOperands, rows = axes_[1].panelOperands;
    const int plane = b_.addAxis("plane_in", static_cast<int>(planes));
    for (std::int64_t i = 0; i < planes; ++i)
      b_.addStep(plane, {{dy_.tensor, i * g_.operand.dStride}, {dy_.panel, i * dy_.pitch.d}}, static_cast<int>(i));
    const int row = b_.addAxis("row_in", static_cast<int>(rows));
    for (std::int64_t i = 0; i < rows; ++i)
      b_.addStep(row, {{dy_.tensor, i * g_.operand.hStride}, {dy_.panel, i * dy_.pitch.h}}, static_cast<int>(i));
    const bool turns = g_.operand.channelsLast;
    const Copy move{.lanes = shape_.lanes,
                    .rows = turns ? g_.operand.extent.w : shape_.reduced,
                    .cols = turns ? shape_.reduced : g_.operand.extent.w,
                    .srcPitch = turns ? g_.operand.wStride : g_.operand.cStride,
                    .dstPitch = dy_.pitch.c.each,
                    .from = elementOf(g_.operand.dtype),
                    .label = "load_panel"};
    const int kernel = turns ? b_.addKernel(turned(move)) : b_.addKernel(move);
    Call call{"load_panel", dy_.tensor, -1, dy_.panel, {cacheAxis[0], cacheAxis[1], plane, row}, {}};
    limitWork(static_cast<double>(axes_[0].cacheClasses) * axes_[1].cacheClasses * static_cast<double>(planes) *
                  static_cast<double>(rows),
              FewerSteps::most(), "variants of a call");
    for (int cd = 0; cd < axes_[0].cacheClasses; ++cd) {
      for (int ch = 0; ch < axes_[1].cacheClasses; ++ch) {
        for (std::int64_t d = 0; d < planes; ++d) {
          for (std::int64_t h = 0; h < rows; ++h) {
            const bool here = d < axes_[0].operandsOf(cd) && h < axes_[1].operandsOf(ch);
            call.variants.push_back(Variant{here ? kernel : -1, -1, false});
          }
        }
      }
    }
    return loopNode(plane, {loopNode(row, {callNode(std::move(call))})});
  }

  const Problem& problem_;
  const SpatialDataPlan& plan_;
  ProgramBuilder b_;
  Epilogue epilogue_;
  const SpatialShape shape_;
  const DataGradient& g_;
  std::array<BlockedAxis, 2> axes_;
  Operand dy_;
  int weightBuffer_ = -1, resultBuffer_ = -1, packedBuffer_ = -1;
};

}  // namespace

Result<TileProgram> lowerSpatialData(const Problem& problem, const TilingPlan& plan, const Machine& machine,
                                     const ResultOps& ops) {
  return SpatialDataLowering(problem, plan.as<SpatialDataPlan>(), machine, ops).run();
}

}  // namespace cubejit
