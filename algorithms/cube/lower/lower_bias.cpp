// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides the program of db on a chip: no product, so the vector unit adds up dy. A task is a block of c0 channels, whose pixels come to
// UB strip by strip, in the order of memory's n, d, h, w, are widened there and added one after the other.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "algorithms/cube/lower/channel_runs.h"
#include "algorithms/cube/lower/cube_streams.h"
#include "algorithms/kit/lower/data_gradient.h"
#include "algorithms/kit/lower/tensor_binding.h"
#include "algorithms/lower.h"
#include "codegen/tile/unit_flags.h"
#include "tiling/rounding.h"

namespace cubejit {
namespace {

constexpr std::int64_t kMostChannels = 16;

// Pixels of a row or more that UB holds at once, and whether the sums begin or end with them.
struct BiasStrip {
  std::int64_t rows = 0, columns = 0;
  bool first = false, last = false;
  friend auto operator<=>(const BiasStrip& x, const BiasStrip& y) = default;
};

class CubeBiasLowering {
 public:
  CubeBiasLowering(const Problem& problem, const Machine& chip, int lanes)
      : p_(problem),
        lanes_(lanes),
        dyMap_(indexMap(problem, TensorId::kDy)),
        dbMap_(indexMap(problem, TensorId::kDb)),
        dy_(elementInMemory(formatOf(problem, TensorId::kDy).dtype)),
        db_(elementInMemory(formatOf(problem, TensorId::kDb).dtype)),
        e_(elementBytes(dy_)),
        c0_(kRun / e_),
        ubBytes_(chip.buffers.ubBytes),
        b_(problemLabel(problem, Pass::kDb) + "_" + chip.name) {}

  Result<TileProgram> run() {
    const std::int64_t most = (ubBytes_ - sumsBytes()) / pixelBytes();
    const int dy = b_.addTensor(TensorId::kDy, formatBytes(p_, TensorId::kDy));
    const int db = b_.addTensor(TensorId::kDb, formatBytes(p_, TensorId::kDb));
    const int ub = b_.addBuffer("UB", Buffer::Use::kPrivate, ubBytes_);
    addCoreUnits(b_);
    b_.beginPhase("bias");
    from_ = b_.addStream("dy", dy);
    to_ = b_.addStream("db", db);
    ub_ = b_.addStream("UB", ub);
    const int channels = addChannels(), strips = addStrips(most);
    Node choice;
    choice.classAxes = {channels, strips};
    for (const Channels& block : blocks_) {
      for (const BiasStrip& strip : shapes_) {
        CallSequence calls(b_);
        addCalls(block, strip, most, calls);
        addWindow(choice, calls);
      }
    }
    b_.phase().parallelAxes = {channels};
    b_.phase().body = nest({strips}, {std::move(choice)});
    b_.phase().workCycles = static_cast<double>(formatBytes(p_, TensorId::kDy)) / 16;
    TileProgram program = b_.finish();
    setElements(program, p_);
    setUnitFlags(program);
    return program;
  }

 private:
  // A block of channels: where they lie behind the first of them, in dy and in db.
  struct Channels {
    std::int64_t count = 0;
    std::vector<ChannelRun> in, out;
    friend bool operator==(const Channels& x, const Channels& y) = default;
  };

  bool widens() const { return dy_ != Element::kF32; }
  // Bytes of a pixel in UB, as it is in memory and widened, of the sums, and of what becomes of them.
  std::int64_t pixelBytes() const { return kRun + (widens() ? c0_ * 4 : 0); }
  static std::int64_t sumsBytes() { return 2 * kMostChannels * 4; }

  static std::vector<ChannelRun> runsBehindFirst(const IndexMap& map, std::int64_t first, std::int64_t count) {
    std::vector<std::int64_t> offsets = offsetsOf(map, 1, first, count);
    for (std::int64_t& offset : offsets) offset -= map.along(1, first);
    return channelRuns(offsets);
  }

  int addChannels() {
    std::vector<std::pair<int, AxisDeltas>> steps;
    for (std::int64_t c = 0; c < p_.cout; c += c0_) {
      const std::int64_t count = std::min(c0_, p_.cout - c);
      Channels block{count, runsBehindFirst(dyMap_, c, count), runsBehindFirst(dbMap_, c, count)};
      const auto same = std::find(blocks_.begin(), blocks_.end(), block);
      steps.push_back({static_cast<int>(same - blocks_.begin()),
                       {{from_, dyMap_.along(1, c) * e_}, {to_, dbMap_.along(1, c) * elementBytes(db_)}}});
      if (same == blocks_.end()) blocks_.push_back(std::move(block));
    }
    const int axis = b_.addAxis("channels", static_cast<int>(blocks_.size()));
    for (const auto& [cls, deltas] : steps) b_.addStep(axis, deltas, cls);
    return axis;
  }

  int addStrips(std::int64_t most) {
    const std::int64_t width = p_.out.w, rows = std::max<std::int64_t>(1, most / std::max<std::int64_t>(1, width));
    std::vector<std::pair<std::int64_t, BiasStrip>> strips;
    for (std::int64_t n = 0; n < p_.batch; ++n) {
      for (std::int64_t d = 0; d < p_.out.d; ++d) {
        for (std::int64_t h = 0; h < p_.out.h; h += rows) {
          for (std::int64_t w = 0; w < width; w += most)
            strips.emplace_back(dyMap_.along(0, n) + dyMap_.along(2, d) + dyMap_.along(3, h) + dyMap_.along(4, w),
                                BiasStrip{std::min(rows, p_.out.h - h), std::min(most, width - w)});
        }
      }
    }
    if (strips.empty()) strips.emplace_back(0, BiasStrip{});
    strips.front().second.first = strips.back().second.last = true;
    std::map<BiasStrip, int> classes;
    std::vector<int> of;
    for (const auto& [at, strip] : strips) {
      const auto [cls, fresh] = classes.emplace(strip, static_cast<int>(classes.size()));
      if (fresh) shapes_.push_back(strip);
      of.push_back(cls->second);
    }
    const int axis = b_.addAxis("strip", static_cast<int>(classes.size()));
    for (std::size_t i = 0; i < strips.size(); ++i) b_.addStep(axis, {{from_, strips[i].first * e_}}, of[i]);
    return axis;
  }

  void addCalls(const Channels& block, const BiasStrip& strip, std::int64_t most, CallSequence& calls) {
    const std::int64_t wide = most * kRun, sums = most * pixelBytes(), results = sums + kMostChannels * 4;
    const std::int64_t pixels = strip.rows * strip.columns;
    if (strip.first) zero(calls, sums, c0_ * 4);
    if (pixels > 0) {
      load(block, strip, calls);
      calls.issue(CoreUnit::kVector);
      if (widens()) {
        ListedMoves widen;
        widen.add(Copy{.lanes = lanes_, .rows = 1, .cols = pixels * c0_, .from = dy_, .label = "widen"}, 0, 0);
        widen.emit(calls, "widen", {ub_, 0}, {ub_, wide});
        calls.issue(CoreUnit::kVector);
      }
      const Accumulate add{
          .lanes = lanes_, .rows = 1, .cols = c0_, .list = ListSteps{c0_ * 4, 0}, .label = "add_pixels"};
      ListedMoves sum;
      sum.addSegment(add, {0, 0, pixels});
      sum.emit(calls, "add", {ub_, widens() ? wide : 0}, {ub_, sums});
    }
    if (strip.last) store(block, sums, results, calls);
  }

  void zero(CallSequence& calls, std::int64_t at, std::int64_t bytes) {
    calls.issue(CoreUnit::kVector);
    zeroBytes(calls, "zero", lanes_, bytes, {ub_, at});
  }

  void load(const Channels& block, const BiasStrip& strip, CallSequence& calls) {
    const std::int64_t rowPitch = strideOf(dyMap_, 3), columnPitch = strideOf(dyMap_, 4);
    const bool oneLine = strip.rows == 1 || strip.columns == 1 || rowPitch == strip.columns * columnPitch;
    ChannelMoves moves(lanes_, wordOf(e_), wordOf(e_), "gm_to_ub");
    bool filled = true;
    for (std::int64_t r = 0; r < (oneLine ? 1 : strip.rows); ++r) {
      const RowLine line{r * rowPitch, r * strip.columns * kRun, oneLine ? strip.rows * strip.columns : strip.columns,
                         strip.columns == 1 ? rowPitch : columnPitch, kRun};
      filled = filled && ChannelMoves::fillsRows(block.in, c0_, line);
      moves.load(block.in, c0_, line);
    }
    if (!filled) zero(calls, 0, strip.rows * strip.columns * kRun);
    calls.issue(CoreUnit::kGmToUb);
    moves.emit(calls, "load_dy", {from_, 0}, {ub_, 0});
  }

  void store(const Channels& block, std::int64_t sums, std::int64_t results, CallSequence& calls) {
    ListedMoves cast;
    calls.issue(CoreUnit::kVector);
    cast.add(Copy{.lanes = lanes_, .rows = 1, .cols = block.count, .to = db_, .label = "cast"}, 0, 0);
    cast.emit(calls, "cast", {ub_, sums}, {ub_, results});
    ChannelMoves out(lanes_, wordOf(elementBytes(db_)), wordOf(elementBytes(db_)), "ub_to_gm");
    out.store(block.out, {0, 0, 1, 1, 0});
    calls.issue(CoreUnit::kUbToGm);
    out.emit(calls, "store_db", {ub_, results}, {to_, 0});
  }

  const Problem& p_;
  const int lanes_;
  const IndexMap dyMap_, dbMap_;
  const Element dy_, db_;
  const std::int64_t e_, c0_, ubBytes_;
  ProgramBuilder b_;
  std::vector<Channels> blocks_;
  std::vector<BiasStrip> shapes_;
  int from_ = -1, to_ = -1, ub_ = -1;
};

}  // namespace

Result<TileProgram> lowerCubeBias(const Problem& problem, const Machine& chip, int lanes) {
  return CubeBiasLowering(problem, chip, lanes).run();
}

}  // namespace cubejit
