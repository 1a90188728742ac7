// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides strips of the vector unit.
#include "algorithms/cube/lower/cube_sums.h"

#include <algorithm>
#include <map>
#include <utility>

#include "algorithms/cube/lower/channel_runs.h"
#include "codegen/tile/element.h"
#include "tiling/rounding.h"

namespace cubejit {
CubeSums::CubeSums(const CubeJob& job) : c0_(job.work.c0), kernelD_(job.work.kernel.d), groups_(job.work.groups.count) {
  const CubePlan& plan = job.plan.cube();
  const std::int64_t n = std::min(plan.singleShape.n, job.work.gemm.n);
  sharesOfN_ = ceilDiv(job.work.gemm.n, n);
  units_ = ceilDiv(n, c0_);
  rows_ = roundUp(job.work.gemm.m, kSide);
  singleM_ = std::min(roundUp(plan.singleShape.m, kSide), rows_);
  baseM_ = plan.tile.base.m;
}

std::int64_t CubeSums::rowsFrom(std::int64_t row) const {
  const std::int64_t inTask = row % singleM_;
  return std::min({baseM_, singleM_ - inTask, rows_ - row});
}

std::vector<std::int64_t> CubeSums::blocks() const {
  std::vector<std::int64_t> out;
  for (std::int64_t row = 0; row < rows_; row += rowsFrom(row)) out.push_back(row);
  return out;
}

namespace {

// A piece of the sums that tasks of the vector unit take alike: the rows of a base block, c0 channels of the big tensor, all taps.
class CastPhase {
 public:
  CastPhase(ProgramBuilder& b, const CubeJob& job, const CubeTensors& tensors, const CubeSums& sums, std::int64_t parts,
            int lanes)
      : b_(b), job_(job), w_(job.work), map_(tensors.resultMap), sums_(sums), parts_(parts), lanes_(lanes) {
    const DType type = formatOf(job.problem, TensorId::kDw).dtype;
    type_ = elementInMemory(type);
    taps_ = offsetsOfTaps(map_, w_);
  }

  void run(int buffer, int result, int ub) {
    b_.beginPhase("cast");
    from_ = b_.addStream("sums", buffer);
    to_ = b_.addStream("dw", result);
    ub_ = b_.addStream("UB", ub);
    std::map<std::vector<std::int64_t>, int> classes;
    Node choice;
    std::vector<std::pair<int, AxisDeltas>> steps;
    const std::int64_t e = elementBytes(type_), blocksOfShare = sums_.unitsOfShare() / w_.tapsHw;
    for (std::int64_t d = 0; d < w_.kernel.d; ++d) {
      for (std::int64_t g = 0; g < w_.groups.count; ++g) {
        for (const std::int64_t row : sums_.blocks()) {
          for (std::int64_t c1 = 0; c1 < w_.blocks; ++c1) {
            const Piece piece = pieceOf(g, row, c1);
            if (piece.lines.empty()) continue;
            const auto [cls, fresh] = classes.emplace(piece.key, static_cast<int>(classes.size()));
            if (fresh) {
              CallSequence calls(b_);
              strips(piece, calls);
              addWindow(choice, calls);
            }
            const std::int64_t at = d * sums_.tapDepth() + g * sums_.group() + c1 / blocksOfShare * sums_.shareOfN() +
                                    row * sums_.row() +
                                    c1 % blocksOfShare * w_.tapsHw * sums_.rowsFrom(row) * w_.c0 * 4;
            steps.push_back({cls->second, {{from_, at}, {to_, (map_.along(2, d) + piece.origin) * e}}});
          }
        }
      }
    }
    const int axis = b_.addAxis("piece", std::max(1, static_cast<int>(classes.size())));
    for (const auto& [cls, deltas] : steps) b_.addStep(axis, deltas, cls);
    choice.classAxes = {axis};
    b_.phase().parallelAxes = {axis};
    if (!choice.windows.empty()) b_.phase().body.push_back(std::move(choice));
    b_.phase().workCycles = static_cast<double>(sums_.bytes() * parts_) / 4;
  }

 private:
  // Outer channels [row, row + count) of a block of rows that share their inner channels: elements from the piece's origin.
  struct Line {
    std::int64_t row = 0, count = 0, offset = 0, pitch = 0;
    std::vector<ChannelRun> runs;  ///< from the first channel on
  };
  struct Piece {
    std::int64_t rows = 0;    ///< of the base block
    std::int64_t origin = 0;  ///< in dw: where the first element lies
    std::vector<Line> lines;
    std::vector<std::int64_t> key;
  };

  Piece pieceOf(std::int64_t group, std::int64_t row, std::int64_t c1) const {
    const ChannelRange outer = channelsOf(job_, false, group), inner = channelsOf(job_, true, group);
    Piece piece;
    piece.rows = sums_.rowsFrom(row);
    const std::int64_t end = std::min(row + piece.rows, outer.count);
    for (std::int64_t g = 0; g < w_.groups.together; ++g) {
      const std::int64_t i0 = std::max(c1 * w_.c0, g * inner.ofGroup),
                         i1 = std::min({(c1 + 1) * w_.c0, (g + 1) * inner.ofGroup, inner.count});
      if (i0 >= i1) continue;
      const std::int64_t o0 = std::max(row, g * outer.ofGroup), o1 = std::min(end, (g + 1) * outer.ofGroup);
      std::vector<std::int64_t> channels = offsetsOf(map_, 1, inner.first + i0, i1 - i0);
      const std::int64_t first = channels.front();
      for (std::int64_t& channel : channels) channel -= first;
      std::vector<ChannelRun> runs = channelRuns(channels);
      for (ChannelRun& run : runs) run.first += i0 - c1 * w_.c0;
      evenParts(map_, 0, outer.first + o0, outer.first + o1,
                [&](std::int64_t o, std::int64_t count, std::int64_t pitch) {
                  const std::int64_t at = map_.along(0, o) + first;
                  if (piece.lines.empty()) piece.origin = at;
                  piece.lines.push_back({o - outer.first - row, count, at - piece.origin, pitch, runs});
                });
    }
    piece.key = {piece.rows};
    for (const Line& line : piece.lines) {
      piece.key.insert(piece.key.end(), {line.row, line.count, line.offset, line.pitch});
      for (const ChannelRun& run : line.runs)
        piece.key.insert(piece.key.end(), {run.first, run.count, run.offset, run.pitch});
    }
    return piece;
  }

  // As many rows and taps at once as UB has room for: the f32 of a strip, those of another part, and what becomes of them.
  void strips(const Piece& piece, CallSequence& calls) {
    const std::int64_t e = elementBytes(type_), row = w_.c0 * (4 * (parts_ > 1 ? 2 : 1) + e);
    const std::int64_t most = std::max<std::int64_t>(1, job_.machine.buffers.ubBytes / row);
    const std::int64_t taps = std::min(w_.tapsHw, most),
                       rows = std::min(piece.rows, std::max<std::int64_t>(1, most / taps));
    for (std::int64_t t = 0; t < w_.tapsHw; t += taps) {
      for (std::int64_t r = 0; r < piece.rows; r += rows)
        strip(piece, t, std::min(taps, w_.tapsHw - t), r, std::min(rows, piece.rows - r), calls);
    }
  }

  void strip(const Piece& piece, std::int64_t tap, std::int64_t taps, std::int64_t row, std::int64_t rows,
             CallSequence& calls) {
    const std::int64_t c0 = w_.c0, e = elementBytes(type_), elements = taps * rows * c0;
    const std::int64_t from = (tap * piece.rows + row) * c0 * 4, other = elements * 4,
                       to = elements * 4 * (parts_ > 1 ? 2 : 1);
    for (std::int64_t part = 0; part < parts_; ++part) {
      calls.issue(CoreUnit::kGmToUb);
      ListedMoves in;
      const ListSteps steps{piece.rows * c0 * 4, rows * c0 * 4};
      in.addSegment(Copy{.lanes = lanes_, .rows = 1, .cols = rows * c0, .list = steps, .label = "gm_to_ub"},
                    {0, 0, taps});
      in.emit(calls, "load_sums", {from_, from + part * sums_.bytes()}, {ub_, part > 0 ? other : 0});
      if (part == 0) continue;
      ListedMoves add;
      calls.issue(CoreUnit::kVector);
      add.add(Accumulate{.lanes = lanes_, .rows = 1, .cols = elements, .label = "add_part"}, 0, 0);
      add.emit(calls, "add", {ub_, other}, {ub_, 0});
    }
    ListedMoves cast;
    calls.issue(CoreUnit::kVector);
    cast.add(Copy{.lanes = lanes_, .rows = 1, .cols = elements, .to = type_, .label = "cast"}, 0, 0);
    cast.emit(calls, "cast", {ub_, 0}, {ub_, to});
    ChannelMoves out(lanes_, wordOf(e), wordOf(e), "ub_to_gm");
    for (const Line& line : piece.lines) {
      const std::int64_t begin = std::max(line.row, row), end = std::min(line.row + line.count, row + rows);
      if (begin >= end) continue;
      const std::int64_t first = line.offset + (begin - line.row) * line.pitch;
      bool side = taps > 1 && line.runs.front().pitch != 1;  // taps are neighbours in dw, channels are not
      for (std::int64_t t = 1; side && t < taps; ++t)
        side = taps_[static_cast<std::size_t>(tap + t)] - taps_[static_cast<std::size_t>(tap + t - 1)] == 1;
      for (std::int64_t r = begin; side && r < end; ++r)
        out.store(line.runs, {first + (r - begin) * line.pitch + taps_[static_cast<std::size_t>(tap)],
                              (r - row) * c0 * e, taps, 1, rows * c0 * e});
      for (std::int64_t t = 0; !side && t < taps; ++t)
        out.store(line.runs, {first + taps_[static_cast<std::size_t>(tap + t)], (t * rows + begin - row) * c0 * e,
                              end - begin, line.pitch, c0 * e});
    }
    calls.issue(CoreUnit::kUbToGm);
    out.emit(calls, "store_dw", {ub_, to}, {to_, 0});
  }

  ProgramBuilder& b_;
  const CubeJob& job_;
  const CubeWork& w_;
  const IndexMap& map_;
  const CubeSums& sums_;
  const std::int64_t parts_;
  const int lanes_;
  Element type_ = Element::kF32;
  std::vector<std::int64_t> taps_;
  int from_ = -1, to_ = -1, ub_ = -1;
};

}  // namespace

void addCastPhase(ProgramBuilder& b, const CubeJob& job, const CubeTensors& tensors, const CubeSums& sums, int buffer,
                  std::int64_t parts, int result, int ub, int lanes) {
  CastPhase(b, job, tensors, sums, parts, lanes).run(buffer, result, ub);
}

void addZeroPhase(ProgramBuilder& b, const char* name, int buffer, std::int64_t bytes, int ub, std::int64_t ubBytes,
                  int lanes) {
  constexpr std::int64_t kMost = 1 << 15;  // stays in the host's L1
  const std::int64_t stripBytes = std::min(kMost, ubBytes / 64 * 64);
  b.beginPhase(name);
  const int to = b.addStream("to", buffer), strip = b.addStream("UB", ub);
  const int axis = b.addAxis("strip", 2);
  Node choice;
  choice.classAxes = {axis};
  for (std::int64_t at = 0; at < bytes; at += stripBytes) b.addStep(axis, {{to, at}}, at + stripBytes <= bytes ? 0 : 1);
  for (const std::int64_t size : {std::min(stripBytes, bytes), bytes % stripBytes}) {
    CallSequence calls(b);
    // An odd 16-bit element at the end is one of its own.
    for (const std::int64_t word : {std::int64_t{4}, std::int64_t{2}}) {
      const std::int64_t begin = word == 4 ? 0 : size / 4 * 4, count = word == 4 ? size / 4 : size % 4 / 2;
      if (count == 0) continue;
      const Element element = wordOf(word);
      ListedMoves zero, out;
      zero.add(Fill{.lanes = lanes, .rows = 1, .cols = count, .element = element, .label = "zero"}, 0, 0);
      out.add(Copy{.lanes = lanes, .rows = 1, .cols = count, .from = element, .to = element, .label = "ub_to_gm"}, 0,
              0);
      calls.issue(CoreUnit::kVector);
      zero.emit(calls, "zero", {}, {strip, begin});
      calls.issue(CoreUnit::kUbToGm);
      out.emit(calls, "store", {strip, begin}, {to, begin});
    }
    addWindow(choice, calls);
  }
  b.phase().parallelAxes = {axis};
  b.phase().body.push_back(std::move(choice));
  b.phase().workCycles = static_cast<double>(bytes) / 16;
}

}  // namespace cubejit
