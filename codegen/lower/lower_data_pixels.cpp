// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the tile program of a data gradient with few channels: lanes are neighbouring pixels of a residue class along W, the
// accumulator rows are (residue class x result channel), weights are broadcast.
//   dx[c][phase + stride*j] += w[o][c][k] * dy[o][j + offset(phase, k)]     lanes j
// Operand rows are read in place from plain tensors, or transposed into a panel [d][h][channel][w] from channels-last ones.
// Leaves which taps reach which rows to slab_axis, and the way out of interleaved results to pixel_results.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "codegen/lower/data_gradient.h"
#include "codegen/lower/pixel_results.h"
#include "cubejit/work.h"

namespace cubejit {
namespace {

// Taps along W that share one operand offset, and what a block of lanes may read at it.
struct Shift {
  std::int64_t offset = 0;
  std::uint64_t phases = 0;           ///< which phases have a tap here
  std::vector<std::int64_t> kernelW;  ///< its kernel index, per phase (-1 = none)
};

// Channel planes of a 1x1 layer from which their lines are asked for (24 to 144 channels, 56x56: 1.09 times as fast; 24 planes: level).
constexpr std::int64_t kManyPlanes = 64;

struct SectionKey {
  std::uint64_t phases = 0;
  std::vector<LaneRange> lanes;  ///< per vector; {0, -1} = nothing to read
  friend bool operator==(const SectionKey& x, const SectionKey& y) = default;
};

constexpr LaneRange kNothing{0, -1};

// Steps of an unrolled iteration: enough to hide the loop, few enough for the op cache.
constexpr std::int64_t kStepsAnIteration = 24;

class Lowering {
 public:
  Lowering(const Problem& problem, const TilingPlan& plan, const Machine& machine)
      : plan_(plan),
        lanes_(machine.isa.lanes()),
        b_(problemLabel(problem, plan)),
        g_(makeDataGradient(problem, false)) {
    axes_[0] = makeSlabAxis(g_.relation[0], 1, plan.panelD);
    axes_[1] = makeSlabAxis(g_.relation[1], 1, plan.panelH);
    phases_ = axisPhases(g_.relation[2]);
    collectShifts();
    reduced_ = g_.operand.channels;
    channelBlocks_ = (g_.result.channels + plan.baseRows - 1) / plan.baseRows;
    rowsPacked_ = static_cast<std::int64_t>(phases_.size()) * plan.baseRows;
    for (const AxisPhase& phase : phases_) longest_ = std::max(longest_, phase.count);
    blockLanes_ = plan.baseVectors * lanes_;
  }

  TileProgram run() {
    operandBuffer_ = b_.addBuffer("dy", BufferRole::kDy, g_.operand.bytes);
    weightBuffer_ = b_.addBuffer("w", BufferRole::kW, g_.weightBytes);
    resultBuffer_ = b_.addBuffer("dx", BufferRole::kDx, g_.result.bytes);
    if (g_.hasGaps) addZeroPhase(b_, resultBuffer_, g_.result.bytes, lanes_);
    if (phases_.empty()) return b_.finish();
    packWeights();
    contractPhase();
    return b_.finish();
  }

 private:
  // What kernels see: panels are of f32.
  Element operandElement() const { return plan_.panelB ? Element::kF32 : elementOf(g_.operand.dtype); }
  Element resultElement() const { return plan_.panelC ? Element::kF32 : elementOf(g_.result.dtype); }
  std::int64_t operandBytes() const { return elementBytes(operandElement()); }
  std::int64_t resultBytes() const { return elementBytes(resultElement()); }

  void collectShifts() {
    for (std::size_t p = 0; p < phases_.size(); ++p) {
      for (const BlockTap& tap : phases_[p].taps) {
        auto at = std::find_if(shifts_.begin(), shifts_.end(), [&](const Shift& s) { return s.offset == tap.offset; });
        if (at == shifts_.end())
          at = shifts_.insert(shifts_.end(), Shift{tap.offset, 0, std::vector<std::int64_t>(phases_.size(), -1)});
        at->phases |= std::uint64_t{1} << p;
        at->kernelW[p] = tap.k;
      }
    }
    std::sort(shifts_.begin(), shifts_.end(), [](const Shift& a, const Shift& b) { return a.offset < b.offset; });
  }

  // Bytes of packed weights of one (kd, kh, shift): [k][phase][channel].
  std::int64_t shiftBytes() const { return reduced_ * rowsPacked_ * 4; }
  std::int64_t blockBytes() const {
    return g_.view.kernel.d * g_.view.kernel.h * static_cast<std::int64_t>(shifts_.size()) * shiftBytes();
  }
  std::int64_t slotOf(std::int64_t kd, std::int64_t kh, std::size_t shift) const {
    return ((kd * g_.view.kernel.h + kh) * static_cast<std::int64_t>(shifts_.size()) +
            static_cast<std::int64_t>(shift)) *
           shiftBytes();
  }

  void packWeights() {
    packedBuffer_ = b_.addBuffer("packed_w", BufferRole::kShared, g_.view.groups * channelBlocks_ * blockBytes());
    b_.beginPhase("pack_weights");
    const int src = b_.addStream("w", weightBuffer_), dst = b_.addStream("packed", packedBuffer_);
    const int groups = b_.addUniformAxis("g", g_.view.groups, {{src, g_.wGroup}, {dst, channelBlocks_ * blockBytes()}});
    const int channels = b_.addAxis("channel");
    for (std::int64_t c = 0; c < g_.result.channels; ++c) {
      b_.addStep(channels, {{src, c * g_.wResult}, {dst, c / plan_.baseRows * blockBytes() + c % plan_.baseRows * 4}});
    }
    const std::int64_t kernelH = g_.view.kernel.h, kernelW = g_.view.kernel.w;
    const int kd = b_.addUniformAxis("kd", g_.view.kernel.d, {{src, kernelH * kernelW * 4}, {dst, slotOf(1, 0, 0)}});
    const int kh = b_.addUniformAxis("kh", kernelH, {{src, kernelW * 4}, {dst, slotOf(0, 1, 0)}});
    const int kw = b_.addAxis("kw");
    for (std::size_t s = 0; s < shifts_.size(); ++s) {
      for (std::size_t p = 0; p < phases_.size(); ++p) {
        if (shifts_[s].kernelW[p] < 0) continue;
        b_.addStep(kw, {{src, shifts_[s].kernelW[p] * 4},
                        {dst, slotOf(0, 0, s) + static_cast<std::int64_t>(p) * plan_.baseRows * 4}});
      }
    }
    Move move{MoveKind::kCopy, lanes_, reduced_, 1, g_.wReduced, rowsPacked_ * 4, 0, false, "pack_w"};
    b_.phase().parallelAxes = {groups, channels};
    b_.phase().body =
        nest({kd, kh, kw}, {callNode(Call{"pack", src, -1, dst, {}, {Variant{b_.addKernel(move), -1, false}}})});
    b_.phase().workCycles = static_cast<double>(g_.weightBytes) / 4 * 2;
  }

  void contractPhase() {
    const bool staged = plan_.panelB;
    const bool direct = !plan_.panelC;
    rowPitch_ = panelPitch((longest_ + blockLanes_ - 1) / blockLanes_ * blockLanes_ * 4);
    if (staged) {
      channelPitch_ = panelPitch(g_.operand.extent.w * 4);
      hPitch_ = channelPitch_ * reduced_;
      dPitch_ = hPitch_ * axes_[1].panelOperandRows;
      panelBuffer_ = b_.addBuffer("panel_dy", BufferRole::kPrivate, dPitch_ * axes_[0].panelOperandRows);
    } else {
      channelPitch_ = g_.operand.cStride;
      hPitch_ = g_.operand.hStride;
      dPitch_ = g_.operand.dStride;
    }
    const int rowBuffer = direct ? -1 : b_.addBuffer("row_dx", BufferRole::kPrivate, rowsPacked_ * rowPitch_);
    b_.beginPhase("contract");
    const int a = b_.addStream("a", packedBuffer_), bs = b_.addStream("b", staged ? panelBuffer_ : operandBuffer_);
    const int c = b_.addStream("c", direct ? resultBuffer_ : rowBuffer);
    const int source = staged ? b_.addStream("dy", operandBuffer_) : bs;
    const int panel = staged ? b_.addStream("panel", panelBuffer_) : -1;
    const int sink = direct ? c : b_.addStream("dx", resultBuffer_);
    const int groups = b_.addUniformAxis(
        "g", g_.view.groups,
        {{a, channelBlocks_ * blockBytes()}, {source, g_.operand.groupStride()}, {sink, g_.result.groupStride()}});
    const int images = b_.addUniformAxis("n", g_.view.batch, {{source, g_.operand.nStride}, {sink, g_.result.nStride}});
    std::array<int, 2> slabAxis{}, localAxis{};
    for (std::size_t i = 0; i < 2; ++i) {
      const SlabAxis& sa = axes_[i];
      const std::int64_t pitch = i == 0 ? dPitch_ : hPitch_, tensor = g_.operand.strideOf(static_cast<int>(i)),
                         out = g_.result.strideOf(static_cast<int>(i));
      slabAxis[i] = b_.addAxis(i == 0 ? "slab_d" : "slab_h", std::max(1, sa.slabClasses));
      for (const Slab& slab : sa.slabs) {
        std::vector<std::pair<int, std::int64_t>> d{{sink, slab.resultStart * out}};
        if (staged) {
          d.emplace_back(bs, (slab.operandBase - slab.operandOrigin) * pitch);
          d.emplace_back(source, slab.operandStart * tensor);
          d.emplace_back(panel, (slab.operandStart - slab.operandOrigin) * pitch);
        } else {
          d.emplace_back(bs, slab.operandBase * tensor);
        }
        b_.addStep(slabAxis[i], d, slab.cls);
      }
      localAxis[i] = b_.addAxis(i == 0 ? "d" : "h", std::max(1, sa.localClasses));
      for (const SlabLocal& local : sa.locals)
        b_.addStep(localAxis[i], {{bs, local.operandOffset * pitch}, {sink, local.resultOffset * out}}, local.cls);
    }
    const int channels = b_.addAxis("channels", 2);
    for (std::int64_t i = 0; i < channelBlocks_; ++i) {
      b_.addStep(channels, {{a, i * blockBytes()}, {sink, i * plan_.baseRows * g_.result.cStride}},
                 (i + 1) * plan_.baseRows <= g_.result.channels ? 0 : 1);
    }
    const auto blocks = (longest_ + blockLanes_ - 1) / blockLanes_;
    const int w = b_.addAxis("w", static_cast<int>(blocks));
    for (std::int64_t i = 0; i < blocks; ++i)
      b_.addStep(w, {{bs, i * blockLanes_ * operandBytes()}, {c, i * blockLanes_ * resultBytes()}},
                 static_cast<int>(i));

    Call call{"contract", a, bs, c, {slabAxis[0], slabAxis[1], localAxis[0], localAxis[1], channels, w}, {}};
    forEachRow([&](const BlockClass* d, const BlockClass* h) {
      for (int tail = 0; tail < 2; ++tail) {
        for (std::int64_t i = 0; i < blocks; ++i) call.variants.push_back(variantAt(d, h, rowsOf(tail), i));
      }
    });
    std::vector<Node> perBlock = nest({w}, {callNode(std::move(call))});
    if (!direct) {
      PixelResults results{lanes_,     plan_.baseRows, rowPitch_,
                           &g_.result, &phases_,       g_.relation[2].gather ? g_.view.stride.w : 1};
      std::vector<bool> exists;
      forEachRow([&](const BlockClass* d, const BlockClass* h) { exists.push_back(d != nullptr && h != nullptr); });
      addPixelResults(b_, results, c, sink, {slabAxis[0], slabAxis[1], localAxis[0], localAxis[1], channels}, exists,
                      {rowsOf(0), rowsOf(1)}, perBlock);
    }
    Phase& phase = b_.phase();
    if (staged) phase.body.push_back(panelLoad(slabAxis, source, panel));
    for (Node& node : nest({localAxis[0], localAxis[1], channels}, std::move(perBlock)))
      phase.body.push_back(std::move(node));
    phase.parallelAxes = {groups, images, slabAxis[0], slabAxis[1]};
    phase.workCycles = multiplyAddVectors(g_.view, lanes_);
  }

  std::int64_t rowsOf(int tail) const {
    return tail == 1 ? g_.result.channels % plan_.baseRows
                     : std::min(plan_.baseRows, g_.result.channels / plan_.baseRows * plan_.baseRows);
  }

  template <class Visit>
  void forEachRow(Visit visit) const {
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

  // Lanes of block i that may read the operand at `offset`, per vector.
  std::vector<LaneRange> readable(std::int64_t offset, std::int64_t i) const {
    std::vector<LaneRange> out;
    const std::int64_t begin = std::max<std::int64_t>(0, -offset), end = g_.operand.extent.w - offset;
    for (std::int64_t v = 0; v < vectorsOf(i); ++v) {
      const std::int64_t j0 = i * blockLanes_ + v * lanes_;
      const std::int64_t lo = std::clamp<std::int64_t>(begin - j0, 0, lanes_),
                         hi = std::clamp<std::int64_t>(std::min(end, longest_) - j0, 0, lanes_);
      if (lo >= hi)
        out.push_back(kNothing);
      else if (lo == 0 && hi == lanes_)
        out.push_back(LaneRange{});
      else
        out.push_back(LaneRange{static_cast<std::int16_t>(lo), static_cast<std::int16_t>(hi)});
    }
    return out;
  }

  std::int64_t vectorsOf(std::int64_t block) const {
    return std::min(plan_.baseVectors, (longest_ - block * blockLanes_ + lanes_ - 1) / lanes_);
  }

  // Shifts that read alike share a section, and a segment is one shift. If they differ, a single section does all shifts of a
  // channel after one another instead, and a segment is one (kd, kh): an operand row is in L1 for all its shifts.
  struct Sections {
    std::vector<SectionKey> keys;  // one a shift, or the one that all share
    std::int64_t unroll = 1;       // reduced channels an iteration
    bool allShifts() const { return keys.size() > 1; }
  };

  Sections sectionsOf(std::int64_t block) const {
    Sections sections;
    for (const Shift& shift : shifts_) sections.keys.push_back(SectionKey{shift.phases, readable(shift.offset, block)});
    const bool alike = std::all_of(sections.keys.begin(), sections.keys.end(),
                                   [&](const SectionKey& k) { return k == sections.keys[0]; });
    if (alike) sections.keys.resize(1);
    const auto shifts = static_cast<std::int64_t>(sections.keys.size());
    sections.unroll = std::clamp<std::int64_t>(kStepsAnIteration / shifts, 1, plan_.unroll);
    return sections;
  }

  Variant variantAt(const BlockClass* d, const BlockClass* h, std::int64_t rows, std::int64_t block) {
    Variant v;
    if (d == nullptr || h == nullptr || rows == 0) return v;
    const Sections sections = sectionsOf(block);
    const std::int64_t main = reduced_ / sections.unroll, done = main * sections.unroll;
    const bool remainder = done != reduced_;
    SegmentList list(remainder ? 2 : 1);
    for (const BlockTap& td : d->taps) {
      for (const BlockTap& th : h->taps) {
        for (std::size_t s = 0; s < (sections.allShifts() ? 1 : shifts_.size()); ++s) {
          const Segment segment{slotOf(td.k, th.k, s),
                                td.offset * dPitch_ + th.offset * hPitch_ + shifts_[s].offset * operandBytes(), main};
          if (main > 0) list[0].push_back(segment);
          if (remainder)
            list[1].push_back(
                Segment{segment.aOffset + done * rowsPacked_ * 4, segment.bOffset + done * channelPitch_, 1});
        }
      }
    }
    const auto [kernel, fresh] = kernels_.try_emplace({rows, block}, -1);
    if (fresh) kernel->second = kernelFor(sections, rows, block);
    v.kernel = kernel->second;
    v.list = b_.addList(std::move(list));
    return v;
  }

  int kernelFor(const Sections& sections, std::int64_t rows, std::int64_t block) {
    Contract contract;
    contract.lanes = lanes_;
    const std::int64_t vectors = vectorsOf(block);
    const bool direct = !plan_.panelC;
    contract.vectorsB = operandElement();
    contract.result = resultElement();
    contract.label =
        "dxp_" + std::to_string(rows * static_cast<std::int64_t>(phases_.size())) + "x" + std::to_string(vectors);
    for (std::size_t p = 0; p < phases_.size(); ++p) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t v = 0; v < vectors; ++v) {
          const std::int64_t left = longest_ - block * blockLanes_ - v * lanes_;
          const std::int64_t row =
              direct ? r * g_.result.cStride : (static_cast<std::int64_t>(p) * plan_.baseRows + r) * rowPitch_;
          contract.accumulators.push_back(
              Accumulator{static_cast<std::int32_t>(row + v * lanes_ * resultBytes()),
                          direct && left < lanes_ ? LaneRange{0, static_cast<std::int16_t>(left)} : LaneRange{}});
        }
      }
    }
    contract.sections.push_back(sectionFor(sections, rows, vectors, sections.unroll));
    if (reduced_ % sections.unroll != 0)
      contract.sections.push_back(sectionFor(sections, rows, vectors, reduced_ % sections.unroll));
    return b_.addKernel(std::move(contract));
  }

  Section sectionFor(const Sections& sections, std::int64_t rows, std::int64_t vectors, std::int64_t channels) const {
    Section section;
    section.aOuterStep = channels * rowsPacked_ * 4;
    section.bOuterStep = channels * channelPitch_;
    for (std::int64_t k = 0; k < channels; ++k) {
      for (std::size_t s = 0; s < sections.keys.size(); ++s) {
        const std::int64_t a = k * rowsPacked_ * 4 + static_cast<std::int64_t>(s) * shiftBytes();
        section.steps.push_back(stepFor(sections.keys[s], rows, vectors, a,
                                        k * channelPitch_ + (shifts_[s].offset - shifts_[0].offset) * operandBytes()));
      }
    }
    return section;
  }

  // One reduced channel at one shift; offsets are those of its weights and its operand row.
  Step stepFor(const SectionKey& key, std::int64_t rows, std::int64_t vectors, std::int64_t aOffset,
               std::int64_t bOffset) const {
    Step step;
    // More planes than prefetchers follow: the lines of the next block of pixels.
    if (g_.taps == 1 && !plan_.panelB && reduced_ >= kManyPlanes)
      step.prefetchB = static_cast<std::int32_t>(blockLanes_ * operandBytes());
    std::vector<std::int16_t> whole;                          // b indices that take part with all lanes
    std::vector<std::pair<LaneRange, std::int16_t>> partial;  // ... with some
    std::vector<std::int64_t> vectorOf;
    for (std::int64_t v = 0; v < vectors; ++v) {
      const LaneRange lanes = key.lanes[static_cast<std::size_t>(v)];
      if (lanes == kNothing) continue;
      const auto index = static_cast<std::int16_t>(step.b.size());
      step.b.push_back(VectorLoad{static_cast<std::int32_t>(bOffset + v * lanes_ * operandBytes()), lanes});
      vectorOf.push_back(v);
      if (lanes.all())
        whole.push_back(index);
      else
        partial.emplace_back(lanes, index);
    }
    for (std::size_t p = 0; p < phases_.size(); ++p) {
      if ((key.phases >> p & 1) == 0) continue;
      for (std::int64_t r = 0; r < rows; ++r) {
        AOperand operand;
        operand.offset = static_cast<std::int32_t>(aOffset + (static_cast<std::int64_t>(p) * plan_.baseRows + r) * 4);
        const auto use = [&](std::int16_t b) {
          const std::int64_t row = static_cast<std::int64_t>(p) * rows + r;
          return Use{static_cast<std::int16_t>(row * vectors + vectorOf[static_cast<std::size_t>(b)]), b};
        };
        for (std::int16_t b : whole) operand.uses.push_back(use(b));
        if (!operand.uses.empty()) step.a.push_back(operand);
        for (const auto& [lanes, b] : partial) {
          AOperand masked;
          masked.offset = operand.offset;
          masked.useLanes = lanes;
          masked.uses.push_back(use(b));
          step.a.push_back(std::move(masked));
        }
      }
    }
    return step;
  }

  Node panelLoad(const std::array<int, 2>& slabAxis, int source, int panel) {
    const std::int64_t planes = axes_[0].panelOperandRows, rows = axes_[1].panelOperandRows;
    const int plane = b_.addAxis("plane_in", static_cast<int>(planes));
    for (std::int64_t i = 0; i < planes; ++i)
      b_.addStep(plane, {{source, i * g_.operand.dStride}, {panel, i * dPitch_}}, static_cast<int>(i));
    const int row = b_.addAxis("row_in", static_cast<int>(rows));
    for (std::int64_t i = 0; i < rows; ++i)
      b_.addStep(row, {{source, i * g_.operand.hStride}, {panel, i * hPitch_}}, static_cast<int>(i));
    Move move{MoveKind::kTranspose, lanes_, g_.operand.extent.w, reduced_, g_.operand.wStride, channelPitch_, 0, false,
              "load_panel"};
    if (!g_.operand.channelsLast)
      move = Move{MoveKind::kCopy, lanes_, reduced_, g_.operand.extent.w, g_.operand.cStride,
                  channelPitch_,   0,      false,    "load_panel"};
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

  const TilingPlan& plan_;
  const int lanes_;
  ProgramBuilder b_;
  const DataGradient g_;
  std::array<SlabAxis, 2> axes_;
  std::vector<AxisPhase> phases_;
  std::vector<Shift> shifts_;
  std::int64_t reduced_ = 1, channelBlocks_ = 1, rowsPacked_ = 1, longest_ = 0, blockLanes_ = 16;
  std::int64_t rowPitch_ = 0, channelPitch_ = 0, hPitch_ = 0, dPitch_ = 0;
  std::map<std::pair<std::int64_t, std::int64_t>, int> kernels_;  // by rows and block of W
  int operandBuffer_ = -1, weightBuffer_ = -1, resultBuffer_ = -1, packedBuffer_ = -1, panelBuffer_ = -1;
};

}  // namespace

Result<TileProgram> lowerDataPixels(const Problem& problem, const TilingPlan& plan, const Machine& machine) {
  return Lowering(problem, plan, machine).run();
}

}  // namespace cubejit
