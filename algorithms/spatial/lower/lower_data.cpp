// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a data gradient with few channels: lanes are neighbouring pixels of a residue class along W, the
// accumulator rows are (residue class x result channel), weights are broadcast.
//   dx[c][phase + stride*j] += w[o][c][k] * dy[o][j + offset(phase, k)]     lanes j
// Operand rows are read in place from plain tensors, or transposed into a panel [d][h][channel][w] from channels-last ones.
// Leaves which taps reach which rows to slab_axis, what lies where along W to data_tiles, kernels to data_sections, and the way out
// of interleaved results to pixel_results.
#include <array>
#include <set>
#include <utility>

#include "algorithms/kit/work.h"
#include "algorithms/spatial/lower/data_results.h"
#include "algorithms/spatial/lower/data_sections.h"
#include "algorithms/spatial/spatial.h"

namespace cubejit {
namespace {

class Lowering {
 public:
  Lowering(const Problem& problem, const SpatialDataPlan& plan, const Machine& machine)
      : plan_(plan), b_(problemLabel(problem, Gradient::kDx)), shape_(problem, plan, machine), g_(shape_.g) {
    axes_[0] = makeSlabAxis(g_.relation[0], 1, plan.cache.d);
    axes_[1] = makeSlabAxis(g_.relation[1], plan.registerH, plan.cache.h);
  }

  TileProgram run() {
    operandBuffer_ = b_.addBuffer("dy", BufferRole::kDy, g_.operand.bytes);
    weightBuffer_ = b_.addBuffer("w", BufferRole::kW, g_.weightBytes);
    resultBuffer_ = b_.addBuffer("dx", BufferRole::kDx, g_.result.bytes);
    if (g_.hasGaps) addZeroPhase(b_, resultBuffer_, g_.result.bytes, shape_.lanes);
    if (shape_.phases.empty()) return b_.finish();
    packWeights();
    contractPhase();
    return b_.finish();
  }

 private:
  // What kernels see: panels are of f32. A panel of results is [row of a tile][phase][channel][j], one of dy [d][h][channel][w].
  PixelPitches pitches() const {
    PixelPitches p;
    p.operand = plan_.packA ? Element::kF32 : elementOf(g_.operand.dtype);
    p.result = plan_.bufferC ? Element::kF32 : elementOf(g_.result.dtype);
    p.operandRow = axes_[1].operandStep;
    if (plan_.packA) {
      p.channel = panelPitch(g_.operand.extent.w * 4);
      p.h = p.channel * shape_.reduced;
      p.d = p.h * axes_[1].panelOperandRows;
    } else {
      p.channel = g_.operand.cStride;
      p.h = g_.operand.hStride;
      p.d = g_.operand.dStride;
    }
    p.cut = !plan_.bufferC;
    if (plan_.bufferC) {
      p.resultChannel = panelPitch(shape_.blocks() * shape_.blockLanes * 4);
      p.resultPhase = p.resultChannel * plan_.registerChannels;
      p.resultRow = p.resultChannel * shape_.rowsPacked;
    } else {
      p.resultChannel = g_.result.cStride;
      p.resultRow = axes_[1].resultStep * g_.result.hStride;
    }
    return p;
  }

  void packWeights() {
    packedBuffer_ =
        b_.addBuffer("packed_w", BufferRole::kShared, g_.view.groups * shape_.channelBlocks * shape_.blockBytes());
    b_.beginPhase("pack_weights");
    const int src = b_.addStream("w", weightBuffer_), dst = b_.addStream("packed", packedBuffer_);
    const int groups =
        b_.addUniformAxis("g", g_.view.groups, {{src, g_.wGroup}, {dst, shape_.channelBlocks * shape_.blockBytes()}});
    const int channels = b_.addAxis("channel");
    for (std::int64_t c = 0; c < g_.result.channels; ++c) {
      b_.addStep(channels, {{src, c * g_.wResult},
                            {dst, c / plan_.registerChannels * shape_.blockBytes() + c % plan_.registerChannels * 4}});
    }
    const std::int64_t kernelH = g_.view.kernel.h, kernelW = g_.view.kernel.w;
    const int kd =
        b_.addUniformAxis("kd", g_.view.kernel.d, {{src, kernelH * kernelW * 4}, {dst, shape_.slotOf(1, 0, 0)}});
    const int kh = b_.addUniformAxis("kh", kernelH, {{src, kernelW * 4}, {dst, shape_.slotOf(0, 1, 0)}});
    const int kw = b_.addAxis("kw");
    for (std::size_t s = 0; s < shape_.shifts.size(); ++s) {
      for (std::size_t p = 0; p < shape_.phases.size(); ++p) {
        if (shape_.shifts[s].kernelW[p] < 0) continue;
        b_.addStep(kw, {{src, shape_.shifts[s].kernelW[p] * 4},
                        {dst, shape_.slotOf(0, 0, s) + static_cast<std::int64_t>(p) * plan_.registerChannels * 4}});
      }
    }
    Move move{MoveKind::kCopy, shape_.lanes, shape_.reduced, 1, g_.wReduced, shape_.rowsPacked * 4, 0, false, "pack_w"};
    b_.phase().parallelAxes = {groups, channels};
    b_.phase().body =
        nest({kd, kh, kw}, {callNode(Call{"pack", src, -1, dst, {}, {Variant{b_.addKernel(move), -1, false}}})});
    b_.phase().workCycles = static_cast<double>(g_.weightBytes) / 4 * 2;
  }

  void contractPhase() {
    const bool staged = plan_.packA;
    const bool direct = !plan_.bufferC;
    const PixelPitches pitch = pitches();
    if (staged) panelBuffer_ = b_.addBuffer("panel_dy", BufferRole::kPrivate, pitch.d * axes_[0].panelOperandRows);
    const int rowBuffer = direct ? -1 : b_.addBuffer("row_dx", BufferRole::kPrivate, plan_.registerH * pitch.resultRow);
    b_.beginPhase("contract");
    const int a = b_.addStream("a", packedBuffer_), bs = b_.addStream("b", staged ? panelBuffer_ : operandBuffer_);
    const int c = b_.addStream("c", direct ? resultBuffer_ : rowBuffer);
    const int source = staged ? b_.addStream("dy", operandBuffer_) : bs;
    const int panel = staged ? b_.addStream("panel", panelBuffer_) : -1;
    const int sink = direct ? c : b_.addStream("dx", resultBuffer_);
    const int groups = b_.addUniformAxis("g", g_.view.groups,
                                         {{a, shape_.channelBlocks * shape_.blockBytes()},
                                          {source, g_.operand.groupStride()},
                                          {sink, g_.result.groupStride()}});
    const int images = b_.addUniformAxis("n", g_.view.batch, {{source, g_.operand.nStride}, {sink, g_.result.nStride}});
    std::array<int, 2> slabAxis{}, localAxis{};
    for (std::size_t i = 0; i < 2; ++i) {
      const SlabAxis& sa = axes_[i];
      const std::int64_t in = i == 0 ? pitch.d : pitch.h, tensor = g_.operand.strideOf(static_cast<int>(i)),
                         out = g_.result.strideOf(static_cast<int>(i));
      slabAxis[i] = b_.addAxis(i == 0 ? "slab_d" : "slab_h", std::max(1, sa.slabClasses));
      for (const Slab& slab : sa.slabs) {
        std::vector<std::pair<int, std::int64_t>> d{{sink, slab.resultStart * out}};
        if (staged) {
          d.emplace_back(bs, (slab.operandBase - slab.operandOrigin) * in);
          d.emplace_back(source, slab.operandStart * tensor);
          d.emplace_back(panel, (slab.operandStart - slab.operandOrigin) * in);
        } else {
          d.emplace_back(bs, slab.operandBase * tensor);
        }
        b_.addStep(slabAxis[i], d, slab.cls);
      }
      localAxis[i] = b_.addAxis(i == 0 ? "d" : "h", std::max(1, sa.localClasses));
      for (const SlabLocal& local : sa.locals)
        b_.addStep(localAxis[i], {{bs, local.operandOffset * in}, {sink, local.resultOffset * out}}, local.cls);
    }
    const int channels = b_.addAxis("channels", 2);
    for (std::int64_t i = 0; i < shape_.channelBlocks; ++i) {
      b_.addStep(channels, {{a, i * shape_.blockBytes()}, {sink, i * plan_.registerChannels * g_.result.cStride}},
                 (i + 1) * plan_.registerChannels <= g_.result.channels ? 0 : 1);
    }
    const std::int64_t blocks = shape_.blocks();
    const int w = b_.addAxis("w", static_cast<int>(blocks));
    for (std::int64_t i = 0; i < blocks; ++i) {
      b_.addStep(w,
                 {{bs, i * shape_.blockLanes * elementBytes(pitch.operand)},
                  {c, i * shape_.blockLanes * elementBytes(pitch.result)}},
                 static_cast<int>(i));
    }

    PixelSections sections(b_, shape_, plan_, pitch);
    Call call{"contract", a, bs, c, {slabAxis[0], slabAxis[1], localAxis[0], localAxis[1], channels, w}, {}};
    forEachBlock([&](const BlockClass* d, const BlockClass* h) {
      for (int tail = 0; tail < 2; ++tail) {
        const bool exists = d != nullptr && h != nullptr && channelsOf(tail) > 0;
        for (std::int64_t i = 0; i < blocks; ++i)
          call.variants.push_back(exists ? sections.variant(*d, *h, channelsOf(tail), i) : Variant{});
      }
    });
    std::vector<Node> perBlock = nest({w}, {callNode(std::move(call))});
    if (!direct) {
      for (Node& node : storeRows(c, sink, pitch, {slabAxis[0], slabAxis[1], localAxis[0], localAxis[1], channels}))
        perBlock.push_back(std::move(node));
    }
    Phase& phase = b_.phase();
    if (staged) phase.body.push_back(panelLoad(slabAxis, source, panel, pitch));
    for (Node& node : nest({localAxis[0], localAxis[1], channels}, std::move(perBlock)))
      phase.body.push_back(std::move(node));
    phase.parallelAxes = {groups, images, slabAxis[0], slabAxis[1]};
    phase.workCycles = multiplyAddVectors(g_.view, shape_.lanes);
  }

  // Tiles of the same number of rows leave their panel alike.
  std::vector<Node> storeRows(int panel, int sink, const PixelPitches& pitch, const std::vector<int>& classAxes) {
    std::set<std::int64_t> lengths;
    for (const BlockClass& block : axes_[1].classes) lengths.insert(block.length);
    std::vector<Node> moves;
    for (const std::int64_t length : lengths) {
      PixelResults results{shape_.lanes, plan_.registerChannels, pitch.resultChannel,
                           &g_.result,   &shape_.phases,         g_.relation[2].gather ? g_.view.stride.w : 1};
      if (plan_.registerH > 1) {
        results.rowAxis = b_.addUniformAxis(
            "row", length, {{panel, pitch.resultRow}, {sink, axes_[1].resultStep * g_.result.hStride}});
      }
      std::vector<bool> exists;
      forEachBlock([&](const BlockClass* d, const BlockClass* h) {
        exists.push_back(d != nullptr && h != nullptr && h->length == length);
      });
      addPixelResults(b_, results, panel, sink, classAxes, exists, {channelsOf(0), channelsOf(1)}, moves);
    }
    return moves;
  }

  std::int64_t channelsOf(int tail) const {
    const std::int64_t whole = g_.result.channels / plan_.registerChannels * plan_.registerChannels;
    return tail == 1 ? g_.result.channels - whole : std::min(plan_.registerChannels, whole);
  }

  template <class Visit>
  void forEachBlock(Visit visit) const {
    const auto block = [&](std::size_t axis, std::size_t slab, std::size_t local) -> const BlockClass* {
      const SlabAxis& sa = axes_[axis];
      if (slab >= sa.blockClass.size() || local >= sa.blockClass[slab].size() || sa.blockClass[slab][local] < 0)
        return nullptr;
      return &sa.classes[static_cast<std::size_t>(sa.blockClass[slab][local])];
    };
    for (std::size_t sd = 0; sd < static_cast<std::size_t>(std::max(1, axes_[0].slabClasses)); ++sd) {
      for (std::size_t sh = 0; sh < static_cast<std::size_t>(std::max(1, axes_[1].slabClasses)); ++sh) {
        for (std::size_t ld = 0; ld < static_cast<std::size_t>(std::max(1, axes_[0].localClasses)); ++ld) {
          for (std::size_t lh = 0; lh < static_cast<std::size_t>(std::max(1, axes_[1].localClasses)); ++lh)
            visit(block(0, sd, ld), block(1, sh, lh));
        }
      }
    }
  }

  Node panelLoad(const std::array<int, 2>& slabAxis, int source, int panel, const PixelPitches& pitch) {
    const std::int64_t planes = axes_[0].panelOperandRows, rows = axes_[1].panelOperandRows;
    const int plane = b_.addAxis("plane_in", static_cast<int>(planes));
    for (std::int64_t i = 0; i < planes; ++i)
      b_.addStep(plane, {{source, i * g_.operand.dStride}, {panel, i * pitch.d}}, static_cast<int>(i));
    const int row = b_.addAxis("row_in", static_cast<int>(rows));
    for (std::int64_t i = 0; i < rows; ++i)
      b_.addStep(row, {{source, i * g_.operand.hStride}, {panel, i * pitch.h}}, static_cast<int>(i));
    Move move{MoveKind::kTranspose,
              shape_.lanes,
              g_.operand.extent.w,
              shape_.reduced,
              g_.operand.wStride,
              pitch.channel,
              0,
              false,
              "load_panel"};
    if (!g_.operand.channelsLast)
      move =
          Move{MoveKind::kCopy, shape_.lanes, shape_.reduced, g_.operand.extent.w, g_.operand.cStride, pitch.channel, 0,
               false,           "load_panel"};
    move.from = elementOf(g_.operand.dtype);
    const int kernel = b_.addKernel(move);
    Call call{"load_panel", source, -1, panel, {slabAxis[0], slabAxis[1], plane, row}, {}};
    for (int sd = 0; sd < std::max(1, axes_[0].slabClasses); ++sd) {
      for (int sh = 0; sh < std::max(1, axes_[1].slabClasses); ++sh) {
        for (std::int64_t d = 0; d < planes; ++d) {
          for (std::int64_t h = 0; h < rows; ++h) {
            const bool here = sd < axes_[0].slabClasses && sh < axes_[1].slabClasses &&
                              d < axes_[0].operandCountOf[static_cast<std::size_t>(sd)] &&
                              h < axes_[1].operandCountOf[static_cast<std::size_t>(sh)];
            call.variants.push_back(Variant{here ? kernel : -1, -1, false});
          }
        }
      }
    }
    return loopNode(plane, {loopNode(row, {callNode(std::move(call))})});
  }

  const SpatialDataPlan& plan_;
  ProgramBuilder b_;
  const PixelShape shape_;
  const DataGradient& g_;
  std::array<SlabAxis, 2> axes_;
  int operandBuffer_ = -1, weightBuffer_ = -1, resultBuffer_ = -1, packedBuffer_ = -1, panelBuffer_ = -1;
};

}  // namespace

Result<TileProgram> lowerDataPixels(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  return Lowering(problem, plan.as<SpatialDataPlan>(), machine).run();
}

}  // namespace cubejit
