// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides loads from L1 and the cube. A run is 32 bytes, c0 elements; fractals are 16 of them.
#include "algorithms/cube/lower/unit_calls.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tiling/rounding.h"

namespace cubejit {
namespace {

// Rows of sums that a multiply kernel holds in registers, by 16 columns.
std::int64_t registerRows(int lanes) { return lanes >= 16 ? 16 : 6; }

// All of an instruction.
using Fields = std::vector<std::int64_t>;
void append(Fields& f, const Span& s) { f.insert(f.end(), {s.begin, s.count}); }
void append(Fields& f, const LoadImage& i) {
  f.insert(f.end(), {i.l1, i.depth});
  for (const Span& s : {i.rows, i.columns, i.blocks}) append(f, s);
}
void append(Fields& f, const LoadPixels& i) {
  f.insert(f.end(), {i.l1, i.depth});
  for (const Span& s : {i.channels, i.pixels}) append(f, s);
}
void append(Fields& f, const LoadWeights& i) {
  f.insert(f.end(), {i.l1, i.tapDepth, i.plain});
  for (const Span& s : {i.units, i.n}) append(f, s);
}
void append(Fields& f, const Unfold& i) {
  f.insert(f.end(), {static_cast<std::int64_t>(i.side), i.l0});
  append(f, i.piece);
  for (const Span& s : {i.pixels, i.units}) append(f, s);
}
void append(Fields& f, const LoadFractals& i) {
  f.insert(f.end(), {static_cast<std::int64_t>(i.side), i.l0, i.l1, i.pitch, i.plain});
  for (const Span& s : {i.x, i.y}) append(f, s);
}
void append(Fields& f, const Mmad& i) { f.insert(f.end(), {i.l0a, i.l0b, i.l0c, i.m1, i.k1, i.n1, i.first}); }

}  // namespace

Error tooManyCalls(const CubePlan& plan) {
  const auto text = [](const Mkn& s) {
    return std::to_string(s.m) + " x " + std::to_string(s.k) + " x " + std::to_string(s.n);
  };
  return Error{ErrorCode::kLimitExceeded, Stage::kTile,
               "the program of tasks of " + text(plan.singleShape) + " (m x k x n) in base blocks of " +
                   text(plan.tile.base) + " has more than " + std::to_string(kMostCubeCalls) +
                   " calls; emulate a smaller problem, or a plan with smaller tasks or larger base blocks"};
}

UnitCalls::UnitCalls(const CubeJob& job, const CubeTensors& tensors, const CubeStreams& streams, int lanes,
                     const CubeShortcuts& shortcuts, ProgramBuilder& builder)
    : job_(job),
      w_(job.work),
      t_(tensors),
      s_(streams),
      lanes_(lanes),
      b_(builder),
      word_(wordOf(job.work.elementBytes)),
      shortcuts_(shortcuts) {}

void UnitCalls::beginTask(const CoreTask& task) {
  task_ = task;
  unfolded_.clear();
  along_.clear();
  loaded_.clear();
  const PanelBytes bytes(job_);
  panelsA_ = {bytes.a, std::vector<Fields>(static_cast<std::size_t>(s_.panels)), 0, {}};
  panelsB_ = {bytes.b, panelsA_.holds, 0, {}};
}

// Gives what fills L0 a place for its words; true if they lie there already, so that nobody reads L0.
bool UnitCalls::keeps(const UnitInstruction& fill) {
  Fields holds;
  std::int64_t l0 = 0;
  L0Side side = L0Side::kA;
  if (const auto* unfold = std::get_if<Unfold>(&fill)) {
    Unfold what = *unfold;
    side = what.side;
    l0 = std::exchange(what.l0, 0);
    what.piece.l1 = 0;
    append(holds, what);
  } else {
    LoadFractals what = *std::get_if<LoadFractals>(&fill);
    side = what.side;
    l0 = std::exchange(what.l0, 0);
    holds = loaded_[std::exchange(what.l1, 0)];
    append(holds, what);
  }
  Panels& panels = side == L0Side::kA ? panelsA_ : panelsB_;
  if (panels.holds.empty()) return false;
  const auto held = std::find(panels.holds.begin(), panels.holds.end(), holds);
  const bool read = held != panels.holds.end();
  const std::size_t place = read ? static_cast<std::size_t>(held - panels.holds.begin()) : panels.next;
  if (!read) {
    panels.holds[place] = std::move(holds);
    panels.next = (place + 1) % panels.holds.size();
  }
  panels.of[l0] = {static_cast<std::int64_t>(place) * panels.bytes, read};
  return read;
}

// Blocks and tasks have most instructions in common; loads are a task's own.
void UnitCalls::add(const UnitInstruction& instruction, CallSequence& calls) {
  Fields key{static_cast<std::int64_t>(instruction.index())};
  if (const auto* unfold = std::get_if<Unfold>(&instruction)) {
    append(key, *unfold);
    if (unfold->side == L0Side::kA) unfolded_[unfold->l0] = *unfold;
    if (keeps(instruction)) return;
  } else if (const auto* fractals = std::get_if<LoadFractals>(&instruction)) {
    append(key, *fractals);
    if (fractals->side == L0Side::kA) along_[fractals->l0] = fractals->y.count;
    if (keeps(instruction)) return;
  } else if (const auto* mmad = std::get_if<Mmad>(&instruction)) {
    append(key, *mmad);
    const auto from = unfolded_.find(mmad->l0a);
    if (skipsZeros() && from != unfolded_.end()) append(key, from->second);
    key.push_back(tailWords(*mmad));
    for (const Panel& panel : {panelsA_.of[mmad->l0a], panelsB_.of[mmad->l0b]})
      key.insert(key.end(), {panel.at, panel.read});
  } else {
    const auto remember = [&](auto load) {
      Fields& of = loaded_[std::exchange(load.l1, 0)];
      of.clear();
      append(of, load);
    };
    if (const auto* pixels = std::get_if<LoadPixels>(&instruction)) remember(*pixels);
    if (const auto* weights = std::get_if<LoadWeights>(&instruction)) remember(*weights);
    return spell(instruction, calls);
  }
  const auto [known, fresh] = known_.try_emplace(std::move(key));
  if (!fresh) return calls.add(known->second);
  const std::int64_t first = calls.size();
  spell(instruction, calls);
  known->second = calls.from(first);
}

void UnitCalls::spell(const UnitInstruction& instruction, CallSequence& calls) {
  calls.issue(std::holds_alternative<Mmad>(instruction) ? CoreUnit::kCube
              : std::holds_alternative<Unfold>(instruction) || std::holds_alternative<LoadFractals>(instruction)
                  ? CoreUnit::kL1ToL0
                  : CoreUnit::kGmToL1);
  if (const auto* i = std::get_if<LoadImage>(&instruction)) return load(*i, calls);
  if (const auto* i = std::get_if<LoadPixels>(&instruction)) return load(*i, calls);
  if (const auto* i = std::get_if<LoadWeights>(&instruction)) return load(*i, calls);
  if (const auto* i = std::get_if<Unfold>(&instruction)) return fill(*i, calls);
  if (const auto* i = std::get_if<LoadFractals>(&instruction)) return fill(*i, calls);
  multiply(*std::get_if<Mmad>(&instruction), calls);
}

// Runs one after the other, each 32 bytes behind the last.
Copy UnitCalls::copyRuns(std::int64_t fromPitch) const {
  return {.lanes = lanes_, .rows = 1, .cols = kRun / 4, .list = ListSteps{fromPitch, kRun}, .label = "runs"};
}
Fill UnitCalls::zeroRuns() const {
  return {.lanes = lanes_, .rows = 1, .cols = kRun / 4, .list = ListSteps{0, kRun}, .label = "zero_runs"};
}

// Runs turned: c0 rows of `runs` elements, filled up to runs.
Transpose UnitCalls::turnRuns(std::int64_t runs) const {
  return {.lanes = lanes_,
          .rows = runs,
          .cols = w_.c0,
          .srcPitch = kRun,
          .dstPitch = kRun,
          .padCols = w_.c0 - runs,
          .from = word_,
          .to = word_,
          .label = "turn"};
}

// What the unit's tap sees of pixels, run by run from byte `to` on; each 16 of them `fractalPitch` bytes behind the last.
void UnitCalls::gather(const Unfold& i, std::int64_t unit, std::int64_t to, std::int64_t fractalPitch,
                       ListedMoves& moves) const {
  const Span& pixels = i.pixels;
  const std::int64_t tap = unit % w_.tapsHw, block = unit / w_.tapsHw - i.piece.blocks.begin;
  const std::int64_t kh = tap / w_.kernel.w * w_.dilation.h, kw = tap % w_.kernel.w * w_.dilation.w;
  const std::int64_t stepW = w_.spread ? 1 : w_.stride.w;
  const Copy copy = copyRuns(stepW * kRun);
  const Fill none = zeroRuns();
  // Positions [begin, end) of the pixels, piece by piece of a fractal.
  const auto each = [&](std::int64_t begin, std::int64_t end, const auto& move, std::int64_t from) {
    while (begin < end) {
      const std::int64_t here = std::min(end - begin, kSide - begin % kSide);
      moves.addSegment(move, {from, to + begin / kSide * fractalPitch + begin % kSide * kRun, here});
      from += here * move.list->a;
      begin += here;
    }
  };
  for (std::int64_t p = 0; p < pixels.count;) {
    const std::int64_t h = (pixels.begin + p) / w_.row(), x = (pixels.begin + p) % w_.row();
    const std::int64_t count = std::min(pixels.count - p, w_.row() - x);
    const std::int64_t row = (w_.spread ? h + w_.pad.h - kh : h * w_.stride.h + kh - w_.pad.h) - i.piece.rows.begin;
    const std::int64_t column = (w_.spread ? x + w_.pad.w - kw : x * stepW + kw - w_.pad.w) - i.piece.columns.begin;
    std::int64_t begin = column >= 0 ? 0 : std::min(count, ceilDiv(-column, stepW));
    std::int64_t end = column >= i.piece.columns.count ? 0 : (i.piece.columns.count - 1 - column) / stepW + 1;
    end = std::max(begin, std::min(count, end));
    if (row < 0 || row >= i.piece.rows.count) begin = end = 0;
    each(p, p + begin, none, 0);
    if (end > begin) {
      const std::int64_t run = (block * i.piece.rows.count + row) * i.piece.columns.count + column + begin * stepW;
      each(p + begin, p + end, copy, run * kRun);
    }
    each(p + end, p + count, none, 0);
    p += count;
  }
}

void UnitCalls::fill(const Unfold& i, CallSequence& calls) {
  const std::int64_t c0 = w_.c0;
  ListedMoves moves;
  if (i.side == L0Side::kA) {
    for (std::int64_t u = 0; u < i.units.count; ++u) {
      gather(i, i.units.begin + u, u * kFractal, i.units.count * kFractal, moves);
      const std::int64_t last = i.pixels.count % kSide;
      if (last > 0)
        moves.addSegment(zeroRuns(),
                         {0, (i.pixels.count / kSide * i.units.count + u) * kFractal + last * kRun, kSide - last});
    }
    return moves.emit(calls, "unfold", {s_.l1, i.piece.l1}, {s_.l0a, i.l0});
  }
  // Side by side first, whole blocks of c0 pixels, then turned.
  const std::int64_t k1 = ceilDiv(i.pixels.count, c0), n1 = ceilDiv(i.units.count * c0, kSide);
  ListedMoves turned;
  for (std::int64_t u = 0; u < i.units.count; ++u) {
    const std::int64_t at = u * k1 * c0 * kRun;
    gather(i, i.units.begin + u, at, kFractal, moves);
    if (i.pixels.count < k1 * c0)
      moves.addSegment(zeroRuns(), {0, at + i.pixels.count * kRun, k1 * c0 - i.pixels.count});
    for (std::int64_t k = 0; k < k1; ++k)
      turned.add(turnRuns(c0), at + k * c0 * kRun, (k * n1 + u * c0 / kSide) * kFractal + u * c0 % kSide * kRun);
  }
  moves.emit(calls, "unfold", {s_.l1, i.piece.l1}, {s_.unfolded, 0});
  turned.emit(calls, "turn", {s_.unfolded, 0}, {s_.l0b, i.l0});
  ListedMoves rest;  // f32: half of the last fractal
  for (std::int64_t k = 0; k < k1 && i.units.count * c0 % kSide != 0; ++k)
    rest.addSegment(zeroRuns(), {0, (k * n1 + n1 - 1) * kFractal + c0 * kRun, kSide - c0});
  rest.emit(calls, "zero", {}, {s_.l0b, i.l0});
}

void UnitCalls::fill(const LoadFractals& i, CallSequence& calls) {
  const std::int64_t c0 = w_.c0, x1 = ceilDiv(i.x.count, kSide), k1 = ceilDiv(i.y.count, c0);
  const bool a = i.side == L0Side::kA;
  const StreamPlace to{a ? s_.l0a : s_.l0b, i.l0}, from{s_.l1, i.l1};
  const auto row = [&](std::int64_t x, std::int64_t k) {
    return (a ? x / kSide * k1 + k : k * x1 + x / kSide) * kFractal + x % kSide * kRun;
  };
  ListedMoves moves;
  for (std::int64_t k = 0; k < k1; ++k) {
    const std::int64_t filled = i.plain ? i.x.count : roundUp(i.x.count, c0);
    if (i.plain) {
      const std::int64_t block = ((i.y.begin / c0 + k) * i.pitch + i.x.begin) * kRun;
      for (std::int64_t x = 0; x < i.x.count; x += kSide)
        moves.addSegment(copyRuns(kRun), {block + x * kRun, row(x, k), std::min(kSide, i.x.count - x)});
    } else {
      const std::int64_t ys = std::min(c0, i.y.count - k * c0);
      for (std::int64_t x = 0; x < i.x.count; x += c0)
        moves.add(turnRuns(ys), ((i.x.begin + x) / c0 * i.pitch + i.y.begin + k * c0) * kRun, row(x, k));
    }
    if (filled % kSide != 0) moves.addSegment(zeroRuns(), {0, row(filled, k), kSide - filled % kSide});
  }
  moves.emit(calls, a ? "load_l0a" : "load_l0b", from, to);
}

// Whether what a pixel sees by a unit's tap is an element of the image that the stride has spread, or one outside it.
bool UnitCalls::sees(std::int64_t pixel, std::int64_t unit) const {
  const std::int64_t tap = unit % w_.tapsHw, h = pixel / w_.row(), x = pixel % w_.row();
  const std::int64_t row = h + w_.pad.h - tap / w_.kernel.w * w_.dilation.h;
  const std::int64_t column = x + w_.pad.w - tap % w_.kernel.w * w_.dilation.w;
  return row % w_.stride.h == 0 && column % w_.stride.w == 0;
}

std::vector<UnitCalls::RowClass> UnitCalls::rowClasses(const Mmad& i) const {
  const auto unfold = unfolded_.find(i.l0a);
  if (!skipsZeros() || unfold == unfolded_.end()) {
    RowClass all;
    for (std::int64_t r = 0; r < i.m1 * kSide; ++r) all.rows.push_back(r);
    all.k1 = {{0, i.k1}};
    return {all};
  }
  const Unfold& from = unfold->second;
  std::map<std::pair<std::int64_t, std::int64_t>, RowClass> classes;  // by what is left of the pixel's place
  for (std::int64_t r = 0; r < from.pixels.count; ++r) {
    const std::int64_t pixel = from.pixels.begin + r;
    RowClass& rows = classes[{pixel / w_.row() % w_.stride.h, pixel % w_.row() % w_.stride.w}];
    if (rows.rows.empty()) {
      for (std::int64_t k = 0; k < i.k1; ++k) {
        if (!sees(pixel, from.units.begin + k)) continue;
        if (!rows.k1.empty() && rows.k1.back().end() == k)
          ++rows.k1.back().count;
        else
          rows.k1.push_back({k, 1});
      }
    }
    rows.rows.push_back(r);
  }
  std::vector<RowClass> out;
  for (auto& [place, rows] : classes) out.push_back(std::move(rows));
  return out;
}

// Words of the last fractal along k that differ from zero, and one that does not: it turns a sum of -0 into +0, what the others would do.
// They are multiplied two and two, as kOfStep() may want. 0: all of them.
std::int64_t UnitCalls::tailWords(const Mmad& i) const {
  const auto along = along_.find(i.l0a);
  if (!shortcuts_.leavesOutZeros || along == along_.end()) return 0;
  const std::int64_t tail = roundUp(along->second + 1, 2) - (i.k1 - 1) * w_.c0;
  return tail >= w_.c0 ? 0 : shortcuts_.pairs ? tail / 2 : tail;
}

// Sums of as many rows x 16 in registers; each step is one k: 16 columns of B, and one value a row. A has `m` rows; `rows` count from the first.
int UnitCalls::mmadKernel(MmadKernel wanted) {
  const auto [known, fresh] = mmads_.emplace(std::move(wanted), -1);
  if (!fresh) return known->second;
  const auto& [rows, m, tail] = known->first;
  const std::int64_t vectors = kSide / lanes_, words = this->words(), count = std::ssize(rows);
  Contract c;
  c.lanes = lanes_;
  c.products = shortcuts_.pairs ? Products::kPairs : Products::kF32;
  c.label = "mmad_" + std::to_string(count) + "x16_of_" + std::to_string(m) + (rows.back() < count ? "" : "_apart") +
            (tail == 0 ? "" : "_and_" + std::to_string(tail));
  const auto section = [&](std::int64_t steps) {
    Section fractal;
    fractal.aOuterStep = m * words * 4;
    fractal.bOuterStep = kSide * words * 4;
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t k = shortcuts_.pairs ? i : kOfStep(i, w_.type);
      Step step;
      for (std::int64_t v = 0; v < vectors; ++v)
        step.b.push_back({static_cast<std::int32_t>((k * kSide + v * lanes_) * 4), LaneRange{}});
      for (std::int64_t r = 0; r < count; ++r) {
        AOperand a;
        a.offset = static_cast<std::int32_t>((rows[static_cast<std::size_t>(r)] * words + k) * 4);
        for (std::int64_t v = 0; v < vectors; ++v)
          a.uses.push_back({static_cast<std::int16_t>(r * vectors + v), static_cast<std::int16_t>(v)});
        step.a.push_back(std::move(a));
      }
      fractal.steps.push_back(std::move(step));
    }
    return fractal;
  };
  c.sections.push_back(section(words));
  if (tail > 0) c.sections.push_back(section(tail));
  for (const std::int64_t row : rows) {
    for (std::int64_t v = 0; v < vectors; ++v)
      c.accumulators.push_back({static_cast<std::int32_t>((row * kSide + v * lanes_) * 4), LaneRange{}});
  }
  return known->second = b_.addKernel(std::move(c));
}

// Pairs are moved as they are.
Element UnitCalls::wordFrom() const {
  return w_.elementBytes == 2 && !shortcuts_.pairs ? elementOf(w_.type) : Element::kF32;
}
Element UnitCalls::wordTo() const {
  return w_.elementBytes == 2 || shortcuts_.pairs ? Element::kF32 : elementOf(w_.type);
}

// The cube reads L0A: the words of a run for each row and k1 that is multiplied.
void UnitCalls::readA(const Mmad& i, const std::vector<RowClass>& classes, std::int64_t to, CallSequence& calls) const {
  const std::int64_t words = this->words(), m = i.m1 * kSide;
  const bool whole = std::ssize(classes.front().rows) == m;
  const Copy a{.lanes = lanes_,
               .rows = 1,
               .cols = whole ? kSide * words : words,
               .from = wordFrom(),
               .to = wordTo(),
               // neighbours along k1, or of a class
               .list = ListSteps{whole ? kFractal : w_.stride.w * kRun, (whole ? m : w_.stride.w) * words * 4},
               .label = "read_l0a"};
  ListedMoves read;
  for (std::int64_t r = 0; whole && r < i.m1; ++r)
    read.addSegment(a, {r * i.k1 * kFractal, r * kSide * words * 4, i.k1});
  for (const RowClass& rows : classes) {
    for (std::size_t s = 0; !whole && s < rows.k1.size(); ++s) {
      for (std::int64_t k = rows.k1[s].begin; k < rows.k1[s].end(); ++k) {
        for (const std::int64_t r : rows.rows)
          read.addSegment(a, {(r / kSide * i.k1 + k) * kFractal + r % kSide * kRun, (k * m + r) * words * 4, 1});
      }
    }
  }
  read.emit(calls, "read_l0a", {s_.l0a, i.l0a}, {s_.aWords, to});
}

void UnitCalls::readB(const Mmad& i, std::int64_t to, CallSequence& calls) const {
  const std::int64_t words = this->words(), fractal = kSide * words * 4;
  const Transpose b{.lanes = lanes_,
                    .rows = kSide,
                    .cols = words,
                    .srcPitch = kRun,
                    .dstPitch = kSide * 4,
                    .from = wordFrom(),
                    .to = wordTo(),
                    .list = ListSteps{i.n1 * kFractal, fractal},
                    .label = "read_l0b"};
  ListedMoves read;
  for (std::int64_t n = 0; n < i.n1; ++n) read.addSegment(b, {n * kFractal, n * i.k1 * fractal, i.k1});
  read.emit(calls, "read_l0b", {s_.l0b, i.l0b}, {s_.bWords, to});
}

namespace {

// Rows that a kernel holds at once, counted from the first; `repeat` times, `step` rows apart.
struct RowTile {
  std::int64_t first = 0;
  std::vector<std::int64_t> rows;
  std::int64_t repeat = 1, step = 0;
};

// Neighbours fill the registers and leave a rest; rows apart are cut evenly.
std::vector<RowTile> rowTiles(const std::vector<std::int64_t>& rows, std::int64_t most) {
  const auto all = std::ssize(rows);
  const bool neighbours = rows.back() - rows.front() + 1 == all;
  const std::int64_t parts = ceilDiv(all, most);
  std::vector<RowTile> tiles;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = neighbours ? part * most : part * all / parts,
                       end = neighbours ? std::min(all, begin + most) : (part + 1) * all / parts;
    RowTile tile;
    tile.first = rows[static_cast<std::size_t>(begin)];
    for (std::int64_t r = begin; r < end; ++r) tile.rows.push_back(rows[static_cast<std::size_t>(r)] - tile.first);
    RowTile* last = tiles.empty() ? nullptr : &tiles.back();
    const std::int64_t step = last == nullptr ? 0 : tile.first - last->first - (last->repeat - 1) * last->step;
    if (last != nullptr && last->rows == tile.rows && (last->repeat == 1 || step == last->step)) {
      last->step = step;
      ++last->repeat;
    } else {
      tiles.push_back(std::move(tile));
    }
  }
  return tiles;
}

}  // namespace

void UnitCalls::multiply(const Mmad& i, CallSequence& calls) {
  const std::int64_t words = this->words(), m = i.m1 * kSide, tail = tailWords(i);
  const std::vector<RowClass> classes = rowClasses(i);
  const Panel a = panelsA_.of[i.l0a], b = panelsB_.of[i.l0b];
  if (!a.read) readA(i, classes, a.at, calls);
  if (!b.read) readB(i, b.at, calls);
  for (const RowClass& rows : classes) {
    if (rows.k1.empty() && !i.first) continue;  // adds nothing
    Variant variant;
    SegmentList list(tail > 0 ? 2 : 1);
    const auto segment = [&](std::int64_t begin, std::int64_t count) {
      return Segment{begin * m * words * 4, begin * kSide * words * 4, count};
    };
    for (const Span& k : rows.k1) {
      const std::int64_t whole = tail > 0 && k.end() == i.k1 ? k.count - 1 : k.count;
      if (whole > 0) list.front().push_back(segment(k.begin, whole));
      if (whole < k.count) list.back().push_back(segment(i.k1 - 1, 1));
    }
    variant.list = b_.addList(std::move(list));
    variant.accumulate = !i.first;
    const std::vector<RowTile> tiles = rowTiles(rows.rows, registerRows(lanes_));
    for (std::int64_t n = 0; n < i.n1; ++n) {
      for (const RowTile& tile : tiles) {
        CallPlace place;
        place.repeat = tile.repeat;
        place.repeatStep = {tile.step * words * 4, 0, tile.step * kSide * 4, 0};
        variant.kernel = mmadKernel({tile.rows, m, tail});
        calls.add("mmad", {s_.aWords, a.at + tile.first * words * 4}, {s_.bWords, b.at + n * i.k1 * kSide * words * 4},
                  {s_.l0c, i.l0c + (n * m + tile.first) * kSide * 4}, variant, place);
      }
    }
  }
}

}  // namespace cubejit
